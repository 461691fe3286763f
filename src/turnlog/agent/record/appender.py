"""The file of a session that is being written: only ever added to, in one write for each line, and by one process.

Nothing is made before the first line. Whoever else adds a prompt or an answer is found out before the next line is
written, and then nothing is; titles and the like, which stand outside of the chain, may come from others at any time.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from turnlog.entries import writer
from turnlog.entries.atomic_file import resolve_inside
from turnlog.entries.file_ends import open_regular_file, read_at, split_lines
from turnlog.entries.patch import encode_json_line
from turnlog.errors import Busy, Changed, TurnlogError

_RESUME_REMEDY = "nothing more was written; resume the session to go on from there"


class SessionAppender:
    """One file, and how far it is known."""

    def __init__(self, path: Path, root: Path, size: int | None = None) -> None:
        self.path = path
        self.root = root
        """The folder that no link may lead out of."""
        self._size = size
        """How far the file is known; None: it is not there yet."""
        self._inode = 0 if size is None else path.stat().st_ino

    @property
    def file_exists(self) -> bool:
        """Whether the file exists."""
        return self._size is not None

    def append_bodies(self, bodies: Sequence[Any], *, flush: bool = False) -> None:
        """Write lines behind all others, in one go."""
        self.append_bytes(b"".join(encode_json_line(body) + b"\n" for body in bodies), flush=flush)

    def append_bytes(self, data: bytes, *, flush: bool = False) -> None:
        """Write whole lines behind all others, as they are."""
        try:
            if self._size is None:
                self._create_file(data)
            else:
                self._check_unchanged()
                self._size = writer.append_lines(self.path, data, root=self.root, flush=flush) + len(data)
        except OSError as error:
            raise TurnlogError(f"{self.path}: {error.strerror or error}; the session was not written") from None

    def _create_file(self, data: bytes) -> None:
        resolve_inside(self.path, self.root)
        self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        try:
            writer.create_session_file(self.path, data, root=self.root)
        except FileExistsError:
            raise Busy(f"{self.path}: another process began a session of this id; {_RESUME_REMEDY}") from None
        self._size, self._inode = len(data), self.path.stat().st_ino

    def _check_unchanged(self) -> None:
        """See that the file is what it was; lines that describe the session may have come."""
        status = self.path.stat()
        known = self._size or 0
        if status.st_ino != self._inode or status.st_size < known:
            raise Changed(f"{self.path}: was replaced or cut by another process; {_RESUME_REMEDY}")
        if status.st_size > known:
            self._check_added_lines(known, status.st_size)
            self._size = status.st_size

    def _check_added_lines(self, start: int, end: int) -> None:
        from turnlog.entries.reader import scan_lines  # seldom: only where somebody else wrote

        fd, _ = open_regular_file(self.path)
        try:
            added = read_at(fd, start, end - start)
        finally:
            os.close(fd)
        for piece in scan_lines(split_lines(added)):
            if getattr(piece.item, "uuid", None):
                raise Busy(f"{self.path}: another process goes on with this session; {_RESUME_REMEDY}")
