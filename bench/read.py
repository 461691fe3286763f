"""Measure how fast sessions are read, compared with other readers and with a lower bound.

turnlog and its reference are measured alternately in the same run; compare ratios, not seconds. See bench/README.md.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

from turnlog.demo import config_dir

from .corpora import generate_corpus
from .measure import Program, compare_programs, find_bench_folder
from .peers import ccusage
from .report import BARE, TURNLOG, Gate, Goal, Part, Report, build_task, format_table, warm_up


def measure_totals(runs: int, scale: float) -> Report:
    """Usage totals over 2 GB, without an index and with a warm page cache."""
    folder = generate_corpus("many", scale=scale)
    files = [str(path) for path in sorted((folder / "projects").rglob("*.jsonl"))]
    programs = {
        "cat": Program(["cat", *files], discards_output=True),
        "turnlog": build_task("totals", folder)._replace(prints_costs=False),
    }
    peer = ccusage.install_program()
    with tempfile.TemporaryDirectory() as home:
        if isinstance(peer, Path):
            programs[f"ccusage {ccusage.VERSION}"] = ccusage.build_report_command(peer, folder, Path(home))
        else:
            yield f"  ccusage skipped: {peer}"
        costs = compare_programs(warm_up(programs), min(runs, 4))
    yield from format_table(costs, "cat")
    truth = json.loads((folder / "truth.json").read_bytes())["usage_by_day_and_model"]
    yield Gate("turnlog equals the generator's truth", json.loads(costs["turnlog"].output)["result"] == truth)
    for name, cost in costs.items():
        if name.startswith("ccusage"):
            expected = sum(row[1] for day in truth.values() for row in day.values())
            share = ccusage.sum_output_tokens(cost.output) / expected
            yield f"         {name} finds {100 * share:.2f} % of the output tokens"
            yield Goal("times as fast as ccusage, wall", cost.wall / costs["turnlog"].wall, 2, is_minimum=True)
            yield Goal("times as fast as ccusage, CPU", cost.cpu / costs["turnlog"].cpu, 2, is_minimum=True)


def measure_meaning(runs: int, scale: float) -> Report:
    """The full meaning of a 200 MB session: graph, messages, turns, calls and usage."""
    path = next((generate_corpus("large", scale=scale) / "projects").glob("*/*.jsonl"))
    names = {"orjson, kept": "orjson-kept", "orjson, dropped": "orjson-dropped", "turnlog": "meaning"}
    costs = compare_programs({name: build_task(kind, path) for name, kind in names.items()}, runs)
    yield from format_table(costs, "orjson, kept")
    yield f"         {', '.join(f'{count} {name}' for name, count in costs['turnlog'].output.items())}"
    yield Goal("times orjson (kept), CPU", costs["turnlog"].cpu / costs["orjson, kept"].cpu, 0.5)
    yield Goal("MB at most", costs["turnlog"].memory, 130)


def measure_events(runs: int, scale: float) -> Report:
    """The events of a 200 MB session and its sub-agents, as JSON."""
    path = next((generate_corpus("large", scale=scale) / "projects").glob("*/*.jsonl"))
    names = {"turnlog show --json": "summary", "events": "events"}
    costs = compare_programs({name: build_task(kind, path) for name, kind in names.items()}, runs)
    yield from format_table(costs, "turnlog show --json")
    yield f"         {', '.join(f'{count} {name}' for name, count in costs['events'].output.items())}"
    yield Goal("times show --json, CPU", costs["events"].cpu / costs["turnlog show --json"].cpu, 1.3)
    yield Goal("times show --json, memory", costs["events"].memory / costs["turnlog show --json"].memory, 0.5)


def measure_listing(runs: int, scale: float) -> Report:
    """The list of 5,000 sessions, without an index."""
    folder = generate_corpus("list", scale=scale)
    environ = {"CLAUDE_CONFIG_DIR": str(folder)}
    programs = {
        "stat and 64 KB of each end": build_task("ends", folder),
        "turnlog's functions": build_task("listing", folder),
        "the same bound as a program": build_task("ends", folder)._replace(prints_costs=False),
        "turnlog ls": Program([*TURNLOG, "ls"], environ),
    }
    costs = compare_programs(warm_up(programs), runs)
    bound, ours, bound_program, command = costs.values()
    yield from format_table(costs, "stat and 64 KB of each end")
    yield Goal("times the bound, functions, CPU", ours.cpu / bound.cpu, 4)
    yield Goal("times the bound, both as whole programs, wall", command.wall / bound_program.wall, 4)
    # The command uses every core; this counts what all of them spend.
    yield Goal("times the bound, both as whole programs, CPU", command.cpu / bound_program.cpu, 4)


def measure_start(runs: int, _: float) -> Report:
    """Startup until a command's own first line, and until it reports that a file does not exist."""
    programs = {
        "python -I -S -c pass": Program([sys.executable, "-I", "-S", "-c", "pass"]),
        "python -c pass": BARE,
        "turnlog --version": Program([*TURNLOG, "--version"]),
        "turnlog statusline": Program([*TURNLOG, "statusline"], stdin=_write_status()),
    }
    for name in ("cat", "show", "messages", "check"):
        arguments = [name, "missing/file.jsonl"]
        programs[f"{name}, first own line"] = Program([sys.executable, "-c", _FIRST_LINE, *arguments])
        programs[f"{name}, no such file"] = Program([*TURNLOG, *arguments], statuses=(1,))
    costs = compare_programs(warm_up(programs), runs * 4)
    yield from format_table(costs, "python -c pass")
    bare = costs["python -c pass"].wall
    yield Goal("bare interpreters, turnlog --version", costs["turnlog --version"].wall / bare, 2)
    yield Goal("bare interpreters, turnlog statusline", costs["turnlog statusline"].wall / bare, 2)
    for name, cost in costs.items():
        if name.endswith("first own line"):
            yield Goal(f"bare interpreters, {name}", cost.wall / bare, 5)


def _write_status() -> Path:
    """Write what the client passes to its status line; turnlog has to read the rest from the session."""
    session = max(config_dir().glob("projects/*/*.jsonl"), key=lambda path: path.stat().st_size)
    status = {"session_id": session.stem, "transcript_path": str(session), "model": {"id": "claude-opus-5-5"}}
    path = find_bench_folder() / "statusline.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(status))
    return path


_FIRST_LINE = """
import os, sys
from turnlog.__main__ import main
from turnlog.cli.table import COMMANDS
COMMANDS[sys.argv[1]].load().callback = lambda **_: os._exit(0)
main()
"""
"""Runs a command and exits where the command's own work would start."""


PARTS: Mapping[str, Part] = {
    "totals": measure_totals,
    "meaning": measure_meaning,
    "events": measure_events,
    "listing": measure_listing,
    "start": measure_start,
}
