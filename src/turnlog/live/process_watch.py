"""What the clients that are running do at the moment: which commands they run, and whether a spinner moves."""

from __future__ import annotations

import threading
import time
from collections.abc import Set as AbstractSet
from typing import Protocol

from turnlog.live.processes import ChildProcess, ProcessActivity, Processes
from turnlog.live.signs import ScreenSign, is_tool_shell

_CHILDREN_SECONDS = 0.15
_SCREEN_SECONDS = 0.15
"""Between two looks at how much a client writes."""
_SPINNER_SECONDS = 0.35
"""A spinner moves several times in this time."""
_WAKE_UP_BYTES = 8
"""What a runtime writes to wake itself up; it is not drawing."""
_MIN_DRAWN_BYTES = 20
_MAX_FRAME_BYTES = 100
"""A single write of more bytes is a change of the screen, and not the next frame of a spinner."""
_MAX_READS_PER_SECOND = 20
"""A client that reads more is busy with files, so its writes say nothing about its screen."""
_UNSEEN_SECONDS = 1.0
"""For how long a client that was never seen running a command counts as not running one."""


class Clock(Protocol):
    """The time; recordings are replayed with a clock of their own."""

    def now(self) -> float:
        """Return the seconds since 1970."""

    def monotonic(self) -> float:
        """Return seconds that never go backwards."""


class SystemClock:
    """The time of this machine."""

    def now(self) -> float:
        return time.time()

    def monotonic(self) -> float:
        return time.monotonic()


class _Screen:
    """How much a client writes."""

    def __init__(self) -> None:
        self._samples: list[tuple[float, ProcessActivity]] = []
        """Those of the last moments, oldest first."""
        self.is_drawing = False
        self.has_drawn = False
        """Whether it was ever seen drawing; one that never draws has no spinner."""
        self.changed = 0.0
        """When it started or stopped drawing."""
        self._first_drawn: float | None = None

    def is_due(self, mono: float) -> bool:
        return not self._samples or mono - self._samples[-1][0] >= _SCREEN_SECONDS

    def add(self, mono: float, activity: ProcessActivity) -> None:
        self._samples.append((mono, activity))
        while len(self._samples) > 1 and mono - self._samples[1][0] >= _SPINNER_SECONDS:
            del self._samples[0]
        start, before = self._samples[0]
        if mono - start < _SPINNER_SECONDS:
            return
        reads, writes, size = (new - old for new, old in zip(activity, before, strict=True))
        if reads <= _MAX_READS_PER_SECOND * (mono - start):
            self._add_writes(start, mono, writes - reads, size - _WAKE_UP_BYTES * writes)

    def _add_writes(self, start: float, mono: float, unprompted: int, size: int) -> None:
        """Tell a spinner, which is written without anything being read, from what somebody types and from redraws."""
        if unprompted == 1 and _MIN_DRAWN_BYTES <= size <= _MAX_FRAME_BYTES:
            return  # one frame: a slow spinner, or a small change
        if unprompted < 2 or size < _MIN_DRAWN_BYTES:
            self._first_drawn = None
            if self.is_drawing:
                self.is_drawing, self.changed = False, mono
        elif self._first_drawn is None:
            self._first_drawn = mono
        elif start >= self._first_drawn and not self.is_drawing:  # every change of the screen is drawn once
            self.is_drawing = self.has_drawn = True
            self.changed = self._first_drawn


class ProcessWatch:
    """The processes of some clients, each examined at most a few times a second."""

    def __init__(self, clock: Clock, processes: Processes) -> None:
        self._clock, self._processes = clock, processes
        self._children: dict[int, tuple[float, tuple[ChildProcess, ...] | None]] = {}
        self._shell_seen: dict[int, float] = {}
        self._screens: dict[int, _Screen] = {}
        self._lock = threading.RLock()

    def keep_only(self, pids: AbstractSet[int]) -> None:
        """Forget all other processes."""
        with self._lock:
            self._screens = {pid: screen for pid, screen in self._screens.items() if pid in pids}
            self._shell_seen = {pid: seen for pid, seen in self._shell_seen.items() if pid in pids}
            self._children = {pid: found for pid, found in self._children.items() if pid in pids}

    def list_children(self, pid: int) -> tuple[ChildProcess, ...] | None:
        """List what a client runs at the moment; looked up at most a few times a second."""
        with self._lock:
            mono = self._clock.monotonic()
            looked_at, known = self._children.get(pid, (float("-inf"), None))
            if mono - looked_at >= _CHILDREN_SECONDS:
                children = self._processes.list_children(pid)
                known = None if children is None else tuple(children)
                self._children[pid] = (mono, known)
                if known is None or any(map(is_tool_shell, known)):
                    self._shell_seen[pid] = mono
            return known

    def measure_childless(self, pid: int) -> float:
        """Return for how many seconds a client has not been running a command."""
        with self._lock:
            mono = self._clock.monotonic()
            return mono - self._shell_seen.setdefault(pid, mono - _UNSEEN_SECONDS)

    def read_screen(self, pid: int) -> ScreenSign | None:
        """Return whether a client keeps drawing on its screen; None if that is unknown."""
        with self._lock:
            screen = self._screens.setdefault(pid, _Screen())
            mono = self._clock.monotonic()
            if screen.is_due(mono):
                if (activity := self._processes.read_activity(pid)) is None:
                    return None
                screen.add(mono, activity)
            return ScreenSign(screen.is_drawing, max(mono - screen.changed, 0.0), screen.has_drawn)
