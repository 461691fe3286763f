"""Whether a session is open in a running client, and what tells so.

    registered   `<config>/sessions/<pid>.json` of newer clients names it, and the process runs
    command      a process was started with its id, as in `claude --resume <id>`, and not for a copy of it in another
                 config folder (Linux)
    handle       a process has a file of it open for writing (Linux); clients open it for each write only
    growth       a file of it was written within the last seconds
    elsewhere    registered by a process of another machine or container that shares the folder: nobody can ask it
    client       a client runs in its folder that does not say which session it has open, and it may be this one
    unseen       the processes of this system can't be listed

The first three are certain, the others a reason to wait or to ask.
"""

from __future__ import annotations

import contextlib
import os
import re
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from turnlog.edit.client_match import match_clients
from turnlog.edit.loose_clients import LooseClient, ProcessesHidden, config_dir_of, find_running_clients
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

    @property
    def is_question(self) -> bool:
        """Whether only the user can know if a client has the session open."""
        return self.kind in ("client", "unseen")

    @property
    def remedy(self) -> str:
        """What to do about it, for people."""
        if self.is_certain:
            return "end that first"
        quiet = "end that first" if self.kind == "client" else "wait until it is quiet"
        return f"{quiet}, or use --force"


def signs(found: Target, now: float | None = None) -> list[Sign]:
    """All that tells that a session is open, the surest first; empty if nothing does."""
    told = [*_registered(found), *_processes(found), *_growth(found, time.time() if now is None else now)]
    seen = {sign.pid for sign in told if sign.is_certain}
    told += [sign for sign in _loose(found, _running()) if sign.pid is None or sign.pid not in seen]
    return sorted(told, key=lambda sign: not sign.is_certain)


def blocking(told: Iterable[Sign], *, force: bool = False, asked: bool = False) -> list[Sign]:
    """The signs that forbid a change: the certain ones, and doubts that the user has not put aside.

    `force` puts all doubts aside; `asked` those of which only the user can know.
    """
    return [sign for sign in told if sign.is_certain or not (force or (asked and sign.is_question))]


def fresh(found: Target) -> list[Sign]:
    """What tells that a session was written just now, without a look at any process."""
    return list(_growth(found, time.time()))


def suspects(targets: Iterable[Target]) -> list[Target]:
    """The sessions that `signs` may say more of than that they were just written, by one look at all processes."""
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
    running = _running()
    return [
        found
        for found in known
        if found.session_id.lower().encode() in named or _is_among(found, opened) or _loose(found, running)
    ]


def _running() -> list[LooseClient] | None:
    """The clients that run; None if that can't be seen."""
    try:
        return find_running_clients()
    except ProcessesHidden:
        return None


def _loose(found: Target, running: list[LooseClient] | None) -> list[Sign]:
    """The clients that do not say what they have open, and may have this session."""
    if found.config_dir is None:
        return []
    if running is None:
        return [Sign("unseen", "whether a client has it open can't be seen here, because `ps` does not work")]
    matches = match_clients(found, running)
    return [Sign("handle" if match.is_writing else "client", match.words, match.client.pid) for match in matches]


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
    folder = config_dir_of(pid)
    if folder is None or found.config_dir is None or os.path.realpath(folder) == os.path.realpath(found.config_dir):
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
