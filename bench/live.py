"""How fast a line on disk becomes an event in a pipe and in a browser, and what watching silent files costs.

Everything is measured in one run; see bench/README.md.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from queue import Queue
from statistics import median
from typing import Any

from turnlog.live.processes import NoProcesses
from turnlog.live.watcher import Watcher

from .browser import Browser, run_server
from .measure import BenchmarkError, build_environ
from .report import Goal, Part, Report

_MANY = 500
_LINES = 60
_PAUSE_SECONDS = 0.23
"""Between two lines: not a multiple of the time between two polls."""
_SILENT_SECONDS = 20.0


def measure_live(runs: int, scale: float) -> Report:
    """A line on disk to its event in a pipe and in a browser, with 1 and 500 followed files; the cost of silence."""
    for count in (1, _MANY):
        with _create_sessions(count) as folder:
            latencies = _measure_pipe(folder, max(_LINES, 12 * runs))
            yield f"  pipe, {count} files: median {median(latencies):.0f} ms, slowest {max(latencies):.0f} ms"
            yield Goal(f"ms from the line to the pipe, {count} followed files", median(latencies), 150)
    for count in (1, _MANY):
        with _create_sessions(count) as folder:
            latencies = _measure_browser(folder, max(_LINES, 12 * runs))
            yield f"  browser, {count} files: median {median(latencies):.0f} ms, slowest {max(latencies):.0f} ms"
            yield Goal(f"ms from the line to the browser, {count} followed files", median(latencies), 150)
    with _create_sessions(_MANY) as folder:
        yield Goal(f"% of one core while {_MANY} files are silent", _measure_silence(folder), 2)
    yield from _replay_day(scale)


# -- sessions


class _Writer:
    """Writes sessions as a client does."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder / "projects" / "-home-dana-webshop"
        self._folder.mkdir(parents=True)
        self._count = 0

    def name_session(self, number: int) -> Path:
        return self._folder / f"{number:08d}-2222-4333-8444-555555555555.jsonl"

    def write(self, number: int, text: str, moment: datetime | None = None, kind: str = "assistant") -> None:
        """Append one entry."""
        self._count += 1
        content: Any = text if kind == "user" else [{"type": "text", "text": text}]
        message = {"role": kind, "content": content}
        if kind == "assistant":
            usage = {"input_tokens": 10, "cache_read_input_tokens": 1000 + self._count, "output_tokens": 20}
            message |= {"id": f"msg-{self._count}", "model": "claude-opus-5", "usage": usage, "stop_reason": None}
        line = {
            "type": kind,
            "uuid": f"entry-{self._count}",
            "parentUuid": None,
            "isSidechain": False,
            "sessionId": self.name_session(number).stem,
            "timestamp": (moment or datetime.now(UTC)).isoformat(timespec="milliseconds").replace("+00:00", "Z"),
            "cwd": "/home/dana/webshop",
            "version": "2.1.325",
            "message": message,
        }
        with self.name_session(number).open("ab") as file:
            file.write(json.dumps(line).encode() + b"\n")


class _Sessions:
    """A config folder with some sessions that were active a while ago."""

    def __init__(self, folder: Path, count: int) -> None:
        self.folder = folder
        self.count = count
        self.writer = _Writer(folder)
        before = datetime.now(UTC) - timedelta(minutes=2)
        for number in range(count):
            self.writer.write(number, "begin", before, "user")
            self.writer.write(number, "done " * 100, before)

    def write_lines(self, lines: int, sent: dict[str, float]) -> None:
        """Append lines to sessions at random, and note when."""
        chooser = random.Random(1)
        for number in range(lines):
            word = f"line-{number}"
            sent[word] = time.perf_counter()
            self.writer.write(chooser.randrange(self.count), word)
            time.sleep(_PAUSE_SECONDS)


@contextmanager
def _create_sessions(count: int) -> Iterator[_Sessions]:
    with tempfile.TemporaryDirectory(prefix="turnlog-bench-") as place:
        yield _Sessions(Path(place), count)


# -- latency


def _measure_pipe(sessions: _Sessions, lines: int) -> list[float]:
    """Return the time of each line from the disk to the reader of a pipe, in ms."""
    with _run_watch(sessions.folder) as process:
        time.sleep(2)
        received: Queue[tuple[str, float]] = Queue()
        threading.Thread(target=_receive_lines, args=[process, received], daemon=True).start()
        return _collect_delays(sessions, lines, received)


