"""Looking at the ends of many files at once."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from turnlog.entries.peek import Peek, peek
from turnlog.entries.spread import cores, spread
from turnlog.entries.titles import Titles, read_titles

FEW = 400
"""So many files are worth a process of their own."""
FEW_WHOLE = 40
"""So many files are worth one if they are read to their end."""


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


def complete_titles(path: str, ends: Peek) -> Titles:
    """All names of a session: as its ends tell them, or else out of the whole file."""
    if ends.titles is not None:
        return ends.titles
    try:
        return read_titles(path)
    except OSError:
        return Titles()


def title_of(path: Path) -> str | None:
    """The name to show for the session in a file."""
    return complete_titles(str(path), look(str(path))).best


def complete_all_titles(paths: Sequence[str], processes: int | None = None) -> list[Titles]:
    """All names of each session, out of the whole files, in the order given."""
    count = processes or max(1, min(cores(), len(paths) // FEW_WHOLE))
    found = [Titles()] * len(paths)
    shares = [paths[number::count] for number in range(count)]
    for number, share in enumerate(spread(_read_all, list[Titles], shares)):
        found[number::count] = share
    return found


def _read_all(paths: Sequence[str]) -> list[Titles]:
    return [complete_titles(path, Peek()) for path in paths]
