"""The file of a running session: append-only, with one write per line, by a single process.

The file is created with the first line. If another process adds a prompt or an answer, the next write detects that and
fails. Other processes may add titles and other lines outside the chain at any time.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from turnlog.entries import writer
from turnlog.entries.atomic_file import resolve_inside
from turnlog.entries.file_ends import open_regular_file, read_at, split_lines
from turnlog.entries.patch import encode_json_line
from turnlog.errors import Busy, Changed, TurnlogError

_RESUME_REMEDY = "so nothing more was written; to continue, resume the session"


class SessionAppender:
    """Appends to one file and checks what other processes have added to it."""

    def __init__(self, path: Path, root: Path, size: int | None = None) -> None:
        self.path = path
        self.root = root
        """The folder that links must not resolve outside of."""
        self._size = size
        """The size up to which the file is known; None if it does not exist yet."""
        self._inode = 0 if size is None else path.stat().st_ino
        self.mirror: Callable[[Path, bytes], object] = lambda *_: None
        """Receives all lines after they have been written."""

    @property
    def file_exists(self) -> bool:
        return self._size is not None

    def append_bodies(self, bodies: Sequence[Any], *, flush: bool = False) -> None:
        """Append lines in a single write."""
        self.append_bytes(b"".join(encode_json_line(body) + b"\n" for body in bodies), flush=flush)

    def append_bytes(self, data: bytes, *, flush: bool = False) -> None:
        """Append whole lines unchanged."""
        try:
            if self._size is None:
                self._create_file(data)
            else:
                self._check_unchanged()
                self._size = writer.append_lines(self.path, data, root=self.root, flush=flush) + len(data)
        except OSError as error:
            raise TurnlogError(f"{self.path}: {error.strerror or error}; the session was not written") from None
        self.mirror(self.path, data)

    def _create_file(self, data: bytes) -> None:
        resolve_inside(self.path, self.root)
        self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        try:
            writer.create_session_file(self.path, data, root=self.root)
        except FileExistsError:
            raise Busy(f"{self.path}: another process started a session with this id, {_RESUME_REMEDY}") from None
        self._size, self._inode = len(data), self.path.stat().st_ino

    def _check_unchanged(self) -> None:
        """Check that the file is unchanged except for added lines outside the chain."""
        status = self.path.stat()
        known = self._size or 0
        if status.st_ino != self._inode or status.st_size < known:
            raise Changed(f"{self.path}: another process replaced or truncated this file, {_RESUME_REMEDY}")
        if status.st_size > known:
            self._check_added_lines(known, status.st_size)
            self._size = status.st_size

    def _check_added_lines(self, start: int, end: int) -> None:
        from turnlog.entries.reader import scan_lines  # rare: only if another process wrote

        fd, _ = open_regular_file(self.path)
        try:
            added = read_at(fd, start, end - start)
        finally:
            os.close(fd)
        for piece in scan_lines(split_lines(added)):
            if getattr(piece.item, "uuid", None):
                raise Busy(f"{self.path}: another process is continuing this session, {_RESUME_REMEDY}")
