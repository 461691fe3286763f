"""Timing programs: each in a fresh process, the variants of a comparison in turns, the best of several runs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import IO, Any, NamedTuple

ROOT = Path(__file__).resolve().parent.parent


class Failed(Exception):
    """A program did not end as it should."""


class Program(NamedTuple):
    """A program to run."""

    words: Sequence[str]
    environ: Mapping[str, str] = {}
    reports: bool = False
    """It prints its own times as JSON (`bench.tasks`): without the start of the interpreter."""
    is_mute: bool = False
    """Nobody reads its output."""
    status: int = 0
    """The exit status that it shall have."""
    given: Path | None = None
    """The file that it reads from standard input."""
    prepare: Callable[[], object] = lambda: None
    """What must be done before each run; that is not measured."""
    cwd: Path | None = None
    """The folder that it runs in; ours without it."""
    is_alone: bool = False
    """It sees nothing of our environment but `environ`."""


class Cost(NamedTuple):
    """What a run took."""

    wall: float
    cpu: float
    """Seconds of all its processes together, in user and kernel."""
    memory: float
    """The most that one of its processes had in memory, in MB."""
    said: Any = None
    """What the program found."""


def compare(programs: Mapping[str, Program], runs: int) -> dict[str, Cost]:
    """The best of some runs of each program, taken in turns so that a busy moment hurts all alike."""
    found: dict[str, list[Cost]] = {name: [] for name in programs}
    for _ in range(runs):
        for name, program in programs.items():
            found[name].append(run(program))
    return {name: _best(costs) for name, costs in found.items()}


def _best(costs: Sequence[Cost]) -> Cost:
    wall, cpu, memory = (min(cost[place] for cost in costs) for place in range(3))
    return Cost(wall, cpu, memory, costs[-1].said)


def run(program: Program) -> Cost:
    """Run a program once."""
    program.prepare()
    environ = {**({} if program.is_alone else _environ()), **program.environ}
    given = program.given or Path(os.devnull)
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as complaints, given.open("rb") as source:
        start = time.perf_counter()
        process = subprocess.Popen(
            program.words,
            env=environ,
            cwd=program.cwd,
            stdin=source,
            stdout=subprocess.DEVNULL if program.is_mute else output,
            stderr=complaints,
        )
        cpu, memory = _waited(process)
        wall = time.perf_counter() - start
        said, complaint = _content(output), _content(complaints).decode(errors="replace").strip()
    if process.returncode != program.status:
        raise Failed(f"{' '.join(program.words[:4])} ended with status {process.returncode}: {complaint[-300:]}")
    if program.reports:
        found = json.loads(said)
        return Cost(found["wall"], found["cpu"], found["memory"], found["found"])
    return Cost(wall, cpu, memory, said)


def _waited(process: subprocess.Popen[bytes]) -> tuple[float, float]:
    """Wait for a program; the CPU seconds of it and its children, and the MB of the largest of them."""
    if sys.platform == "win32":
        process.wait()
        return 0.0, 0.0
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return used.ru_utime + used.ru_stime, used.ru_maxrss * (1 if sys.platform == "darwin" else 1024) / 1e6


def _content(file: IO[bytes]) -> bytes:
    file.seek(0)
    return file.read()


def _environ() -> dict[str, str]:
    """Our source tree in front, and modules compiled once as in an installed package."""
    found = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    paths = [str(ROOT / "src"), str(ROOT), *os.environ.get("PYTHONPATH", "").split(os.pathsep)]
    found["PYTHONPATH"] = os.pathsep.join(filter(None, paths))
    found["PYTHONPYCACHEPREFIX"] = str(folder() / "compiled")
    return found


def folder() -> Path:
    """Where benchmarks keep what they generate: TURNLOG_BENCH_DIR, or a folder for temporary files."""
    return Path(os.environ.get("TURNLOG_BENCH_DIR") or Path(tempfile.gettempdir()) / "turnlog-bench")
