"""What a verb wants done to files that are there, to be carried out by `undo.Undo`: all of it or nothing.

Changes are carried out in their order. A `Rename` may come behind changes of what it renames; else none builds on
another.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import NamedTuple

from turnlog.entries.tail import Checkpoint

Lines = Callable[[], Iterable[bytes]]
"""Gives the bytes of a file, piece by piece."""


class Rewrite(NamedTuple):
    """Another content for a file; it keeps its mode and its times."""

    path: Path
    lines: Lines
    root: Path
    """The folder that no link may lead out of."""
    expected: Checkpoint | None = None
    """What the file was when it was looked at; it must still be that."""
    keep_times: bool = True


class Create(NamedTuple):
    """A file where there is none."""

    path: Path
    lines: Lines
    root: Path
    mode: int = 0o600


class Rename(NamedTuple):
    """Another name for a file or folder; nothing may stand there."""

    old: Path
    new: Path
    root: Path


class Remove(NamedTuple):
    """A file, or an empty folder, that goes."""

    path: Path
    root: Path


class Append(NamedTuple):
    """Whole lines for the end of a file."""

    path: Path
    lines: bytes
    root: Path
    mend: bool = True
    """Whether a last line without its end gets one first; else it is refused."""


Change = Rewrite | Create | Rename | Remove | Append
