"""Looking at the ends of many files at once."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from turnlog.entries.peek import Peek, peek_file
from turnlog.entries.spread import count_cores, spread_work
from turnlog.entries.titles import SessionTitles, read_titles

MIN_FILES_PER_PROCESS = 400
"""So many files are worth a process of their own."""
MIN_WHOLE_FILES_PER_PROCESS = 40
"""So many files are worth one if they are read to their end."""


def peek_safely(path: str) -> Peek:
    """The two ends of a file; an unreadable one tells nothing."""
    try:
        return peek_file(path)
    except OSError:
        return Peek(junk="unreadable")


def peek_files(paths: Sequence[str], processes: int | None = None) -> list[Peek]:
    """The two ends of each file, in the order given."""
    count = processes or max(1, min(count_cores(), len(paths) // MIN_FILES_PER_PROCESS))
    found = [Peek()] * len(paths)
    shares = [paths[number::count] for number in range(count)]
    for number, share in enumerate(spread_work(_peek_share, list[Peek], shares)):
        found[number::count] = share
    return found


def _peek_share(paths: Sequence[str]) -> list[Peek]:
    return [peek_safely(path) for path in paths]


def complete_titles(path: str, ends: Peek) -> SessionTitles:
    """All names of a session: as its ends tell them, or else out of the whole file."""
    if ends.titles is not None:
        return ends.titles
    try:
        return read_titles(path)
    except OSError:
        return SessionTitles()


def read_best_title(path: Path) -> str | None:
    """The name to show for the session in a file."""
    return complete_titles(str(path), peek_safely(str(path))).best


def complete_all_titles(paths: Sequence[str], processes: int | None = None) -> list[SessionTitles]:
    """All names of each session, out of the whole files, in the order given."""
    count = processes or max(1, min(count_cores(), len(paths) // MIN_WHOLE_FILES_PER_PROCESS))
    found = [SessionTitles()] * len(paths)
    shares = [paths[number::count] for number in range(count)]
    for number, share in enumerate(spread_work(_complete_share, list[SessionTitles], shares)):
        found[number::count] = share
    return found


def _complete_share(paths: Sequence[str]) -> list[SessionTitles]:
    return [complete_titles(path, Peek()) for path in paths]
