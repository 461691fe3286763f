"""How fast sessions are read, against what else reads them and against what no reader can beat.

    python -m bench [--runs 5] [--scale 1.0] [totals] [meaning] [listing] [start]

Everything is measured in one run, in turns; compare ratios, not seconds. See bench/README.md.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from .corpora import corpus
from .measure import Cost, Failed, Program, compare
from .peers import ccusage


class Goal(NamedTuple):
    """A ratio that we want to reach."""

    words: str
    value: float
    limit: float
    at_least: bool = False

    def __str__(self) -> str:
        met = self.value >= self.limit if self.at_least else self.value <= self.limit
        sign = ">=" if self.at_least else "<="
        return f"  {'met   ' if met else 'MISSED'} {self.words}: {self.value:.2f} ({sign} {self.limit:g})"


Report = Iterator[object]


def totals(runs: int, scale: float) -> Report:
    """Usage totals over 2 GB, without an index, page cache warm."""
    folder = corpus("many", scale=scale)
    files = [str(path) for path in sorted((folder / "projects").rglob("*.jsonl"))]
    programs = {
        "cat": Program(["cat", *files], is_mute=True),
        "turnlog": _task("totals", folder)._replace(reports=False),
    }
    peer = ccusage.install()
    with tempfile.TemporaryDirectory() as home:
        if isinstance(peer, Path):
            programs[f"ccusage {ccusage.VERSION}"] = ccusage.report(peer, folder, Path(home))
        else:
            yield f"  ccusage left out: {peer}"
        costs = compare(_warmed(programs), min(runs, 4))
    yield from _table(costs, "cat")
    truth = json.loads((folder / "truth.json").read_bytes())["usage_by_day_and_model"]
    is_equal = json.loads(costs["turnlog"].said)["found"] == truth
    yield f"  {'met   ' if is_equal else 'MISSED'} turnlog equals the generator's truth"
    for name, cost in costs.items():
        if name.startswith("ccusage"):
            known = sum(row[1] for day in truth.values() for row in day.values())
            yield f"         {name} finds {100 * ccusage.output_tokens(cost.said) / known:.2f} % of the output tokens"
            yield Goal("times as fast as ccusage, wall", cost.wall / costs["turnlog"].wall, 2, at_least=True)
            yield Goal("times as fast as ccusage, CPU", cost.cpu / costs["turnlog"].cpu, 2, at_least=True)


def meaning(runs: int, scale: float) -> Report:
    """Full meaning of one session of 200 MB: graph, messages, turns, calls, usage."""
    path = next((corpus("large", scale=scale) / "projects").glob("*/*.jsonl"))
    names = {"orjson, kept": "orjson-kept", "orjson, dropped": "orjson-dropped", "turnlog": "meaning"}
    costs = compare({name: _task(task, path) for name, task in names.items()}, runs)
    yield from _table(costs, "orjson, kept")
    yield f"         {', '.join(f'{count} {name}' for name, count in costs['turnlog'].said.items())}"
    yield Goal("of orjson kept, CPU", costs["turnlog"].cpu / costs["orjson, kept"].cpu, 0.5)
    yield Goal("MB at most", costs["turnlog"].memory, 130)


def listing(runs: int, scale: float) -> Report:
    """The list of 5,000 sessions, without an index."""
    folder = corpus("list", scale=scale)
    environ = {"CLAUDE_CONFIG_DIR": str(folder)}
    programs = {
        "stat and 64 KB of both ends": _task("ends", folder),
        "turnlog's functions": _task("listing", folder),
        "the same bound as a program": _task("ends", folder)._replace(reports=False),
        "turnlog ls": Program([*_TURNLOG, "ls"], environ),
    }
    costs = compare(_warmed(programs), runs)
    bound, ours, bound_program, command = costs.values()
    yield from _table(costs, "stat and 64 KB of both ends")
    yield Goal("times the bound, functions, CPU", ours.cpu / bound.cpu, 4)
    yield Goal("times the bound, both as whole programs, wall", command.wall / bound_program.wall, 4)
    # The command works on every core; here what all of them spend counts.
    yield Goal("times the bound, both as whole programs, CPU", command.cpu / bound_program.cpu, 4)


def start(runs: int, _: float) -> Report:
    """Starting up: to the first own line of a command, and to its complaint that a file does not exist."""
    programs = {
        "python -I -S -c pass": Program([sys.executable, "-I", "-S", "-c", "pass"]),
        "python -c pass": Program([sys.executable, "-c", "pass"]),
        "turnlog --version": Program([*_TURNLOG, "--version"]),
    }
    for name in ("cat", "show", "messages", "check"):
        words = [name, "missing/file.jsonl"]
        programs[f"{name}, first own line"] = Program([sys.executable, "-c", _FIRST_LINE, *words])
        programs[f"{name}, no such file"] = Program([*_TURNLOG, *words], status=1)
    costs = compare(_warmed(programs), runs * 4)
    yield from _table(costs, "python -c pass")
    bare = costs["python -c pass"].wall
    yield Goal("bare interpreters, turnlog --version", costs["turnlog --version"].wall / bare, 2)
    for name, cost in costs.items():
        if name.endswith("first own line"):
            yield Goal(f"bare interpreters, {name}", cost.wall / bare, 5)


_FIRST_LINE = """
import os, sys
from importlib import import_module
from turnlog.__main__ import main
from turnlog.cli.table import COMMANDS
module, _, name = COMMANDS[sys.argv[1]].target.partition(":")
getattr(import_module(module), name).callback = lambda **_: os._exit(0)
main()
"""
"""A command that ends where its own work would begin."""
_SCRIPT = "import sys; from turnlog.__main__ import main; sys.exit(main())"
"""What the installed command consists of."""


def _command() -> list[str]:
    beside = Path(sys.executable).with_name("turnlog.exe" if sys.platform == "win32" else "turnlog")
    return [str(beside)] if beside.exists() else [sys.executable, "-c", _SCRIPT]


_TURNLOG = _command()


def _task(name: str, path: Path) -> Program:
    return Program([sys.executable, "-m", "bench.tasks", name, str(path)], reports=True)


def _warmed(programs: Mapping[str, Program]) -> Mapping[str, Program]:
    compare(programs, 1)
    return programs


def _table(costs: Mapping[str, Cost], base: str) -> Iterator[str]:
    yield f"  {'':30}{'wall s':>9}{'CPU s':>9}{'MB':>7}{'wall':>9}{'CPU':>8}   (times {base})"
    for name, cost in costs.items():
        memory = f"{cost.memory:.0f}" if cost.memory else ""
        ratios = f"{cost.wall / costs[base].wall:9.2f}{cost.cpu / (costs[base].cpu or 1):8.2f}"
        yield f"  {name:30}{cost.wall:9.3f}{cost.cpu:9.3f}{memory:>7}{ratios}"


PARTS: Mapping[str, Callable[[int, float], Report]] = {
    "totals": totals,
    "meaning": meaning,
    "listing": listing,
    "start": start,
}


def main() -> None:
    """Measure and print; a missed goal is told, and is no failure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", metavar="part", choices=[[], *PARTS], help="all by default")
    parser.add_argument("--runs", type=int, default=5, help="the best of so many runs counts")
    parser.add_argument("--scale", type=float, default=1.0, help="smaller collections, for a quick look")
    words = parser.parse_args()
    for name in words.parts or PARTS:
        print(f"\n{name}: {PARTS[name].__doc__}", flush=True)
        try:
            for line in PARTS[name](words.runs, words.scale):
                print(line, flush=True)
        except Failed as error:
            print(f"  left out: {error}", flush=True)
