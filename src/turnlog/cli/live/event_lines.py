"""Renders each event as one line of text, for a terminal or a pipe."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from turnlog.cli.terminal import TerminalScreen, make_visible, measure_width, pad_to_cells, to_visible_line
from turnlog.cli.time_format import format_milliseconds
from turnlog.live.events import event as events
from turnlog.live.events.event import MAIN_ACTOR, AnyEvent

MAX_PIPED_CHARS = 400
"""How much of an event's text a line in a pipe has; `--json` has more."""
_LABEL_CELLS = 14
_MIN_LABELLED_CELLS = 60
_SLOW_CALL_SECONDS = 10.0
_SHORT_ID_CHARS = 8


class TextOfEvent(NamedTuple):
    """What an event looks like."""

    mark: str
    text: str
    styles: tuple[str, ...] = ()


def describe_event(event: AnyEvent) -> TextOfEvent:
    """Describe an event in one line of visible text."""
    line = _DESCRIPTIONS[type(event)](event)
    text = to_visible_line(line.text)
    return line._replace(text=f"{text} (inferred)" if event.confidence == "inferred" else text)


def is_worth_a_line(event: AnyEvent) -> bool:
    """Return whether an event is printed on a terminal; events that the table shows anyway are not."""
    match event:
        case events.ContextFilled() | events.AgentStarted():
            return False
        case events.CallFinished():
            return event.outcome in ("rejected", "interrupted") or (event.seconds or 0) >= _SLOW_CALL_SECONDS
        case events.QuestionAsked() | events.PlanProposed():
            return True
        case events.ToolCalled():
            return event.tool not in ("AskUserQuestion", "ExitPlanMode")
        case events.Thought():
            return bool(event.text)
    return True


def render_event(event: AnyEvent, label: str, screen: TerminalScreen) -> str:
    """Render an event for a terminal: the time, the session, and what happened."""
    line = describe_event(event)
    width = screen.width or 80
    time = _format_clock(event.time)
    left = [time] if width < _MIN_LABELLED_CELLS else [time, pad_to_cells(to_visible_line(label), _LABEL_CELLS)]
    head = "  ".join(left)
    indent = "" if event.actor == MAIN_ACTOR else "  "
    room = width - measure_width(head) - 2
    text = screen.fit(f"{indent}{line.mark} {line.text}", width - max(room, 10))
    styles = line.styles if event.actor == MAIN_ACTOR or line.styles else ("dim",)
    return f"{screen.paint(head, 'dim')}  {screen.paint(text, *styles)}"


def render_plain_event(event: AnyEvent) -> str:
    """Render an event for a pipe: time, session, actor, kind and text, separated by two spaces."""
    line = describe_event(event)
    kind = str(type(event).__struct_config__.tag)
    cells = [event.time or "-", event.session[:_SHORT_ID_CHARS], event.actor, kind, line.text[:MAX_PIPED_CHARS]]
    return "  ".join(make_visible(cell) for cell in cells).rstrip()


def _format_clock(text: str | None) -> str:
    from turnlog.session.clock import parse_timestamp

    moment = parse_timestamp(text)
    try:
        return moment.astimezone().strftime("%H:%M:%S") if moment else "--:--:--"
    except (OverflowError, ValueError, OSError):
        return "--:--:--"


def _take_first_line(text: str) -> str:
    return next((line for line in text.splitlines() if line.strip()), "")


def _format_seconds(seconds: float | None) -> str:
    return "" if seconds is None else f" after {format_milliseconds(1000 * seconds)}"


# -- one function for each event


def _describe_start(event: events.SessionStarted) -> TextOfEvent:
    place = f" in {event.cwd}" if event.cwd else ""
    return TextOfEvent(
        "◆", f"session started{place}" + (f" ({event.git_branch})" if event.git_branch else ""), ("bold",)
    )


def _describe_prompt(event: events.PromptTyped) -> TextOfEvent:
    images = f" [{event.images} image{'s' if event.images > 1 else ''}]" if event.images else ""
    return TextOfEvent(">", f"{event.text}{images}", ("bold",))


def _describe_call(event: events.ToolCalled) -> TextOfEvent:
    return TextOfEvent("•", f"{event.tool}: {event.title}" if event.title else event.tool, ("cyan",))


