"""The clients that run: newer ones say so in a file of their own, and remove it when they end.

    <config>/sessions/<pid>.json        {pid, procStart, pidDomain, sessionId, status, waitingFor, …}

Such a file outlives a client that was killed, so the process is looked at too. One of another machine or container
that shares the folder can't be asked.
"""

from __future__ import annotations

import contextlib
import os
import sys
from pathlib import Path
from typing import Any, NamedTuple

from turnlog.entries.layout import scan_folder
from turnlog.entries.line_decoder import decode_first_object

CLIENT_STATES = ("busy", "shell", "idle", "waiting")
"""What a client says that it is doing."""
_MAX_WAITING_CHARS = 200
_PROC_FOLDER = Path("/proc")


class Client(NamedTuple):
    """A client that has registered itself, and runs as far as can be seen."""

    session_id: str
    pid: int
    path: str
    """The file with which it did so."""
    is_here: bool
    """Whether its process was seen; False for one of another machine or container."""
    status: str | None = None
    """One of STATES; None if it does not say."""
    waiting_for: str | None = None
    """What it waits for, in its own words."""


def list_clients(config_dir: Path, here: str | None = None) -> list[Client]:
    """The clients that are registered in a config folder; `here` is the domain to compare with, if not our own."""
    names = [item.path for item in scan_folder(config_dir / "sessions") if item.name.endswith(".json")]
    ours = here or read_process_domain()
    return [found for name in sorted(names) if (found := _build_client(name, read_client_file(name), ours))]


def read_client_file(path: str) -> dict[str, Any]:
    """What such a file says; nothing when it is missing or broken."""
    try:
        return decode_first_object(Path(path).read_bytes()) or {}
    except OSError:
        return {}


def _build_client(path: str, said: dict[str, Any], ours: str | None) -> Client | None:
    session_id, pid, theirs = said.get("sessionId"), said.get("pid"), said.get("pidDomain")
    if not isinstance(session_id, str) or type(pid) is not int or not 0 < pid < 1 << 31:
        return None
    is_here = not (ours and isinstance(theirs, str) and theirs != ours)
    if is_here and not is_process_alive(pid, said.get("procStart")):
        return None
    status, waiting = said.get("status"), said.get("waitingFor")
    return Client(
        session_id,
        pid,
        path,
        is_here,
        status if status in CLIENT_STATES else None,
        waiting[:_MAX_WAITING_CHARS] if isinstance(waiting, str) and waiting else None,
    )


def read_process_domain(root: Path = Path("/")) -> str | None:
    """How newer clients on Linux name the processes that they can see: machine and namespace."""
    try:
        machine = (root / "etc/machine-id").read_text(encoding="ascii").strip()
        return f"linux:{machine}:{(root / 'proc/self/ns/pid').readlink()}"
    except (OSError, ValueError):
        return None


def is_process_alive(pid: int, started: object) -> bool:
    """Whether a process runs; one that began at another time is another process."""
    if sys.platform == "win32":  # pragma: no cover - needs that system
        return _is_alive_on_windows(pid)
    try:
        with contextlib.suppress(PermissionError):
            os.kill(pid, 0)
    except ProcessLookupError:
        return False
    begun = _read_process_start(pid)
    return begun is None or not isinstance(started, str) or not started.isdecimal() or started == begun


def read_process_identity(pid: int) -> dict[str, str]:
    """What tells a process from others that had or will have its number, as newer clients write it; Linux only."""
    found = {"procStart": _read_process_start(pid), "pidDomain": read_process_domain()}
    return {key: value for key, value in found.items() if value is not None}


def _read_process_start(pid: int) -> str | None:
    """When a process began, as Linux counts it."""
    try:
        return (_PROC_FOLDER / str(pid) / "stat").read_bytes().rsplit(b")", 1)[1].split()[19].decode()
    except (OSError, IndexError):
        return None


def _is_alive_on_windows(pid: int) -> bool:  # pragma: no cover - needs that system
    import ctypes

    kernel: Any = ctypes.windll.kernel32  # type: ignore[attr-defined,unused-ignore]
    handle = kernel.OpenProcess(0x1000, False, pid)  # PROCESS_QUERY_LIMITED_INFORMATION
    if not handle:
        return False
    code = ctypes.c_ulong()
    kernel.GetExitCodeProcess(handle, ctypes.byref(code))
    kernel.CloseHandle(handle)
    return code.value == 259  # STILL_ACTIVE
