"""The hooks of a session as a whole: its start and end, compaction, sub-agents and notifications."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from turnlog.agent.hooks.hook_rows import HookRow
from turnlog.agent.hooks.hook_scope import HookScope
from turnlog.model.cancel import Cancel
from turnlog.model.failures import ModelError, RequestCancelled


class SessionLifecycle:
    """Runs a session's own hooks; what they add waits until the next prompt, so that a session that is only viewed is
    not changed."""

    def __init__(self, scope: HookScope, set_environment_file: Callable[[Path], None]) -> None:
        self.scope = scope
        self._set_environment_file = set_environment_file
        """Has later commands load the variables that hooks have set."""
        self._waiting: list[HookRow] = []
        self._notifying: list[threading.Thread] = []
        self.is_started = False
        self._is_ended = False

    def start_session(self, source: str) -> None:
        """Run the SessionStart hooks; they may write `export` lines for later commands to CLAUDE_ENV_FILE."""
        self.is_started = True
        scope = self.scope
        if not scope.runner.has_event("SessionStart"):
            return
        path = scope.record.folder / "hook-environment.sh"
        with suppress(OSError):
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        report = scope.run_event(
            "SessionStart", Cancel(), subject=source, variables={"CLAUDE_ENV_FILE": str(path)}, source=source
        )
        self._waiting += report.rows
        if path.is_file():
            self._set_environment_file(path)
        else:
            with suppress(OSError):
                path.parent.rmdir()

    def take_context(self) -> list[dict[str, Any]]:
        """Record what hooks have added since the last prompt, and return it for the model."""
        rows, self._waiting = self._waiting, []
        return self.scope.write_rows(rows)

    def end_session(self, reason: str) -> None:
        """Run the SessionEnd hooks, once."""
        if self._is_ended:
            return
        self._is_ended = True
        with suppress(RequestCancelled):
            self.scope.run_event("SessionEnd", Cancel(), subject=reason, reason=reason)

    def begin_compaction(self, trigger: str, instructions: str, cancel: Cancel) -> str:
        """Run the PreCompact hooks and return the instructions with their additions; raise ModelError on a block."""
        report = self.scope.run_event(
            "PreCompact", cancel, subject=trigger, trigger=trigger, custom_instructions=instructions or None
        )
        if report.block_reason is not None:
            raise ModelError(f"compaction was blocked by a hook: {report.block_reason}")
        return "\n\n".join(text for text in (instructions, *(answer.text for answer in report.answers)) if text)

    def end_compaction(self, trigger: str, summary: str, cancel: Cancel) -> None:
        with suppress(RequestCancelled):
            self.scope.run_event("PostCompact", cancel, subject=trigger, trigger=trigger, compact_summary=summary)
        self.start_session("compact")

    def notify(self, message: str, kind: str) -> None:
        """Run the Notification hooks, without waiting for them."""
        if self.scope.runner.has_event("Notification"):
            self._notifying = [one for one in self._notifying if one.is_alive()]
            thread = threading.Thread(target=self._run_notification, args=(message, kind), daemon=True, name="hook")
            self._notifying.append(thread)
            thread.start()

    def _run_notification(self, message: str, kind: str) -> None:
        self.scope.run_event("Notification", Cancel(), subject=kind, message=message, notification_type=kind)


def start_agent(scope: HookScope, cancel: Cancel, send_blocks: Callable[[list[dict[str, Any]]], None]) -> None:
    """Run the SubagentStart hooks of a sub-agent."""
    report = scope.run_event("SubagentStart", cancel, subject=scope.actor.agent_type)
    blocks = scope.write_rows(report.rows)
    if blocks:
        send_blocks(blocks)
