"""The start of a turn: the prompt with the command that it names, the files that it mentions, and what hooks add."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from turnlog.agent.actor import Actor
from turnlog.agent.conversation import MessageContent
from turnlog.agent.events import TurnEnded
from turnlog.agent.record.line_bodies import extract_content_text, format_command_output
from turnlog.agent.tools.call_result import ToolError
from turnlog.model.cancel import Cancel
from turnlog.model.failures import RequestCancelled

if TYPE_CHECKING:
    from turnlog.agent.commands.prepared_prompt import PreparedPrompt, PromptHost
    from turnlog.agent.hooks.hook_scope import HookScope
    from turnlog.agent.tools.command_file import CommandFile


class TurnStart:
    """Starts the turns of one actor."""

    def __init__(self, actor: Actor, host: PromptHost) -> None:
        self._actor = actor
        self._host = host

    def begin_turn(
        self, content: MessageContent, cancel: Cancel, fields: Mapping[str, Any], typed_text: str | None = None
    ) -> TurnEnded | None:
        """Write a prompt; return how the turn ends if hooks end it, or None if it begins.

        Only `typed_text`, by default the whole prompt, can mention files and name a command."""
        typed_text = extract_content_text(content) if typed_text is None else typed_text
        if self._actor.hooks is not None:
            return self._begin_with_hooks(self._actor.hooks, content, cancel, fields, typed_text)
        return self._write_prepared_prompt(content, cancel, fields, typed_text)

    def begin_notice_turn(self, notice: str) -> None:
        """Write the notice of a background task as a prompt, in the frame that tells it from the person's words."""
        from turnlog.session.resume.frames import frame_entry

        origin = {"origin": {"kind": "task-notification", "producer": "session-task"}}
        record = self._actor.record
        record.write_queue_operation("enqueue", notice)
        record.write_queue_operation("dequeue")
        self._write_prompt(notice, {**origin, "promptSource": "system", "turnOrigin": "task_notification"})
        self._actor.conversation.add_user_content(frame_entry([{"type": "text", "text": notice}], origin))

    def _write_prepared_prompt(
        self, content: MessageContent, cancel: Cancel, fields: Mapping[str, Any], typed_text: str
    ) -> TurnEnded | None:
        """Write a prompt with the text of the command that it names and the files that it mentions.

        A command that runs in a sub-agent of its own is the whole turn; return how it ended.
        """
        if "@" not in typed_text and not (self._actor.setup.commands and typed_text.startswith("/")):
            self._write_prompt(content, fields)
            self._actor.conversation.add_user_content(content)
            return None
        from turnlog.agent.commands.prepared_prompt import prepare_prompt  # most prompts need no preparation

        is_typed = fields.get("typed", True)
        prepared = prepare_prompt(self._host, content, cancel, is_typed=is_typed, typed_text=typed_text)
        self._write_prompt(prepared.content, fields)
        if prepared.command is not None and prepared.command.is_forked:
            return self._run_forked_command(prepared, prepared.command, cancel)
        if prepared.expansion:
            self._actor.record.write_prompt(
                [{"type": "text", "text": prepared.expansion}], meta=True, turnCompanion=True
            )
        for file in prepared.attachments:
            self._actor.record.write_attached_file(file.attachment, file.texts)
        if prepared.command is not None:
            self._actor.record.write_attachment(self._actor.effects.apply_command(prepared.command))
        self._actor.conversation.add_user_content(prepared.message)
        return None

    def _run_forked_command(self, prepared: PreparedPrompt, command: CommandFile, cancel: Cancel) -> TurnEnded:
        began = time.monotonic()
        try:
            reason, report = "command_ended", self._host.run_forked_command(command, prepared.expansion, cancel)
        except ToolError as error:
            reason, report = "error", f"/{command.name}: {error}"
        except RequestCancelled:
            reason, report = "interrupted", ""
        output = format_command_output(report or reason)
        self._actor.record.write_prompt(output, meta=True)
        for text in (prepared.content, output):
            self._actor.conversation.add_user_content(text)
        ended = TurnEnded(reason, report, round((time.monotonic() - began) * 1000), 0)
        self._actor.tell(ended)
        return ended

    def _write_prompt(self, content: MessageContent, fields: Mapping[str, Any]) -> None:
        prompt = self._actor.record.write_prompt(content, **fields)
        if self._actor.agent is None and self._actor.shared.history is not None:
            self._actor.shared.history.begin_turn(prompt)

    def _begin_with_hooks(
        self, hooks: HookScope, content: MessageContent, cancel: Cancel, fields: Mapping[str, Any], typed_text: str
    ) -> TurnEnded | None:
        """Write a prompt with what hooks add to it; return how hooks end the turn, or None if it begins."""
        from turnlog.agent.hooks import turn_hooks

        if self._actor.lifecycle is not None:
            if not self._actor.lifecycle.is_started:  # a program has defined hooks since the session began
                self._actor.lifecycle.start_session("resume" if self._actor.record.path.exists() else "startup")
            self._actor.conversation.add_user_content(self._actor.lifecycle.take_context())
        self._actor.record.announce_prompt()
        try:
            report = turn_hooks.run_hooks_for_prompt(hooks, content, cancel)
        except RequestCancelled:
            ended = TurnEnded("interrupted", "", 0, 0)
            self._actor.tell(ended)
            return ended
        ending = turn_hooks.find_prompt_ending(report, content)
        command_end = None
        if ending is None or ending.is_kept:
            command_end = self._write_prepared_prompt(content, cancel, fields, typed_text)
        if ending is None:
            self._actor.conversation.add_user_content(hooks.write_rows(report.rows))
            return command_end
        if ending.is_kept:
            self._actor.record.write_prompt(ending.text, meta=True)
            self._actor.conversation.add_user_content(ending.text)
        turn_hooks.record_prompt_ending(hooks, ending)
        ended = TurnEnded("prompt_blocked", ending.text, 0, 0)
        self._actor.tell(ended)
        return ended
