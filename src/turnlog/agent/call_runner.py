"""Runs the calls in an answer: each is checked, then either run or refused, and recorded.

Calls that change nothing run in parallel; any other call runs on its own, after all earlier calls and before all later
ones. The turn's thread asks for permission in the order of the calls.

Each call runs in the folder in which it was checked: other calls may change the folder in the meantime, and a call that
is allowed in one folder may be harmful in another.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from msgspec.structs import replace

from turnlog.agent.events import CallDenied, CallEnded, CallProgress, CallStarted, TurnEvent
from turnlog.agent.permissions.decision import Decision
from turnlog.agent.permissions.rules import PATH_FIELDS
from turnlog.agent.person import PermissionAnswer, Person
from turnlog.agent.record.line_bodies import build_result_block
from turnlog.agent.record.record import SessionRecord
from turnlog.agent.setup import AgentSetup
from turnlog.agent.tools.call_result import CallFollowUp, CallResult, Object, PinnedPath, ToolError, Workspace
from turnlog.agent.tools.input_schema import validate_input
from turnlog.agent.tools.seen_files import locate_file
from turnlog.agent.tools.tool import CallContext, Tool
from turnlog.entries.pinned_file import PinnedFile
from turnlog.model.cancel import Cancel
from turnlog.model.failures import RequestCancelled

if TYPE_CHECKING:
    from turnlog.agent.hooks.hook_scope import HookOutcome, HookScope

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
    report: HookOutcome | None = None
    """What the hooks before the call said."""


class CallOutcome(NamedTuple):
    """What came of a call that ran."""

    result: CallResult
    seconds: float
    report: HookOutcome | None = None
    """What the hooks after the call said."""


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
        follow_ups: dict[str, CallFollowUp] | None = None,
    ) -> None:
        self._setup = setup
        self._record = record
        self._person = person
        self._watch = watch
        self._build_context = build_context
        self._agent = agent
        self.denials: list[PendingCall] = []
        """Calls that were denied."""
        self.hooks: HookScope | None = None
        self.follow_ups = {} if follow_ups is None else follow_ups
        """What follows the result of a call, by the call's id."""
        self.stop_reason: str | None = None
        """Why a hook stopped the turn, or None."""
        self._contexts: list[Object] = []
        """What hooks have added for the model."""

    def run_calls(self, calls: Sequence[PendingCall], tools: Mapping[str, Tool], cancel: Cancel) -> list[Object]:
        """Run the calls of one answer and return their results as blocks, in the order of the calls.

        Raises TurnHalted, once every call has a result, if the person stopped the turn or refused a call without giving
        instructions.
        """
        results: dict[str, CallResult] = {}
        waiting: list[Admission] = []
        self.stop_reason, self._contexts = None, []

        def is_over() -> bool:
            return cancel.is_set or any(result.content == CALL_REFUSED_STOP_TEXT for result in results.values())

        for requested in calls:
            admission = self._admit(requested, tools, is_over(), cancel)
            tool, refusal = admission.tool, admission.refusal
            if refusal is None and tool is not None and tool.is_safe(admission.call.arguments):
                waiting.append(admission)
                continue
            self._run_in_parallel(waiting, cancel, results)
            waiting = []
            if refusal is not None:
                self._finish_call(admission, CallOutcome(refusal, 0), results)
            elif tool is not None:
                self._run_in_parallel([admission], cancel, results)
        self._run_in_parallel(waiting, cancel, results)
        blocks: list[Object] = [build_result_block(call.id, results[call.id]) for call in calls]
        blocks += self._contexts  # behind the results, which must come first
        if is_over():
            raise TurnHalted(blocks)
        return blocks

    def _admit(self, call: PendingCall, tools: Mapping[str, Tool], is_over: bool, cancel: Cancel) -> Admission:
        """Check a call and its input, run the hooks before it, and decide whether it may run."""
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
            call = call._replace(arguments=_check_input(call.name, tool, call.arguments))
            _pin_file(call, place)
        except ToolError as error:
            return Admission(call, place, refusal=error.to_result())
        admission = Admission(call, place, tool)
        if self.hooks is None:
            return self._permit(admission, tool, self._setup.guard.decide(call.name, call.arguments, place))
        try:
            return self._permit_with_hooks(admission, tool, self.hooks, cancel)
        except RequestCancelled:
            refusal = CallResult(CALL_REFUSED_STOP_TEXT, REJECTED_CALL_RECORD, is_error=True)
            return Admission(call, place, refusal=refusal)

    def _permit_with_hooks(self, admission: Admission, tool: Tool, hooks: HookScope, cancel: Cancel) -> Admission:
        """Run the hooks before a call and, if it still needs permission, those that may answer for the person."""
        from turnlog.agent.hooks import call_hooks

        report = call_hooks.run_hooks_before_call(hooks, call_hooks.CallFacts(*admission.call), cancel)
        self._contexts += hooks.write_rows(report.rows)
        admission = admission._replace(report=report)
        if report.block_reason is not None:
            return admission._replace(refusal=self._deny_call(admission.call, report.block_reason))
        if report.updated_input is not None:
            admission = self._replace_input(admission, tool, report.updated_input)
            if admission.refusal is not None:
                return admission
        facts = call_hooks.CallFacts(*admission.call)
        decision = call_hooks.decide_with_hooks(report, self._setup.guard, facts, admission.place)
        if decision.verdict != "ask" or report.verdict == "ask":
            return self._permit(admission, tool, decision)
        asked = call_hooks.run_hooks_for_permission(hooks, facts, decision, cancel)
        self._contexts += hooks.write_rows(asked.rows)
        answer = asked.request_decision
        if answer is None:
            return self._permit(admission, tool, decision)
        if answer.get("behavior") == "deny":
            reason = str(answer.get("message") or "Permission was denied by a hook.")
            refusal = self._deny_call(admission.call, reason)
            if answer.get("interrupt") is True:
                refusal = CallResult(CALL_REFUSED_STOP_TEXT, REJECTED_CALL_RECORD, is_error=True)
            return admission._replace(refusal=refusal)
        changed = answer.get("updatedInput")
        return self._replace_input(admission, tool, changed) if isinstance(changed, Mapping) else admission

    def _permit(self, admission: Admission, tool: Tool, decision: Decision) -> Admission:
        """Return the admission unchanged if the call may run, otherwise with a refusal."""
        call, place = admission.call, admission.place
        if decision.verdict == "allow":
            return admission
        answer = PermissionAnswer("nobody")
        if decision.verdict == "ask":
            answer = self._person.permit(call.name, call.arguments, decision._replace(call=call.id), self._agent)
        if answer.verdict == "nobody":
            return admission._replace(refusal=self._deny_call(call, decision.reason))
        if answer.verdict == "denied":
            return admission._replace(refusal=self._deny_call(call, answer.words, by_program=True))
        if answer.verdict == "session":
            self._setup.guard.allow_until_exit(decision.suggested, place)
        if answer.verdict == "always":
            self._setup.guard.remember(decision.suggested, place)
        if answer.verdict != "no":
            return admission if answer.arguments is None else self._replace_input(admission, tool, answer.arguments)
        text = CALL_REFUSED_INSTEAD_TEXT + answer.words if answer.words else CALL_REFUSED_STOP_TEXT
        return admission._replace(refusal=CallResult(text, REJECTED_CALL_RECORD, is_error=True))

    def _replace_input(self, admission: Admission, tool: Tool, arguments: Object) -> Admission:
        """Check a call again after the person changed its input: their permission does not override deny rules."""
        try:
            call = admission.call._replace(arguments=_check_input(admission.call.name, tool, arguments))
            _pin_file(call, admission.place)
        except ToolError as error:
            return admission._replace(refusal=error.to_result())
        decision = self._setup.guard.decide(call.name, call.arguments, admission.place)
        refusal = self._deny_call(call, decision.reason) if decision.verdict == "deny" else None
        return admission._replace(call=call, refusal=refusal)

    def _deny_call(self, call: PendingCall, reason: str, *, by_program: bool = False) -> CallResult:
        reason = reason or f"Permission to use {call.name} has been denied."
        self.denials.append(call)
        self._watch(CallDenied(call.id, call.name, call.arguments, reason, self._agent, by_program))
        return CallResult(reason, f"Error: {reason}", is_error=True)

    def _run_in_parallel(self, admitted: list[Admission], cancel: Cancel, results: dict[str, CallResult]) -> None:
        """Run calls in parallel and record the results in call order, which is also their order in the next request."""
        folders = [admission.place.cwd for admission in admitted]
        for admission, before, outcome in zip(admitted, folders, self._iterate_outcomes(admitted, cancel), strict=True):
            if admission.place.cwd != before:  # a command changed the folder, also for later calls
                self._setup.place.cwd = admission.place.cwd
            self._finish_call(admission, outcome, results)

    def _iterate_outcomes(self, admitted: list[Admission], cancel: Cancel) -> Iterator[CallOutcome]:
        if len(admitted) < 2:
            yield from (self._run_admitted(admission, cancel) for admission in admitted)
            return
        from concurrent.futures import ThreadPoolExecutor  # imports logging; most answers have a single call

        with ThreadPoolExecutor(min(len(admitted), _MAX_PARALLEL_CALLS), "call") as pool:
            yield from pool.map(lambda admission: self._run_admitted(admission, cancel), admitted)

    def _run_admitted(self, admission: Admission, cancel: Cancel) -> CallOutcome:
        """Run a call and the hooks after it."""
        assert admission.tool is not None
        result, seconds = self._run_call(admission.call, admission.tool, admission.place, cancel)
        if self.hooks is None or result.content == CALL_REFUSED_STOP_TEXT:
            return CallOutcome(result, seconds)
        from turnlog.agent.hooks.call_hooks import CallFacts, run_hooks_after_call

        try:
            report = run_hooks_after_call(self.hooks, CallFacts(*admission.call), result, round(seconds * 1000), cancel)
        except RequestCancelled:  # the call is done; the turn ends as soon as its result is recorded
            return CallOutcome(result, seconds)
        if report.updated_output is not None and not result.is_error:
            result = _build_replaced_result(report.updated_output)
        return CallOutcome(result, seconds, report)

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

    def _finish_call(self, admission: Admission, outcome: CallOutcome, results: dict[str, CallResult]) -> None:
        call, result = admission.call, outcome.result
        results[call.id] = result
        _release_file(admission.place)
        self._record.cwd = self._setup.place.cwd
        self._record.write_result(call.id, result)
        self._watch(CallEnded(call.id, call.name, call.arguments, result, round(outcome.seconds * 1000), self._agent))
        if follow_up := self.follow_ups.pop(call.id, None):
            block = {"type": "text", "text": follow_up.text}
            self._record.write_prompt([block], meta=True, turnCompanion=True, sourceToolUseID=call.id)
            self._record.write_attachment(follow_up.attachment)
            self._contexts.append(block)
        for report in (admission.report, outcome.report):
            if report is not None and self.hooks is not None:
                later = [] if report is admission.report else report.rows
                rows = [*later, *([report.stop_row] if report.stop_row else [])]
                self._contexts += self.hooks.write_rows(rows)
                self.stop_reason = self.stop_reason or report.stop_reason


