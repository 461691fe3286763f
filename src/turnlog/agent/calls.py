"""Carrying out the calls of an answer: each is checked, allowed or refused, run, and written down.

Calls that change nothing run side by side; one that does runs alone, after those before it and before those behind it.
People are asked in the order of the calls, by the thread that runs the turn.

A call runs in the folder in which it was judged: other calls may go elsewhere in between, and what was allowed here may
do harm there.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

from msgspec.structs import replace

from turnlog.agent.events import CallEnded, CallProgress, CallStarted, Denied, Event
from turnlog.agent.person import Leave, Person
from turnlog.agent.record.lines import result as answering
from turnlog.agent.record.record import Record
from turnlog.agent.setup import Setup
from turnlog.agent.tools.schema import checked
from turnlog.agent.tools.tool import Object, Place, Result, Scene, Tool, ToolError
from turnlog.model.cancel import Cancel
from turnlog.model.failures import Cancelled

REFUSED = (
    "The user doesn't want to proceed with this tool use. The tool use was rejected (eg. if it was a file edit, the"
    " new_string was NOT written to the file). "
)
STOP = REFUSED + "STOP what you are doing and wait for the user to tell you how to proceed."
INSTEAD = REFUSED + "To tell you how to proceed, the user said:\n"
REJECTED = "User rejected tool use"
"""What the session keeps of a call that a person refused, where others keep what came of it."""
_SIDE_BY_SIDE = 10


class Call(NamedTuple):
    """One call of an answer."""

    id: str
    name: str
    given: Object


class Admission(NamedTuple):
    """A call that may be made, with its tool and the place in which it was judged; or the refusal."""

    call: Call
    place: Place
    tool: Tool | None = None
    refusal: Result | None = None


class Halted(Exception):
    """The person wants the turn to end here; every call has a result nevertheless."""

    def __init__(self, results: Sequence[Object]) -> None:
        super().__init__("halted")
        self.results = results


class Calls:
    """The calls of one actor."""

    def __init__(
        self,
        setup: Setup,
        record: Record,
        person: Person,
        watch: Callable[[Event], None],
        scene: Callable[[str, Place, Cancel, Callable[[Object], None]], Scene],
        agent: str | None = None,
    ) -> None:
        self._setup = setup
        self._record = record
        self._person = person
        self._watch = watch
        self._scene = scene
        self._agent = agent
        self.denials: list[Call] = []
        """Calls that were not allowed."""

    def run(self, calls: Sequence[Call], tools: Mapping[str, Tool], cancel: Cancel) -> list[Object]:
        """Carry out the calls of one answer; their results as blocks, in the order of the calls.

        Raises Halted, after every call has a result, if the person stopped the turn or refused a call without a word.
        """
        results: dict[str, Result] = {}
        waiting: list[tuple[Call, Tool, Place]] = []

        def is_over() -> bool:
            return cancel.is_set or any(result.content == STOP for result in results.values())

        for asked in calls:
            call, place, tool, refusal = self._admit(asked, tools, is_over())
            if refusal is None and tool is not None and tool.is_safe(call.given):
                waiting.append((call, tool, place))
                continue
            self._together(waiting, cancel, results)
            waiting = []
            if refusal is not None:
                self._done(call, refusal, 0, results)
            elif tool is not None:
                self._together([(call, tool, place)], cancel, results)
        self._together(waiting, cancel, results)
        blocks: list[Object] = [answering(call.id, results[call.id]) for call in calls]
        if is_over():
            raise Halted(blocks)
        return blocks

    def _admit(self, call: Call, tools: Mapping[str, Tool], is_over: bool) -> Admission:
        """Check a call and its input, and decide on it."""
        place = replace(self._setup.place)
        if is_over:
            return Admission(call, place, refusal=Result(STOP, REJECTED, is_error=True))
        tool = tools.get(call.name)
        if tool is None:
            told = f"Error: No such tool available: {call.name}"
            unknown = Result(f"<tool_use_error>{told}</tool_use_error>", told, is_error=True)
            return Admission(call, place, refusal=unknown)
        try:
            call = call._replace(given=checked(call.name, tool.schema, call.given))
        except ToolError as error:
            return Admission(call, place, refusal=error.result())
        return self._permit(Admission(call, place, tool), tool)

    def _permit(self, wanted: Admission, tool: Tool) -> Admission:
        """A call as it may be made, or the refusal of one that may not."""
        call, place = wanted.call, wanted.place
        decision = self._setup.guard.decide(call.name, call.given, place)
        if decision.verdict == "allow":
            return wanted
        leave = Leave("nobody")
        if decision.verdict == "ask":
            leave = self._person.permit(call.name, call.given, decision, self._agent)
        if leave.verdict == "nobody":
            return wanted._replace(refusal=self._denied(call, decision.reason))
        if leave.verdict == "always":
            self._setup.guard.remember(decision.suggested, place)
        if leave.verdict != "no":
            return wanted if leave.given is None else self._change(wanted, tool, leave.given)
        text = INSTEAD + leave.words if leave.words else STOP
        return wanted._replace(refusal=Result(text, REJECTED, is_error=True))

    def _change(self, wanted: Admission, tool: Tool, given: Object) -> Admission:
        """The same for a call whose input was changed by whoever allowed it: that is no leave for what is denied."""
        try:
            call = wanted.call._replace(given=checked(wanted.call.name, tool.schema, given))
        except ToolError as error:
            return wanted._replace(refusal=error.result())
        decision = self._setup.guard.decide(call.name, call.given, wanted.place)
        refusal = self._denied(call, decision.reason) if decision.verdict == "deny" else None
        return wanted._replace(call=call, refusal=refusal)

    def _denied(self, call: Call, reason: str) -> Result:
        reason = reason or f"Permission to use {call.name} has been denied."
        self.denials.append(call)
        self._watch(Denied(call.id, call.name, call.given, reason, self._agent))
        return Result(reason, f"Error: {reason}", is_error=True)

    def _together(self, some: list[tuple[Call, Tool, Place]], cancel: Cancel, results: dict[str, Result]) -> None:
        """Run calls side by side; what came of them is written in their order, which is that of the next request."""
        began = [place.cwd for _, _, place in some]
        for (call, _, place), before, done in zip(some, began, self._outcomes(some, cancel), strict=True):
            if place.cwd != before:  # a command went elsewhere: so do the calls to come
                self._setup.place.cwd = place.cwd
            self._done(call, *done, results)

    def _outcomes(self, some: list[tuple[Call, Tool, Place]], cancel: Cancel) -> Iterator[tuple[Result, float]]:
        if len(some) < 2:
            yield from (self._ran(call, tool, place, cancel) for call, tool, place in some)
            return
        from concurrent.futures import ThreadPoolExecutor  # brings logging along; most answers have a single call

        with ThreadPoolExecutor(min(len(some), _SIDE_BY_SIDE), "call") as pool:
            yield from pool.map(lambda one: self._ran(one[0], one[1], one[2], cancel), some)

    def _ran(self, call: Call, tool: Tool, place: Place, cancel: Cancel) -> tuple[Result, float]:
        """What came of a call, and the seconds that it took."""
        self._watch(CallStarted(call.id, call.name, call.given, self._agent))
        began = time.monotonic()

        def progress(data: Object) -> None:
            self._record.progress(call.id, data)
            self._watch(CallProgress(call.id, data, self._agent))

        try:
            cancel.check()
            result = tool.run(call.given, self._scene(call.id, place, cancel, progress))
        except ToolError as error:
            result = error.result()
        except Cancelled:
            result = Result(STOP, REJECTED, is_error=True)
        except Exception as error:  # noqa: BLE001 - a fault of ours is told to the model, it must not end the session
            result = ToolError(f"{call.name} failed: {type(error).__name__}: {error}").result()
        return result, time.monotonic() - began

    def _done(self, call: Call, result: Result, seconds: float, results: dict[str, Result]) -> None:
        results[call.id] = result
        self._record.cwd = self._setup.place.cwd
        self._record.result(call.id, result)
        self._watch(CallEnded(call.id, call.name, call.given, result, round(seconds * 1000), self._agent))
