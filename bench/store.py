"""How fast the index is made, kept up to date and read, against others that keep one and what no program can beat.

Everything is measured in one run, in turns; compare ratios, not seconds. See bench/README.md.
"""

from __future__ import annotations

import itertools
import json
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from . import indexes
from .corpora import append, copied, corpus
from .measure import Cost, Program, compare, folder, run
from .peers import agentsview, ccusage
from .report import BARE, Gate, Goal, Part, Report, table, task, warmed

_QUARTER = 0.25
"""agentsview gets a quarter of the collection: it takes its time."""
_ROW = ("input_tokens", "output_tokens", "cache_creation_input_tokens", "cache_read_input_tokens", "messages")
"""What `truth.json` has of a day and a model, under the names that the command has for it."""
_BARE, _USAGE, _PEER = "python -c pass", "turnlog usage --json", f"agentsview {agentsview.VERSION}"


class Built(NamedTuple):
    """An index that was made from nothing."""

    read: int
    """Bytes of the collection."""
    size: int
    """Bytes of the index."""
    cost: Cost
    decoding: float
    """CPU seconds that msgspec takes to decode a GB, right before and after."""

    def per_gb(self, seconds: float) -> float:
        """Seconds for each GB of the collection."""
        return seconds / (self.read / 1e9)


def index(runs: int, scale: float) -> Report:
    """A full index of 2 GB with all text: time, memory and size; a quarter of that against others."""
    whole, quarter = corpus("many", scale=scale), corpus("many", scale=scale * _QUARTER)
    runs = min(runs, 2)
    made = _built(whole, {"turnlog": _ours(whole)}, runs)
    yield from _contents(whole, made["turnlog"].cost.said)
    peer = agentsview.install()
    with tempfile.TemporaryDirectory(dir=folder()) as bare, tempfile.TemporaryDirectory(dir=folder()) as place:
        small = {"turnlog, a quarter": _ours(quarter), "bare FTS5 load, a quarter": _floor(quarter, Path(bare))}
        if isinstance(peer, Path):
            sync = agentsview.sync(peer, quarter, Path(place))._replace(prepare=lambda: _emptied(Path(place)))
            small[f"{_PEER}, a quarter"] = sync, lambda: agentsview.size(Path(place))
        else:
            yield f"  agentsview left out: {peer}"
        made |= _built(quarter, small, runs)
    yield from _built_table(made)
    ours, part, least, *theirs = made.values()
    yield f"         {part.cost.cpu / least.cost.cpu:.2f} times the CPU of a bare FTS5 load of the texts"
    yield Goal("CPU s per GB", ours.per_gb(ours.cost.cpu), 9)
    yield Goal("s per GB, wall", ours.per_gb(ours.cost.wall), 5)
    yield Goal("MB of the largest process", ours.cost.memory, 250)
    yield Goal("% of the collection, size", 100 * ours.size / ours.read, 20)
    for other in theirs:
        yield Goal("times less CPU than agentsview", other.cost.cpu / part.cost.cpu, 5, at_least=True)
        yield Goal("of agentsview's size", part.size / other.size, 0.5)


_Builder = tuple[Program, Callable[[], int]]
"""What makes an index, and what tells its size."""


def _ours(collection: Path) -> _Builder:
    return indexes.building(collection), lambda: indexes.size(indexes.home(collection))


def _floor(collection: Path, place: Path) -> _Builder:
    def prepare() -> None:
        for path in place.iterdir():
            path.unlink()

    program = task("floor", collection, place)._replace(prepare=prepare)
    return program, lambda: sum(path.stat().st_size for path in place.iterdir())


def _built(collection: Path, builders: Mapping[str, _Builder], runs: int) -> dict[str, Built]:
    """The run of each that took least CPU, with how fast the machine was just then, and the shortest of their times."""
    read = _truth(collection)["facts"]["bytes"]
    found: dict[str, list[Built]] = {name: [] for name in builders}
    for _ in range(runs):
        for name, builder in builders.items():
            found[name].append(_built_once(collection, *builder, read))
    return {name: _least(costs) for name, costs in found.items()}


def _least(found: list[Built]) -> Built:
    best = min(found, key=lambda one: one.cost.cpu)
    return best._replace(cost=best.cost._replace(wall=min(one.cost.wall for one in found)))


def _built_once(collection: Path, program: Program, size: Callable[[], int], read: int) -> Built:
    before = _decoding(collection)
    cost = run(program)
    return Built(read, size(), cost, (before + _decoding(collection)) / 2)


def _decoding(collection: Path) -> float:
    found = compare({"decode": task("decode", collection)}, 2)["decode"]
    return found.cpu / (int(found.said) / 1e9)


def _emptied(place: Path) -> None:
    for item in place.iterdir():
        shutil.rmtree(item, ignore_errors=True)


def _built_table(made: Mapping[str, Built]) -> Iterator[str]:
    yield f"  {'':34}{'':>6}{'s per GB:':>11}{'':>7}{'msgspec':>9}{'CPU in':>8}{'largest':>9}{'index':>8}{'% of':>8}"
    yield f"  {'':34}{'GB':>6}{'wall':>11}{'CPU':>7}{'CPU':>9}{'those':>8}{'MB':>9}{'MB':>8}{'them':>8}"
    for name, found in made.items():
        wall, cpu = found.per_gb(found.cost.wall), found.per_gb(found.cost.cpu)
        times = f"{wall:11.2f}{cpu:7.2f}{found.decoding:9.2f}{cpu / found.decoding:8.2f}"
        size = f"{found.size / 1e6:8.0f}{100 * found.size / found.read:8.1f}"
        yield f"  {name:34}{found.read / 1e9:6.2f}{times}{found.cost.memory:9.0f}{size}"


