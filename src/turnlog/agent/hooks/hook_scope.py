"""The hooks of one actor: their input, the effect of their answers, and how both are recorded."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple
from uuid import uuid4

from msgspec import Struct

from turnlog.agent.conversation import build_reminder
from turnlog.agent.events import HookEnded, HookMessage, HookStarted, TurnEvent
from turnlog.agent.hooks.hook_answer import HookAnswer, HookVerdict, Object
from turnlog.agent.hooks.hook_definitions import GUARD_EVENTS, TOOL_EVENTS, HookDefinition
from turnlog.agent.hooks.hook_rows import HookPlace, HookRow, build_context_row, build_rows, build_stop_row
from turnlog.agent.hooks.hook_runner import HookRunner
from turnlog.agent.key_shield import build_child_environment
from turnlog.agent.record.chain import ENTRYPOINT
from turnlog.agent.record.record import SessionRecord
from turnlog.agent.setup import AgentSetup
from turnlog.model.cancel import Cancel

_STRICTNESS: tuple[HookVerdict | None, ...] = (None, "allow", "ask", "deny")
_MODELESS_EVENTS = frozenset(
    {"SessionStart", "SessionEnd", "SubagentStart", "PreCompact", "PostCompact", "Notification"}
)
"""Events whose hooks are not told the permission mode."""


class HookOutcome(Struct):
    """What the hooks of one event amount to."""

    call: str = ""
    """The id of the call, or of the event."""
    answers: Sequence[HookAnswer] = ()
    rows: list[HookRow] = []
    stop_row: HookRow | None = None
    """The entry about a hook that stopped the turn, which follows the result of the call."""
    block_reason: str | None = None
    verdict: HookVerdict | None = None
    verdict_reason: str = ""
    updated_input: Object | None = None
    updated_output: Any = None
    request_decision: Object | None = None

    @property
    def contexts(self) -> list[str]:
        """The texts that hooks add for the model."""
        return [answer.context for answer in self.answers if answer.context]

    def find_bare_reason(self) -> str:
        """Return the reason for a block without the name of the command that gave it."""
        answer = next((answer for answer in self.answers if answer.block_reason is not None), None)
        if answer is None:
            return ""
        return answer.output.stderr if not answer.is_json and answer.output.stderr else answer.block_reason or ""

    @property
    def stop_reason(self) -> str | None:
        """Why a hook stopped the turn, or None."""
        stopped = [answer for answer in self.answers if answer.is_stopped]
        return None if not stopped else stopped[0].stop_reason or "Execution stopped by hook"


class HookActor(NamedTuple):
    """Whose hooks run: the session itself, or a sub-agent."""

    agent_id: str = ""
    agent_type: str = ""


class HookScope:
    """Runs the hooks of one actor."""

    def __init__(
        self,
        runner: HookRunner,
        setup: AgentSetup,
        record: SessionRecord,
        tell: Callable[[TurnEvent], None],
        actor: HookActor = HookActor(),  # noqa: B008 - immutable
    ) -> None:
        self.runner = runner
        self.setup = setup
        self.record = record
        self.tell = tell
        self.actor = actor

    def derive_agent_scope(
        self, setup: AgentSetup, record: SessionRecord, tell: Callable[[TurnEvent], None], actor: HookActor
    ) -> HookScope:
        """Return the scope of a sub-agent, which has the same hooks."""
        return HookScope(self.runner, setup, record, tell, actor)

    def run_event(
        self,
        event: str,
        cancel: Cancel,
        *,
        subject: str = "",
        call: str = "",
        variables: Mapping[str, str] | None = None,
        **fields: Any,
    ) -> HookOutcome:
        """Run the hooks of an event; `fields` is their input besides what all hooks receive."""
        if not self.runner.has_event(event):
            return HookOutcome()
        arguments = fields.get("tool_input")

        def fits_condition(condition: str) -> bool:
            return isinstance(arguments, Mapping) and _matches_rule(self.setup, condition, subject, arguments)

        hooks = self.runner.select_hooks(event, subject, fits_condition)
        if not hooks:
            return HookOutcome()
        shown = {"Task": "Agent"}.get(subject, subject) if event in TOOL_EVENTS else subject
        name = f"{event}:{shown}" if shown and event in (*TOOL_EVENTS, "SessionStart") else event
        ids = self._announce_start(hooks, name)
        answers = self.runner.run_hooks(
            hooks,
            {**self._build_common_input(event), **fields},
            cancel,
            environ={**self._build_environment(), **(variables or {})},
            call=call or None,
        )
        self._announce_end(answers, ids, name)
        return self._build_report(answers, HookPlace(event, name, call or str(uuid4())))

    def _build_common_input(self, event: str) -> dict[str, Any]:
        record, actor = self.record, self.actor
        main = record.folder.with_suffix(".jsonl")
        prompt = {"prompt_id": record.prompt_id} if record.prompt_id else {}
        mode = {} if event in _MODELESS_EVENTS else {"permission_mode": self.setup.guard.mode}
        agent = {"agent_id": actor.agent_id, "agent_type": actor.agent_type} if actor.agent_id else {}
        return {
            "session_id": record.session_id,
            "transcript_path": str(main),
            "cwd": str(self.setup.place.cwd),
            **prompt,
            **mode,
            **agent,
            "hook_event_name": event,
        }

    def _build_environment(self) -> dict[str, str]:
        return {
            **build_child_environment(self.setup.environ),
            "CLAUDECODE": "1",
            "CLAUDE_PROJECT_DIR": str(self.setup.config_root),
            "CLAUDE_CODE_SESSION_ID": self.record.session_id,
            "CLAUDE_CODE_ENTRYPOINT": ENTRYPOINT,
            "CLAUDE_PID": str(os.getpid()),
        }

    def _build_report(self, answers: Sequence[HookAnswer], place: HookPlace) -> HookOutcome:
        report = HookOutcome(place.call, answers)
        for answer in answers:
            self._announce(answer, place)
            report.rows += build_rows(answer, place)
            if report.block_reason is None:
                report.block_reason = answer.block_reason
            if _STRICTNESS.index(answer.verdict) > _STRICTNESS.index(report.verdict):
                report.verdict, report.verdict_reason = answer.verdict, answer.verdict_reason
            if answer.updated_input is not None:
                report.updated_input = answer.updated_input
            if answer.updated_output is not None:
                report.updated_output = answer.updated_output
            decision = answer.request_decision
            if decision is not None and (report.request_decision is None or decision.get("behavior") == "deny"):
                report.request_decision = decision
        if place.event in ("SessionStart", "SubagentStart") and report.contexts:
            call = place.event if place.event == "SessionStart" else place.call
            report.rows.append(build_context_row(HookPlace(place.event, place.event, call), report.contexts))
        if report.stop_reason is not None and place.event != "UserPromptSubmit":
            report.stop_row = build_stop_row(place, report.stop_reason)
        return report

    def _announce_start(self, hooks: Sequence[HookDefinition], name: str) -> dict[HookDefinition, str]:
        """Report the hooks that are about to run; return their ids."""
        ids = {hook: str(uuid4()) for hook in hooks if not hook.is_async}
        for hook, key in ids.items():
            self.tell(HookStarted(key, name, hook.event, self.record.session_id))
        return ids

    def _announce_end(self, answers: Sequence[HookAnswer], ids: Mapping[HookDefinition, str], name: str) -> None:
        for answer in answers:
            output, is_failed = answer.output, bool(answer.error or answer.block_reason)
            ran = (output.stdout, output.stderr, output.exit_code, is_failed, self.record.session_id)
            self.tell(HookEnded(ids[answer.hook], name, answer.hook.event, *ran))

    def _announce(self, answer: HookAnswer, place: HookPlace) -> None:
        """Tell the person what a hook says, and that a hook gave no answer."""
        if answer.system_message:
            self.tell(HookMessage(f"{place.name} says: {answer.system_message}", "notice"))
        if answer.error and answer.block_reason is None:
            checked = ", so it did not check this action" if place.event in GUARD_EVENTS else ""
            first = answer.error.strip().splitlines()[0]
            text = f"the {place.name} hook [{answer.hook.label}] gave no usable answer{checked}: {first}"
            self.tell(HookMessage(text, "warning"))

    # -- what the session keeps

    def write_rows(self, rows: Sequence[HookRow]) -> list[dict[str, Any]]:
        """Record entries about hooks, and return those for the model as blocks."""
        blocks = []
        for row in rows:
            is_last = row.attachment["hookEvent"] in ("Stop", "SubagentStop")
            self.record.write_attachment(row.attachment, row.text, is_link=bool(row.text) or not is_last)
            if row.text:
                blocks.append(build_reminder(row.text))
        return blocks


def _matches_rule(setup: AgentSetup, condition: str, tool: str, arguments: Object) -> bool:
    """Return whether a call matches a permission rule; as for deny rules, one matching part is enough."""
    from pathlib import Path

    from turnlog.agent.permissions.guard import SettingsGuard
    from turnlog.agent.settings import Settings, SettingsLayer

    layer = SettingsLayer("flags", "if", {"permissions": {"deny": [condition]}}, setup.place.root)
    guard = SettingsGuard(Settings((layer,)), home=Path.home())
    return guard.is_hidden(tool) or guard.decide(tool, arguments, setup.place).verdict == "deny"
