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

from turnlog.edit.loose_clients import LooseClient, ProcessesHidden, find_running_clients, read_process_config_dir
from turnlog.edit.session_target import SessionTarget
from turnlog.entries.clients import list_clients, read_client_file
from turnlog.entries.layout import is_session_id, scan_folder
from turnlog.entries.slug import make_slug

_SLACK_SECONDS = 2.0
"""How far the start of a process may be off: Linux counts it from the start of the machine, in whole seconds."""
_TAIL_BYTES = 1 << 16
_ANSWER_MARKS = (b'"type":"assistant"', b'"type": "assistant"')


class ClientMatch(NamedTuple):
    """A client that may have a session open."""

    client: LooseClient
    words: str
    is_writing: bool = False
    """Whether it has a file of the session open for writing, which is sure."""


def match_clients(found: SessionTarget, running: Iterable[LooseClient]) -> list[ClientMatch]:
    """The clients that may have a session open, those with a reason first."""
    near = [client for client in _select_unregistered(found, running) if _works_in(client, found)]
    if not near:
        return []
    others = _list_sibling_write_times(found)
    matches = [match for client in near if (match := _match_client(client, found, others, len(near))) is not None]
    return sorted(matches, key=lambda match: not match.is_writing)


def _select_unregistered(found: SessionTarget, running: Iterable[LooseClient]) -> list[LooseClient]:
    """Without clients of which it is known what they have open, and without what those have started."""
    if found.config_dir is None:
        return []
    known = {client.pid for client in list_clients(found.config_dir)}
    return [client for client in running if known.isdisjoint((client.pid, client.parent))]


def _works_in(client: LooseClient, found: SessionTarget) -> bool:
    """Whether the session is one of those that a client offers; where that can't be seen, it may be."""
    is_elsewhere = client.config_dir is not None and not _is_same_path(client.config_dir, found.config_dir)
    is_there = not client.folders or any(make_slug(folder) == found.path.parent.name for folder in client.folders)
    return is_there and not is_elsewhere


def _is_same_path(one: Path, other: Path | None) -> bool:
    return other is not None and os.path.realpath(one) == os.path.realpath(other)


def _match_client(client: LooseClient, found: SessionTarget, others: list[float], near: int) -> ClientMatch | None:
    file, folder = os.path.realpath(found.path), os.path.realpath(found.session_dir) + os.sep
    if any(name == file or name.startswith(folder) for name in client.writing):
        return ClientMatch(client, f"process {client.pid} has it open for writing", is_writing=True)
    since = client.started - _SLACK_SECONDS
    if _find_last_touch(found) >= since:
        words = f"a client runs in its folder, process {client.pid}, and it was used since that started"
        return ClientMatch(client, words)
    if sum(written >= since for written in others) >= near:
        return None
    where = "in its folder" if client.folders else "in a folder that can't be seen"
    return ClientMatch(client, f"a client runs {where}, process {client.pid}, which does not say what it has open")


def _find_last_touch(found: SessionTarget) -> float:
    """When the transcript, or what a client writes when it resumes one, was written last."""
    config, own = found.config_dir or found.path.parent, found.session_id
    paths = (found.path, config / "debug" / f"{own}.txt", config / "todos" / f"{own}-agent-{own}.json")
    return max(map(_get_write_time, paths))


def _list_sibling_write_times(found: SessionTarget) -> list[float]:
    """When the other sessions of the folder were written that hold answers."""
    files = [Path(item.path) for item in scan_folder(found.path.parent) if item.name.endswith(".jsonl")]
    others = [path for path in files if is_session_id(path.stem) and path.stem != found.session_id]
    return [_get_write_time(path) for path in others if _has_answer(path)]


def _has_answer(path: Path) -> bool:
    with contextlib.suppress(OSError), path.open("rb") as file:
        file.seek(max(file.seek(0, os.SEEK_END) - _TAIL_BYTES, 0))
        tail = file.read(_TAIL_BYTES)
        return any(answer in tail for answer in _ANSWER_MARKS)
    return False