def _contents(collection: Path, said: bytes) -> Report:
    found, facts = json.loads(said), _truth(collection)["facts"]
    names = {"files": "files", "sessions": "sessions", "calls": "tool_uses"}
    is_right = all(found[ours] == facts[theirs] for ours, theirs in names.items())
    yield Gate("as many files, sessions and calls as the generator made", is_right)


def usage(runs: int, scale: float) -> Report:
    """Usage by day with cost, the index of 2 GB being current, as a whole program."""
    collection = corpus("many", scale=scale)
    indexes.indexed(collection)
    costs = compare(warmed({_BARE: BARE, _USAGE: indexes.command(collection, "usage", "--json")}), runs * 4)
    peer = ccusage.install()
    with tempfile.TemporaryDirectory() as home:
        if isinstance(peer, Path):
            name = f"ccusage {ccusage.VERSION}"
            costs |= compare(warmed({name: ccusage.report(peer, collection, Path(home))}), min(runs, 3))
        else:
            yield f"  ccusage left out: {peer}"
    yield from table(costs, _BARE)
    truth = _truth(collection)["usage_by_day_and_model"]
    yield Gate("days equal the generator's truth", _days(costs[_USAGE].said) == _summed(truth))
    yield Gate("days of each model equal the generator's truth", _by_model(collection, truth))
    bare, ours, *theirs = costs.values()
    yield Goal("ms beyond the interpreter", (ours.wall - bare.wall) * 1000, 60)
    for other in theirs:
        yield Goal("times as fast as ccusage, wall", other.wall / ours.wall, 50, at_least=True)
        yield f"         without the interpreter: {other.wall / (ours.wall - bare.wall):.0f}"


def _truth(collection: Path) -> Any:
    return json.loads((collection / "truth.json").read_bytes())


def _days(report: bytes) -> dict[str, list[int]]:
    """The days of a report, with what `truth.json` has of them."""
    return {row["day"]: [row[name] for name in _ROW] for row in json.loads(report)["rows"] if row["output_tokens"]}


def _summed(truth: Mapping[str, Mapping[str, list[int]]]) -> dict[str, list[int]]:
    """All models together."""
    return {day: [sum(column) for column in zip(*models.values(), strict=True)] for day, models in truth.items()}


def _by_model(collection: Path, truth: Mapping[str, Mapping[str, list[int]]]) -> bool:
    for model in {model for models in truth.values() for model in models}:
        said = run(indexes.command(collection, "usage", "--json", "--model", model)).said
        if _days(said) != {day: models[model] for day, models in truth.items() if model in models}:
            return False
    return True


def refresh(runs: int, scale: float) -> Report:
    """100 lines more in each of 20 files: the index brought up to date and usage told, as a whole program."""
    whole = _grown(scale, runs, {})
    yield from table(whole.costs, _BARE)
    yield whole.gate
    bare, ours = whole.costs.values()
    yield Goal("ms, the whole program", ours.wall * 1000, 150)
    yield f"         {(ours.wall - bare.wall) * 1000:.0f} ms beyond the interpreter, for {whole.added / 1e6:.1f} MB"
    peer = agentsview.install()
    if not isinstance(peer, Path):
        yield f"  agentsview left out: {peer}"
        return
    with tempfile.TemporaryDirectory(dir=folder()) as place:
        small = _grown(scale * _QUARTER, runs, {_PEER: lambda copy: agentsview.sync(peer, copy, Path(place))})
    yield "  a quarter of the collection:"
    yield from table(small.costs, _BARE)
    yield small.gate
    _, ours, theirs = small.costs.values()
    yield Goal("times as fast as agentsview's sync, wall", theirs.wall / ours.wall, 5, at_least=True)


class _Grown(NamedTuple):
    costs: dict[str, Cost]
    gate: Gate
    added: float
    """Bytes in each round."""


def _grown(scale: float, runs: int, peers: Mapping[str, Callable[[Path], Program]]) -> _Grown:
    """Let a copy of the collection grow, and all programs catch up with that, several times."""
    copy = copied("many", scale=scale)
    try:
        indexes.indexed(copy)
        others = {name: program(copy) for name, program in peers.items()}
        compare(others, 1)
        seeds = itertools.count(2)

        def grow() -> None:
            append(copy, files=20, lines=100, seed=next(seeds))

        before = _bytes(copy)
        ours = indexes.command(copy, "usage", "--json")._replace(prepare=grow)
        costs = compare({_BARE: BARE, _USAGE: ours, **others}, runs)
        scanned = run(task("totals", copy)).said
        gate = Gate("days equal a scan of all files after that", _days(costs[_USAGE].said) == _summed(scanned))
        return _Grown(costs, gate, (_bytes(copy) - before) / runs)
    finally:
        indexes.forget(copy)


def _bytes(collection: Path) -> int:
    return sum(path.stat().st_size for path in (collection / "projects").rglob("*.jsonl"))


def idle(runs: int, scale: float) -> Report:
    """A refresh that finds nothing new, in 2,600 files, without the start of the interpreter."""
    collection = corpus("many", scale=scale)
    program = task("idle", collection, indexes.indexed(collection))
    found = [run(program).said for _ in range(runs)]
    stat, ours = (min(one[name] for one in found) for name in ("stat", "refresh"))
    yield f"  {found[0]['files']} files: stat {stat * 1000:.2f} ms, refresh {ours * 1000:.2f} ms"
    yield Gate("nothing was read", not any(one["read"] for one in found))
    yield Goal("times one stat per file", ours / stat, 2)


PARTS: Mapping[str, Part] = {
    "index": index,
    "usage": usage,
    "refresh": refresh,
    "idle": idle,
}
