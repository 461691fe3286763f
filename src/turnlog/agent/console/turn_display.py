"""Shows a turn to a person: the model's text as it streams in, and each call with its result."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from turnlog.agent.call_runner import REJECTED_CALL_RECORD
from turnlog.agent.console.activity_line import ActivityLine
from turnlog.agent.console.screen import ConsoleScreen
from turnlog.agent.events import (
    AnswerStreamed,
    CallEnded,
    CallStarted,
    ConversationCompacted,
    EntryWritten,
    HookMessage,
    TurnEnded,
    TurnEvent,
    WarningIssued,
)
from turnlog.agent.record.line_bodies import extract_content_text
from turnlog.agent.tools.task_events import TaskStarted
from turnlog.model.events import BlockStarted, RetryStarted, TextPart
from turnlog.render.call_results import ResultView, render_call_result
from turnlog.render.call_titles import build_call_title
from turnlog.render.figures import format_thousands
from turnlog.render.terminal import TerminalScreen as Look
from turnlog.render.terminal import make_visible, to_visible_line, to_visible_lines

Object = Mapping[str, Any]

_MAX_LINE_CHARS = 400
_ASKING_TOOLS = frozenset({"AskUserQuestion", "ExitPlanMode"})
"""Tools that are not shown as calls, since the person sees their questions."""
_SUMMARY_PATTERN = re.compile("<summary>(.*?)</summary>", re.DOTALL)


class TurnDisplay:
    def __init__(self, screen: ConsoleScreen, cwd: str = "") -> None:
        self.activity = ActivityLine()
        self._screen = screen
        self._cwd = cwd
        self._call = ""
        """The call whose line is the last on the screen."""
        self._agents: dict[str, str] = {}
        """The tasks of running sub-agents, by call id."""
        self._noticed: set[str] = set()
        """Notices of finished background commands that have already been shown."""
        self._background: set[str] = set()
        """The calls whose sub-agents run in the background."""
        self._approved: list[tuple[str, Object]] = []
        """The changes of files that the person saw when they approved them; each is a tool and its input."""

    @property
    def _look(self) -> Look:
        return self._screen.look

    def watch(self, event: TurnEvent) -> None:
        if isinstance(event, TaskStarted) and event.is_background:
            self._background.add(event.call)
        elif getattr(event, "agent", None) in self._background:
            return  # a person may be typing; what the sub-agent reports is shown when it ends
        self.activity.watch(event, self._cwd)
        if isinstance(event, AnswerStreamed):
            self._show_streamed(event)
        elif isinstance(event, CallStarted):
            self._show_call_start(event)
        elif isinstance(event, CallEnded):
            self._show_call_end(event)
        elif isinstance(event, EntryWritten):
            self._follow_folder(event.entry)
            self._show_background_ends(event.entry)
        elif isinstance(event, ConversationCompacted):
            self._show_note(_describe_compaction(event), "cyan")
        elif isinstance(event, WarningIssued):
            self._show_note(to_visible_line(event.text[:_MAX_LINE_CHARS]), "yellow")
        elif isinstance(event, HookMessage):
            self._show_note(
                to_visible_line(event.text[:_MAX_LINE_CHARS]), "yellow" if event.level == "warning" else "dim"
            )
        elif isinstance(event, TurnEnded):
            self._show_turn_end(event)

    def _show_streamed(self, streamed: AnswerStreamed) -> None:
        if streamed.agent is not None:
            return
        event = streamed.event
        if isinstance(event, TextPart):
            self._call = ""
            self._screen.start_part("text")
            self._screen.write_text_part(event.text)
        elif isinstance(event, BlockStarted):
            self._screen.begin_text()
            if event.block.get("type") in ("thinking", "redacted_thinking"):
                self._show_note("thinking", "dim")
        elif isinstance(event, RetryStarted):
            self._screen.finish_line()

    def _show_call_start(self, event: CallStarted) -> None:
        if event.name in _ASKING_TOOLS:
            return
        if event.name == "Task":
            self._agents[event.call] = make_visible(build_call_title(event.name, event.arguments, self._cwd))
        self._call = event.call
        self._screen.start_part("calls")
        self._screen.write_lines(self._render_call_head(event))

    def _render_call_head(self, event: CallStarted | CallEnded) -> str:
        look, name = self._look, make_visible(event.name)
        title = make_visible(build_call_title(event.name, event.arguments, self._cwd))
        if event.agent is None:
            return f"● {look.paint(name, 'bold')} {look.fit(title, len(name) + 4)}"
        whose = f"{self._agents.get(event.agent, '')} · " if len(self._agents) > 1 else ""
        return f"  ┆ {look.paint(look.fit(f'{whose}{name} {title}', 5), 'dim')}"

    def _show_call_end(self, event: CallEnded) -> None:
        self._agents.pop(event.call, None)
        if (event.agent is not None or event.name in _ASKING_TOOLS) and not event.result.is_error:
            return
        self._screen.start_part("calls")
        if self._call != event.call:
            self._screen.write_lines(self._render_call_head(event))
        self._call = ""
        view = _to_result_view(event, is_diff_shown=self._take_approved(event))
        self._screen.write_lines(*(f"  {text}" for text in render_call_result(view, self._look)))

    def note_approved_change(self, name: str, arguments: Object) -> None:
        """Remember a change that the person saw when they approved it, so that its result does not repeat it."""
        self._approved.append((name, arguments))

    def _take_approved(self, event: CallEnded) -> bool:
        """Return whether the person has just approved a call and seen what it changes."""
        call = (event.name, event.arguments)
        if is_approved := call in self._approved:
            self._approved.remove(call)
        return is_approved

    def _follow_folder(self, entry: Object) -> None:
        """Adopt the working folder recorded in an entry, since a command may have changed it."""
        if isinstance(cwd := entry.get("cwd"), str):
            self._cwd = cwd

    def _show_background_ends(self, entry: Object) -> None:
        """Show the message that informs the model that a background command has finished."""
        message = entry.get("message")
        content = message.get("content") if isinstance(message, Mapping) and entry.get("isMeta") else None
        if isinstance(content, str) and content.startswith("<task-notification>"):
            self.show_notice(content)

    def show_notice(self, text: str) -> None:
        """Show once that a background command has finished."""
        if text not in self._noticed:
            self._noticed.add(text)
            found = _SUMMARY_PATTERN.search(text)
            self._show_note(
                to_visible_line(found[1][:_MAX_LINE_CHARS]) if found else "a background command has finished",
                "cyan",
            )

    def _show_turn_end(self, event: TurnEnded) -> None:
        self._approved.clear()
        self._screen.finish_line()
        if event.reason == "interrupted":
            self._show_note("interrupted; type what to do instead", "yellow")
        elif event.reason == "command_ended":
            self._screen.start_part("text")
            self._screen.write_prose(*to_visible_lines(event.text))
        elif event.reason == "prompt_blocked" or event.is_failure:
            self._show_note(to_visible_line(event.text[:_MAX_LINE_CHARS]), "red")

    def _show_note(self, text: str, style: str) -> None:
        self._screen.write_prose(f"· {text}", style=style)


def _to_result_view(event: CallEnded, *, is_diff_shown: bool) -> ResultView:
    result = event.result
    return ResultView(
        event.name,
        event.arguments,
        extract_content_text(result.content),
        result.structured,
        result.is_error,
        result.structured == REJECTED_CALL_RECORD,
        event.milliseconds,
        is_diff_shown,
    )


def _describe_compaction(event: ConversationCompacted) -> str:
    if event.trigger == "micro":
        return f"old tool results are no longer sent (the context had {format_thousands(event.before)} tokens)"
    return (
        f"a summary replaced the conversation (it had {format_thousands(event.before)} tokens); "
        f"the file keeps all of it"
    )