def _describe_result(event: events.CallFinished) -> TextOfEvent:
    time = "" if event.seconds is None else f", {format_milliseconds(1000 * event.seconds)}"
    reason = f": {_take_first_line(event.text)}" if event.outcome in ("failed", "rejected") else ""
    styles = ("red",) if event.outcome == "failed" else ("dim",)
    return TextOfEvent("└", f"{event.tool} {event.outcome}{time}{reason}", styles)


def _describe_thought(event: events.Thought) -> TextOfEvent:
    level = "" if event.level in ("none", "think") else f" {event.level}"
    return TextOfEvent("…", f"thinks{level}: {_take_first_line(event.text)}".rstrip(": "), ("dim",))


def _describe_agent_end(event: events.AgentFinished) -> TextOfEvent:
    words = {"ok": "finished", "background": "continues"}.get(event.outcome, event.outcome)
    return TextOfEvent("◇", f"sub-agent {words}", ())


def _describe_todos(event: events.TodosChanged) -> TextOfEvent:
    done = sum(item.status == "completed" for item in event.items)
    current = next((item.text for item in event.items if item.status == "in_progress"), "")
    return TextOfEvent("☐", f"{done} of {len(event.items)} tasks done" + (f"; now: {current}" if current else ""), ())


def _describe_error(event: events.ErrorOccurred) -> TextOfEvent:
    limit = f" of {event.max_attempts}" if event.max_attempts else ""
    attempt = f" (attempt {event.attempt}{limit})" if event.attempt else ""
    source = "the API failed" if event.source == "api" else "failed"
    return TextOfEvent("✗", f"{source}{attempt}: {_take_first_line(event.text)}".rstrip(": "), ("red",))


def _describe_compaction(event: events.ContextCompacted) -> TextOfEvent:
    size = f" ({event.tokens_before:,} tokens before)" if event.tokens_before else ""
    return TextOfEvent("≡", f"context compacted{size}", ("yellow",))


def _describe_context(event: events.ContextFilled) -> TextOfEvent:
    share = f" of {event.window:,} tokens" if event.window else " tokens"
    return TextOfEvent("≡", f"context: {event.tokens:,}{share}", ("dim",))


def _describe_shipment(event: events.WorkShipped) -> TextOfEvent:
    word = "pushed" if event.kind == "push" else "pull request"
    return TextOfEvent("↑", f"{word} {event.url or ''}".rstrip(), ("green",))


def _describe_permission(event: events.PermissionAwaited) -> TextOfEvent:
    return TextOfEvent("!", event.title or f"waits for permission: {event.tool}", ("yellow", "bold"))


def _describe_end(event: events.SessionEnded | events.WentIdle) -> TextOfEvent:
    word = "idle" if isinstance(event, events.WentIdle) else "ended"
    return TextOfEvent("○", f"{word}: {event.reason}" if event.reason else word, ("dim",))


_DESCRIPTIONS: Mapping[type, Callable[[Any], TextOfEvent]] = {
    events.SessionStarted: _describe_start,
    events.PromptTyped: _describe_prompt,
    events.ToolCalled: _describe_call,
    events.CallFinished: _describe_result,
    events.TextAnswered: lambda event: TextOfEvent("●", event.text),
    events.Thought: _describe_thought,
    events.AgentStarted: lambda event: TextOfEvent("◇", f"sub-agent started: {event.description or event.agent_type}"),
    events.AgentFinished: _describe_agent_end,
    events.TodosChanged: _describe_todos,
    events.QuestionAsked: lambda event: TextOfEvent("?", f"asks: {' / '.join(event.questions)}", ("yellow", "bold")),
    events.PlanProposed: lambda event: TextOfEvent(
        "?", f"proposes a plan: {_take_first_line(event.text)}".rstrip(": "), ("yellow", "bold")
    ),
    events.ErrorOccurred: _describe_error,
    events.TurnFinished: lambda event: TextOfEvent("✓", f"finished{_format_seconds(event.seconds)}", ("green",)),
    events.TurnInterrupted: lambda _: TextOfEvent("■", "interrupted", ("yellow",)),
    events.ContextCompacted: _describe_compaction,
    events.ContextFilled: _describe_context,
    events.WorkShipped: _describe_shipment,
    events.PermissionAwaited: _describe_permission,
    events.WentIdle: _describe_end,
    events.SessionEnded: _describe_end,
}