def _pin_file(call: PendingCall, place: Workspace) -> None:
    """Hold the file that a call names, so that the call changes or reads the one that its permission is about.

    If the call got another input that names the same file, it stays the one that the question was about.
    """
    name = call.arguments.get(PATH_FIELDS.get(call.name, ""))
    if place.pinned is not None and place.pinned.name == name:
        return
    _release_file(place)
    if isinstance(name, str) and name:
        place.pinned = PinnedPath(name, PinnedFile(locate_file(name, place)))


def _release_file(place: Workspace) -> None:
    if place.pinned is not None:
        place.pinned.file.close()
        place.pinned = None


def _check_input(name: str, tool: Tool, arguments: Object) -> Object:
    """Return the input with the types of the schema; raise ToolError if it does not match.

    MCP servers and StructuredOutput check their input themselves: their schemas may use anything that JSON schemas
    offer.
    """
    if name.startswith("mcp__") or name == "StructuredOutput":
        return arguments
    return validate_input(name, tool.schema, arguments)


def _build_replaced_result(output: Any) -> CallResult:
    """Return a result with the output that a hook has put in place of the tool's."""
    if isinstance(output, str):
        return CallResult(output, output)
    if isinstance(output, list) and all(isinstance(block, Mapping) and "type" in block for block in output):
        return CallResult(output, output)
    from turnlog.entries.patch import encode_json_line

    return CallResult(encode_json_line(output).decode(), output)
