"""How fast the index answers, how fast files are searched without it, and whether what is there is found."""

from __future__ import annotations

import json
import shutil
from collections import defaultdict
from collections.abc import Iterator, Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

from . import indexes
from .corpora import corpus
from .corpus.truth import NEEDLES
from .measure import Program, compare, run
from .queries import COUNT
from .report import BARE, Gate, Goal, Part, Report, table, task

_RARE = NEEDLES[0][0]
_ALL = ("--limit", "10000", "--json")
_WORDS = (_RARE, "error", "the", '"return value"', "conf*", "cache tool:Bash", "数据库")
"""For the whole command: one thing from nearly nowhere, one from nearly everywhere, and some between."""


def search(runs: int, scale: float) -> Report:
    """500 varied queries over 2 GB, ranked and with what is shown of each hit; and the whole command."""
    collection = corpus("many", scale=scale)
    index = indexes.indexed(collection)
    rounds = [run(task("search", collection, index, COUNT)).said for _ in range(runs)]
    best = [(form, text, min(one[place][2] for one in rounds)) for place, (form, text, *_) in enumerate(rounds[0])]
    yield from _forms(best)
    yield from _silence(rounds[0])
    yield from _needles(collection)
    ranked = sorted(milliseconds for *_, milliseconds in best)
    yield Goal("ms, the half of the queries (p50)", ranked[len(ranked) // 2], 10)
    yield Goal("ms, 99 of 100 queries (p99)", ranked[int(len(ranked) * 0.99)], 50)
    programs = {"python -c pass": BARE} | {
        f"search {word}": indexes.command(collection, "search", word) for word in _WORDS
    }
    compare(programs, 1)
    costs = compare(programs, runs * 2)
    yield from table(costs, "python -c pass")
    bare, *ours = (cost.wall for cost in costs.values())
    yield Goal("ms beyond the interpreter, the slowest command", (max(ours) - bare) * 1000, 120)


def _forms(best: list[tuple[str, str, float]]) -> Iterator[str]:
    by_form: dict[str, list[tuple[float, str]]] = defaultdict(list)
    for form, text, milliseconds in best:
        by_form[form].append((milliseconds, text))
    yield f"  {'ms':20}{'p50':>8}{'most':>8}   the slowest one"
    for form, found in sorted(by_form.items()):
        found.sort()
        yield f"  {form:20}{found[len(found) // 2][0]:8.2f}{found[-1][0]:8.2f}   {found[-1][1]}"


def _silence(asked: list[Any]) -> Iterator[str]:
    nothing = sum(sessions == 0 for *_, sessions in asked)
    refused = sum(sessions < 0 for *_, sessions in asked)
    yield f"         {len(asked)} queries, {nothing} of them find nothing, {refused} are refused"


def _needles(collection: Path) -> Report:
    """Whether each of the generator's words is found in the sessions that have it, and in no other."""
    there = run(task("needles", collection)).said
    known = json.loads((collection / "truth.json").read_bytes())
    lines = {word: there[word]["lines"] for word, _ in NEEDLES}
    yield Gate(
        "the plain look agrees with the generator's truth",
        lines == {**dict.fromkeys(lines, 0), **known["needle_lines"]},
    )
    months = sorted({day[:7] for day in known["usage_by_day_and_model"]})
    for word, _ in NEEDLES:
        found = set().union(*(_sessions(collection, f"{word} {span}") for span in _spans(months)))
        wanted = set(there[word]["sessions"])
        yield Gate(
            f"{word}: {len(found & wanted)} of {len(wanted)} sessions, {len(found - wanted)} others", found == wanted
        )


def _spans(months: list[str]) -> list[str]:
    """All of time, month by month: of common words the command looks at the newest alone."""
    bounds = [f"after:{first} before:{second}" for first, second in pairwise(months)]
    return [f"before:{months[0]}", *bounds, f"after:{months[-1]}"]


def _sessions(collection: Path, *words: str) -> set[str]:
    said = json.loads(run(indexes.command(collection, "search", *words, *_ALL)).said)
    return {session["session_id"] for session in said["sessions"]}


def scan(runs: int, scale: float) -> Report:
    """Any substring and regular expression over 2 GB, by reading all files, as a whole program."""
    collection = corpus("many", scale=scale)
    indexes.indexed(collection)
    ours = {
        "--substring": ["--substring", _RARE],
        "--regex, with a literal": ["--regex", rf"{_RARE[:9]}\w+re\b"],
        "--regex, without one": ["--regex", rf"(?i){_RARE}"],
    }
    programs = {name: indexes.command(collection, "search", *words, *_ALL) for name, words in ours.items()}
    bound = _grep(collection)
    runs = min(runs, 3)
    costs = compare({**bound, **programs}, runs)
    size = json.loads((collection / "truth.json").read_bytes())["facts"]["bytes"]
    yield from table(costs, next(iter(costs)))
    for name in programs:
        yield f"         {name}: {size / 1e6 / costs[name].wall:,.0f} MB/s"
    yield from _scanned(collection, {name: costs[name].said for name in programs})


def _grep(collection: Path) -> dict[str, Program]:
    """A program that looks for bytes and does no more; the bound."""
    files = str(collection / "projects")
    if rg := shutil.which("rg"):
        return {"rg -c": Program([rg, "-c", "-uuu", "-F", _RARE, files])}
    if grep := shutil.which("grep"):
        return {"grep -rcF": Program([grep, "-rcF", _RARE, files])}
    return {}


def _scanned(collection: Path, said: Mapping[str, bytes]) -> Report:
    there = run(task("needles", collection)).said
    for name, document in said.items():
        found = {session["session_id"] for session in json.loads(document)["sessions"]}
        yield Gate(f"{name} finds {_RARE} where it is", found == set(there[_RARE]["sessions"]))
    word = NEEDLES[2][0]
    yield Gate(
        f"--substring finds {word} where it is",
        _sessions(collection, "--substring", word) == set(there[word]["sessions"]),
    )


PARTS: Mapping[str, Part] = {"search": search, "scan": scan}
