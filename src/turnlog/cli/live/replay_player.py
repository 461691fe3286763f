"""Plays a replay in the terminal, with the keys of a video player."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable

from turnlog.cli.live.key_terminal import KeyTerminal, open_key_terminal, write_out
from turnlog.cli.terminal import TerminalScreen, cut_to_cells, measure_width
from turnlog.errors import UsageError
from turnlog.live.replay.clock import parse_place
from turnlog.live.replay.performance import ReplayPerformance, format_clock
from turnlog.live.replay.replayed_session import ReplayedSession

_FRAME_SECONDS = 0.04
_SEEK_SECONDS = 10.0
_KEY_NAMES = {
    "\x1b[C": "right", "\x1bOC": "right", "\x1b[D": "left", "\x1bOD": "left", "\x1b[A": "faster", "\x1bOA": "faster",
    "\x1b[B": "slower", "\x1bOB": "slower", " ": "pause", "k": "pause", "p": "pause", "+": "faster", "=": "faster",
    "]": "faster", ">": "faster", "-": "slower", "[": "slower", "<": "slower", ".": "step", "n": "right", "b": "left",
    "j": "back", "l": "ahead", "g": "go", "q": "quit", "Q": "quit", "?": "help", "h": "help", "\x1b[H": "home",
    "\x1b[1~": "home", "\x1b[F": "end", "\x1b[4~": "end", "\x04": "quit",
}  # fmt: skip
HELP_LINES = (
    "Space, k      pause or go on",
    "→ ←           next turn; start of this turn, then the previous one",
    "l j           10 seconds ahead, 10 seconds back",
    ".             pause, and show the next event",
    "+ - (or ] [)  faster, slower: 0.25x to 32x",
    "0 to 9        go to this tenth of the session; Home and End",
    "g             go to a turn (12) or a time (1:30)",
    "q             quit",
)


def print_replay(replay: ReplayedSession, screen: TerminalScreen, speed: float | None) -> None:
    """Print a replay as plain lines; if a speed is given, pause between them as the session did."""
    plain = screen._replace(width=None)
    performance = ReplayPerformance(replay, write_out, lambda: plain)
    performance.draw_due()
    while (change := performance.find_next_change()) is not None:
        if speed is None:
            performance.show_next_event()
            continue
        seconds = max((change - performance.deck.now) / speed, _FRAME_SECONDS)
        time.sleep(seconds)
        performance.pass_time(seconds * speed)
    performance.close()


def play_in_terminal(replay: ReplayedSession, screen: TerminalScreen, speed: float) -> None:
    """Play a replay until a key quits it; the terminal is always restored."""
    with open_key_terminal() as terminal:
        player = TerminalPlayer(replay, screen, speed)
        try:
            player.run(terminal)
        finally:
            player.close()


class TerminalPlayer:
    """The replay, the keys, and the line at the bottom."""

    def __init__(self, replay: ReplayedSession, screen: TerminalScreen, speed: float) -> None:
        self._screen = screen
        self._is_quitting = False
        self._typed: str | None = None
        """The place that is being typed after `g`; None if none is."""
        self._problem = ""
        self._performance = ReplayPerformance(replay, write_out, self._look, speed=speed, status=self._draw_status)
        self._deck = self._performance.deck

    def _look(self) -> TerminalScreen:
        return self._screen._replace(width=max(shutil.get_terminal_size().columns, 10))

    def run(self, terminal: KeyTerminal) -> None:
        """Play until `q`; after the end, wait for keys."""
        before = time.monotonic()
        self._performance.draw_due()
        while not self._is_quitting:
            keys = terminal.wait_for_keys(self._choose_wait())
            if terminal.is_stop_requested:
                self._performance.hide_footer()
                terminal.stop()
                before = time.monotonic()
            for key in keys:
                self._press(key)
            now = time.monotonic()
            if self._typed is None:
                self._performance.pass_time(now - before)
            before = now
            self._performance.refresh()

    def close(self) -> None:
        self._performance.close()

    def _choose_wait(self) -> float | None:
        """Return the seconds until the screen changes; None if it changes only when a key is pressed."""
        change = self._performance.find_next_change()
        if change is None or self._deck.is_paused or self._typed is not None:
            return None
        return max((change - self._deck.now) / self._deck.speed, _FRAME_SECONDS)

    # -- keys

    def _press(self, key: str) -> None:
        self._problem = ""
        if self._typed is not None:
            self._type_place(key)
            return
        if len(key) == 1 and key in "0123456789":
            self._performance.move_to(self._deck.find_time(self._deck.end * int(key) / 10))
            return
        act = self._actions.get(_KEY_NAMES.get(key, ""))
        if act is not None:
            act()

    @property
    def _actions(self) -> dict[str, Callable[[], object]]:
        deck, performance = self._deck, self._performance
        return {
            "pause": self._toggle_pause,
            "right": lambda: performance.move_to(deck.find_next_turn()),
            "left": lambda: performance.move_to(deck.find_previous_turn()),
            "ahead": lambda: performance.move_to(deck.find_time(deck.now + _SEEK_SECONDS)),
            "back": lambda: performance.move_to(deck.find_time(max(0.0, deck.now - _SEEK_SECONDS))),
            "faster": lambda: deck.change_speed(1),
            "slower": lambda: deck.change_speed(-1),
            "step": self._step,
            "go": self._begin_typing,
            "quit": self._quit,
            "help": lambda: performance.write_note(["", *(f"  {line}" for line in HELP_LINES)]),
            "home": lambda: performance.move_to(0),
            "end": lambda: performance.move_to(len(performance.replay.cues)),
        }

    def _toggle_pause(self) -> None:
        if self._deck.is_over:
            self._performance.move_to(0)
            self._deck.is_paused = False
        else:
            self._deck.is_paused = not self._deck.is_paused

    def _step(self) -> None:
        self._deck.is_paused = True
        self._performance.show_next_event()

    def _begin_typing(self) -> None:
        self._typed = ""

    def _quit(self) -> None:
        self._is_quitting = True

    def _type_place(self, key: str) -> None:
        """Edit the place to go to."""
        typed = self._typed or ""
        if key in ("\r", "\n"):
            self._typed = None
            self._go_to(typed)
        elif key in ("\x1b", "\x04"):
            self._typed = None
        elif key in ("\x7f", "\x08"):
            self._typed = typed[:-1]
        elif len(key) == 1 and key.isprintable() and len(typed) < 12:
            self._typed = typed + key

    def _go_to(self, text: str) -> None:
        if not text.strip():
            return
        try:
            turn, seconds = parse_place(text)
        except UsageError:
            self._problem = f"{text}: not a turn or a time"
            return
        if turn is not None:
            self._performance.move_to(self._deck.find_turn(turn))
            return
        cues = self._performance.replay.cues
        number = next((number for number, cue in enumerate(cues) if cue.elapsed >= (seconds or 0.0)), len(cues))
        self._performance.move_to(number)

    # -- the line at the bottom

    def _draw_status(self, performance: ReplayPerformance) -> str:
        look, deck = self._look(), performance.deck
        width = (look.width or 80) - 1
        if self._typed is not None:
            return look.paint(
                cut_to_cells(f"Go to turn or time: {self._typed}▏ Enter goes there, Esc cancels", width), "bold"
            )
        if self._problem:
            return look.paint(cut_to_cells(self._problem, width), "yellow")
        cues, last = performance.replay.cues, performance.replay.last_turn
        sign = "■" if deck.is_over else "‖" if deck.is_paused else "▶"
        total = cues[-1].elapsed if cues else 0.0
        left = f"{sign} {deck.speed:g}x  turn {deck.turn} of {last} "
        right = f" {format_clock(performance.session_seconds)} / {format_clock(total)}  ? help"
        room = width - measure_width(left) - measure_width(right)
        if room < 8:
            return cut_to_cells(f"{left}{right.removesuffix('  ? help')}", width)
        done = round(room * deck.now / deck.end) if deck.end else room
        bar = look.paint("━" * done, "cyan") + look.paint("─" * (room - done), "dim")
        return look.paint(left, "bold") + bar + look.paint(right, "dim")
