"""Waits that end by progress: a slow machine makes them longer, and only something that hangs makes them fail.

A process hangs if neither it nor anything that it started has used the processor, and none of them waits for it or for
a disk, for STILL seconds. On a busy machine a process that wants to work counts as working.
"""

from __future__ import annotations

import contextlib
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

STILL = 60.0
"""Seconds without any work, after which nothing will come any more."""
HANG = 900.0
"""Seconds after which threads of the test itself are taken for stuck: they can't be looked at from outside."""
_PROC = Path("/proc")


class Watch:
    """Looks at a process while somebody waits for it."""

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._work = -1
        self._since = time.monotonic()

    def check(self, what: str) -> None:
        """Raise if the process hangs; call it now and then."""
        if self.is_working():
            self._since = time.monotonic()
        assert time.monotonic() - self._since < STILL, f"process {self._pid} hangs: {what}"

    def is_working(self) -> bool:
        """Whether the process, or one that it started, has worked since this was asked before, or wants to."""
        found = [_state(pid) for pid in _family(self._pid)]
        work, before = sum(ticks for _, ticks in found), self._work
        self._work = work
        return work != before or any(state in ("R", "D") for state, _ in found)


def _family(pid: int) -> Iterator[int]:
    yield pid
    for path in (_PROC / str(pid) / "task").glob("*/children"):
        with contextlib.suppress(OSError):
            for child in path.read_text().split():
                yield from _family(int(child))


def _state(pid: int) -> tuple[str, int]:
    """Whether a process runs, sleeps or waits for a disk, and how long it has worked."""
    try:
        fields = (_PROC / str(pid) / "stat").read_text().rpartition(")")[2].split()
    except OSError:
        return "", 0
    return fields[0], int(fields[11]) + int(fields[12])


def finish(process: subprocess.Popen[Any]) -> tuple[Any, Any]:
    """What a process writes until it ends, however long it takes."""
    watch = Watch(process.pid)
    while True:
        try:
            return process.communicate(timeout=1)
        except subprocess.TimeoutExpired:
            watch.check("it does not end")


def run(words: list[str], given: Any = None, **options: Any) -> subprocess.CompletedProcess[Any]:
    """Run a process to its end, as `subprocess.run` does, and keep what it writes.

    What it is given is there from the start: a client does not wait long for a pipe that says nothing.
    """
    with contextlib.ExitStack() as opened:
        if given is not None:
            options["stdin"] = opened.enter_context(TemporaryFile())
            options["stdin"].write(given if isinstance(given, bytes) else given.encode("utf-8", "surrogateescape"))
            options["stdin"].seek(0)
        process = opened.enter_context(
            subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options)
        )
        try:
            out, complaint = finish(process)
        except BaseException:
            process.kill()
            raise
    return subprocess.CompletedProcess(words, process.returncode, out, complaint)


def wait_until(is_true: Callable[[], object]) -> None:
    """Wait for something that another thread, or a process, does."""
    end = time.monotonic() + HANG
    while not is_true():
        assert time.monotonic() < end, "what was waited for did not happen"
        time.sleep(0.01)
