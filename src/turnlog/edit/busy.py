"""Whether a session is open in a running client, and what tells so.

    registered   `<config>/sessions/<pid>.json` of newer clients names it, and the process runs
    command      a process was started with its id, as in `claude --resume <id>`, and not for a copy of it in another
                 config folder (Linux)
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
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from turnlog.edit.target import Target
from turnlog.entries.clients import clients, row
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
    named = {str(row(path).get("sessionId")).lower().encode() for path in files}
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
    for client in clients(found.config_dir) if found.config_dir else ():
        if client.session_id != found.session_id:
            continue
        if client.is_here:
            yield Sign("registered", f"it is open in a client, process {client.pid}", client.pid)
        else:
            words = f"a client of another machine or container registered it ({client.path})"
            yield Sign("elsewhere", words, client.pid)


def _processes(found: Target) -> Iterator[Sign]:
    """What the processes of this user show; nothing where there is no /proc."""
    own = os.getpid()
    file, folder = os.path.realpath(found.path), os.path.realpath(found.session_dir) + os.sep
    for item in scan(_PROC):
        if not item.name.isdecimal() or (pid := int(item.name)) == own:
            continue
        if _was_told(pid, found.session_id) and not _has_its_own(pid, found):
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


def _has_its_own(pid: int, found: Target) -> bool:
    """Whether a process was started for another config folder, in which there is a session with the same id."""
    try:
        words = (_PROC / str(pid) / "environ").read_bytes().split(b"\0")
    except OSError:
        return False
    given = dict(word.partition(b"=")[::2] for word in words)
    folder = Path(os.fsdecode(given.get(b"CLAUDE_CONFIG_DIR") or given.get(b"HOME", b"") + b"/.claude"))
    if found.config_dir is None or os.path.realpath(folder) == os.path.realpath(found.config_dir):
        return False
    return any(Path(item.path, f"{found.session_id}.jsonl").is_file() for item in scan(folder / "projects"))


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
