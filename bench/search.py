"""Measure how fast the index and plain scans answer queries, and check that they find what they should."""

from __future__ import annotations

import json
import shutil
from collections import defaultdict
from collections.abc import Iterator, Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

from . import indexes
from .corpora import generate_corpus
from .corpus.truth import NEEDLES
from .measure import Program, compare_programs, run_program
from .queries import QUERY_COUNT
from .report import BARE, Gate, Goal, Part, Report, build_task, format_table

_RARE_WORD = NEEDLES[0][0]
_ALL_HITS = ("--limit", "10000", "--json")
_COMMAND_QUERIES = (_RARE_WORD, "error", "the", '"return value"', "conf*", "cache tool:Bash", "数据库")
"""Queries for the whole command, from very rare words to very common ones."""


def measure_search(runs: int, scale: float) -> Report:
    """500 varied queries over 2 GB, ranked and with snippets, and some whole commands."""
    collection = generate_corpus("many", scale=scale)
    index = indexes.ensure_index(collection)
    rounds = [run_program(build_task("search", collection, index, QUERY_COUNT)).output for _ in range(runs)]
    best = [
        (form, text, min(times[number][2] for times in rounds)) for number, (form, text, *_) in enumerate(rounds[0])
    ]
    yield from _format_forms(best)
    yield from _format_misses(rounds[0])
    yield from _check_needles(collection)
    ranked = sorted(milliseconds for *_, milliseconds in best)
    yield Goal("ms, half of the queries (p50)", ranked[len(ranked) // 2], 10)
    yield Goal("ms, 99 of 100 queries (p99)", ranked[int(len(ranked) * 0.99)], 50)
    programs = {"python -c pass": BARE} | {
        f"search {word}": indexes.build_command(collection, "search", word) for word in _COMMAND_QUERIES
    }
    compare_programs(programs, 1)
    costs = compare_programs(programs, runs * 2)
    yield from format_table(costs, "python -c pass")
    bare, *ours = (cost.wall for cost in costs.values())
    yield Goal("ms beyond the interpreter, the slowest command", (max(ours) - bare) * 1000, 120)


def _format_forms(best: list[tuple[str, str, float]]) -> Iterator[str]:
    by_form: dict[str, list[tuple[float, str]]] = defaultdict(list)
    for form, text, milliseconds in best:
        by_form[form].append((milliseconds, text))
    yield f"  {'ms':20}{'p50':>8}{'max':>8}   the slowest query"
    for form, times in sorted(by_form.items()):
        times.sort()
        yield f"  {form:20}{times[len(times) // 2][0]:8.2f}{times[-1][0]:8.2f}   {times[-1][1]}"


def _format_misses(queries: list[Any]) -> Iterator[str]:
    nothing = sum(sessions == 0 for *_, sessions in queries)
    refused = sum(sessions < 0 for *_, sessions in queries)
    yield f"         {len(queries)} queries, {nothing} of them without a hit, {refused} refused"


def _check_needles(collection: Path) -> Report:
    """Check that each planted word is found in exactly the sessions that contain it."""
    truth_by_word = run_program(build_task("needles", collection)).output
    known = json.loads((collection / "truth.json").read_bytes())
    lines = {word: truth_by_word[word]["lines"] for word, _ in NEEDLES}
    yield Gate(
        "a plain search agrees with the generator's truth",
        lines == {**dict.fromkeys(lines, 0), **known["needle_lines"]},
    )
    months = sorted({day[:7] for day in known["usage_by_day_and_model"]})
    for word, _ in NEEDLES:
        sessions = set().union(*(_find_sessions(collection, f"{word} {span}") for span in _split_time(months)))
        wanted = set(truth_by_word[word]["sessions"])
        yield Gate(
            f"{word}: {len(sessions & wanted)} of {len(wanted)} sessions, {len(sessions - wanted)} others",
            sessions == wanted,
        )


def _split_time(months: list[str]) -> list[str]:
    """Divide all of time into months, because the command searches only the newest passages for a common word."""
    bounds = [f"after:{first} before:{second}" for first, second in pairwise(months)]
    return [f"before:{months[0]}", *bounds, f"after:{months[-1]}"]


def _find_sessions(collection: Path, *arguments: str) -> set[str]:
    document = json.loads(run_program(indexes.build_command(collection, "search", *arguments, *_ALL_HITS)).output)
    return {session["session_id"] for session in document["sessions"]}


def measure_scan(runs: int, scale: float) -> Report:
    """Substrings and regular expressions over 2 GB, by reading all files, as a whole program."""
    collection = generate_corpus("many", scale=scale)
    indexes.ensure_index(collection)
    ours = {
        "--substring": ["--substring", _RARE_WORD],
        "--regex, with a literal": ["--regex", rf"{_RARE_WORD[:9]}\w+re\b"],
        "--regex, without one": ["--regex", rf"(?i){_RARE_WORD}"],
    }
    programs = {
        name: indexes.build_command(collection, "search", *options, *_ALL_HITS) for name, options in ours.items()
    }
    bound = _build_grep(collection)
    runs = min(runs, 3)
    costs = compare_programs({**bound, **programs}, runs)
    size = json.loads((collection / "truth.json").read_bytes())["facts"]["bytes"]
    yield from format_table(costs, next(iter(costs)))
    for name in programs:
        yield f"         {name}: {size / 1e6 / costs[name].wall:,.0f} MB/s"
    yield from _check_scan(collection, {name: costs[name].output for name in programs})


def _build_grep(collection: Path) -> dict[str, Program]:
    """Build the lower bound: a program that only searches for bytes."""
    files = str(collection / "projects")
    if rg := shutil.which("rg"):
        return {"rg -c": Program([rg, "-c", "-uuu", "-F", _RARE_WORD, files])}
    if grep := shutil.which("grep"):
        return {"grep -rcF": Program([grep, "-rcF", _RARE_WORD, files])}
    return {}


def _check_scan(collection: Path, documents: Mapping[str, bytes]) -> Report:
    truth_by_word = run_program(build_task("needles", collection)).output
    for name, document in documents.items():
        sessions = {session["session_id"] for session in json.loads(document)["sessions"]}
        yield Gate(f"{name} finds {_RARE_WORD} where it is", sessions == set(truth_by_word[_RARE_WORD]["sessions"]))
    word = NEEDLES[2][0]
    yield Gate(
        f"--substring finds {word} where it is",
        _find_sessions(collection, "--substring", word) == set(truth_by_word[word]["sessions"]),
    )


PARTS: Mapping[str, Part] = {"search": measure_search, "scan": measure_scan}
