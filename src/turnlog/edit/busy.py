"""Whether a session is open in a running client, and what tells so.

    registered   `<config>/sessions/<pid>.json` of newer clients names it, and the process runs
    command      a process was started with its id, as in `claude --resume <id>` (Linux)
    handle       a process has a file of it open for writing (Linux); clients open it for each write only
    growth       a file of it was written within the last seconds
    elsewhere    registered by a process of another machine or container that shares the folder: nobody can ask it

The first three are certain, the others a reason to wait. A client that is older, idle and was started without an id
leaves no sign.
"""

from __future__ import annotations

import contextlib
import os
import re
import sys
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from turnlog.edit.target import Target
from turnlog.entries.decode import first_object
from turnlog.entries.layout import scan

FRESH = 5.0
"""A file that was written so many seconds ago may be written again."""
_NAMING = {b"--resume", b"-r", b"--session-id"}
_PROC = Path("/proc")
_FLAGS = re.compile(rb"^flags:\s*([0-7]+)", re.MULTILINE)


class Sign(NamedTuple):
    """Something that tells of an open session."""

    kind: str
    words: str
    """For people: `process 4711 has it open`."""
    pid: int | None = None

    @property
    def is_certain(self) -> bool:
        """Whether a process was seen that has the session open."""
        return self.kind in ("registered", "command", "handle")


def signs(found: Target, now: float | None = None) -> list[Sign]:
    """All that tells that a session is open, the surest first; empty if nothing does."""
    told = [*_registered(found), *_processes(found), *_growth(found, time.time() if now is None else now)]
    return sorted(told, key=lambda sign: not sign.is_certain)


def fresh(found: Target) -> list[Sign]:
    """What tells that a session was written just now, without a look at any process."""
    return list(_growth(found, time.time()))


def suspects(targets: Iterable[Target]) -> list[Target]:
    """The sessions that `signs` may have something certain to say of, found with one look at all processes."""
    known = list(targets)
    if not known:
        return []
    registries = {found.config_dir / "sessions" for found in known if found.config_dir is not None}
    files = [item.path for folder in registries for item in scan(folder) if item.name.endswith(".json")]
    named = {str(_row(path).get("sessionId")).lower().encode() for path in files}
    opened: set[str] = set()
    for item in scan(_PROC):
        if item.name.isdecimal() and int(item.name) != os.getpid():
            named |= _words(int(item.name))
            opened |= set(_opened(int(item.name)))
    return [found for found in known if found.session_id.lower().encode() in named or _is_among(found, opened)]


def _words(pid: int) -> set[bytes]:
    try:
        words = (_PROC / str(pid) / "cmdline").read_bytes().lower().split(b"\0")
    except OSError:
        return set()
    return {part for word in words for part in (word, word.partition(b"=")[2])}


def _opened(pid: int) -> Iterator[str]:
    for item in scan(_PROC / str(pid) / "fd"):
        with contextlib.suppress(OSError):
            yield str(Path(item.path).readlink())


def _is_among(found: Target, opened: set[str]) -> bool:
    file, folder = os.path.realpath(found.path), os.path.realpath(found.session_dir) + os.sep
    return file in opened or any(path.startswith(folder) for path in opened)


def _registered(found: Target) -> Iterator[Sign]:
    folder = None if found.config_dir is None else found.config_dir / "sessions"
    for item in scan(folder) if folder else ():
        row = _row(item.path) if item.name.endswith(".json") else {}
        pid = row.get("pid")
        if row.get("sessionId") != found.session_id or type(pid) is not int or not 0 < pid < 1 << 31:
            continue
        domain, ours = row.get("pidDomain"), _domain()
        if ours and isinstance(domain, str) and domain != ours:
            yield Sign("elsewhere", f"a client of another machine or container registered it ({item.path})", pid)
        elif _is_alive(pid, row.get("procStart")):
            yield Sign("registered", f"it is open in a client, process {pid}", pid)


def _row(path: str) -> dict[str, Any]:
    try:
        return first_object(Path(path).read_bytes()) or {}
    except OSError:
        return {}


def _domain() -> str | None:
    """How newer clients on Linux name the processes that they can see: machine and namespace."""
    try:
        machine = Path("/etc/machine-id").read_text(encoding="ascii").strip()
        return f"linux:{machine}:{Path('/proc/self/ns/pid').readlink()}"
    except (OSError, ValueError):
        return None


def _is_alive(pid: int, started: object) -> bool:
    """Whether a process runs; one that began at another time is another process."""
    if sys.platform == "win32":
        return _is_alive_on_windows(pid)
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    begun = _begun(pid)
    return begun is None or not isinstance(started, str) or not started.isdecimal() or started == begun


def _begun(pid: int) -> str | None:
    """When a process began, as Linux counts it."""
    try:
        return (_PROC / str(pid) / "stat").read_bytes().rsplit(b")", 1)[1].split()[19].decode()
    except (OSError, IndexError):
        return None


def _is_alive_on_windows(pid: int) -> bool:
    import ctypes

    kernel: Any = ctypes.windll.kernel32  # type: ignore[attr-defined,unused-ignore]
    handle = kernel.OpenProcess(0x1000, False, pid)  # PROCESS_QUERY_LIMITED_INFORMATION
    if not handle:
        return False
    code = ctypes.c_ulong()
    kernel.GetExitCodeProcess(handle, ctypes.byref(code))
    kernel.CloseHandle(handle)
    return code.value == 259  # STILL_ACTIVE


def _processes(found: Target) -> Iterator[Sign]:
    """What the processes of this user show; nothing where there is no /proc."""
    own = os.getpid()
    file, folder = os.path.realpath(found.path), os.path.realpath(found.session_dir) + os.sep
    for item in scan(_PROC):
        if not item.name.isdecimal() or (pid := int(item.name)) == own:
            continue
        if _was_told(pid, found.session_id):
            yield Sign("command", f"process {pid} was started with its id", pid)
        elif _writes(pid, file, folder):
            yield Sign("handle", f"process {pid} has it open for writing", pid)


def _was_told(pid: int, session_id: str) -> bool:
    try:
        words = (_PROC / str(pid) / "cmdline").read_bytes().split(b"\0")
    except OSError:
        return False
    wanted = session_id.lower().encode()
    for word, following in zip(words, [*words[1:], b""], strict=True):
        name, _, value = word.partition(b"=")
        if name in _NAMING and wanted in (value.lower(), following.lower()):
            return True
    return False


def _writes(pid: int, file: str, folder: str) -> bool:
    for item in scan(_PROC / str(pid) / "fd"):
        with contextlib.suppress(OSError):
            opened = str(Path(item.path).readlink())
            if opened == file or opened.startswith(folder):
                flags = _FLAGS.search((_PROC / str(pid) / "fdinfo" / item.name).read_bytes())
                if flags and int(flags[1], 8) & os.O_ACCMODE != os.O_RDONLY:
                    return True
    return False


def _growth(found: Target, now: float) -> Iterator[Sign]:
    """A file of the session that was written just now, be it a sub-agent's."""
    files = [str(found.path)]
    files += [item.path for item in scan(found.session_dir / "subagents") if item.name.endswith(".jsonl")]
    times = []
    for name in files:
        with contextlib.suppress(OSError):
            times.append(Path(name).stat().st_mtime)
    age = min((abs(now - written) for written in times), default=FRESH)
    if age < FRESH:
        yield Sign("growth", f"it was written {age:.0f} s ago")
