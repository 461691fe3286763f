"""Measure how fast the index is built, updated and read, compared with other indexers and with a lower bound.

turnlog and its reference are measured alternately in the same run; compare ratios, not seconds. See bench/README.md.
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
from .corpora import append_lines, copy_corpus, generate_corpus
from .measure import Cost, Program, compare_programs, find_bench_folder, run_program
from .peers import agentsview, ccusage
from .report import BARE, Gate, Goal, Part, Report, build_task, format_table, warm_up

_QUARTER = 0.25
"""agentsview is slow, so it gets only a quarter of the collection."""
_COLUMNS = ("input_tokens", "output_tokens", "cache_creation_input_tokens", "cache_read_input_tokens", "messages")
"""The columns of `truth.json` for a day and a model, under the names that the command uses."""
_BARE, _USAGE, _PEER = "python -c pass", "turnlog usage --json", f"agentsview {agentsview.VERSION}"


class IndexBuild(NamedTuple):
    """An index that was built from scratch."""

    read: int
    """Bytes of the collection."""
    size: int
    """Bytes of the index."""
    cost: Cost
    decode_seconds: float
    """CPU seconds that msgspec took to decode a GB, right before and after."""

    def divide_by_gb(self, seconds: float) -> float:
        """Convert seconds to seconds per GB of the collection."""
        return seconds / (self.read / 1e9)


def measure_index(runs: int, scale: float) -> Report:
    """A full index of 2 GB with all text: time, memory and size; a quarter of it compared with others."""
    whole, quarter = generate_corpus("many", scale=scale), generate_corpus("many", scale=scale * _QUARTER)
    runs = min(runs, 2)
    builds = _build_indexes(whole, {"turnlog": _prepare_turnlog(whole)}, runs)
    yield from _check_contents(whole, builds["turnlog"].cost.output)
    peer = agentsview.install_program()
    with (
        tempfile.TemporaryDirectory(dir=find_bench_folder()) as bare,
        tempfile.TemporaryDirectory(dir=find_bench_folder()) as place,
    ):
        small = {
            "turnlog, a quarter": _prepare_turnlog(quarter),
            "bare FTS5 load, a quarter": _prepare_floor("floor", quarter, Path(bare)),
            "first stage, a quarter": _prepare_first_stage(quarter),
            "bare load of what was said": _prepare_floor("conversation-floor", quarter, Path(bare)),
        }
        small[_COMPLETE] = _prepare_turnlog(quarter, indexes.build_complete_index_command(quarter))
        if shutil.which("taskset"):  # one core, so one process
            small[_ONE_CORE] = _restrict_to_core(_prepare_turnlog(quarter))
        if isinstance(peer, Path):
            sync = agentsview.build_sync_command(peer, quarter, Path(place))._replace(
                prepare=lambda: _empty_folder(Path(place))
            )
            small[f"{_PEER}, a quarter"] = sync, lambda: agentsview.measure_index_size(Path(place))
        else:
            yield f"  agentsview skipped: {peer}"
        builds |= _build_indexes(quarter, small, runs)
    yield from _format_builds(builds)
    ours, part, least, first, least_first = list(builds.values())[:5]
    complete, alone, other = builds[_COMPLETE], builds.get(_ONE_CORE), builds.get(f"{_PEER}, a quarter")
    yield f"         {first.cost.cpu / least_first.cost.cpu:.2f} times the CPU of a bare load of what was said"
    yield f"         {complete.cost.cpu / least.cost.cpu:.2f} times the CPU of a bare FTS5 load with identifiers"
    yield Goal("CPU s per GB, first stage", first.divide_by_gb(first.cost.cpu), 4)
    yield Goal("times the CPU of a bare FTS5 load of the text", part.cost.cpu / least.cost.cpu, 2)
    yield Goal("s per GB, wall", ours.divide_by_gb(ours.cost.wall), 9)
    if alone is not None:
        yield Goal("times the wall time on one core", part.cost.wall / alone.cost.wall, 0.9)
    yield Goal("MB of the largest process", ours.cost.memory, 250)
    yield Goal("% of the collection, size", 100 * complete.size / complete.read, 20)
    if other is not None:
        yield Goal("times less CPU than agentsview", other.cost.cpu / part.cost.cpu, 3, is_minimum=True)
        yield Goal("times agentsview's size", part.size / other.size, 0.5)


_COMPLETE = "turnlog, a quarter, identifiers too"
_ONE_CORE = "turnlog, a quarter, on one core"
_Builder = tuple[Program, Callable[[], int]]
"""A program that builds an index, and a function that measures the index."""


def _prepare_turnlog(collection: Path, command: Program | None = None) -> _Builder:
    command = command or indexes.build_index_command(collection)
    return command, lambda: indexes.measure_size(indexes.find_data_folder(collection))


def _restrict_to_core(builder: _Builder) -> _Builder:
    program, size = builder
    return program._replace(command=["taskset", "-c", "0", *program.command]), size


def _prepare_first_stage(collection: Path) -> _Builder:
    command = indexes.build_first_stage_command(collection)
    return command, lambda: indexes.measure_size(indexes.find_data_folder(collection))


def _prepare_floor(task: str, collection: Path, place: Path) -> _Builder:
    def prepare() -> None:
        for path in place.iterdir():
            path.unlink()

    program = build_task(task, collection, place)._replace(prepare=prepare)
    return program, lambda: sum(path.stat().st_size for path in place.iterdir())


def _build_indexes(collection: Path, builders: Mapping[str, _Builder], runs: int) -> dict[str, IndexBuild]:
    """Return each program's run with the least CPU time, but with the shortest wall time of all its runs."""
    read = read_truth(collection)["facts"]["bytes"]
    builds: dict[str, list[IndexBuild]] = {name: [] for name in builders}
    for _ in range(runs):
        for name, builder in builders.items():
            builds[name].append(_build_index(collection, *builder, read))
    return {name: _take_cheapest(costs) for name, costs in builds.items()}


