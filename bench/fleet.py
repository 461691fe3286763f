"""Measure how a lake is built with one and two workers, and how long a report on millions of rows takes."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

from .corpora import generate_corpus
from .fleet_lake import COPIES_PER_THOUSAND, generate_lake
from .measure import Cost, Program, compare_programs, find_bench_folder, run_program
from .report import TURNLOG, Gate, Goal, Part, Report, format_table

_SMALL_SCALE, _LARGE_SCALE = 0.05, 0.15
"""100 and 300 MB of sessions at the usual scale."""
_REPORT_ROWS = 10_000_000
_KEY = {"TURNLOG_FLEET_KEY": "the key of the benchmarks"}


def measure_build(runs: int, scale: float) -> Report:
    """`turnlog fleet build --no-redact` of 300 MB with 1 and 2 workers, of 100 MB, and of 100 MB redacted."""
    small, large = (generate_corpus("many", scale=scale * part) for part in (_SMALL_SCALE, _LARGE_SCALE))
    size, small_size = _measure_size(large), _measure_size(small)
    programs = {
        "1 worker": _build_program(large, 1),
        "2 workers": _build_program(large, 2),
        "2 workers, a third": _build_program(small, 2),
    }
    costs = compare_programs(programs, runs)
    yield from format_table(costs, "1 worker")
    redacted = run_program(_build_program(small, 1, "--redact"))
    yield f"  redacted: {small_size / redacted.cpu:.1f} MB per CPU second ({redacted.memory:.0f} MB of memory)"
    one, two = costs["1 worker"], costs["2 workers"]
    yield f"  plain: {size / one.cpu:.1f} MB per CPU second with 1 worker, {size / two.cpu:.1f} with 2"
    yield Gate("1 and 2 workers write the same number of rows", _list_rows(one) == _list_rows(two))
    yield Goal("times the speed per core with 2 workers (CPU)", one.cpu / two.cpu, 0.7, is_minimum=True)
    yield Goal("times the speed per core with 2 workers (wall)", one.wall / two.wall / 2, 0.7, is_minimum=True)
    yield Goal("times the memory for 3 times the sessions", two.memory / costs["2 workers, a third"].memory, 1.3)


def _build_program(collection: Path, workers: int, redaction: str = "--no-redact") -> Program:
    lake = find_bench_folder() / "lake"
    command = ["fleet", "build", str(collection), str(lake), "--workers", str(workers), redaction, "--json"]
    return Program([*TURNLOG, *command], environ=_KEY, prepare=lambda: shutil.rmtree(lake, ignore_errors=True))


def _measure_size(collection: Path) -> float:
    return sum(path.stat().st_size for path in collection.rglob("*.jsonl")) / 1e6


def _list_rows(cost: Cost) -> dict[str, int]:
    rows: dict[str, int] = json.loads(cost.output)["rows"]
    return rows


def measure_report(runs: int, scale: float) -> Report:
    """`turnlog fleet report --json` over a lake with 10 million rows of usage, of which 2 % are copies."""
    rows = round(_REPORT_ROWS * scale)
    lake = generate_lake(find_bench_folder() / f"report-lake-{rows}", rows)
    costs = compare_programs({"report": Program([*TURNLOG, "fleet", "report", str(lake), "--json"])}, runs)
    yield from format_table(costs, "report")
    document = json.loads(costs["report"].output)
    messages = document["total"]["messages"]
    yield Gate(f"copies count once ({messages:,} messages)", messages < rows * (1 - COPIES_PER_THOUSAND / 1500))
    months = sum(row["messages"] for row in document["months"])
    yield Gate("the months add up to the total", months == messages)
    yield Goal("s of CPU", costs["report"].cpu, 30 * scale + 2)


PARTS: dict[str, Part] = {"lake": measure_build, "lake-report": measure_report}
