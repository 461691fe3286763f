"""Performs a replay on a screen: what is due is drawn, and a footer shows what the session is doing.

Nothing here waits or reads a clock: the terminal player passes real time, and the recorder passes simulated time.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from turnlog.live.events.event import ContextFilled
from turnlog.live.replay.clock import ReplayDeck, TextPiece, split_streamed_text
from turnlog.live.replay.event_lines import EventArtist, ReplayState
from turnlog.live.replay.replayed_session import ReplayedSession
from turnlog.live.replay.screen import ReplayScreen, measure_styled_width
from turnlog.render.figures import format_thousands
from turnlog.render.terminal import TerminalScreen, to_visible_line

SPINNER_SECONDS = 0.25
"""How long each picture of the spinner stays, at normal speed."""
_SPINNER_FRAMES = "·✢✳✶✻✽"
_METER_CELLS = 10
_MAX_ACTIVITY_CHARS = 200
_NEARLY_FULL_PERCENT = 80


class ReplayPerformance:
    """A replay on one screen."""

    def __init__(
        self,
        replay: ReplayedSession,
        write: Callable[[str], object],
        look: Callable[[], TerminalScreen],
        *,
        speed: float = 1.0,
        status: Callable[[ReplayPerformance], str] | None = None,
    ) -> None:
        """Draw with `write`; `status` renders the line at the very bottom."""
        self.replay = replay
        self.deck = ReplayDeck([cue.at for cue in replay.cues], [cue.turn for cue in replay.cues], speed)
        self.look = look
        self._status = status
        self._screen = ReplayScreen(write, look)
        self._artist = EventArtist(replay, look)
        self.state = ReplayState(self.replay.root)
        self._pieces: deque[TextPiece] | None = None
        """What is left of the text that the next event streams; None if the event was not yet looked at."""
        self._is_streaming = False
        self._screen.write_lines(self._artist.draw_heading())
        for event in replay.earlier:
            self.state.add(event, 0.0)
        self._artist.skip_to(self.state, 0)

    # -- playing

    def pass_time(self, seconds: float) -> None:
        """Advance by an amount of real time, and draw the events that have become due."""
        self.deck.pass_time(seconds)
        self.draw_due()

    def draw_due(self) -> None:
        """Draw what is due, and the footer."""
        while not self.deck.is_over:
            pieces = self._list_pieces()
            while pieces and pieces[0].at <= self.deck.now:
                self._screen.write_text(pieces.popleft().text)
            if not self.deck.is_due:
                break
            self._show_next()
        self.refresh()

    def show_next_event(self) -> None:
        """Draw events at once, up to and including the next one that adds something to the text."""
        while not self.deck.is_over and not self._show_next():
            pass
        self.refresh()

    def find_next_change(self) -> float | None:
        """Return when the replay next changes what it shows, in its own seconds; None at the end."""
        if self.deck.is_over:
            return None
        pieces = self._list_pieces()
        at = pieces[0].at if pieces else self.replay.cues[self.deck.next].at
        return at if self.state.working_since is None else min(at, self.deck.now + SPINNER_SECONDS)

    def move_to(self, number: int) -> None:
        """Continue from a different event, below a line that names the place."""
        self._pieces = None
        if number < self.deck.next:
            self.state = ReplayState(self.replay.root)
            for event in self.replay.earlier:
                self.state.add(event, 0.0)
        start = 0 if number < self.deck.next else self.deck.next
        for cue in self.replay.cues[start:number]:
            self.state.add(cue.event, cue.elapsed)
        self._artist.skip_to(self.state, self.replay.cues[number - 1].turn if number else 0)
        self.deck.move_to(number)
        turn = self.replay.cues[number].turn if number < len(self.replay.cues) else self.deck.turn
        self._draw_rule("end" if self.deck.is_over else f"turn {turn}")
        self.draw_due()

    def write_note(self, lines: list[str]) -> None:
        """Add lines of the player itself to the text."""
        self._screen.write_lines(lines)
        self.refresh()

    def refresh(self) -> None:
        """Bring the screen up to date."""
        self._screen.set_footer(self._draw_footer())
        self._screen.refresh()

    def hide_footer(self) -> None:
        """Remove the footer until the next `refresh`."""
        self._screen.set_footer(())
        self._screen.refresh()

    def close(self) -> None:
        """Remove the footer and end the text."""
        self._screen.close()

    def _list_pieces(self) -> deque[TextPiece]:
        if self._pieces is None:
            cue = self.replay.cues[self.deck.next]
            before = self.replay.cues[self.deck.next - 1].at if self.deck.next else 0.0
            text = self._artist.read_streamed_text(cue.event)
            self._pieces = deque(split_streamed_text(text, before, cue.at))
            self._is_streaming = bool(self._pieces)
            if self._is_streaming:
                self._screen.write_lines([*self._artist.draw_cue(cue), ""])
        return self._pieces

    def _show_next(self) -> bool:
        """Draw the next event; return whether it added something to the text."""
        pieces = self._list_pieces()
        cue = self.replay.cues[self.deck.next]
        for piece in pieces:
            self._screen.write_text(piece.text)
        self._screen.finish_text()
        lines = [] if self._is_streaming else self._artist.draw_cue(cue)
        self._screen.write_lines(lines)
        self.state.add(cue.event, cue.elapsed)
        self.deck.take_next()
        self._pieces = None
        return self._is_streaming or bool(lines)

    def _draw_rule(self, words: str) -> None:
        look = self.look()
        width = min(look.width or 60, 80)
        self._screen.write_lines(["", look.paint(f"── {words} ".ljust(width - 2, "─"), "dim")])

    # -- the footer

    @property
    def session_seconds(self) -> float:
        """The position in seconds of the session; it jumps at the end of a long silence."""
        cues, number = self.replay.cues, self.deck.next
        if not cues:
            return 0.0
        if number >= len(cues):
            return cues[-1].elapsed
        before = cues[number - 1] if number else None
        passed = self.deck.now - (before.at if before else 0.0)
        return min((before.elapsed if before else 0.0) + max(0.0, passed), cues[number].elapsed)

    def _draw_footer(self) -> list[str]:
        if self.look().width is None:
            return []
        return ["", self._draw_activity(), *([self._status(self)] if self._status else [])]

    def _draw_activity(self) -> str:
        """Draw the spinner with the current activity and, on the right, how full the context window is."""
        look = self.look()
        meter = draw_context_meter(self.state.context, look)
        room = (look.width or 80) - measure_styled_width(meter) - 3
        words = self._describe_activity()
        if room < 16:
            meter, room = "", (look.width or 80) - 2
        left = look._replace(width=max(room, 10)).fit(words)
        if not meter:
            return look.paint(left, "yellow")
        return look.paint(left, "yellow") + " " * max(room - measure_styled_width(left), 1) + " " + meter

    def _describe_activity(self) -> str:
        since = self.state.working_since
        if since is None or self.deck.is_over:
            return ""
        frame = _SPINNER_FRAMES[int(self.deck.now / SPINNER_SECONDS) % len(_SPINNER_FRAMES)]
        calls = list(self.state.calls.values())
        doing = self.state.task or (f"{calls[-1].tool} {calls[-1].title}" if calls else "Working")
        more = f" and {len(calls) - 1} more" if len(calls) > 1 and not self.state.task else ""
        text = to_visible_line(doing[:_MAX_ACTIVITY_CHARS])
        return f"{frame} {format_clock(max(0.0, self.session_seconds - since))} {text}{more}"


def draw_context_meter(context: ContextFilled | None, look: TerminalScreen) -> str:
    """Draw how full the context window is."""
    if context is None:
        return ""
    if not context.window:
        return look.paint(f"context {format_thousands(context.tokens)}", "dim")
    share = min(context.tokens / context.window, 1.0)
    filled = min(round(share * _METER_CELLS) or (1 if context.tokens else 0), _METER_CELLS)
    style = "red" if share * 100 >= _NEARLY_FULL_PERCENT else "cyan"
    bar = look.paint("▰" * filled, style) + look.paint("▱" * (_METER_CELLS - filled), "dim")
    return f"{bar} {look.paint(f'{format_thousands(context.tokens)} of {format_thousands(context.window)}', 'dim')}"


def format_clock(seconds: float) -> str:
    """Format a duration as a player does: `0:07`, `12:30`, `1:02:30`."""
    minutes, left = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{left:02}" if hours else f"{minutes}:{left:02}"
