"""Measure how fast sessions are edited, compared with reading them.

turnlog and its reference are measured alternately in the same run; compare ratios, not seconds. See bench/README.md.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from pathlib import Path

from turnlog.edit.clone import clone_session

from .corpora import generate_corpus
from .measure import compare_programs
from .report import Gate, Goal, Part, Report, build_task, format_table


def measure_clone(runs: int, scale: float) -> Report:
    """Cloning a 200 MB session, with new ids everywhere, flushed to disk."""
    source = next((generate_corpus("large", scale=scale) / "projects").glob("*/*.jsonl"))
    path = source.parents[2] / "scratch" / "projects" / "p" / source.name
    names = {"orjson, dropped": "orjson-dropped", "a copy, flushed": "copy", "turnlog": "clone"}
    programs = {
        name: build_task(kind, path)._replace(prepare=lambda: _isolate_session(source, path))
        for name, kind in names.items()
    }
    try:
        costs = compare_programs(programs, runs)
        _isolate_session(source, path)
        lines = _count_lines(clone_session(path).path) - _count_lines(path)
    finally:
        shutil.rmtree(path.parents[2], ignore_errors=True)
    yield from format_table(costs, "orjson, dropped")
    yield f"         {source.stat().st_size / 1e6 / costs['turnlog'].wall:.0f} MB/s"
    yield Gate("the clone has the original's lines and three of its own", lines == 3)
    yield Goal("times reading and decoding once, CPU", costs["turnlog"].cpu / costs["orjson, dropped"].cpu, 2.5)
    yield Goal("times reading and decoding once, wall", costs["turnlog"].wall / costs["orjson, dropped"].wall, 2.5)
    yield Goal("MB at most", costs["turnlog"].memory, 130)


def _isolate_session(source: Path, path: Path) -> None:
    """Link a session into its own config folder."""
    shutil.rmtree(path.parents[2], ignore_errors=True)
    path.parent.mkdir(parents=True)
    os.link(source, path)


def _count_lines(path: Path) -> int:
    with path.open("rb") as file:
        return sum(1 for _ in file)


PARTS: Mapping[str, Part] = {"clone": measure_clone}
