"""Prevents concurrent writers: one process owns a session, and other processes can see which one.

    lock          a file in turnlog's data folder that stays locked: two turnlog processes never write at once
    registration  `<config>/sessions/<pid>.json`, as newer clients write it: they and `turnlog ls` see the owner
    signs         traces of a client process that has the session open (`edit.open_signs`): turnlog does not start

Clients don't check for locks, and some leave no signs. The next write detects anything that they add to a file
(`appender`).
"""

from __future__ import annotations

import contextlib
import os
import sys
import time
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any

from turnlog.agent.record.chain import ENTRYPOINT, RECORD_VERSION
from turnlog.entries.clients import read_client_file, read_process_identity
from turnlog.entries.patch import encode_json_line
from turnlog.errors import Busy, TurnlogError

if TYPE_CHECKING:
    from turnlog.edit.open_signs import OpenSign

_OPEN_FLAGS = os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
_LOCKED_BYTE_OFFSET = 1 << 20
"""The byte to lock on systems where locked bytes can't be read (Windows): after the file's content."""


class SessionLock:
    """The lock file of a session, which contains the owner's process id."""

    def __init__(self, path: Path, fd: int) -> None:
        self._path = path
        self._fd = fd

    @classmethod
    def acquire(cls, session: Path, folder: Path) -> SessionLock:
        """Lock a session; raise Busy if another process has locked it."""
        name = blake2b(os.fsencode(os.path.realpath(session)), digest_size=16).hexdigest()
        path = folder / f"{name}.lock"
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            while True:
                fd = os.open(path, _OPEN_FLAGS, 0o600)
                if not _try_lock(fd):
                    raise Busy(
                        f"{session.stem}: {_read_holder(fd)} has it open; end that process first, or use a copy"
                        " (--fork-session)"
                    )
                if _is_file_at(fd, path):
                    break
                os.close(fd)  # its owner removed it just before it was locked
        except OSError as error:
            raise TurnlogError(f"{folder}: {error.strerror or error}; set TURNLOG_HOME to a different folder") from None
        with contextlib.suppress(OSError):  # the lock holds on a full disk too, only without the process id
            os.ftruncate(fd, 0)
            os.write(fd, f"{os.getpid()}\n".encode())
        return cls(path, fd)

    def release(self) -> None:
        if self._fd < 0:
            return
        if sys.platform != "win32":  # Windows can't remove an open file; an unlocked one is harmless
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
    except OSError:  # some network folders have no locks; on Windows it means "held"
        return sys.platform != "win32"
    return True


def _is_file_at(fd: int, path: Path) -> bool:
    """Return whether a path still refers to the opened file."""
    try:
        return os.path.samestat(os.fstat(fd), path.stat())
    except FileNotFoundError:
        return False


def _read_holder(fd: int) -> str:
    """Describe the process that holds a lock file, and close the file."""
    pid = b""
    with contextlib.suppress(OSError):
        pid = os.read(fd, 32).strip()
    os.close(fd)
    return f"turnlog (process {pid.decode()})" if pid.isdigit() else "another turnlog"


_MAX_ANCESTORS = 64
_PROC_FOLDER = Path("/proc")


class SessionHolder:
    """Holds a session until it is closed or the process ends."""

    def __init__(self, path: Path, lock: SessionLock, registration: Path | None, said: dict[str, Any]) -> None:
        self.path = path
        self.warnings: tuple[str, ...] = ()
        """Uncertain signs, such as a client on a different machine that can't be checked."""
        self._lock = lock
        self._registration = registration
        self._registered = said

    def __enter__(self) -> SessionHolder:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def set_status(self, status: str, waiting_for: str | None = None) -> None:
        """Publish the client's status: `busy`, `idle`, `waiting` (and for what), or `shell`."""
        now = _now_milliseconds()
        waiting = {} if waiting_for is None else {"waitingFor": waiting_for}
        fields = {key: value for key, value in self._registered.items() if key != "waitingFor"}
        self._registered = {**fields, "status": status, **waiting, "updatedAt": now, "statusUpdatedAt": now}
        if self._registration is not None:
            _write_registration(self._registration, self._registered)

    def close(self) -> None:
        if (
            self._registration is not None
            and read_client_file(str(self._registration)).get("sessionId") == self._registered["sessionId"]
        ):
            self._registration.unlink(missing_ok=True)
        self._lock.release()


def acquire_session(path: Path, cwd: Path, locks: Path, *, is_new: bool = False) -> SessionHolder:
    """Acquire a session for this process; raise Busy if another process has it. `locks` is turnlog's lock folder."""
    projects = path.parent.parent
    config_dir = projects.parent if projects.name == "projects" else None
    lock = SessionLock.acquire(path, locks)
    try:
        signs = [] if is_new else _find_other_signs(path, config_dir)
        if certain := [sign for sign in signs if sign.is_certain]:
            raise Busy(f"{path.stem}: {certain[0].words}; end that process first, or use a copy (--fork-session)")
        registered = _build_registration(path.stem, cwd)
        registration = None if config_dir is None else config_dir / "sessions" / f"{os.getpid()}.json"
        holder = SessionHolder(path, lock, registration, registered)
        holder.warnings = tuple(sign.words for sign in signs if sign.kind == "elsewhere")
        holder.set_status("idle")
    except BaseException:
        lock.release()
        raise
    return holder


def _build_registration(session_id: str, cwd: Path) -> dict[str, Any]:
    pid = os.getpid()
    return {
        "pid": pid,
        "sessionId": session_id,
        "cwd": str(cwd),
        "startedAt": _now_milliseconds(),
        **read_process_identity(pid),
        "version": RECORD_VERSION,
        "kind": "interactive",
        "entrypoint": ENTRYPOINT,
    }


def _write_registration(path: Path, fields: dict[str, Any]) -> None:
    """Write a registration atomically; ignore failures, which only hide the session from other processes."""
    with contextlib.suppress(OSError):
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        temporary = path.with_name(f".{path.name}.tmp")
        with os.fdopen(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
            file.write(encode_json_line(fields))
        temporary.replace(path)


def _find_other_signs(path: Path, config_dir: Path | None) -> list[OpenSign]:
    """Return signs that other processes have the session open, ignoring the command lines of parent processes."""
    from turnlog.edit.open_signs import find_open_signs  # not needed for new sessions, which nobody else can have
    from turnlog.edit.session_target import SessionTarget

    ancestors = set(_list_ancestor_pids())
    signs = find_open_signs(SessionTarget(path, path.stem, config_dir))
    return [sign for sign in signs if not (sign.kind == "command" and sign.pid in ancestors)]


def _list_ancestor_pids() -> list[int]:
    pids: list[int] = []
    pid = os.getppid()
    while pid > 1 and len(pids) < _MAX_ANCESTORS:
        pids.append(pid)
        try:
            pid = int((_PROC_FOLDER / str(pid) / "stat").read_bytes().rsplit(b")", 1)[1].split()[1])
        except (OSError, IndexError, ValueError):
            break
    return pids


def _now_milliseconds() -> int:
    return round(time.time() * 1000)
