"""Shows what a silent command is doing: one line on a terminal's standard error, overwritten and finally erased.

The line appears once a command has been silent for a second. It says how much is done and how long the rest takes, as
far as the command or the work below it reports that (`turnlog.work_progress`), and otherwise how long it has taken so
far. A thread draws it, so that work that reports nothing is not silent either.
"""

from __future__ import annotations

import math
import os
import stat
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from turnlog.work_progress import listen_to_work, stop_listening

if TYPE_CHECKING:
    from threading import Event, Thread

ProgressCallback = Callable[[int, int], None]
"""Called with the number of finished steps and the total."""
SILENT_SECONDS = 1.0
"""How long a command may be silent."""
REFRESH_SECONDS = 0.2
_BAR_CELLS = 24


class _Step(NamedTuple):
    """What a command is doing, and since when."""

    words: str
    done: int
    total: int
    start: float


class ProgressLine:
    """The line of one command."""

    def __init__(self, start: float) -> None:
        import threading

        self._start = start
        self._last_output = start
        self._last_draw = 0.0
        self._step: _Step | None = None
        self._is_explicit = False
        """Whether the command itself reports its steps; those of the work below it are then details."""
        self._is_visible = False
        self._lock = threading.Lock()
        self._is_closed = False
        self._thread: Thread | None = None
        self._thread_end = threading.Event()

    def start_thread(self) -> None:
        """Draw the line from time to time, whether anything is reported or not."""
        import threading

        self._thread_end = threading.Event()
        self._thread = threading.Thread(target=self._draw_until, args=(self._thread_end,), name="progress", daemon=True)
        self._thread.ends_before_fork = True  # type: ignore[attr-defined]  # see `worker_processes.count_cores`
        self._thread.start()

    def stop_thread(self) -> bool:
        """End the thread; return whether there was one."""
        thread, self._thread = self._thread, None
        self._thread_end.set()
        if thread is not None:
            thread.join()
        return thread is not None

    def report_work(self, step: str, done: int, total: int) -> None:
        """Take a report from the work below the command."""
        if not self._is_explicit:
            self._take(f"{step[:1].upper()}{step[1:]}: {{share}}", done, total)

    def report_step(self, words: str, done: int, total: int) -> None:
        """Take a report from the command itself."""
        self._is_explicit = done < total
        self._take(words, done, total)

    def clear(self) -> None:
        """Erase the line, because something else is about to be written."""
        with self._lock:
            self._erase()
            self._last_output = time.monotonic()

    def pause(self) -> None:
        """Erase the line until `clear` is called."""
        with self._lock:
            self._erase()
            self._last_output = math.inf

    def close(self) -> None:
        """Erase the line for good."""
        self._is_closed = True
        self.stop_thread()
        with self._lock:
            self._erase()

    def leave(self) -> None:
        """Never draw again, without erasing the line, which belongs to the process that forked this one."""
        self._is_closed = True

    def _take(self, words: str, done: int, total: int) -> None:
        if done >= total:
            self._step = None
            return
        before = self._step
        start = before.start if before and before.words == words and before.done <= done else time.monotonic()
        self._step = _Step(words, done, total, start)
        if time.monotonic() - self._last_draw > REFRESH_SECONDS:
            self._draw()

    def _draw_until(self, end: Event) -> None:
        while not end.wait(REFRESH_SECONDS):
            self._draw()

    def _draw(self) -> None:
        with self._lock:
            now = time.monotonic()
            if self._is_closed or now - self._last_output < SILENT_SECONDS:
                return
            self._last_draw = now
            step = self._step
            text = _describe_step(step, now) if step else f"Working, {now - self._start:.0f} s so far (Ctrl-C stops)"
            self._is_visible = True
            _write_stderr(f"\r\x1b[2K{text[: _measure_terminal() - 1]}")

    def _erase(self) -> None:
        if self._is_visible:
            self._is_visible = False
            _write_stderr("\r\x1b[2K")


