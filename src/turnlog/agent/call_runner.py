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

from turnlog.agent.events import CallDenied, CallEnded, CallProgress, CallStarted, TurnEvent
from turnlog.agent.person import PermissionAnswer, Person
from turnlog.agent.record.line_bodies import build_result_block as answering
from turnlog.agent.record.record import SessionRecord
from turnlog.agent.setup import AgentSetup
from turnlog.agent.tools.call_result import CallResult, Object, ToolError, Workspace
from turnlog.agent.tools.input_schema import validate_input
from turnlog.agent.tools.tool import CallContext, Tool
from turnlog.model.cancel import Cancel
from turnlog.model.failures import RequestCancelled

CALL_REFUSED_TEXT = (
    "The user doesn't want to proceed with this tool use. The tool use was rejected (eg. if it was a file edit, the"
    " new_string was NOT written to the file). "
)
CALL_REFUSED_STOP_TEXT = CALL_REFUSED_TEXT + "STOP what you are doing and wait for the user to tell you how to proceed."
CALL_REFUSED_INSTEAD_TEXT = CALL_REFUSED_TEXT + "To tell you how to proceed, the user said:\n"
REJECTED_CALL_RECORD = "User rejected tool use"
"""What the session keeps of a call that a person refused, where others keep what came of it."""
_MAX_PARALLEL_CALLS = 10


class PendingCall(NamedTuple):
    """One call of an answer."""

    id: str
    name: str
    given: Object


class Admission(NamedTuple):
    """A call that may be made, with its tool and the place in which it was judged; or the refusal."""

    call: PendingCall
    place: Workspace
    tool: Tool | None = None
    refusal: CallResult | None = None


class TurnHalted(Exception):
    """The person wants the turn to end here; every call has a result nevertheless."""

    def __init__(self, results: Sequence[Object]) -> None:
        super().__init__("halted")
        self.results = results


