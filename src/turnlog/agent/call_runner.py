"""Runs the calls in an answer: each is checked, then either run or refused, and recorded.

Calls that change nothing run in parallel; any other call runs on its own, after all earlier calls and before all later
ones. The turn's thread asks for permission in the order of the calls.

Each call runs in the folder in which it was checked: other calls may change the folder in the meantime, and a call that
is allowed in one folder may be harmful in another.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

from msgspec.structs import replace

from turnlog.agent.events import CallDenied, CallEnded, CallProgress, CallStarted, TurnEvent
from turnlog.agent.person import PermissionAnswer, Person
from turnlog.agent.record.line_bodies import build_result_block
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
"""The recorded result of a call that a person refused."""
_MAX_PARALLEL_CALLS = 10


class PendingCall(NamedTuple):
    id: str
    name: str
    arguments: Object


class Admission(NamedTuple):
    """A checked call: either its refusal, or its tool and the folder to run it in."""

    call: PendingCall
    place: Workspace
    tool: Tool | None = None
    refusal: CallResult | None = None


class TurnHalted(Exception):
    """Raised when the person ends the turn; by then, every call has a result."""

    def __init__(self, results: Sequence[Object]) -> None:
        super().__init__("halted")
        self.results = results


class CallRunner:
    """Runs the calls of one actor."""

    def __init__(
        self,
        setup: AgentSetup,
        record: SessionRecord,
        person: Person,
        watch: Callable[[TurnEvent], None],
        build_context: Callable[[str, Workspace, Cancel, Callable[[Object], None]], CallContext],
        agent: str | None = None,
    ) -> None:
        self._setup = setup
        self._record = record
        self._person = person
        self._watch = watch
        self._build_context = build_context
        self._agent = agent
        self.denials: list[PendingCall] = []
        """Calls that were denied."""

    def run_calls(self, calls: Sequence[PendingCall], tools: Mapping[str, Tool], cancel: Cancel) -> list[Object]:
        """Run the calls of one answer and return their results as blocks, in the order of the calls.

        Raises TurnHalted, once every call has a result, if the person stopped the turn or refused a call without giving
        instructions.
        """
        results: dict[str, CallResult] = {}
        waiting: list[tuple[PendingCall, Tool, Workspace]] = []

        def is_over() -> bool:
            return cancel.is_set or any(result.content == CALL_REFUSED_STOP_TEXT for result in results.values())

        for requested in calls:
            call, place, tool, refusal = self._admit(requested, tools, is_over())
            if refusal is None and tool is not None and tool.is_safe(call.arguments):
                waiting.append((call, tool, place))
                continue
            self._run_in_parallel(waiting, cancel, results)
            waiting = []
            if refusal is not None:
                self._finish_call(call, refusal, 0, results)
            elif tool is not None:
                self._run_in_parallel([(call, tool, place)], cancel, results)
        self._run_in_parallel(waiting, cancel, results)
        blocks: list[Object] = [build_result_block(call.id, results[call.id]) for call in calls]
        if is_over():
            raise TurnHalted(blocks)
        return blocks

    def _admit(self, call: PendingCall, tools: Mapping[str, Tool], is_over: bool) -> Admission:
        """Check a call and its input, and decide whether it may run."""
        place = replace(self._setup.place)
        if is_over:
            return Admission(
                call, place, refusal=CallResult(CALL_REFUSED_STOP_TEXT, REJECTED_CALL_RECORD, is_error=True)
            )
        tool = tools.get(call.name)
        if tool is None:
            message = f"Error: No such tool available: {call.name}"
            unknown = CallResult(f"<tool_use_error>{message}</tool_use_error>", message, is_error=True)
            return Admission(call, place, refusal=unknown)
        try:
            call = call._replace(arguments=validate_input(call.name, tool.schema, call.arguments))
        except ToolError as error:
            return Admission(call, place, refusal=error.to_result())
        return self._permit(Admission(call, place, tool), tool)

    def _permit(self, admission: Admission, tool: Tool) -> Admission:
        """Return the admission unchanged if the call may run, otherwise with a refusal."""
        call, place = admission.call, admission.place
        decision = self._setup.guard.decide(call.name, call.arguments, place)
        if decision.verdict == "allow":
            return admission
        answer = PermissionAnswer("nobody")
        if decision.verdict == "ask":
            answer = self._person.permit(call.name, call.arguments, decision, self._agent)
        if answer.verdict == "nobody":
            return admission._replace(refusal=self._deny_call(call, decision.reason))
        if answer.verdict == "always":
            self._setup.guard.remember(decision.suggested, place)
        if answer.verdict != "no":
            return admission if answer.arguments is None else self._replace_input(admission, tool, answer.arguments)
        text = CALL_REFUSED_INSTEAD_TEXT + answer.words if answer.words else CALL_REFUSED_STOP_TEXT
        return admission._replace(refusal=CallResult(text, REJECTED_CALL_RECORD, is_error=True))

    def _replace_input(self, admission: Admission, tool: Tool, arguments: Object) -> Admission:
        """Check a call again after the person changed its input: their permission does not override deny rules."""
        try:
            call = admission.call._replace(arguments=validate_input(admission.call.name, tool.schema, arguments))
        except ToolError as error:
            return admission._replace(refusal=error.to_result())
        decision = self._setup.guard.decide(call.name, call.arguments, admission.place)
        refusal = self._deny_call(call, decision.reason) if decision.verdict == "deny" else None
        return admission._replace(call=call, refusal=refusal)

    def _deny_call(self, call: PendingCall, reason: str) -> CallResult:
        reason = reason or f"Permission to use {call.name} has been denied."
        self.denials.append(call)
        self._watch(CallDenied(call.id, call.name, call.arguments, reason, self._agent))
        return CallResult(reason, f"Error: {reason}", is_error=True)

    def _run_in_parallel(
        self, admitted: list[tuple[PendingCall, Tool, Workspace]], cancel: Cancel, results: dict[str, CallResult]
    ) -> None:
        """Run calls in parallel and record the results in call order, which is also their order in the next request."""
        folders = [place.cwd for _, _, place in admitted]
        for (call, _, place), before, outcome in zip(
            admitted, folders, self._iterate_outcomes(admitted, cancel), strict=True
        ):
            if place.cwd != before:  # a command changed the folder, also for later calls
                self._setup.place.cwd = place.cwd
            self._finish_call(call, *outcome, results)

    def _iterate_outcomes(
        self, admitted: list[tuple[PendingCall, Tool, Workspace]], cancel: Cancel
    ) -> Iterator[tuple[CallResult, float]]:
        if len(admitted) < 2:
            yield from (self._run_call(call, tool, place, cancel) for call, tool, place in admitted)
            return
        from concurrent.futures import ThreadPoolExecutor  # imports logging; most answers have a single call

        with ThreadPoolExecutor(min(len(admitted), _MAX_PARALLEL_CALLS), "call") as pool:
            yield from pool.map(lambda one: self._run_call(one[0], one[1], one[2], cancel), admitted)

    def _run_call(self, call: PendingCall, tool: Tool, place: Workspace, cancel: Cancel) -> tuple[CallResult, float]:
        """Run a call and return its result and duration in seconds."""
        self._watch(CallStarted(call.id, call.name, call.arguments, self._agent))
        began = time.monotonic()

        def progress(data: Object) -> None:
            self._record.write_progress(call.id, data)
            self._watch(CallProgress(call.id, data, self._agent))

        try:
            cancel.check()
            result = tool.run(call.arguments, self._build_context(call.id, place, cancel, progress))
        except ToolError as error:
            result = error.to_result()
        except RequestCancelled:
            result = CallResult(CALL_REFUSED_STOP_TEXT, REJECTED_CALL_RECORD, is_error=True)
        except Exception as error:  # noqa: BLE001 - a bug of ours is reported to the model and must not end the session
            result = ToolError(f"{call.name} failed: {type(error).__name__}: {error}").to_result()
        return result, time.monotonic() - began

    def _finish_call(
        self, call: PendingCall, result: CallResult, seconds: float, results: dict[str, CallResult]
    ) -> None:
        results[call.id] = result
        self._record.cwd = self._setup.place.cwd
        self._record.write_result(call.id, result)
        self._watch(CallEnded(call.id, call.name, call.arguments, result, round(seconds * 1000), self._agent))
