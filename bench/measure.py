"""Time programs: each in a fresh process, alternating between the variants, taking the best of several runs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import IO, Any, NamedTuple

ROOT = Path(__file__).resolve().parent.parent


class BenchmarkError(Exception):
    """A program failed or could not be run."""


class Program(NamedTuple):
    """A program to run."""

    command: Sequence[str]
    environ: Mapping[str, str] = {}
    prints_costs: bool = False
    """Whether the program prints its own costs as JSON (`bench.tasks`), without the interpreter's startup."""
    discards_output: bool = False
    """Whether its output is discarded."""
    statuses: Collection[int] = (0,)
    """The expected exit statuses."""
    stdin: Path | None = None
    """The file passed as standard input."""
    prepare: Callable[[], object] = lambda: None
    """Runs before each run and is not measured."""
    cwd: Path | None = None
    """The working directory (default: ours)."""
    has_clean_environ: bool = False
    """Whether it sees only `environ`, and nothing of our environment."""


class Cost(NamedTuple):
    """What a run cost."""

    wall: float
    cpu: float
    """User and kernel seconds of all its processes."""
    memory: float
    """Peak memory of its largest process, in MB."""
    output: Any = None
    """What the program printed."""


def compare_programs(programs: Mapping[str, Program], runs: int) -> dict[str, Cost]:
    """Return each program's best of several runs; they alternate, so that a busy moment affects all equally."""
    samples: dict[str, list[Cost]] = {name: [] for name in programs}
    for _ in range(runs):
        for name, program in programs.items():
            samples[name].append(run_program(program))
    return {name: _take_best(costs) for name, costs in samples.items()}


def _take_best(costs: Sequence[Cost]) -> Cost:
    wall, cpu, memory = (min(cost[column] for cost in costs) for column in range(3))
    return Cost(wall, cpu, memory, costs[-1].output)


def run_program(program: Program) -> Cost:
    """Run a program once."""
    program.prepare()
    environ = {**({} if program.has_clean_environ else build_environ()), **program.environ}
    stdin = program.stdin or Path(os.devnull)
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors, stdin.open("rb") as source:
        start = time.perf_counter()
        process = subprocess.Popen(
            program.command,
            env=environ,
            cwd=program.cwd,
            stdin=source,
            stdout=subprocess.DEVNULL if program.discards_output else output,
            stderr=errors,
        )
        cpu, memory = _wait_for_exit(process)
        wall = time.perf_counter() - start
        content, error = _read_file(output), _read_file(errors).decode(errors="replace").strip()
    if process.returncode not in program.statuses:
        raise BenchmarkError(f"{' '.join(program.command[:4])} failed with status {process.returncode}: {error[-300:]}")
    if program.prints_costs:
        report = json.loads(content)
        return Cost(report["wall"], report["cpu"], report["memory"], report["result"])
    return Cost(wall, cpu, memory, content)


def _wait_for_exit(process: subprocess.Popen[bytes]) -> tuple[float, float]:
    """Wait for a program; return the CPU seconds of all its processes and the peak memory of the largest, in MB."""
    if sys.platform == "win32":
        process.wait()
        return 0.0, 0.0
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss * (1 if sys.platform == "darwin" else 1024) / 1e6


def _read_file(file: IO[bytes]) -> bytes:
    file.seek(0)
    return file.read()


def build_environ() -> dict[str, str]:
    """Put our source tree first on the path, and compile modules only once, as in an installed package."""
    environ = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    paths = [str(ROOT / "src"), str(ROOT), *os.environ.get("PYTHONPATH", "").split(os.pathsep)]
    environ["PYTHONPATH"] = os.pathsep.join(filter(None, paths))
    environ["PYTHONPYCACHEPREFIX"] = str(find_bench_folder() / "compiled")
    return environ


def find_bench_folder() -> Path:
    """Return the folder for generated files: TURNLOG_BENCH_DIR, or a folder for temporary files."""
    return Path(os.environ.get("TURNLOG_BENCH_DIR") or Path(tempfile.gettempdir()) / "turnlog-bench")
