"""Timing programs: each in a fresh process, the variants of a comparison in turns, the best of several runs."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

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
    environ = {**_environ(), **program.environ}
    before, start = _children(), time.perf_counter()
    output = subprocess.DEVNULL if program.is_mute else subprocess.PIPE
    done = subprocess.run(program.words, env=environ, stdout=output, stderr=subprocess.PIPE, check=False)
    wall, cpu = time.perf_counter() - start, _children() - before
    if done.returncode != program.status:
        complaint = done.stderr.decode(errors="replace").strip()
        raise Failed(f"{' '.join(program.words[:4])} ended with status {done.returncode}: {complaint[-300:]}")
    if program.reports:
        said = json.loads(done.stdout)
        return Cost(said["wall"], said["cpu"], said["memory"], said["found"])
    return Cost(wall, cpu, 0, done.stdout)


def _children() -> float:
    """The CPU seconds of all programs that have ended so far."""
    try:
        from resource import RUSAGE_CHILDREN, getrusage
    except ImportError:  # not on Windows
        return 0.0
    used = getrusage(RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


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
