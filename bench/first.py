"""Measure what a new user waits for, and what every command takes: the first answers without an index, and all others.

See bench/README.md.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path

from .corpora import generate_corpus
from .indexes import build_command, build_first_stage_command, delete_index, ensure_index, stop_filler
from .measure import Cost, Program, compare_programs, find_bench_folder
from .peers import ccusage
from .report import BARE, Gate, Goal, Part, Report, build_task, format_table, warm_up
from .store import parse_days, read_truth, sum_models

_BARE, _USAGE, _FLOOR = "python -c pass", "first usage", "bare FTS5 load"
_TREE, _SEARCH, _WHOLE = "first tree", "first search", "index --wait"
_PEER = f"ccusage {ccusage.VERSION}"
_COMMANDS: Mapping[str, tuple[str, ...]] = {
    "usage": ("usage",),
    "search": ("search", "refactor"),
    "ls": ("ls",),
    "tree": ("tree",),
    "tools": ("tools",),
    "show last": ("show", "last"),
    "prompts": ("prompts",),
    "board": ("board",),
    "doctor --fresh": ("doctor", "--fresh"),
    "doctor": ("doctor",),
}
"""The commands that cover all sessions, or find one among them."""
_SESSION_COMMANDS: Mapping[str, tuple[str, ...]] = {
    "show": ("show",),
    "messages": ("messages",),
    "context": ("context",),
    "files": ("files",),
    "tools": ("tools",),
    "check": ("check",),
    "doctor": ("doctor",),
    "trace show": ("trace", "show"),
    "strip": ("strip",),
    "redact": ("redact",),
    "export --format md": ("export", "--format", "md", "-o", "-"),
    "export --format html": ("export", "--format", "html", "-o", "-"),
    "export --share": ("export", "--share", "--format", "html", "-o", "-"),
}
_EXAMINATIONS = frozenset({"check", "doctor", "redact"})
"""Commands that return 1 if they find something."""


def measure_first_answers(runs: int, scale: float) -> Report:
    """The first answers over 2 GB with an empty data folder: usage, what an overview needs, and everything."""
    collection = generate_corpus("many", scale=scale)
    gigabytes = read_truth(collection)["facts"]["bytes"] / 1e9
    peer = ccusage.install_program()
    with tempfile.TemporaryDirectory() as home, tempfile.TemporaryDirectory(dir=find_bench_folder()) as bare:
        programs = {
            _USAGE: build_command(collection, "usage", "--json")._replace(prepare=lambda: delete_index(collection)),
            _TREE: build_first_stage_command(collection),
            _SEARCH: build_command(collection, "search", "refactor")._replace(
                prepare=lambda: delete_index(collection, is_paused=True)
            ),
            _WHOLE: build_command(collection, "index", "--wait")._replace(prepare=lambda: delete_index(collection)),
            _FLOOR: build_task("floor", collection, bare)._replace(
                prepare=lambda: _prepare_floor(Path(bare), collection)
            ),
        }
        if isinstance(peer, Path):
            programs[_PEER] = ccusage.build_report_command(peer, collection, Path(home))
        else:
            yield f"  ccusage skipped: {peer}"
        costs = compare_programs(programs, min(runs, 3))
        delete_index(collection)
    yield from format_table(costs, _FLOOR)
    truth = sum_models(read_truth(collection)["usage_by_day_and_model"])
    yield Gate("the first usage equals the generator's truth", parse_days(costs[_USAGE].output) == truth)
    yield from _list_goals(costs, gigabytes)


def _list_goals(costs: Mapping[str, Cost], gigabytes: float) -> Report:
    if _PEER in costs:
        ratio = costs[_PEER].wall / costs[_USAGE].wall
        yield Goal("times as fast as ccusage, the first usage, wall", ratio, 1.5, is_minimum=True)
    yield Goal("CPU s per GB until an overview", costs[_TREE].cpu / gigabytes, 4)
    yield Goal("times the CPU of a bare FTS5 load, everything", costs[_WHOLE].cpu / costs[_FLOOR].cpu, 2)
    yield Goal("s per GB, wall, everything", costs[_WHOLE].wall / gigabytes, 9)


def _prepare_floor(folder: Path, collection: Path) -> None:
    stop_filler(collection)
    for path in folder.iterdir():
        path.unlink()


def measure_commands(runs: int, scale: float) -> Report:
    """The wall time of commands over 2 GB with a current index, and on a 200 MB session."""
    collection, large = generate_corpus("many", scale=scale), generate_corpus("large", scale=scale)
    ensure_index(collection)
    programs = {_BARE: BARE} | {name: build_command(collection, *words) for name, words in _COMMANDS.items()}
    peer = ccusage.install_program()
    with tempfile.TemporaryDirectory() as home:
        if isinstance(peer, Path):
            programs[_PEER] = ccusage.build_report_command(peer, collection, Path(home))
        yield "  all sessions:"
        yield from format_table(compare_programs(warm_up(_quiet(programs)), min(runs, 3)), _BARE)
    session = max((large / "projects").rglob("*.jsonl"), key=lambda path: path.stat().st_size)
    programs = {_BARE: BARE} | {
        name: build_command(large, *words, str(session)) for name, words in _SESSION_COMMANDS.items()
    }
    yield f"  one session of {session.stat().st_size / 1e6:.0f} MB:"
    yield from format_table(compare_programs(_quiet(programs), min(runs, 2)), _BARE)


def _quiet(programs: Mapping[str, Program]) -> Mapping[str, Program]:
    return {
        name: program._replace(discards_output=True, statuses=(0, 1) if name.split()[0] in _EXAMINATIONS else (0,))
        for name, program in programs.items()
    }


PARTS: Mapping[str, Part] = {
    "first": measure_first_answers,
    "commands": measure_commands,
}
