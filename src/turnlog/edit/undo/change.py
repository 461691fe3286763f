"""What a verb wants done to files that are there, to be carried out by `undo.Undo`: all of it or nothing.

Changes are carried out in their order. A `Rename` may come behind changes of what it renames; else none builds on
another.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import NamedTuple

from turnlog.entries.tail import Checkpoint

ContentSource = Callable[[], Iterable[bytes]]
"""Gives the bytes of a file, piece by piece."""


class RewriteChange(NamedTuple):
    """Another content for a file; it keeps its mode and its times."""

    path: Path
    lines: ContentSource
    root: Path
    """The folder that no link may lead out of."""
    expected: Checkpoint | None = None
    """What the file was when it was looked at; it must still be that."""
    keep_times: bool = True


class CreateChange(NamedTuple):
    """A file where there is none."""

    path: Path
    lines: ContentSource
    root: Path
    mode: int = 0o600


class RenameChange(NamedTuple):
    """Another name for a file or folder; nothing may stand there."""

    old: Path
    new: Path
    root: Path


class RemoveChange(NamedTuple):
    """A file, or an empty folder, that goes."""

    path: Path
    root: Path


class AppendChange(NamedTuple):
    """Whole lines for the end of a file."""

    path: Path
    lines: bytes
    root: Path
    mend: bool = True
    """Whether a last line without its end gets one first; else it is refused."""


FileChange = RewriteChange | CreateChange | RenameChange | RemoveChange | AppendChange