def _take_cheapest(builds: list[IndexBuild]) -> IndexBuild:
    best = min(builds, key=lambda build: build.cost.cpu)
    return best._replace(cost=best.cost._replace(wall=min(build.cost.wall for build in builds)))


def _build_index(collection: Path, program: Program, size: Callable[[], int], read: int) -> IndexBuild:
    before = _time_decoding(collection)
    cost = run_program(program)
    indexes.stop_filler(collection)
    return IndexBuild(read, size(), cost, (before + _time_decoding(collection)) / 2)


def _time_decoding(collection: Path) -> float:
    cost = compare_programs({"decode": build_task("decode", collection)}, 2)["decode"]
    return cost.cpu / (int(cost.output) / 1e9)


def _empty_folder(place: Path) -> None:
    for item in place.iterdir():
        shutil.rmtree(item, ignore_errors=True)


def _format_builds(builds: Mapping[str, IndexBuild]) -> Iterator[str]:
    yield f"  {'':34}{'':>6}{'s per GB:':>11}{'':>7}{'msgspec':>9}{'CPU in':>8}{'largest':>9}{'index':>8}{'% of':>8}"
    yield f"  {'':34}{'GB':>6}{'wall':>11}{'CPU':>7}{'CPU':>9}{'those':>8}{'MB':>9}{'MB':>8}{'them':>8}"
    for name, build in builds.items():
        wall, cpu = build.divide_by_gb(build.cost.wall), build.divide_by_gb(build.cost.cpu)
        times = f"{wall:11.2f}{cpu:7.2f}{build.decode_seconds:9.2f}{cpu / build.decode_seconds:8.2f}"
        size = f"{build.size / 1e6:8.0f}{100 * build.size / build.read:8.1f}"
        yield f"  {name:34}{build.read / 1e9:6.2f}{times}{build.cost.memory:9.0f}{size}"


def _check_contents(collection: Path, report: bytes) -> Report:
    counts, facts = json.loads(report), read_truth(collection)["facts"]
    names = {"files": "files", "sessions": "sessions", "calls": "tool_uses"}
    is_right = all(counts[ours] == facts[theirs] for ours, theirs in names.items())
    yield Gate("as many files, sessions and calls as the generator wrote", is_right)


def measure_usage(runs: int, scale: float) -> Report:
    """Usage by day with cost, with a current index of 2 GB, as a whole program."""
    collection = generate_corpus("many", scale=scale)
    indexes.ensure_index(collection)
    costs = compare_programs(
        warm_up({_BARE: BARE, _USAGE: indexes.build_command(collection, "usage", "--json")}), runs * 4
    )
    peer = ccusage.install_program()
    with tempfile.TemporaryDirectory() as home:
        if isinstance(peer, Path):
            name = f"ccusage {ccusage.VERSION}"
            costs |= compare_programs(
                warm_up({name: ccusage.build_report_command(peer, collection, Path(home))}), min(runs, 3)
            )
        else:
            yield f"  ccusage skipped: {peer}"
    yield from format_table(costs, _BARE)
    truth = read_truth(collection)["usage_by_day_and_model"]
    yield Gate("days equal the generator's truth", parse_days(costs[_USAGE].output) == sum_models(truth))
    yield Gate("each model's days equal the generator's truth", _has_right_models(collection, truth))
    bare, ours, *theirs = costs.values()
    yield Goal("ms beyond the interpreter", (ours.wall - bare.wall) * 1000, 60)
    for other in theirs:
        yield Goal("times as fast as ccusage, wall", other.wall / ours.wall, 50, is_minimum=True)
        yield f"         without the interpreter: {other.wall / (ours.wall - bare.wall):.0f}"


