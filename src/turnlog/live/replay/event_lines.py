"""Draws events as a terminal client shows them: prompts, calls with results, sub-agents, tasks and notes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from turnlog.live.events.event import (
    MAIN_ACTOR,
    AnyEvent,
    CallFinished,
    ContextCompacted,
    ContextFilled,
    ErrorOccurred,
    PlanProposed,
    PromptTyped,
    QuestionAsked,
    SessionStarted,
    TextAnswered,
    Thought,
    TodosChanged,
    ToolCalled,
    TurnFinished,
    TurnInterrupted,
    WorkShipped,
)
from turnlog.live.events.todo_list import TODO_TOOLS
from turnlog.live.replay.replayed_session import Cue, ReplayedSession
from turnlog.render.call_results import render_call_result, render_todo_lines
from turnlog.render.figures import format_duration, format_thousands
from turnlog.render.terminal import TerminalScreen as Look
from turnlog.render.terminal import make_visible, take_first_lines, to_visible_line
from turnlog.session.calls import AGENT_TOOLS

_MAX_PROMPT_LINES = 40
_MAX_LINE_CHARS = 2000
_MAX_NOTE_CHARS = 400
_MAX_LABEL_CELLS = 28
_QUIET_TOOLS = TODO_TOOLS | {"AskUserQuestion", "ExitPlanMode"}
"""Tools whose calls are not shown, because the tasks, the question or the plan is."""
_OUTCOME_STYLES = {"ok": "green", "failed": "red", "rejected": "yellow", "interrupted": "yellow"}


class RunningCall(NamedTuple):
    tool: str
    title: str
    since: float
    """When it started, in seconds of the session."""


class ReplayState:
    """What a session is doing at one point in its replay."""

    def __init__(self, root: str = MAIN_ACTOR) -> None:
        self._root = root
        self.calls: dict[str, RunningCall] = {}
        """The calls without a result, oldest first."""
        self.working_since: float | None = None
        """When the running turn started, in seconds of the session; None if no turn is running."""
        self.context: ContextFilled | None = None
        self.todos: dict[str, str] = {}
        """The status of each task."""

    def add(self, event: AnyEvent, elapsed: float) -> None:
        """Update the state with an event."""
        match event:
            case ContextFilled():
                self.context = event
            case TodosChanged() if event.actor == self._root:
                self.todos = {item.text: item.status for item in event.items}
            case ToolCalled() if event.actor == self._root:
                self.calls[event.call] = RunningCall(event.tool, event.title, elapsed)
            case CallFinished():
                self.calls.pop(event.call, None)
            case ContextCompacted():
                self.context = None
        if event.actor != self._root:
            return
        if isinstance(event, TurnFinished | TurnInterrupted) or (
            isinstance(event, ErrorOccurred) and event.source == "api" and not event.attempt
        ):
            self.working_since = None
            self.calls.clear()
        elif isinstance(event, PromptTyped | ToolCalled | TextAnswered | Thought) and self.working_since is None:
            self.working_since = elapsed

    @property
    def task(self) -> str:
        """The task that is in progress; empty if there is none."""
        return next((text for text, status in self.todos.items() if status == "in_progress"), "")


class EventArtist:
    """Draws the events of a session one by one, as lines."""

    def __init__(self, replay: ReplayedSession, look: Callable[[], Look]) -> None:
        self._replay = replay
        self._get_look = look
        self._last_call = ""
        """The call whose title is the last line."""
        self._titles: dict[str, str] = {}
        """The titles of calls without a result."""
        self._todos: dict[str, str] = {}
        self._turn = 0

    @property
    def _look(self) -> Look:
        return self._get_look()

    def skip_to(self, state: ReplayState, turn: int) -> None:
        """Continue from a different place, given the state and the turn just before it."""
        self._titles = {call: running.title for call, running in state.calls.items()}
        self._todos = dict(state.todos)
        self._last_call, self._turn = "", turn

    def draw_heading(self) -> list[str]:
        """Return the lines above the replay."""
        look, start = self._look, self._replay.start
        facts = [fact for fact in (start.cwd, start.git_branch) if fact] if start is not None else []
        if start is not None and start.version:
            facts.append(f"Claude Code {start.version}")
        lines = [look.paint(f"▶ {look.fit(to_visible_line(self._replay.title), 3)}", "bold")]
        if facts:
            lines.append(look.paint(look.fit(f"  {to_visible_line(' · '.join(facts))}", 1), "dim"))
        return lines

    def draw_cue(self, cue: Cue) -> list[str]:
        """Return the lines of an event, without its streamed text."""
        lines = []
        if cue.turn != self._turn:
            self._turn = cue.turn
            if not isinstance(cue.event, PromptTyped | SessionStarted):
                lines += self._draw_turn_start(cue.turn)
        return lines + list(self._draw_event(cue.event))

    def read_streamed_text(self, event: AnyEvent) -> str:
        """Return the text that an event streams; empty if it has none."""
        if not isinstance(event, TextAnswered) or event.actor != self._replay.root:
            return ""
        return self._replay.read_text(event).strip()

    def _draw_turn_start(self, turn: int) -> list[str]:
        """Draw what started a turn without a prompt: a command, a notification or another agent's message."""
        kind, text = self._replay.read_turn_text(turn)
        if not text or kind == "prompt":
            return []
        sign = {"command": "> ", "bash": "! "}.get(kind, "· ")
        return list(self._draw_typed(text, sign, "bold" if sign != "· " else "cyan"))

    def _draw_event(self, event: AnyEvent) -> Iterator[str]:
        if event.actor != self._replay.root:
            yield from self._draw_agent_event(event)
            return
        previous = self._last_call
        if not isinstance(event, ToolCalled):  # one that is not drawn leaves the last line as it is
            self._last_call = ""
        match event:
            case PromptTyped():
                yield from self._draw_typed(self._replay.read_text(event), "> ", "bold", event.images)
            case ToolCalled():
                yield from self._draw_call(event)
            case CallFinished():
                yield from self._draw_result(event, previous)
            case TodosChanged():
                yield from self._draw_todos(event)
            case QuestionAsked():
                yield ""
                yield from (self._paint_note("?", question, "yellow") for question in event.questions)
            case PlanProposed():
                yield from ("", self._look.paint("● Plan", "bold"))
                lines, left = take_first_lines(self._replay.read_text(event), _MAX_PROMPT_LINES, _MAX_LINE_CHARS)
                yield from (f"  {row}" for line in lines for row in self._wrap(line, 2))
                yield from [self._look.paint(f"  … {left:,} more lines", "dim")] if left else []
            case _:
                self._last_call = previous if isinstance(event, ContextFilled) else ""
                if isinstance(event, TurnFinished | TurnInterrupted):
                    self._titles.clear()
                yield from self._draw_note(event)

    def _draw_note(self, event: AnyEvent) -> Iterator[str]:
        match event:
            case Thought():
                first = to_visible_line(event.text[:_MAX_NOTE_CHARS])
                yield self._paint_note("✻", f"thinking: {first}" if first else "thinking", "dim")
            case ErrorOccurred() if event.source == "api":
                tries = f" (attempt {event.attempt} of {event.max_attempts})" if event.max_attempts else ""
                yield self._paint_note("·", f"{event.text or 'the API did not answer'}{tries}", "red")
            case ContextCompacted():
                size = f", {format_thousands(event.tokens_before)} tokens before" if event.tokens_before else ""
                trigger = "" if event.trigger == "unknown" else f" ({event.trigger})"
                yield ""
                yield self._look.paint(
                    self._look.fit(f"── a summary replaced the conversation{trigger}{size} ──"), "cyan"
                )
            case TurnInterrupted():
                yield self._paint_note("·", "interrupted", "yellow")
            case TurnFinished() if event.seconds is not None and event.seconds >= 1:
                yield self._paint_note("·", f"worked for {format_duration(int(event.seconds * 1000))}", "dim")
            case WorkShipped():
                words = "pushed" if event.kind == "push" else "opened a pull request"
                yield self._paint_note("·", f"{words} {event.url or ''}".rstrip(), "green")

    def _draw_typed(self, text: str, sign: str, style: str, images: int = 0) -> Iterator[str]:
        lines, left = take_first_lines(text, _MAX_PROMPT_LINES, _MAX_LINE_CHARS)
        rows = [row for line in lines for row in self._wrap(line, 3)]
        if images:
            rows.append(f"[{images} image{'s' if images > 1 else ''}]")
        if left:
            rows.append(f"… {left:,} more lines")
        yield ""
        for number, row in enumerate(rows):
            yield self._look.paint(f"{'  ' if number else sign}{row}", style)

    def _draw_call(self, event: ToolCalled) -> Iterator[str]:
        """Draw a call, unless others are running; it is then drawn with its result, so that it isn't drawn twice."""
        is_alone = not self._titles or event.tool in AGENT_TOOLS
        self._titles[event.call] = event.title
        if is_alone and event.tool not in _QUIET_TOOLS:
            self._last_call = event.call
            yield from ("", self._draw_call_head(event.tool, event.title, "blue"))

    def _draw_call_head(self, tool: str, title: str, style: str) -> str:
        look, name = self._look, make_visible(tool) or "(no name)"
        rest = look.fit(make_visible(title), len(name) + 4)
        return f"{look.paint('●', style)} {look.paint(name, 'bold')} {rest}".rstrip()

    def _draw_result(self, event: CallFinished, previous: str) -> Iterator[str]:
        title = self._titles.pop(event.call, "")
        if event.tool in TODO_TOOLS and event.outcome == "ok":
            return
        if self._replay.is_late_result(event):
            words = event.text or f"{event.tool} {title}".strip()
            yield self._paint_note("·", f"background task: {words}", _OUTCOME_STYLES.get(event.outcome, "cyan"))
            return
        if previous != event.call and event.tool not in _QUIET_TOOLS:
            yield from ("", self._draw_call_head(event.tool, title, _OUTCOME_STYLES.get(event.outcome, "blue")))
        look = self._look
        narrow = look._replace(width=None if look.width is None else max(look.width - 4, 10))
        result = self._replay.read_result(event)
        if event.outcome == "interrupted" and not result.text.strip():
            result = result._replace(text="interrupted")
        for number, line in enumerate(render_call_result(result, narrow)):
            yield f"{'    ' if number else look.paint('  ⎿ ', 'dim')}{line}"

    def _draw_todos(self, event: TodosChanged) -> Iterator[str]:
        """Draw the tasks that are new or have a different status."""
        todos = {item.text: item.status for item in event.items}
        changed = [(text, status) for text, status in todos.items() if self._todos.get(text) != status]
        self._todos = dict(todos)
        if not changed:
            return
        done = sum(status == "completed" for status in todos.values())
        yield from (
            "",
            f"{self._look.paint('●', 'blue')} {self._look.paint('Tasks', 'bold')} {done} of {len(todos)} done",
        )
        yield from (f"  {self._look.fit(line, 3)}" for line in render_todo_lines(iter(changed)))

    def _draw_agent_event(self, event: AnyEvent) -> Iterator[str]:
        match event:
            case ToolCalled():
                yield self._draw_agent_line(event.actor, f"{event.tool} {event.title}", "dim")
            case CallFinished() if event.outcome in ("failed", "rejected", "interrupted"):
                text = event.text.removeprefix("<tool_use_error>").removesuffix("</tool_use_error>")
                yield self._draw_agent_line(event.actor, f"{event.tool} {event.outcome}: {text}".rstrip(": "), "red")
            case TextAnswered():
                yield self._draw_agent_line(event.actor, event.text, "dim")
            case TurnInterrupted():
                yield self._draw_agent_line(event.actor, "interrupted", "yellow")

    def _draw_agent_line(self, actor: str, text: str, style: str) -> str:
        look = self._look
        label = look._replace(width=_MAX_LABEL_CELLS).fit(to_visible_line(self._replay.name_agent(actor)))
        text = look.fit(to_visible_line(text[:_MAX_NOTE_CHARS]), len(label) + 8)
        return f"  {look.paint('┆ ' + label, 'cyan')} {look.paint(text, style)}"

    def _paint_note(self, sign: str, text: str, style: str) -> str:
        return self._look.paint(f"{sign} {self._look.fit(to_visible_line(text[:_MAX_NOTE_CHARS]), 3)}", style)

    def _wrap(self, line: str, margin: int) -> list[str]:
        width = self._look.width
        return list(Look(width=None if width is None else max(width - margin, 10)).wrap_prose(line))
