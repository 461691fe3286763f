"""What sessions are doing, as a table for a terminal: two to five short lines for each session."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, NamedTuple

from turnlog.cli.terminal import TerminalScreen, cut_to_cells, measure_width, pad_to_cells, to_visible_line
from turnlog.cli.time_format import format_money
from turnlog.live.events import event as events
from turnlog.live.events.event import MAIN_ACTOR, AnyEvent
from turnlog.session.clock import parse_timestamp

if TYPE_CHECKING:
    from turnlog.api.watch import BoardSession
    from turnlog.live.crew import CrewMember

COLUMN_TITLES = {"needs": "Needs you", "working": "Working", "idle": "Idle", "ended": "Ended today"}
COLUMN_STYLES = {"needs": "yellow", "working": "blue", "idle": "green", "ended": "dim"}
EMPTY_BOARD_LINES = (
    "No session was active today.",
    "Sessions appear here while Claude Code works in them, and until the end of the day.",
    "To see how that looks: turnlog board --demo",
)
_METER_CELLS = 8
_MIN_FIGURES_CELLS = 56
_MIN_PROJECT_CELLS = 72
_MAX_PROJECT_CELLS = 18
_MAX_AGENTS = 4
_MAX_REMEMBERED_ACTORS = 2000


class _ActorText(NamedTuple):
    doing: str = ""
    """The latest call of an actor."""
    text: str = ""
    """The latest text."""


class ActorTexts:
    """The latest text and call of each session and sub-agent, according to events."""

    def __init__(self) -> None:
        self._texts: dict[tuple[str, str], _ActorText] = {}

    def add_all(self, new_events: Iterable[AnyEvent]) -> None:
        """Record what events show."""
        for event in new_events:
            key = event.session, event.actor
            known = self._texts.pop(key, _ActorText())
            match event:
                case events.ToolCalled():
                    known = known._replace(doing=f"{event.tool}: {event.title}" if event.title else event.tool)
                case events.TextAnswered():
                    known = known._replace(doing="", text=event.text)
                case events.PromptTyped() if event.actor == MAIN_ACTOR:
                    known = _ActorText()
            self._texts[key] = known
            if len(self._texts) > _MAX_REMEMBERED_ACTORS:
                del self._texts[next(iter(self._texts))]

    def get(self, session: str, actor: str = MAIN_ACTOR) -> _ActorText:
        return self._texts.get((session, actor), _ActorText())


def render_session(
    session: BoardSession,
    screen: TerminalScreen,
    now: datetime,
    texts: ActorTexts | None = None,
    members: Sequence[CrewMember] = (),
) -> Iterator[str]:
    """Render a session: title and figures, what it is doing, its sub-agents, and its latest text."""
    yield _render_title(session, screen)
    yield _render_state(session, screen, now)
    yield from _render_agents(session, screen, texts, members)
    said = texts.get(session.session_id).text if texts else ""
    last = next((line for line in reversed(said.splitlines()) if line.strip()), "")
    if last:
        yield "  " + screen.paint(screen.fit(f"“{to_visible_line(last)}”", 3), "dim")


def _render_title(session: BoardSession, screen: TerminalScreen) -> str:
    width = screen.width or 100
    right = "" if width < _MIN_FIGURES_CELLS else format_figures(session)
    if width >= _MIN_PROJECT_CELLS:
        project = cut_to_cells(to_visible_line(get_folder_name(session.project)), _MAX_PROJECT_CELLS)
        right = f"{project}  {right}" if right else project
    room = max(width - 1 - 2 - (measure_width(right) + 2 if right else 0), 10)
    title = pad_to_cells(to_visible_line(session.title), room)
    mark = screen.paint("●", COLUMN_STYLES[session.column])
    return f"{mark} {screen.paint(title, 'bold')}" + (f"  {screen.paint(right, 'dim')}" if right else "")


def _render_state(session: BoardSession, screen: TerminalScreen, now: datetime) -> str:
    state = session.state
    since = format_elapsed(state.since or session.written, now)
    reason = format_reason(session)
    words = to_visible_line(state.words)
    tail = f" · {since}" if since else ""
    room = max((screen.width or 100) - 3 - measure_width(tail), 10)
    text = cut_to_cells(words, room)
    line = "  " + screen.paint(text, COLUMN_STYLES[session.column]) + tail
    left = (screen.width or 100) - 3 - measure_width(text) - measure_width(tail)
    return line + screen.paint(f" · {reason}", "dim") if reason and measure_width(reason) + 3 <= left else line


def _render_agents(
    session: BoardSession, screen: TerminalScreen, texts: ActorTexts | None, members: Sequence[CrewMember]
) -> Iterator[str]:
    names = session.state.agents
    for name in names[:_MAX_AGENTS]:
        member = next((one for one in reversed(members) if one.description == name), None)
        found = texts.get(session.session_id, member.agent_id) if texts and member else _ActorText()
        doing = found.doing or next(iter(found.text.splitlines()), "")
        words = to_visible_line(name) + (f" · {to_visible_line(doing)}" if doing else "")
        yield "  " + screen.paint(screen.fit(f"└ {words}", 3), "cyan")
    if len(names) > _MAX_AGENTS:
        yield screen.paint(f"  └ and {len(names) - _MAX_AGENTS} more sub-agents", "cyan")


def format_figures(session: BoardSession) -> str:
    """Format how full the context is and what the session has cost, always at the same width."""
    state = session.state
    meter = " " * (_METER_CELLS + 6)
    if state.context and state.window:
        share = min(state.context / state.window, 1.0)
        filled = round(share * _METER_CELLS)
        meter = f"{'█' * filled}{'░' * (_METER_CELLS - filled)} {round(100 * share):>3} %"
    cost = "" if session.cost_usd is None else format_money(session.cost_usd)
    return f"{meter} {cost:>8}"


def format_reason(session: BoardSession) -> str:
    """Format the reason for a state, with a warning if the state is only inferred."""
    state = session.state
    if state.confidence == "sure":
        return ""
    return f"inferred: {to_visible_line(state.reason)}" if state.reason else "inferred"


def format_elapsed(text: str | None, now: datetime | None = None) -> str:
    """Format how long ago something started: `12 s`, `3 min`, `2 h 5 min`, `4 d`."""
    moment = parse_timestamp(text)
    if moment is None:
        return ""
    seconds = max(((now or datetime.now(UTC)) - moment).total_seconds(), 0.0)
    if seconds < 60:
        return f"{int(seconds)} s"
    minutes = int(seconds // 60)
    if minutes < 60:
        return f"{minutes} min"
    if minutes < 1440:
        return f"{minutes // 60} h {minutes % 60} min"
    return f"{minutes // 1440} d"


def get_folder_name(path: str) -> str:
    """Return the last part of a path from any operating system."""
    return path.rstrip("/\\").replace("\\", "/").rpartition("/")[2] or path


def render_within(
    sessions: Sequence[BoardSession], rows: int, render: Callable[[BoardSession], Iterable[str]]
) -> Iterator[str]:
    """Render as many sessions as fit into the given number of rows, and count the others."""
    used = 0
    for number, session in enumerate(sessions):
        lines = list(render(session))
        left = len(sessions) - number
        if used + len(lines) > rows - (left > 1) and number:
            yield f"… and {left} more"
            return
        yield from lines
        used += len(lines)