_lines: list[ProgressLine] = []
"""The line of the running command, if standard error is a terminal."""


@contextmanager
def show_work() -> Iterator[None]:
    """Show what the command is doing while it is silent; does nothing without a terminal."""
    if sys.stderr is None or not sys.stderr.isatty():
        yield
        return
    line = ProgressLine(time.monotonic())
    _lines.append(line)
    _prepare_forks()
    listen_to_work(line.report_work)
    line.start_thread()
    try:
        yield
    finally:
        hide_work()


@cache
def _prepare_forks() -> None:
    """Let the thread end before each fork, so that the new process doesn't inherit a lock that it holds."""
    if not hasattr(os, "register_at_fork"):
        return
    stopped: list[ProgressLine] = []

    def stop_threads() -> None:
        stopped[:] = [line for line in _lines if line.stop_thread()]

    def start_threads() -> None:
        for line in stopped:
            line.start_thread()

    def leave_lines() -> None:
        stop_listening()
        for line in _lines:
            line.leave()

    os.register_at_fork(before=stop_threads, after_in_parent=start_threads, after_in_child=leave_lines)


def hide_work() -> None:
    """Show nothing more: the command draws on the terminal itself, asks a question, or has begun its output."""
    stop_listening()
    while _lines:
        _lines.pop().close()


def clear_progress() -> None:
    """Erase the line before something is written to standard error."""
    for line in _lines:
        line.clear()


@contextmanager
def pause_progress() -> Iterator[None]:
    """Keep the line away while the command asks a question."""
    for line in _lines:
        line.pause()
    try:
        yield
    finally:
        clear_progress()


def begin_output() -> None:
    """Make room for standard output, which the terminal, or a pager behind a pipe, shows in the same place."""
    if not _lines or sys.stdout is None or _is_stdout_elsewhere():
        return
    if sys.stdout.isatty():
        clear_progress()
    else:
        hide_work()


def show_progress(words: str) -> ProgressCallback | None:
    """Return a callback that shows progress such as `archiving {done:,} of {total:,} …`, or None without a terminal.

    The words may also contain {share}, {bar}, {done_mb} and {total_mb}.
    """
    if not _lines:
        return None
    line = _lines[0]
    return lambda done, total: line.report_step(words, done, total)


def _describe_step(step: _Step, now: float) -> str:
    share = f"{min(step.done * 100 // step.total, 99)} %"
    filled = min(step.done * _BAR_CELLS // step.total, _BAR_CELLS)
    text = step.words.format(
        done=step.done,
        total=step.total,
        share=share,
        bar="#" * filled + "." * (_BAR_CELLS - filled),
        done_mb=step.done / 1e6,
        total_mb=step.total / 1e6,
    )
    if not step.done or now == step.start:
        return text
    seconds = (now - step.start) * (step.total - step.done) / step.done
    hint = "" if "Ctrl-C" in text else " (Ctrl-C stops)"
    return f"{text}{'' if text.endswith('…') else ','} about {_describe_seconds(seconds)} left{hint}"


def _describe_seconds(seconds: float) -> str:
    return f"{seconds / 60:.0f} min" if seconds >= 100 else f"{max(seconds, 1):.0f} s"


def _is_stdout_elsewhere() -> bool:
    """Return whether standard output is a file or a device such as /dev/null."""
    try:
        mode = os.fstat(sys.stdout.fileno()).st_mode
        return stat.S_ISREG(mode) or (stat.S_ISCHR(mode) and not sys.stdout.isatty())
    except (OSError, ValueError):
        return False


def _measure_terminal() -> int:
    try:
        return os.get_terminal_size(sys.stderr.fileno()).columns or 80
    except (OSError, ValueError):
        return 80


def _write_stderr(text: str) -> None:
    try:
        sys.stderr.write(text)
        sys.stderr.flush()
    except (OSError, ValueError):
        pass  # The terminal is gone; the command itself goes on.
