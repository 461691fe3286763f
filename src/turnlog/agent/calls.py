"""Carrying out the calls of an answer: each is checked, allowed or refused, run, and written down.

Calls that change nothing run side by side; one that does runs alone, after those before it and before those behind it.
People are asked in the order of the calls, by the thread that runs the turn.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from turnlog.agent.events import CallEnded, CallProgress, CallStarted, Denied, Event
from turnlog.agent.person import Leave, Person
from turnlog.agent.record.lines import result as answering
from turnlog.agent.record.record import Record
from turnlog.agent.setup import Setup
from turnlog.agent.tools.schema import checked
from turnlog.agent.tools.tool import Object, Result, Scene, Tool, ToolError
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
        scene: Callable[[str, Cancel, Callable[[Object], None]], Scene],
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
        waiting: list[tuple[Call, Tool]] = []

        def is_over() -> bool:
            return cancel.is_set or any(result.content == STOP for result in results.values())

        for asked in calls:
            call, tool, refusal = self._admitted(asked, tools, is_over())
            if refusal is None and tool is not None and tool.is_safe(call.given):
                waiting.append((call, tool))
                continue
            self._together(waiting, cancel, results)
            waiting = []
            if refusal is not None:
                self._done(call, refusal, 0, results)
            elif tool is not None:
                self._done(call, *self._ran(call, tool, cancel), results)
        self._together(waiting, cancel, results)
        blocks: list[Object] = [answering(call.id, results[call.id]) for call in calls]
        if is_over():
            raise Halted(blocks)
        return blocks

    def _admitted(
        self, call: Call, tools: Mapping[str, Tool], is_over: bool
    ) -> tuple[Call, Tool | None, Result | None]:
        """A call with its tool and its input as that wants it; or what is told of it instead."""
        if is_over:
            return call, None, Result(STOP, REJECTED, is_error=True)
        tool = tools.get(call.name)
        if tool is None:
            told = f"Error: No such tool available: {call.name}"
            return call, None, Result(f"<tool_use_error>{told}</tool_use_error>", told, is_error=True)
        try:
            call = call._replace(given=checked(call.name, tool.schema, call.given))
        except ToolError as error:
            return call, None, error.result()
        call, refusal = self._permitted(call, tool)
        return call, tool, refusal

    def _permitted(self, call: Call, tool: Tool) -> tuple[Call, Result | None]:
        """A call as it may be made, with nothing; or what is told of one that may not."""
        decision = self._setup.guard.decide(call.name, call.given, self._setup.place)
        if decision.verdict == "allow":
            return call, None
        leave = Leave("nobody")
        if decision.verdict == "ask":
            leave = self._person.permit(call.name, call.given, decision, self._agent)
        if leave.verdict == "nobody":
            return call, self._denied(call, decision.reason or f"Permission to use {call.name} has been denied.")
        if leave.verdict == "always":
            self._setup.guard.remember(decision.suggested, self._setup.place)
        if leave.verdict != "no":
            return (call, None) if leave.given is None else self._changed(call, tool, leave.given)
        text = INSTEAD + leave.words if leave.words else STOP
        return call, Result(text, REJECTED, is_error=True)

    def _changed(self, call: Call, tool: Tool, given: Object) -> tuple[Call, Result | None]:
        """The same for a call whose input was changed by whoever allowed it: that is no leave for what is denied."""
        try:
            call = call._replace(given=checked(call.name, tool.schema, given))
        except ToolError as error:
            return call, error.result()
        decision = self._setup.guard.decide(call.name, call.given, self._setup.place)
        if decision.verdict == "deny":
            return call, self._denied(call, decision.reason or f"Permission to use {call.name} has been denied.")
        return call, None

    def _denied(self, call: Call, reason: str) -> Result:
        self.denials.append(call)
        self._watch(Denied(call.id, call.name, call.given, reason, self._agent))
        return Result(reason, f"Error: {reason}", is_error=True)

    def _together(self, some: list[tuple[Call, Tool]], cancel: Cancel, results: dict[str, Result]) -> None:
        """Run calls side by side; what came of them is written in their order, which is that of the next request."""
        if len(some) < 2:
            for call, tool in some:
                self._done(call, *self._ran(call, tool, cancel), results)
            return
        from concurrent.futures import ThreadPoolExecutor  # brings logging along; most answers have a single call

        with ThreadPoolExecutor(min(len(some), _SIDE_BY_SIDE), "call") as pool:
            for (call, _), done in zip(
                some, pool.map(lambda one: self._ran(one[0], one[1], cancel), some), strict=True
            ):
                self._done(call, *done, results)

    def _ran(self, call: Call, tool: Tool, cancel: Cancel) -> tuple[Result, float]:
        """What came of a call, and the seconds that it took."""
        self._watch(CallStarted(call.id, call.name, call.given, self._agent))
        began = time.monotonic()

        def progress(data: Object) -> None:
            self._record.progress(call.id, data)
            self._watch(CallProgress(call.id, data, self._agent))

        try:
            cancel.check()
            result = tool.run(call.given, self._scene(call.id, cancel, progress))
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
