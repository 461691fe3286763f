"""The hooks around a turn: before the prompt is sent, and when the model stops."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from turnlog.agent.conversation import MessageContent
from turnlog.agent.events import HookMessage
from turnlog.agent.hooks.hook_scope import HookOutcome, HookScope
from turnlog.agent.record.line_bodies import extract_content_text
from turnlog.model.cancel import Cancel

DEFAULT_BLOCK_CAP = 8
"""How often in a row hooks may keep a turn from ending."""
BLOCK_CAP_VARIABLE = "CLAUDE_CODE_STOP_HOOK_BLOCK_CAP"


class PromptEnding(NamedTuple):
    """How hooks end a turn before the model is asked."""

    text: str
    kind: str
    """`blocked_by_hook` or `stopped_by_hook`."""
    reason: str

    @property
    def is_kept(self) -> bool:
        """Whether the prompt stays in the conversation."""
        return self.kind == "stopped_by_hook"


def run_hooks_for_prompt(scope: HookScope, content: MessageContent, cancel: Cancel) -> HookOutcome:
    return scope.run_event("UserPromptSubmit", cancel, prompt=extract_content_text(content))


def find_prompt_ending(report: HookOutcome, content: MessageContent) -> PromptEnding | None:
    """Return how hooks end the turn, or None if they let it begin."""
    if report.block_reason is not None:
        prompt = extract_content_text(content)
        text = f"UserPromptSubmit operation blocked by hook:\n{report.block_reason}\n\nOriginal prompt: {prompt}"
        return PromptEnding(text, "blocked_by_hook", report.find_bare_reason())
    if report.stop_reason is not None:
        return PromptEnding(f"Operation stopped by hook: {report.stop_reason}", "stopped_by_hook", report.stop_reason)
    return None


def record_prompt_ending(scope: HookScope, ending: PromptEnding) -> None:
    outcome = {"ending": {"kind": ending.kind, "reason": ending.reason}, "promptKept": ending.is_kept}
    scope.record.write_notice(ending.text, "warning", preventContinuation=True, promptSubmitEnding=outcome)
    told = {"kind": ending.kind, "prompt_kept": ending.is_kept, "reason": ending.reason}
    details: Mapping[str, Any] = {"prevent_continuation": True, "prompt_submit_outcome": told}
    scope.tell(HookMessage(ending.text, "warning", details))


class StopHooks:
    """Asks the hooks of one turn whether it may end."""

    def __init__(self, scope: HookScope, send_text: Callable[[MessageContent], None]) -> None:
        self._scope = scope
        self._send_text = send_text
        """Adds text for the model to the conversation."""
        self._blocks = 0
        self.is_prevented = False
        """Whether a hook ended the turn for good."""

    def note_calls(self) -> None:
        """Note that the model made calls, so that a later block is not in a row with earlier ones."""
        self._blocks = 0

    def may_end(self, last_text: str, cancel: Cancel) -> bool:
        """Run the hooks; return False if the model must go on, with the reason in the conversation."""
        scope, actor = self._scope, self._scope.actor
        event = "SubagentStop" if actor.agent_id else "Stop"
        transcript: dict[str, Any] = {"agent_transcript_path": str(scope.record.path)} if actor.agent_id else {}
        report = scope.run_event(
            event,
            cancel,
            subject=actor.agent_type,
            stop_hook_active=self._blocks > 0,
            **transcript,
            last_assistant_message=last_text,
            background_tasks=[],
            session_crons=[],
        )
        if not report.answers:
            return True
        blocks = [answer.block_reason for answer in report.answers if answer.block_reason is not None]
        for error in blocks if report.stop_reason is None else ():
            text = f"{event} hook feedback:\n{error}"
            scope.record.write_prompt(text, meta=True)
            self._send_text(text)
        rows = [*([report.stop_row] if report.stop_row else []), *report.rows]
        if added := scope.write_rows(rows):
            self._send_text(added)
        scope.record.write_stop_summary(_build_stop_summary(report))
        if report.stop_reason is not None:
            self.is_prevented = True
            return True
        if not blocks and not report.contexts:
            return True
        self._blocks += 1
        return self._is_over_cap()

    def _is_over_cap(self) -> bool:
        value = self._scope.setup.environ.get(BLOCK_CAP_VARIABLE, "")
        cap = int(value) if value.isascii() and value.isdigit() and int(value) > 0 else DEFAULT_BLOCK_CAP
        if self._blocks <= cap:
            return False
        text = (
            f"A hook blocked the turn from ending {self._blocks} consecutive times; the turn ends anyway. Hooks for"
            " Stop and SubagentStop should let it end while stop_hook_active is true;"
            f" {BLOCK_CAP_VARIABLE} raises the limit."
        )
        self._scope.record.write_notice(text, "warning")
        self._scope.tell(HookMessage(text, "warning"))
        return True


def _build_stop_summary(report: HookOutcome) -> dict[str, Any]:
    troubles = [
        (trouble, answer.block_reason is None)
        for answer in report.answers
        if not answer.output.is_timed_out and (trouble := answer.block_reason or answer.error)
    ]
    infos = [
        {"command": answer.hook.label}
        | ({"durationMs": answer.output.milliseconds} if answer.block_reason is None else {})
        for answer in report.answers
    ]
    return {
        "hookCount": len(infos),
        "hookInfos": infos,
        "hookErrors": [trouble for trouble, _ in troubles],
        "failedHookErrorIndexes": [at for at, (_, has_failed) in enumerate(troubles) if has_failed],
        "hookAdditionalContext": report.contexts,
        "preventedContinuation": report.stop_reason is not None,
        "stopReason": report.stop_reason or "",
        "hasOutput": any(one.output.stdout or one.output.stderr or one.is_json for one in report.answers),
        "level": "suggestion",
        "toolUseID": report.call,
    }
