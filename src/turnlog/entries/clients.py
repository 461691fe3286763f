"""The running clients: newer versions register in a file of their own and remove it when they exit.

    <config>/sessions/<pid>.json        {pid, procStart, pidDomain, sessionId, status, statusUpdatedAt, waitingFor, …}

A killed client leaves its file behind, so the process is checked too. A client on a different machine or in a different
container that shares the folder can't be checked.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

from turnlog.entries.layout import scan_folder
from turnlog.entries.line_decoder import decode_first_object

CLIENT_STATES = ("busy", "shell", "idle", "waiting")
"""The states that a client reports."""
_MAX_WAITING_CHARS = 200
_MAX_TIME_MS = 1 << 43
_PROC_FOLDER = Path("/proc")
_CLIENT_NAMES = ("claude", "claude.exe")
_RUNTIME_NAMES = ("node", "node.exe", "bun", "nodejs")
_CLIENT_SCRIPTS = ("/claude-code/cli.js", "/bin/claude", "/.bin/claude")


class Client(NamedTuple):
    """A registered client."""

    session_id: str
    pid: int
    path: str
    """The file in which it registered."""
    is_here: bool
    """Whether its process was found; False for a client on a different machine or in a different container."""
    status: str | None = None
    """One of CLIENT_STATES; None if the client does not report one."""
    waiting_for: str | None = None
    """What it is waiting for, in the client's own words."""
    status_time: float | None = None
    """When the client reported its status, in seconds since 1970."""
    start: str | None = None
    """When its process started, in clock ticks since boot."""
    cwd: str | None = None
    """Its working folder."""
    is_dead: bool = False
    """Whether its process is gone: it was killed and left its registration behind."""


def list_clients(config_dir: Path, here: str | None = None) -> list[Client]:
    """List the running clients registered in a config folder; `here` replaces this machine's own domain."""
    return [client for client in list_registrations(config_dir, here=here) if not client.is_dead]


def list_registrations(
    config_dir: Path, is_alive: Callable[[int, object], bool] | None = None, here: str | None = None
) -> list[Client]:
    """List all registrations in a config folder, including those that killed clients left behind."""
    names = [item.path for item in scan_folder(config_dir / "sessions") if item.name.endswith(".json")]
    ours = here or read_process_domain()
    check = is_alive or is_process_alive
    return [client for name in sorted(names) if (client := _build_client(name, read_client_file(name), ours, check))]


def read_client_file(path: str) -> dict[str, Any]:
    """Read a client's registration; return an empty object if it is missing or broken."""
    try:
        return decode_first_object(Path(path).read_bytes()) or {}
    except OSError:
        return {}


def _build_client(
    path: str, registration: dict[str, Any], ours: str | None, is_alive: Callable[[int, object], bool]
) -> Client | None:
    session_id, pid, theirs = registration.get("sessionId"), registration.get("pid"), registration.get("pidDomain")
    if not isinstance(session_id, str) or type(pid) is not int or not 0 < pid < 1 << 31:
        return None
    is_here = not (ours and isinstance(theirs, str) and theirs != ours)
    status, waiting = registration.get("status"), registration.get("waitingFor")
    time, start = registration.get("statusUpdatedAt"), registration.get("procStart")
    return Client(
        session_id,
        pid,
        path,
        is_here,
        status if status in CLIENT_STATES else None,
        waiting[:_MAX_WAITING_CHARS] if isinstance(waiting, str) and waiting else None,
        time / 1000 if type(time) is int and 0 < time < _MAX_TIME_MS else None,
        start if isinstance(start, str) and start.isdecimal() else None,
        cwd if isinstance(cwd := registration.get("cwd"), str) else None,
        is_here and not is_alive(pid, start),
    )


def read_process_domain(root: Path = Path("/")) -> str | None:
    """Return the machine and namespace, in the form that newer clients on Linux write as `pidDomain`."""
    try:
        machine = (root / "etc/machine-id").read_text(encoding="ascii").strip()
        return f"linux:{machine}:{(root / 'proc/self/ns/pid').readlink()}"
    except (OSError, ValueError):
        return None


def is_process_alive(pid: int, started: object) -> bool:
    """Return whether a process is running; if its start time differs, a different process has reused its id."""
    if sys.platform == "win32":  # pragma: no cover - needs that system
        return _is_alive_on_windows(pid)
    try:
        with contextlib.suppress(PermissionError):
            os.kill(pid, 0)
    except ProcessLookupError:
        return False
    actual_start = _read_process_start(pid)
    return actual_start is None or not isinstance(started, str) or not started.isdecimal() or started == actual_start


def read_process_identity(pid: int) -> dict[str, str]:
    """Return the start time and domain, which distinguish a process from others with the same id; Linux only."""
    identity = {"procStart": _read_process_start(pid), "pidDomain": read_process_domain()}
    return {key: value for key, value in identity.items() if value is not None}


def _read_process_start(pid: int) -> str | None:
    """Return when a process started, in clock ticks since boot."""
    try:
        return (_PROC_FOLDER / str(pid) / "stat").read_bytes().rsplit(b")", 1)[1].split()[19].decode()
    except (OSError, IndexError):
        return None


def is_client_process(arguments: list[str], title: str = "") -> bool:
    """Return whether a command line or a process name belongs to a client."""
    if title in _CLIENT_NAMES:
        return True
    name = PurePosixPath(arguments[0]).name if arguments else ""
    is_script = name in _RUNTIME_NAMES and any(word.endswith(_CLIENT_SCRIPTS) for word in arguments[1:4])
    return name in _CLIENT_NAMES or is_script


def read_process_config_dir(pid: int) -> Path | None:
    """Return the config folder that a process uses, from its environment; None if unknown."""
    try:
        lines = (_PROC_FOLDER / str(pid) / "environ").read_bytes().split(b"\0")
    except OSError:
        return None
    variables = dict(word.partition(b"=")[::2] for word in lines)
    if folder := variables.get(b"CLAUDE_CONFIG_DIR"):
        return Path(os.fsdecode(folder))
    return Path(os.fsdecode(variables[b"HOME"])) / ".claude" if variables.get(b"HOME") else None


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
