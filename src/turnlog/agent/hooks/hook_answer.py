"""What a hook answers: its exit status and its output, as Claude Code reads them.

exit 0   the output is JSON if it is an object, otherwise text
exit 2   blocks; the reason is on standard error
other    an error that blocks nothing
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import msgspec
from msgspec import Struct

from turnlog.agent.hooks.hook_definitions import HookDefinition
from turnlog.agent.hooks.hook_process import HookOutput

Object = Mapping[str, Any]
HookVerdict = Literal["allow", "ask", "deny"]
BLOCKING_EXIT_CODE = 2
_TEXT_FIELDS = ("stopReason", "reason", "systemMessage")
_DECISION_TYPES: Mapping[str, type] = {"updatedInput": Mapping, "message": str, "interrupt": bool}


class HookAnswer(Struct):
    """The meaning of one hook's output."""

    hook: HookDefinition
    output: HookOutput
    error: str = ""
    """Why the hook gave no usable answer; such a hook blocks nothing."""
    is_json: bool = False
    text: str = ""
    """Its output, if that is plain text."""
    block_reason: str | None = None
    verdict: HookVerdict | None = None
    verdict_reason: str = ""
    updated_input: Object | None = None
    updated_output: Any = None
    request_decision: Object | None = None
    """The answer to a PermissionRequest."""
    context: str = ""
    """Text for the model."""
    system_message: str = ""
    """Text for the person."""
    is_stopped: bool = False
    stop_reason: str = ""


def read_hook_answer(hook: HookDefinition, output: HookOutput) -> HookAnswer:
    """Interpret the output of a command."""
    answer = HookAnswer(hook, output)
    if output.is_timed_out:
        answer.error = "timed out"
    elif output.stdout.lstrip().startswith("{") and isinstance(found := _decode_object(output.stdout), dict):
        read_json_answer(answer, found)
        if output.exit_code == BLOCKING_EXIT_CODE and answer.block_reason is None:
            answer.block_reason = _describe_block(hook, output)
    elif output.exit_code == BLOCKING_EXIT_CODE:
        answer.block_reason = _describe_block(hook, output)
    elif output.exit_code:
        answer.error = f"Failed with non-blocking status code: {output.stderr or 'No stderr output'}"
    else:
        answer.text = output.stdout.strip()
    return answer


def _describe_block(hook: HookDefinition, output: HookOutput) -> str:
    return f"[{hook.label}]: {output.stderr or 'No stderr output'}"


def _decode_object(text: str) -> Any:
    try:
        return msgspec.json.decode(text)
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        return None


def read_json_answer(answer: HookAnswer, found: Object) -> None:
    """Interpret an object that a command printed or a callback returned."""
    answer.is_json = True
    answer.error = _find_invalid_field(answer.hook.event, found)
    if answer.error:
        return
    answer.is_stopped, answer.stop_reason = found.get("continue") is False, found.get("stopReason") or ""
    answer.system_message = found.get("systemMessage") or ""
    event, decision, reason = answer.hook.event, found.get("decision"), found.get("reason") or ""
    if decision == "block":
        answer.block_reason = reason or "Blocked by hook"
        answer.verdict = "deny" if event == "PreToolUse" else None
    elif decision == "approve" and event == "PreToolUse":
        answer.verdict, answer.verdict_reason = "allow", reason
    specific = found.get("hookSpecificOutput")
    if isinstance(specific, Mapping):
        _read_specific_output(answer, specific)


def _read_specific_output(answer: HookAnswer, specific: Object) -> None:
    answer.context = str(specific.get("additionalContext") or "")
    if answer.hook.event == "PreToolUse":
        answer.updated_input = specific.get("updatedInput")
        verdict, reason = specific.get("permissionDecision"), str(specific.get("permissionDecisionReason") or "")
        if verdict == "deny":
            answer.verdict, answer.block_reason = "deny", reason or "Blocked by hook"
        elif verdict in ("allow", "ask"):
            answer.verdict, answer.verdict_reason = verdict, reason
        elif verdict == "defer":  # turnlog can't suspend a call, so it is refused rather than run
            answer.verdict, answer.block_reason = "deny", "turnlog can't defer a call; the hook must decide"
    elif answer.hook.event == "PermissionRequest":
        answer.request_decision = specific.get("decision")
    elif answer.hook.event == "PostToolUse":
        answer.updated_output = specific.get("updatedToolOutput", specific.get("updatedMCPToolOutput"))


def _find_invalid_field(event: str, found: Object) -> str:
    """Return why an answer is not valid, or an empty text; an answer that is not valid decides nothing."""
    problem = ""
    if found.get("decision") not in (None, "approve", "block"):
        problem = 'decision: Invalid option: expected one of "approve"|"block"'
    elif "continue" in found and not isinstance(found["continue"], bool):
        problem = "continue: Invalid input: expected boolean"
    elif name := next((name for name in _TEXT_FIELDS if not isinstance(found.get(name, ""), str)), None):
        problem = f"{name}: Invalid input: expected string"
    elif (specific := found.get("hookSpecificOutput")) is not None:
        problem = _find_invalid_output(event, specific)
    return f"Hook JSON output validation failed — {problem}" if problem else ""


def _find_invalid_output(event: str, specific: Any) -> str:
    if not isinstance(specific, Mapping):
        return "hookSpecificOutput: Invalid input: expected object"
    if specific.get("hookEventName") != event:
        return f"hookSpecificOutput.hookEventName: expected {event!r}, but it is {specific.get('hookEventName')!r}"
    if specific.get("permissionDecision") not in (None, "allow", "deny", "ask", "defer"):
        return "hookSpecificOutput.permissionDecision: Invalid option"
    if specific.get("decision") is not None and not isinstance(specific["decision"], Mapping):
        return "hookSpecificOutput.decision: Invalid input: expected object"
    if not isinstance(specific.get("updatedInput", {}), Mapping):  # null, too: the call would run with its own input
        return "hookSpecificOutput.updatedInput: Invalid input: expected object"
    decision = specific.get("decision")
    if event == "PermissionRequest" and decision is not None and decision.get("behavior") not in ("allow", "deny"):
        return "hookSpecificOutput.decision.behavior: Invalid option"
    for name, kind in _DECISION_TYPES.items():
        if decision is not None and name in decision and not isinstance(decision[name], kind):
            return f"hookSpecificOutput.decision.{name}: Invalid input"
    if not isinstance(specific.get("additionalContext", ""), str):
        return "hookSpecificOutput.additionalContext: Invalid input: expected string"
    return ""
