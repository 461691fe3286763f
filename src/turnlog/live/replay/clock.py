"""When each event of a replay is shown: depends only on the recorded times and on the keys pressed since.

    times = schedule_times(moments, max_gap=3.0)       when each is shown, at normal speed
    deck = ReplayDeck([time.at for time in times], turns)
    deck.pass_time(0.5)                                 half a second has gone by
    while deck.is_due: …; deck.take_next()

A silence longer than `max_gap` is shortened to `max_gap`. Events keep their order: an event that has no time, or an
earlier time than its predecessor, follows at once.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from turnlog.errors import UsageError

SPEEDS = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0)
MIN_SPEED, MAX_SPEED = SPEEDS[0], SPEEDS[-1]
DEFAULT_MAX_GAP_SECONDS = 3.0
MIN_CHARS_PER_SECOND = 200.0
"""The slowest rate at which streamed text appears at normal speed: about as fast as a model writes."""
_WORD = re.compile("\\S{1,24}(?:(?<=\u200d)\\S|[\u200d\ufe0f\u20e3\u0300-\u036f\U0001f3fb-\U0001f3ff])*\\s*|\\s+")
"""A word, or a part of one that does not divide what a terminal shows as one character."""
_DURATION = re.compile(r"(\d+(?:\.\d+)?|\.\d+)\s*(ms|s|m|min|h)?", re.ASCII)
_UNIT_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0}
_CLOCK = re.compile(r"(?:(\d{1,4}):)?(\d{1,4}):(\d{2})", re.ASCII)
_MAX_DURATION_SECONDS = 1e9


class PlayTime(NamedTuple):
    """When something is shown."""

    at: float
    """Seconds since the start of the replay, at normal speed."""
    elapsed: float
    """Seconds since the start of the session, with silences at their full length."""


class TextPiece(NamedTuple):
    """A part of streamed text, and when it appears."""

    at: float
    text: str


def schedule_times(moments: Iterable[float | None], max_gap: float | None = None) -> Iterator[PlayTime]:
    """Yield the time at which to show each event, given when it happened (in seconds; None if unknown).

    Each delay is measured from the last known time before it, so one wrong time does not affect the rest.
    """
    at = elapsed = 0.0
    before: float | None = None
    for moment in moments:
        if moment is not None:
            gap = max(0.0, moment - before) if before is not None else 0.0
            before = moment
            elapsed += gap
            at += gap if max_gap is None else min(gap, max_gap)
        yield PlayTime(at, elapsed)


def split_streamed_text(text: str, start: float, end: float) -> list[TextPiece]:
    """Split text into small pieces that appear one by one between two times.

    The last piece appears at `end`. Short text appears later than `start`, since no model would take that long to
    write it.
    """
    words = _WORD.findall(text)
    if not words:
        return []
    start = max(start, end - len(text) / MIN_CHARS_PER_SECOND)
    pieces, written = [], 0
    for word in words:
        written += len(word)
        share = written / len(text)
        pieces.append(TextPiece(end if share >= 1 else start + (end - start) * share, word))
    return pieces


def parse_duration(text: str) -> float:
    """Parse a duration such as `3`, `3s`, `500ms` or `2m` into seconds."""
    found = _DURATION.fullmatch(text.strip().lower())
    seconds = float(found[1]) * _UNIT_SECONDS[found[2] or "s"] if found else -1.0
    if not 0 <= seconds <= _MAX_DURATION_SECONDS:
        raise UsageError(f"{text!r} is not a duration; use a form such as 3s, 500ms or 2m")
    return seconds


def parse_place(text: str) -> tuple[int | None, float | None]:
    """Parse a place to go to: the number of a turn (`12`), or a time (`1:30`, `1:02:30`, `90s`).

    Return the pair (turn, seconds), of which one is None.
    """
    text = text.strip().lower()
    if text.isascii() and text.isdecimal():
        return int(text[:9]), None
    if found := _CLOCK.fullmatch(text):
        hours, minutes, seconds = (int(part or 0) for part in found.groups())
        return None, 3600.0 * hours + 60.0 * minutes + seconds
    return None, parse_duration(text)


def check_speed(speed: float) -> float:
    """Return a speed unchanged; raise UsageError if a replay does not support it."""
    if not MIN_SPEED <= speed <= MAX_SPEED:
        raise UsageError(f"speed {speed:g} is outside the range from {MIN_SPEED:g} to {MAX_SPEED:g}")
    return speed


class ReplayDeck:
    """The position in a replay, as in a video player; the caller passes the elapsed time."""

    def __init__(self, times: Sequence[float], turns: Sequence[int], speed: float = 1.0) -> None:
        """Start before the first event; `times` and `turns` (one of each per event) must never decrease."""
        self._times = times
        self._turns = turns
        self.speed = speed
        self.now = 0.0
        """Where the replay is, in its own seconds."""
        self.next = 0
        """The number of the next event, counted from 0."""
        self.is_paused = False

    @property
    def end(self) -> float:
        """When the last event is shown."""
        return self._times[-1] if self._times else 0.0

    @property
    def is_over(self) -> bool:
        return self.next >= len(self._times)

    @property
    def is_due(self) -> bool:
        """Whether the next event should be shown now."""
        return not self.is_over and self._times[self.next] <= self.now

    @property
    def turn(self) -> int:
        """The turn of the latest event that was shown; 0 before the first."""
        return self._turns[self.next - 1] if self.next else 0

    def pass_time(self, seconds: float) -> None:
        """Advance by an amount of real time, unless the replay is paused."""
        if not self.is_paused:
            self.now = min(self.now + max(0.0, seconds) * self.speed, self.end)

    def take_next(self) -> int:
        """Return the number of the next event and move past it, setting the clock forward to it if necessary."""
        number = self.next
        self.now = max(self.now, self._times[number])
        self.next += 1
        return number

    def move_to(self, number: int) -> int:
        """Move to just before an event, so that it is shown next."""
        self.next = max(0, min(number, len(self._times)))
        self.now = self._times[self.next] if not self.is_over else self.end
        return self.next

    def find_turn(self, number: int) -> int:
        """Return the first event of this turn or, if it has none, of a later turn; return the end if there is none."""
        return bisect_left(self._turns, number)

    def find_time(self, seconds: float) -> int:
        """Return the first event at or after a time of the replay."""
        return bisect_left(self._times, seconds)

    def find_next_turn(self) -> int:
        """Return the start of the next turn, or the end if this is the last turn."""
        return self.find_turn(self.turn + 1)

    def find_previous_turn(self) -> int:
        """Return the start of this turn, or of the previous turn if only this turn's first event has been shown."""
        start = self.find_turn(self.turn)
        return start if self.next > start + 1 or not start else self.find_turn(self._turns[start - 1])

    def change_speed(self, steps: int) -> None:
        """Choose the next faster or slower speed."""
        if steps > 0:
            self.speed = next((speed for speed in SPEEDS if speed > self.speed), MAX_SPEED)
        else:
            self.speed = next((speed for speed in reversed(SPEEDS) if speed < self.speed), MIN_SPEED)
