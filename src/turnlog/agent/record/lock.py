"""A lock of turnlog's own for each session that it writes: held by one process, and gone when that ends in any way."""

from __future__ import annotations

import contextlib
import os
import sys
from hashlib import blake2b
from pathlib import Path

from turnlog.errors import Busy, TurnlogError

_OPEN_FLAGS = os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
_LOCKED_BYTE_OFFSET = 1 << 20
"""The byte that is locked where locked bytes can't be read (Windows): behind what the file says."""


class SessionLock:
    """A file that stands for a session, locked; it says by whom."""

    def __init__(self, path: Path, fd: int) -> None:
        self._path = path
        self._fd = fd

    @classmethod
    def acquire(cls, session: Path, folder: Path) -> SessionLock:
        """Lock a session; Busy if another process did."""
        name = blake2b(os.fsencode(os.path.realpath(session)), digest_size=16).hexdigest()
        path = folder / f"{name}.lock"
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            while True:
                fd = os.open(path, _OPEN_FLAGS, 0o600)
                if not _try_lock(fd):
                    raise Busy(
                        f"{session.stem}: {_read_holder(fd)} has it open; end that, or go on in a copy (--fork-session)"
                    )
                if _is_file_at(fd, path):
                    break
                os.close(fd)  # its owner removed it in the moment before it was locked
        except OSError as error:
            raise TurnlogError(f"{folder}: {error.strerror or error}; TURNLOG_HOME names another folder") from None
        with contextlib.suppress(OSError):  # a full disk keeps nobody from holding it; only who does is not said
            os.ftruncate(fd, 0)
            os.write(fd, f"{os.getpid()}\n".encode())
        return cls(path, fd)

    def release(self) -> None:
        """Let others have it."""
        if self._fd < 0:
            return
        if sys.platform != "win32":  # there an open file can't be removed; an unlocked one is in nobody's way
            self._path.unlink(missing_ok=True)
        os.close(self._fd)
        self._fd = -1


def _try_lock(fd: int) -> bool:
    try:
        if sys.platform == "win32":  # pragma: no cover - needs that system
            import msvcrt

            os.lseek(fd, _LOCKED_BYTE_OFFSET, os.SEEK_SET)
            msvcrt.locking(fd, msvcrt.LK_NBLCK, 1)
            os.lseek(fd, 0, os.SEEK_SET)
        else:
            import fcntl

            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # some network folders know no locks; on Windows this says that it is held
        return sys.platform != "win32"
    return True


def _is_file_at(fd: int, path: Path) -> bool:
    """Whether a name still leads to the file that was opened."""
    try:
        return os.path.samestat(os.fstat(fd), path.stat())
    except FileNotFoundError:
        return False


def _read_holder(fd: int) -> str:
    """Who wrote down that they hold a file; it is closed."""
    said = b""
    with contextlib.suppress(OSError):
        said = os.read(fd, 32).strip()
    os.close(fd)
    return f"turnlog (process {said.decode()})" if said.isdigit() else "another turnlog"
