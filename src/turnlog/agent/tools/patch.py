"""Computes the difference between two versions of a text as hunks with three lines of context (`structuredPatch`).

The edit path is one of the shortest, found with Myers' algorithm; among equally short paths, it is the one that jsdiff,
which Claude Code uses, would choose. Therefore, the hunks are the same as Claude Code's.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from turnlog.session.files.patches import CONTEXT_LINES, ChangedLines, Hunk, build_hunks, split_text_lines

_MAX_DIFF_EFFORT = 600
"""If more lines differ, the difference becomes a single block, since the search is quadratic."""

_LineRun = tuple[str, int, Any]
"""The type of a run of lines (kept ` `, removed `-`, added `+`), its length, and the run before it."""


def build_patch(before: str, after: str, context: int = CONTEXT_LINES) -> list[dict[str, Any]]:
    """Return the hunks that turn one text into the other, with some lines of context."""
    old, new = (split_text_lines(text.replace("\r\n", "\n")) for text in (before, after))
    return [_record_hunk(hunk) for hunk in build_hunks(old, new, _list_line_changes(old, new), context)]


def _record_hunk(hunk: Hunk) -> dict[str, Any]:
    """Return a hunk in its recorded form; as in the client, a side without lines starts one line later."""
    return {
        "oldStart": hunk.old_start + (hunk.old_count == 0),
        "oldLines": hunk.old_count,
        "newStart": hunk.new_start + (hunk.new_count == 0),
        "newLines": hunk.new_count,
        "lines": list(hunk.lines),
    }


def _list_line_changes(old: Sequence[str], new: Sequence[str]) -> Iterator[ChangedLines]:
    """Yield the changes between the runs of unchanged lines."""
    at_old = at_new = last_old = last_new = 0
    for kind, count in [*_find_runs(old, new), (" ", 0)]:
        if kind == " ":
            if (at_old, at_new) != (last_old, last_new):
                yield ChangedLines(last_old, at_old, last_new, at_new)
            last_old, last_new = at_old + count, at_new + count
        at_old += count * (kind != "+")
        at_new += count * (kind != "-")


def _find_runs(old: Sequence[str], new: Sequence[str]) -> list[tuple[str, int]]:
    """Find the edit path; a diagonal is the number of removed lines minus the number of added lines."""
    olds, news = len(old), len(new)
    at = _skip_equal_lines(old, new, 0, 0)
    ways: dict[int, tuple[int, _LineRun | None]] = {0: (at, (" ", at, None) if at else None)}
    if at == olds == news:
        return _list_runs(ways[0][1])
    for effort in range(1, min(_MAX_DIFF_EFFORT, olds + news) + 1):
        for diagonal in range(-effort, effort + 1, 2):
            left, right = ways.pop(diagonal - 1, None), ways.get(diagonal + 1)
            can_add = right is not None and 0 < right[0] - diagonal <= news
            if left is not None and left[0] < olds and not (right is not None and can_add and left[0] < right[0]):
                start, run = left[0] + 1, _extend_run(left[1], "-")
            elif right is not None and can_add:
                start, run = right[0], _extend_run(right[1], "+")
            else:
                ways.pop(diagonal, None)
                continue
            at = _skip_equal_lines(old, new, start, diagonal)
            ways[diagonal] = at, (" ", at - start, run) if at > start else run
            if at == olds and at - diagonal == news:
                return _list_runs(ways[diagonal][1])
    return _build_block_runs(old, new)


def _skip_equal_lines(old: Sequence[str], new: Sequence[str], at: int, diagonal: int) -> int:
    most = min(len(old), len(new) + diagonal)
    while at < most and old[at] == new[at - diagonal]:
        at += 1
    return at


def _extend_run(run: _LineRun | None, kind: str) -> _LineRun:
    return (kind, run[1] + 1, run[2]) if run is not None and run[0] == kind else (kind, 1, run)


def _list_runs(run: _LineRun | None) -> list[tuple[str, int]]:
    runs = []
    while run is not None:
        kind, size, run = run
        runs.append((kind, size))
    return runs[::-1]


def _build_block_runs(old: Sequence[str], new: Sequence[str]) -> list[tuple[str, int]]:
    """Keep the lines that both texts have in common at the start and end, and replace everything in between."""
    head, most = 0, min(len(old), len(new))
    while head < most and old[head] == new[head]:
        head += 1
    tail = 0
    while tail < most - head and old[-1 - tail] == new[-1 - tail]:
        tail += 1
    return [(" ", head), ("-", len(old) - head - tail), ("+", len(new) - head - tail), (" ", tail)]
