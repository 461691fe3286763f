"""Writing a file so that it is there as a whole or not at all, also after the power failed."""

from __future__ import annotations

import contextlib
import errno
import os
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path

from turnlog.errors import TurnlogError

TEMPORARY_PREFIX = ".tmp-"
"""How the names of unfinished files begin."""
_DISK_FULL_ERRNOS = (errno.ENOSPC, getattr(errno, "EDQUOT", errno.ENOSPC))


class WriteFailed(TurnlogError):
    """A file could not be written; what was there before is still there."""


def write_durably(path: Path, data: bytes, mode: int | None = None) -> None:
    """Put a file in place of what has its name, and have it on disk when this returns.

    `mode` is who may read and write it; without it, its owner alone.
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
    """Open a new file, which the caller writes, closes and renames; it is removed if that fails."""
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
            remedy = "; nothing is lost, make room and try again" if error.errno in _DISK_FULL_ERRNOS else ""
            raise WriteFailed(f"{folder}: {error.strerror}{remedy}") from error
        raise


def write_all_bytes(fd: int, data: bytes) -> None:
    """Write all bytes; one call may take fewer than it is given."""
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]


def sync_folder(folder: Path) -> None:
    """Have the names in a folder on disk, where folders can be told so."""
    if os.name == "nt":
        return
    fd = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def sweep_temporary_files(folders: Iterable[Path]) -> None:
    """Remove what killed processes left; only for who holds the lock, since all others write under it."""
    for folder in folders:
        for left in folder.glob(f"{TEMPORARY_PREFIX}*"):
            with contextlib.suppress(OSError):
                left.unlink()