def _receive_lines(process: subprocess.Popen[bytes], received: Queue[tuple[str, float]]) -> None:
    for line in process.stdout or ():
        if b'"event":"text"' in line:
            received.put((json.loads(line)["text"], time.perf_counter()))


def _collect_delays(sessions: _Sessions, lines: int, received: Queue[tuple[str, float]]) -> list[float]:
    sent: dict[str, float] = {}
    sessions.write_lines(lines, sent)
    found = [received.get(timeout=10) for _ in range(lines)]
    return [1000 * (moment - sent[word]) for word, moment in found]


@contextmanager
def _run_watch(folder: Path) -> Iterator[subprocess.Popen[bytes]]:
    with tempfile.TemporaryDirectory(prefix="turnlog-bench-") as home:
        environ = {**build_environ(), "TURNLOG_HOME": home, "CLAUDE_CONFIG_DIR": str(folder)}
        words = [sys.executable, "-m", "turnlog", "watch", "--json"]
        process = subprocess.Popen(words, env=environ, stdout=subprocess.PIPE)
        try:
            yield process
        finally:
            process.terminate()
            process.wait(10)


_LISTEN = """() => {
  window.benchTimes = [];
  window.benchSource = new EventSource("/api/events");
  window.benchSource.addEventListener("event", ({ data }) => {
    const event = JSON.parse(data);
    if (event.event === "text") window.benchTimes.push([event.text, Date.now()]);
  });
  return new Promise((done) => window.benchSource.addEventListener("open", done, { once: true }));
}"""


def _measure_browser(sessions: _Sessions, lines: int) -> list[float]:
    """Return the time of each line from the disk to a script in a page, in ms."""
    with run_server(sessions.folder) as server, Browser(server) as browser:
        page = browser._page
        page.goto(f"{server.root}/live")
        page.evaluate(f"async () => {{ await ({_LISTEN})(); }}")
        page.wait_for_timeout(2000)
        offset = time.time() - time.perf_counter()
        sent: dict[str, float] = {}
        sessions.write_lines(lines, sent)
        page.wait_for_timeout(1500)
        found = dict(page.evaluate("window.benchTimes"))
        if len(found) != lines:
            raise BenchmarkError(f"{len(found)} of {lines} lines arrived")
        return [found[word] - 1000 * (offset + moment) for word, moment in sent.items()]


# -- silence, and a long day


def _measure_silence(sessions: _Sessions) -> float:
    """Return the share of one core that watching takes while nothing happens, in percent."""
    with _run_watch(sessions.folder) as process:
        time.sleep(5)
        before = _read_cpu(process.pid)
        time.sleep(_SILENT_SECONDS)
        return 100 * (_read_cpu(process.pid) - before) / _SILENT_SECONDS


def _read_cpu(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_bytes().rsplit(b")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class _FastClock:
    """A clock that a replay moves."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds

    def now(self) -> float:
        return self.seconds

    def monotonic(self) -> float:
        return self.seconds


def _replay_day(scale: float) -> Report:
    """Replay 24 hours of 20 sessions in a few minutes at most, and compare the memory after 6 and after 24 hours."""
    import gc
    import tracemalloc

    steps = max(int(24 * 60 * scale), 96)
    with tempfile.TemporaryDirectory(prefix="turnlog-bench-") as place:
        writer, start = _Writer(Path(place)), datetime.now(UTC)
        for number in range(20):
            writer.write(number, "begin", start, "user")
        clock = _FastClock(start.timestamp())
        watcher = Watcher([Path(place)], clock=clock, processes=NoProcesses())
        watcher.poll()
        sizes: list[int] = []
        count = 0
        tracemalloc.start()
        for step in range(steps):
            clock.seconds += 86400 / steps
            moment = datetime.fromtimestamp(clock.seconds, UTC)
            for number in range(20):
                if (step // 30 + number) % 3:  # each session rests for a third of the time
                    for _ in range(3):
                        writer.write(number, "working " * 20, moment)
                    writer.write(number, "next", moment, "user")
            count += len(watcher.poll())
            if step in (steps // 4, steps - 1):
                gc.collect()
                sizes.append(tracemalloc.get_traced_memory()[0])
        tracemalloc.stop()
    early, late = (size / 1e6 for size in sizes)
    yield f"  24 hours of 20 sessions: {count:,} events, {early:.1f} MB after 6 hours, {late:.1f} MB at the end"
    yield Goal("times the memory after 24 hours of what it was after 6", sizes[1] / sizes[0], 1.5)


PARTS: dict[str, Part] = {"live": measure_live}
