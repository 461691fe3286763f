"""Looking at the ends of many files at once."""

from __future__ import annotations

from collections.abc import Sequence

from turnlog.entries.peek import Peek, peek
from turnlog.entries.spread import cores, spread

FEW = 400
"""So many files are worth a process of their own."""


def look(path: str) -> Peek:
    """The two ends of a file; an unreadable one tells nothing."""
    try:
        return peek(path)
    except OSError:
        return Peek(junk="unreadable")


def look_all(paths: Sequence[str], processes: int | None = None) -> list[Peek]:
    """The two ends of each file, in the order given."""
    count = processes or max(1, min(cores(), len(paths) // FEW))
    found = [Peek()] * len(paths)
    shares = [paths[number::count] for number in range(count)]
    for number, share in enumerate(spread(_look_at, list[Peek], shares)):
        found[number::count] = share
    return found


def _look_at(paths: Sequence[str]) -> list[Peek]:
    return [look(path) for path in paths]
