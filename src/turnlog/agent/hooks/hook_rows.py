"""The entries that record hooks in a session, as the newest client writes them; all clients can read them.

An entry that is `rendered` is also sent to the model, as a reminder.
"""

from __future__ import annotations

from typing import Any, NamedTuple
from uuid import uuid4

from turnlog.agent.hooks.hook_answer import HookAnswer

_CONTEXT_EVENTS = frozenset({"SessionStart", "UserPromptSubmit", "SubagentStart"})
"""Events for which plain output is text for the model."""
_RESULT_EVENTS = frozenset({"PostToolUse", "PostToolUseFailure"})
_JOINED_CONTEXT_EVENTS = frozenset({"SessionStart", "SubagentStart"})
"""Events for which the contexts of all hooks are one entry."""


class HookRow(NamedTuple):
    attachment: dict[str, Any]
    text: str = ""
    """The text for the model, if there is any."""


class HookPlace(NamedTuple):
    """What an event is about, for its entries."""

    event: str
    name: str
    """The event with what it is about, such as `PreToolUse:Bash`."""
    call: str
    """The id of the call, or of the event."""

    def build_row(self, kind: str, text: str = "", **fields: Any) -> HookRow:
        place = {"hookName": self.name, "toolUseID": self.call, "hookEvent": self.event}
        return HookRow({"type": kind, **place, **fields}, text)


def build_rows(answer: HookAnswer, place: HookPlace) -> list[HookRow]:
    """Build the entries about one hook's answer."""
    rows = _build_outcome_rows(answer, place)
    if answer.system_message:
        rows.append(place.build_row("hook_system_message", content=answer.system_message))
    if answer.context and place.event not in _JOINED_CONTEXT_EVENTS:
        call = f"hook-{uuid4()}" if place.event == "UserPromptSubmit" else place.call
        rows.append(build_context_row(place._replace(call=call), [answer.context]))
    return rows


def build_context_row(place: HookPlace, contexts: list[str]) -> HookRow:
    joined = "\n".join(contexts)
    text = f"{place.name} hook additional context: {joined}"
    return place.build_row("hook_additional_context", text, content=contexts)


def build_stop_row(place: HookPlace, reason: str) -> HookRow:
    return place.build_row(
        "hook_stopped_continuation", f"{place.name} hook stopped continuation: {reason}", message=reason
    )


def _build_outcome_rows(answer: HookAnswer, place: HookPlace) -> list[HookRow]:
    output, event = answer.output, place.event
    command: dict[str, Any] = {"command": answer.hook.label}
    if output.is_timed_out:
        limit: dict[str, Any] = {"timedOut": True, "timeoutMs": round((answer.hook.timeout or 0) * 1000)}
        return [place.build_row("hook_cancelled", **command, durationMs=output.milliseconds, **limit)]
    if answer.block_reason is not None:
        return _build_block_rows(answer, place)
    streams = {"stdout": output.stdout, "stderr": output.stderr}
    if answer.error:
        streams["stderr"] = answer.error
        code: dict[str, Any] = {"exitCode": output.exit_code or 1, **command, "durationMs": output.milliseconds}
        return [place.build_row("hook_non_blocking_error", **streams, **code)]
    if answer.request_decision is not None:
        row = {"type": "hook_permission_decision", "decision": answer.request_decision.get("behavior")}
        return [HookRow({**row, "toolUseID": place.call, "hookEvent": event})]
    if event in _CONTEXT_EVENTS and answer.text:
        return [_build_success_row(answer, place, f"{place.name} hook success: {answer.text}")]
    if event == "UserPromptSubmit":
        return []
    is_recorded = bool(output.stdout) and not (answer.is_stopped and event in _RESULT_EVENTS)
    return [_build_success_row(answer, place, "")] if is_recorded else []


def _build_success_row(answer: HookAnswer, place: HookPlace, text: str) -> HookRow:
    output = answer.output
    streams = {"content": answer.text, "stdout": output.stdout, "stderr": output.stderr}
    ended: dict[str, Any] = {
        "exitCode": output.exit_code,
        "command": answer.hook.label,
        "durationMs": output.milliseconds,
    }
    return place.build_row("hook_success", text, **streams, **ended)


def _build_block_rows(answer: HookAnswer, place: HookPlace) -> list[HookRow]:
    """Build the entry about a block, unless the result of the call or a message already says it."""
    reason, command = answer.block_reason or "", answer.hook.label
    if place.event in _RESULT_EVENTS or (place.event in ("Stop", "SubagentStop") and answer.is_json):
        text = f'{place.name} hook blocking error from command: "{command}": {reason}'
        error = {"blockingError": reason, "command": command}
        return [place.build_row("hook_blocking_error", text, blockingError=error)]
    if place.event in ("SessionStart", "SubagentStart"):  # nothing to block
        failed: dict[str, Any] = {"stderr": reason, "stdout": answer.output.stdout, "exitCode": 2, "command": command}
        return [place.build_row("hook_non_blocking_error", **failed)]
    return []
