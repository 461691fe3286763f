"""Writes a file so that it exists completely or not at all, even after a power failure."""

from __future__ import annotations

import contextlib
import errno
import os
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path

from turnlog.errors import TurnlogError

TEMPORARY_PREFIX = ".tmp-"
"""The prefix of the names of unfinished files."""
_DISK_FULL_ERRNOS = (errno.ENOSPC, getattr(errno, "EDQUOT", errno.ENOSPC))


class WriteFailed(TurnlogError):
    """A file could not be written; its previous version is unchanged."""


def write_durably(path: Path, data: bytes, mode: int | None = None) -> None:
    """Replace or create a file; it is safely on disk when this returns.

    `mode` sets the permissions; by default, only the owner can read and write the file.
    """
    with open_temporary_file(path.parent) as (temporary, fd):
        write_all_bytes(fd, data)
        os.fsync(fd)
        os.close(fd)
        if mode is not None:
            temporary.chmod(mode)
        temporary.replace(path)
        sync_folder(path.parent)


@contextlib.contextmanager
def open_temporary_file(folder: Path) -> Iterator[tuple[Path, int]]:
    """Open a new file for the caller to write, close and rename; delete it if that fails."""
    fd, path = -1, folder
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        fd, name = tempfile.mkstemp(prefix=TEMPORARY_PREFIX, dir=folder)
        path = Path(name)
        yield path, fd
    except BaseException as error:
        with contextlib.suppress(OSError):
            os.close(fd)
        if path != folder:
            path.unlink(missing_ok=True)
        if isinstance(error, OSError):
            remedy = ", but nothing was lost; free some space and try again" if error.errno in _DISK_FULL_ERRNOS else ""
            raise WriteFailed(f"{folder}: {error.strerror}{remedy}") from error
        raise


def write_all_bytes(fd: int, data: bytes) -> None:
    """Write all bytes, even if a single call writes only some of them."""
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]


def sync_folder(folder: Path) -> None:
    """Make the names in a folder durable, on systems that support this."""
    if os.name == "nt":
        return
    fd = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def sweep_temporary_files(folders: Iterable[Path]) -> None:
    """Delete temporary files that killed processes left behind; the caller must hold the writers' lock."""
    for folder in folders:
        for left in folder.glob(f"{TEMPORARY_PREFIX}*"):
            with contextlib.suppress(OSError):
                left.unlink()
