"""Measure the console of `turnlog chat`: how soon it asks for a prompt, and what it costs to show an answer.

See bench/README.md.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

from .measure import BenchmarkError, Cost, Program, build_environ, compare_programs, run_program
from .report import BARE, TURNLOG, Goal, Part, Report, build_task

_BARE = "python -c pass"
_TOKENS = 20_000
_TOKENS_PER_SECOND = 100
"""How fast a fast model writes."""
_TURNS = 1000
_START_SECONDS = 0.150
_PROMPT = b"\x1b[?2004h> "
_MAX_WAIT_SECONDS = 60.0


def measure_rendering(runs: int, scale: float) -> Report:
    """CPU time to show a streamed answer of 20,000 tokens: paragraphs, lists, tables and code, a token at a time."""
    tokens = round(_TOKENS * scale)
    for width in (80, 120):
        costs = compare_programs({"rendering": build_task("rendering", tokens, width)}, max(runs, 3))
        cpu, output = costs["rendering"].cpu, costs["rendering"].output
        yield (
            f"  {width} columns: {cpu:.2f} s of CPU for {tokens} tokens; {output['bytes'] / output['frames']:.0f} bytes"
            f" in each of {output['frames']} frames, {output['bytes'] / output['chars']:.1f} per character"
        )
        share = 100 * cpu / (tokens / _TOKENS_PER_SECOND)
        yield Goal(f"% of one core, if the model writes {_TOKENS_PER_SECOND} tokens a second", share, 5)


def measure_memory(_: int, scale: float) -> Report:
    """Memory of a session at its console after 100 turns and after 1,000, each with a call, beside what it sends."""
    count = max(round(_TURNS * scale), 200)
    with tempfile.TemporaryDirectory(prefix="turnlog-bench-") as place:
        (Path(place) / "read.txt").write_text("a line of a file that is read in every turn\n" * 12)
        output = run_program(build_task("turn-memory", place, count)).output
    before, after, sent = output["before"], output["after"], output["sent"] / 1e6
    yield f"  {before:.1f} MB after {count // 10} turns, {after:.1f} after {count}; it sends {sent:.1f} MB in the end"
    yield Goal("KB for each turn, which stays part of the conversation", 1e3 * (after - before) / (0.9 * count), 10)


def measure_prompt(runs: int, _: float) -> Report:
    """Time until `turnlog chat` asks for a prompt in a trusted folder, compared with a bare interpreter."""
    if sys.platform == "win32":
        raise BenchmarkError("it needs a pseudo-terminal")
    with tempfile.TemporaryDirectory(prefix="turnlog-bench-") as place:
        home, cwd = Path(place).resolve() / "home", Path(place).resolve() / "project"
        for folder in (home / ".claude", cwd):
            folder.mkdir(parents=True)
        (home / ".claude.json").write_text(json.dumps({"projects": {str(cwd): {"hasTrustDialogAccepted": True}}}))
        bare, ours = list[Cost](), list[Cost]()
        for number in range(runs * 4 + 1):
            pair = run_program(BARE), _run_until_prompt(home, cwd)
            if number:  # the first run only warms up
                bare.append(pair[0])
                ours.append(pair[1])
    for name, column in (("wall", 0), ("CPU", 1)):
        interpreter, start = (median(cost[column] for cost in costs) for costs in (bare, ours))
        yield f"  {name}, medians: {interpreter * 1e3:.0f} ms for {_BARE}, {start * 1e3:.0f} ms until the prompt"
        yield Goal(f"of 3 bare interpreters and 150 ms, {name}", start / (3 * interpreter + _START_SECONDS), 1)


def _run_until_prompt(home: Path, cwd: Path) -> Cost:
    """Start the console in a terminal of its own, and return what it costs until it asks for a prompt."""
    import pty
    import select
    import signal

    environ = {**build_environ(), "HOME": str(home), "CLAUDE_CONFIG_DIR": str(home / ".claude"), "TERM": "xterm",
               "TURNLOG_HOME": str(home / "data"), "ANTHROPIC_API_KEY": "bench", "LANG": "C.UTF-8"}  # fmt: skip
    began = time.perf_counter()
    pid, terminal = pty.fork()
    if pid == 0:
        os.chdir(cwd)
        os.execvpe(TURNLOG[0], [*TURNLOG, "chat"], environ)
    shown, is_ready = b"", True
    while is_ready and _PROMPT not in shown:
        is_ready = bool(select.select([terminal], [], [], _MAX_WAIT_SECONDS)[0])
        try:
            shown += os.read(terminal, 65536) if is_ready else b""
        except OSError:
            is_ready = False
    wall = time.perf_counter() - began
    os.kill(pid, signal.SIGKILL)
    os.close(terminal)
    _, _, usage = os.wait4(pid, 0)
    if not is_ready:
        raise BenchmarkError(f"no prompt appeared: {shown[-200:]!r}")
    return Cost(wall, usage.ru_utime + usage.ru_stime, 0.0)


def measure_peak_memory(program: Program) -> float:
    """Return the peak memory of a program in MB, without what it inherits from the large process that starts it."""
    starter = [sys.executable, "-I", "-S", "-c", _STARTER, *program.command]
    return float(run_program(program._replace(command=starter)).output.split()[-1])


_STARTER = """
import os, sys
pid = os.posix_spawnp(sys.argv[1], sys.argv[1:], os.environ)
_, status, usage = os.wait4(pid, 0)
print(usage.ru_maxrss * (1 if sys.platform == "darwin" else 1024) / 1e6)
"""


PARTS: dict[str, Part] = {"rendering": measure_rendering, "turn-memory": measure_memory, "prompt": measure_prompt}
