"""Reads the bytes that the index refers to, both from existing files and from files that only the archive still has."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from turnlog.entries.spread_values import join_lines
from turnlog.errors import TurnlogError

if TYPE_CHECKING:
    import apsw

    from turnlog.store.archive.archive import Archive
    from turnlog.store.search.scan import ScanTarget
    from turnlog.store.search.trashed_sessions import TrashedSessions

_PIECE_BYTES = 8 << 20
_FIRST_LINE_BYTES = 64 << 10


class IndexSource:
    """Reads session files, from the archive if they were deleted."""

    def __init__(self, data_dir: Path) -> None:
        self._data_dir = data_dir

    @cached_property
    def _archive(self) -> Archive:
        from turnlog.store.archive.archive import Archive

        return Archive(self._data_dir)

    def find_trashed(self, db: apsw.Connection) -> TrashedSessions:
        """Find the sessions in an index that are in turnlog's trash."""
        from turnlog.store.search.trashed_sessions import find_trashed_sessions

        return find_trashed_sessions(db, self._data_dir)

    def read_passage(self, path: str, offset: int, whole: bool) -> bytes | None:
        """Read the line, or a large piece, at an offset, from disk or from the archive; return None if both fail."""
        try:
            with open(path, "rb") as file:  # noqa: PTH123 - dozens for one page of results
                file.seek(offset)
                return file.read(_PIECE_BYTES) if whole else next(join_lines(file), b"")
        except OSError:
            pass
        try:
            return (
                self._archive.read_at(path, offset, _PIECE_BYTES) if whole else self._read_archived_line(path, offset)
            )
        except (TurnlogError, OSError):
            return None

    def _read_archived_line(self, path: str, offset: int) -> bytes:
        size = _FIRST_LINE_BYTES
        while True:
            data = self._archive.read_at(path, offset, size)
            end = data.find(b"\n") + 1
            if end or len(data) < size:
                return data[:end] if end else data
            size *= 8

    def read_pieces(self, target: ScanTarget) -> Iterator[bytes]:
        """Read a whole file in pieces; raise `OSError` on failure."""
        from turnlog.store.search.scan import read_target

        if not target.is_gone:
            yield from read_target(target)
            return
        offset = 0
        try:
            while piece := self._archive.read_at(target.path, offset, _PIECE_BYTES):
                yield piece
                offset += len(piece)
        except TurnlogError as error:
            raise FileNotFoundError(2, "deleted, and not in the archive") from error