def _get_write_time(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0


RECENT_WRITE_SECONDS = 5.0
"""A file that was written so many seconds ago may be written again."""
_SESSION_OPTIONS = {b"--resume", b"-r", b"--session-id"}
_PROC_FOLDER = Path("/proc")
_OPEN_FLAGS_PATTERN = re.compile(rb"^flags:\s*([0-7]+)", re.MULTILINE)


class OpenSign(NamedTuple):
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


def find_open_signs(found: SessionTarget, now: float | None = None) -> list[OpenSign]:
    """All that tells that a session is open, the surest first; empty if nothing does."""
    told = [
        *_find_registered_signs(found),
        *_find_process_signs(found),
        *_find_growth_signs(found, time.time() if now is None else now),
    ]
    seen = {sign.pid for sign in told if sign.is_certain}
    told += [
        sign
        for sign in _find_loose_client_signs(found, _list_running_clients())
        if sign.pid is None or sign.pid not in seen
    ]
    return sorted(told, key=lambda sign: not sign.is_certain)


def select_blocking_signs(told: Iterable[OpenSign], *, force: bool = False, asked: bool = False) -> list[OpenSign]:
    """The signs that forbid a change: the certain ones, and doubts that the user has not put aside.

    `force` puts all doubts aside; `asked` those of which only the user can know.
    """
    return [sign for sign in told if sign.is_certain or not (force or (asked and sign.is_question))]


def find_recent_writes(found: SessionTarget) -> list[OpenSign]:
    """What tells that a session was written just now, without a look at any process."""
    return list(_find_growth_signs(found, time.time()))


def find_suspect_sessions(targets: Iterable[SessionTarget]) -> list[SessionTarget]:
    """The sessions that `signs` may say more of than that they were just written, by one look at all processes."""
    known = list(targets)
    if not known:
        return []
    registries = {found.config_dir / "sessions" for found in known if found.config_dir is not None}
    files = [item.path for folder in registries for item in scan_folder(folder) if item.name.endswith(".json")]
    named = {str(read_client_file(path).get("sessionId")).lower().encode() for path in files}
    opened: set[str] = set()
    for item in scan_folder(_PROC_FOLDER):
        if item.name.isdecimal() and int(item.name) != os.getpid():
            named |= _read_command_words(int(item.name))
            opened |= set(_list_open_files(int(item.name)))
    running = _list_running_clients()
    return [
        found
        for found in known
        if found.session_id.lower().encode() in named
        or _has_open_file(found, opened)
        or _find_loose_client_signs(found, running)
    ]


def _list_running_clients() -> list[LooseClient] | None:
    """The clients that run; None if that can't be seen."""
    try:
        return find_running_clients()
    except ProcessesHidden:
        return None


def _find_loose_client_signs(found: SessionTarget, running: list[LooseClient] | None) -> list[OpenSign]:
    """The clients that do not say what they have open, and may have this session."""
    if found.config_dir is None:
        return []
    if running is None:
        return [OpenSign("unseen", "whether a client has it open can't be seen here, because `ps` does not work")]
    matches = match_clients(found, running)
    return [OpenSign("handle" if match.is_writing else "client", match.words, match.client.pid) for match in matches]


def _read_command_words(pid: int) -> set[bytes]:
    try:
        words = (_PROC_FOLDER / str(pid) / "cmdline").read_bytes().lower().split(b"\0")
    except OSError:
        return set()
    return {part for word in words for part in (word, word.partition(b"=")[2])}


def _list_open_files(pid: int) -> Iterator[str]:
    for item in scan_folder(_PROC_FOLDER / str(pid) / "fd"):
        with contextlib.suppress(OSError):
            yield str(Path(item.path).readlink())


def _has_open_file(found: SessionTarget, opened: set[str]) -> bool:
    file, folder = os.path.realpath(found.path), os.path.realpath(found.session_dir) + os.sep
    return file in opened or any(path.startswith(folder) for path in opened)


def _find_registered_signs(found: SessionTarget) -> Iterator[OpenSign]:
    for client in list_clients(found.config_dir) if found.config_dir else ():
        if client.session_id != found.session_id:
            continue
        if client.is_here:
            yield OpenSign("registered", f"it is open in a client, process {client.pid}", client.pid)
        else:
            words = f"a client of another machine or container registered it ({client.path})"
            yield OpenSign("elsewhere", words, client.pid)


def _find_process_signs(found: SessionTarget) -> Iterator[OpenSign]:
    """What the processes of this user show; nothing where there is no /proc."""
    own = os.getpid()
    file, folder = os.path.realpath(found.path), os.path.realpath(found.session_dir) + os.sep
    for item in scan_folder(_PROC_FOLDER):
        if not item.name.isdecimal() or (pid := int(item.name)) == own:
            continue
        if _was_started_with(pid, found.session_id) and not _has_session_elsewhere(pid, found):
            yield OpenSign("command", f"process {pid} was started with its id", pid)
        elif _writes_to_session(pid, file, folder):
            yield OpenSign("handle", f"process {pid} has it open for writing", pid)


def _was_started_with(pid: int, session_id: str) -> bool:
    try:
        words = (_PROC_FOLDER / str(pid) / "cmdline").read_bytes().split(b"\0")
    except OSError:
        return False
    wanted = session_id.lower().encode()
    for word, following in zip(words, [*words[1:], b""], strict=True):
        name, _, value = word.partition(b"=")
        if name in _SESSION_OPTIONS and wanted in (value.lower(), following.lower()):
            return True
    return False


def _has_session_elsewhere(pid: int, found: SessionTarget) -> bool:
    """Whether a process was started for another config folder, in which there is a session with the same id."""
    folder = read_process_config_dir(pid)
    if folder is None or found.config_dir is None or os.path.realpath(folder) == os.path.realpath(found.config_dir):
        return False
    return any(Path(item.path, f"{found.session_id}.jsonl").is_file() for item in scan_folder(folder / "projects"))


def _writes_to_session(pid: int, file: str, folder: str) -> bool:
    for item in scan_folder(_PROC_FOLDER / str(pid) / "fd"):
        with contextlib.suppress(OSError):
            opened = str(Path(item.path).readlink())
            if opened == file or opened.startswith(folder):
                flags = _OPEN_FLAGS_PATTERN.search((_PROC_FOLDER / str(pid) / "fdinfo" / item.name).read_bytes())
                if flags and int(flags[1], 8) & os.O_ACCMODE != os.O_RDONLY:
                    return True
    return False


def _find_growth_signs(found: SessionTarget, now: float) -> Iterator[OpenSign]:
    """A file of the session that was written just now, be it a sub-agent's."""
    files = [str(found.path)]
    files += [item.path for item in scan_folder(found.session_dir / "subagents") if item.name.endswith(".jsonl")]
    times = []
    for name in files:
        with contextlib.suppress(OSError):
            times.append(Path(name).stat().st_mtime)
    age = min((abs(now - written) for written in times), default=RECENT_WRITE_SECONDS)
    if age < RECENT_WRITE_SECONDS:
        yield OpenSign("growth", f"it was written {age:.0f} s ago")