class CallRunner:
    """The calls of one actor."""

    def __init__(
        self,
        setup: AgentSetup,
        record: SessionRecord,
        person: Person,
        watch: Callable[[TurnEvent], None],
        scene: Callable[[str, Workspace, Cancel, Callable[[Object], None]], CallContext],
        agent: str | None = None,
    ) -> None:
        self._setup = setup
        self._record = record
        self._person = person
        self._watch = watch
        self._scene = scene
        self._agent = agent
        self.denials: list[PendingCall] = []
        """Calls that were not allowed."""

    def run_calls(self, calls: Sequence[PendingCall], tools: Mapping[str, Tool], cancel: Cancel) -> list[Object]:
        """Carry out the calls of one answer; their results as blocks, in the order of the calls.

        Raises Halted, after every call has a result, if the person stopped the turn or refused a call without a word.
        """
        results: dict[str, CallResult] = {}
        waiting: list[tuple[PendingCall, Tool, Workspace]] = []

        def is_over() -> bool:
            return cancel.is_set or any(result.content == CALL_REFUSED_STOP_TEXT for result in results.values())

        for asked in calls:
            call, place, tool, refusal = self._admit(asked, tools, is_over())
            if refusal is None and tool is not None and tool.is_safe(call.given):
                waiting.append((call, tool, place))
                continue
            self._run_side_by_side(waiting, cancel, results)
            waiting = []
            if refusal is not None:
                self._finish_call(call, refusal, 0, results)
            elif tool is not None:
                self._run_side_by_side([(call, tool, place)], cancel, results)
        self._run_side_by_side(waiting, cancel, results)
        blocks: list[Object] = [answering(call.id, results[call.id]) for call in calls]
        if is_over():
            raise TurnHalted(blocks)
        return blocks

    def _admit(self, call: PendingCall, tools: Mapping[str, Tool], is_over: bool) -> Admission:
        """Check a call and its input, and decide on it."""
        place = replace(self._setup.place)
        if is_over:
            return Admission(
                call, place, refusal=CallResult(CALL_REFUSED_STOP_TEXT, REJECTED_CALL_RECORD, is_error=True)
            )
        tool = tools.get(call.name)
        if tool is None:
            told = f"Error: No such tool available: {call.name}"
            unknown = CallResult(f"<tool_use_error>{told}</tool_use_error>", told, is_error=True)
            return Admission(call, place, refusal=unknown)
        try:
            call = call._replace(given=validate_input(call.name, tool.schema, call.given))
        except ToolError as error:
            return Admission(call, place, refusal=error.to_result())
        return self._permit(Admission(call, place, tool), tool)

    def _permit(self, wanted: Admission, tool: Tool) -> Admission:
        """A call as it may be made, or the refusal of one that may not."""
        call, place = wanted.call, wanted.place
        decision = self._setup.guard.decide(call.name, call.given, place)
        if decision.verdict == "allow":
            return wanted
        leave = PermissionAnswer("nobody")
        if decision.verdict == "ask":
            leave = self._person.permit(call.name, call.given, decision, self._agent)
        if leave.verdict == "nobody":
            return wanted._replace(refusal=self._deny_call(call, decision.reason))
        if leave.verdict == "always":
            self._setup.guard.remember(decision.suggested, place)
        if leave.verdict != "no":
            return wanted if leave.given is None else self._change(wanted, tool, leave.given)
        text = CALL_REFUSED_INSTEAD_TEXT + leave.words if leave.words else CALL_REFUSED_STOP_TEXT
        return wanted._replace(refusal=CallResult(text, REJECTED_CALL_RECORD, is_error=True))

    def _change(self, wanted: Admission, tool: Tool, given: Object) -> Admission:
        """The same for a call whose input was changed by whoever allowed it: that is no leave for what is denied."""
        try:
            call = wanted.call._replace(given=validate_input(wanted.call.name, tool.schema, given))
        except ToolError as error:
            return wanted._replace(refusal=error.to_result())
        decision = self._setup.guard.decide(call.name, call.given, wanted.place)
        refusal = self._deny_call(call, decision.reason) if decision.verdict == "deny" else None
        return wanted._replace(call=call, refusal=refusal)

    def _deny_call(self, call: PendingCall, reason: str) -> CallResult:
        reason = reason or f"Permission to use {call.name} has been denied."
        self.denials.append(call)
        self._watch(CallDenied(call.id, call.name, call.given, reason, self._agent))
        return CallResult(reason, f"Error: {reason}", is_error=True)

    def _run_side_by_side(
        self, some: list[tuple[PendingCall, Tool, Workspace]], cancel: Cancel, results: dict[str, CallResult]
    ) -> None:
        """Run calls side by side; what came of them is written in their order, which is that of the next request."""
        began = [place.cwd for _, _, place in some]
        for (call, _, place), before, done in zip(some, began, self._outcomes(some, cancel), strict=True):
            if place.cwd != before:  # a command went elsewhere: so do the calls to come
                self._setup.place.cwd = place.cwd
            self._finish_call(call, *done, results)

    def _outcomes(
        self, some: list[tuple[PendingCall, Tool, Workspace]], cancel: Cancel
    ) -> Iterator[tuple[CallResult, float]]:
        if len(some) < 2:
            yield from (self._run_call(call, tool, place, cancel) for call, tool, place in some)
            return
        from concurrent.futures import ThreadPoolExecutor  # brings logging along; most answers have a single call

        with ThreadPoolExecutor(min(len(some), _MAX_PARALLEL_CALLS), "call") as pool:
            yield from pool.map(lambda one: self._run_call(one[0], one[1], one[2], cancel), some)

    def _run_call(self, call: PendingCall, tool: Tool, place: Workspace, cancel: Cancel) -> tuple[CallResult, float]:
        """What came of a call, and the seconds that it took."""
        self._watch(CallStarted(call.id, call.name, call.given, self._agent))
        began = time.monotonic()

        def progress(data: Object) -> None:
            self._record.write_progress(call.id, data)
            self._watch(CallProgress(call.id, data, self._agent))

        try:
            cancel.check()
            result = tool.run(call.given, self._scene(call.id, place, cancel, progress))
        except ToolError as error:
            result = error.to_result()
        except RequestCancelled:
            result = CallResult(CALL_REFUSED_STOP_TEXT, REJECTED_CALL_RECORD, is_error=True)
        except Exception as error:  # noqa: BLE001 - a fault of ours is told to the model, it must not end the session
            result = ToolError(f"{call.name} failed: {type(error).__name__}: {error}").to_result()
        return result, time.monotonic() - began

    def _finish_call(
        self, call: PendingCall, result: CallResult, seconds: float, results: dict[str, CallResult]
    ) -> None:
        results[call.id] = result
        self._record.cwd = self._setup.place.cwd
        self._record.write_result(call.id, result)
        self._watch(CallEnded(call.id, call.name, call.given, result, round(seconds * 1000), self._agent))