def read_truth(collection: Path) -> Any:
    return json.loads((collection / "truth.json").read_bytes())


def parse_days(report: bytes) -> dict[str, list[int]]:
    """Return the days of a report with the columns that `truth.json` has."""
    return {row["day"]: [row[name] for name in _COLUMNS] for row in json.loads(report)["rows"] if row["output_tokens"]}


def sum_models(truth: Mapping[str, Mapping[str, list[int]]]) -> dict[str, list[int]]:
    """Sum the usage of all models for each day."""
    return {day: [sum(column) for column in zip(*models.values(), strict=True)] for day, models in truth.items()}


def _has_right_models(collection: Path, truth: Mapping[str, Mapping[str, list[int]]]) -> bool:
    for model in {model for models in truth.values() for model in models}:
        report = run_program(indexes.build_command(collection, "usage", "--json", "--model", model)).output
        if parse_days(report) != {day: models[model] for day, models in truth.items() if model in models}:
            return False
    return True


def measure_refresh(runs: int, scale: float) -> Report:
    """Usage after 100 new lines in each of 20 files, including the update of the index, as a whole program."""
    whole = _measure_growth(scale, runs, {})
    yield from format_table(whole.costs, _BARE)
    yield whole.gate
    bare, ours = whole.costs.values()
    yield Goal("ms, the whole program", ours.wall * 1000, 220)
    yield f"         {(ours.wall - bare.wall) * 1000:.0f} ms beyond the interpreter, for {whole.added / 1e6:.1f} MB"
    peer = agentsview.install_program()
    if not isinstance(peer, Path):
        yield f"  agentsview skipped: {peer}"
        return
    with tempfile.TemporaryDirectory(dir=find_bench_folder()) as place:
        small = _measure_growth(
            scale * _QUARTER, runs, {_PEER: lambda copy: agentsview.build_sync_command(peer, copy, Path(place))}
        )
    yield "  a quarter of the collection:"
    yield from format_table(small.costs, _BARE)
    yield small.gate
    _, ours, theirs = small.costs.values()
    yield Goal("times as fast as agentsview's sync, wall", theirs.wall / ours.wall, 5, is_minimum=True)


class _RefreshCosts(NamedTuple):
    costs: dict[str, Cost]
    gate: Gate
    added: float
    """Bytes in each round."""


def _measure_growth(scale: float, runs: int, peers: Mapping[str, Callable[[Path], Program]]) -> _RefreshCosts:
    """Append to a copy of the collection several times, and let all programs catch up each time."""
    copy = copy_corpus("many", scale=scale)
    try:
        indexes.ensure_index(copy)
        others = {name: program(copy) for name, program in peers.items()}
        compare_programs(others, 1)
        seeds = itertools.count(2)

        def grow() -> None:
            append_lines(copy, files=20, lines=100, seed=next(seeds))

        before = _measure_bytes(copy)
        ours = indexes.build_command(copy, "usage", "--json")._replace(prepare=grow)
        costs = compare_programs({_BARE: BARE, _USAGE: ours, **others}, runs)
        totals = run_program(build_task("totals", copy)).output
        gate = Gate("days equal a subsequent scan of all files", parse_days(costs[_USAGE].output) == sum_models(totals))
        return _RefreshCosts(costs, gate, (_measure_bytes(copy) - before) / runs)
    finally:
        indexes.remove_collection(copy)


def _measure_bytes(collection: Path) -> int:
    return sum(path.stat().st_size for path in (collection / "projects").rglob("*.jsonl"))


def measure_idle(runs: int, scale: float) -> Report:
    """A refresh that finds nothing new in 2,600 files, without the interpreter's startup."""
    collection = generate_corpus("many", scale=scale)
    program = build_task("idle", collection, indexes.ensure_index(collection))
    reports = [run_program(program).output for _ in range(runs)]
    stat, ours = (min(report[name] for report in reports) for name in ("stat", "refresh"))
    yield f"  {reports[0]['files']} files: stat {stat * 1000:.2f} ms, refresh {ours * 1000:.2f} ms"
    yield Gate("nothing was read", not any(report["read"] for report in reports))
    yield Goal("times one stat per file", ours / stat, 2)


PARTS: Mapping[str, Part] = {
    "index": measure_index,
    "usage": measure_usage,
    "refresh": measure_refresh,
    "idle": measure_idle,
}
