"""What differs between two texts, as hunks with three lines around each change (`structuredPatch`).

The way through the lines is the shortest one, after Myers; of two that are equally short, the one that jsdiff takes,
which the real client uses. So the hunks are the same.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

_CONTEXT = 3
_EFFORT = 600
"""Texts that differ in more lines than this are shown as one block: the search is quadratic."""
_LINE = re.compile(r"[^\n]*\n|[^\n]+")
_NO_END = "\\ No newline at end of file"


_Run = tuple[str, int, Any]
"""So many lines in a row that are kept (` `), removed (`-`) or added (`+`), and the run before them."""


class _Change(NamedTuple):
    """A line of either text, or of both."""

    kind: str
    old: int
    new: int
    line: str


def patch(before: str, after: str) -> list[dict[str, Any]]:
    """Give the hunks that lead from one text to another."""
    old, new = (_LINE.findall(text.replace("\r\n", "\n")) for text in (before, after))
    changes = list(_changes(old, new))
    return [_hunk(changes[first:last]) for first, last in _spans(changes)]


def _changes(old: Sequence[str], new: Sequence[str]) -> Iterator[_Change]:
    at_old = at_new = 0
    for kind, count in _runs(old, new):
        for _ in range(count):
            yield _Change(kind, at_old, at_new, new[at_new] if kind == "+" else old[at_old])
            at_old += kind != "+"
            at_new += kind != "-"


def _spans(changes: Sequence[_Change]) -> Iterator[tuple[int, int]]:
    """Where hunks begin and end: changes with the lines around them, joined where these touch."""
    first = last = -1
    for at, change in enumerate(changes):
        if change.kind == " ":
            continue
        if first < 0:
            first = max(0, at - _CONTEXT)
        elif at - _CONTEXT > last:
            yield first, last
            first = at - _CONTEXT
        last = min(len(changes), at + 1 + _CONTEXT)
    if first >= 0:
        yield first, last


def _hunk(changes: Sequence[_Change]) -> dict[str, Any]:
    lines = []
    for change in changes:
        lines.append(change.kind + change.line.removesuffix("\n"))
        if not change.line.endswith("\n"):
            lines.append(_NO_END)
    return {
        "oldStart": changes[0].old + 1,
        "oldLines": sum(change.kind != "+" for change in changes),
        "newStart": changes[0].new + 1,
        "newLines": sum(change.kind != "-" for change in changes),
        "lines": lines,
    }


def _runs(old: Sequence[str], new: Sequence[str]) -> list[tuple[str, int]]:
    """Find the way; a diagonal stands for the lines that were removed less those that were added."""
    olds, news = len(old), len(new)
    at = _kept(old, new, 0, 0)
    ways: dict[int, tuple[int, _Run | None]] = {0: (at, (" ", at, None) if at else None)}
    if at == olds == news:
        return _told(ways[0][1])
    if _least(old, new) > _EFFORT:
        return _block(old, new)
    for effort in range(1, min(_EFFORT, olds + news) + 1):
        for diagonal in range(-effort, effort + 1, 2):
            left, right = ways.pop(diagonal - 1, None), ways.get(diagonal + 1)
            can_add = right is not None and 0 < right[0] - diagonal <= news
            if left is not None and left[0] < olds and not (right is not None and can_add and left[0] < right[0]):
                start, run = left[0] + 1, _longer(left[1], "-")
            elif right is not None and can_add:
                start, run = right[0], _longer(right[1], "+")
            else:
                ways.pop(diagonal, None)
                continue
            at = _kept(old, new, start, diagonal)
            ways[diagonal] = at, (" ", at - start, run) if at > start else run
            if at == olds and at - diagonal == news:
                return _told(ways[diagonal][1])
    return _block(old, new)


def _kept(old: Sequence[str], new: Sequence[str], at: int, diagonal: int) -> int:
    most = min(len(old), len(new) + diagonal)
    while at < most and old[at] == new[at - diagonal]:
        at += 1
    return at


def _longer(run: _Run | None, kind: str) -> _Run:
    return (kind, run[1] + 1, run[2]) if run is not None and run[0] == kind else (kind, 1, run)


def _least(old: Sequence[str], new: Sequence[str]) -> int:
    """How many lines differ at least."""
    before, after = Counter(old), Counter(new)
    return (before - after).total() + (after - before).total()


def _told(run: _Run | None) -> list[tuple[str, int]]:
    found = []
    while run is not None:
        kind, size, run = run
        found.append((kind, size))
    return found[::-1]


def _block(old: Sequence[str], new: Sequence[str]) -> list[tuple[str, int]]:
    """Keep what both texts begin and end with, and replace all between."""
    head, most = 0, min(len(old), len(new))
    while head < most and old[head] == new[head]:
        head += 1
    tail = 0
    while tail < most - head and old[-1 - tail] == new[-1 - tail]:
        tail += 1
    return [(" ", head), ("-", len(old) - head - tail), ("+", len(new) - head - tail), (" ", tail)]
