"""Signs that a session is open in a running client.

    registered   a newer client's `<config>/sessions/<pid>.json` names it, and the process is running
    command      a process was started with its id, as in `claude --resume <id>`, but not for a copy in another
                 config folder (Linux)
    handle       a process has one of its files open for writing (Linux); clients open files only for each write
    growth       one of its files was written in the last few seconds
    elsewhere    it was registered by a process on another machine, or in a container, that shares the folder
    client       a client that does not report its session is running in its folder and may have it open
    unseen       turnlog can't list the processes on this system

The first three are certain; the others are reasons to wait or to ask the user.
"""

from __future__ import annotations

import contextlib
import os
import re
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from turnlog.edit.loose_clients import LooseClient, ProcessesHidden, find_running_clients
from turnlog.edit.session_target import SessionTarget
from turnlog.entries.clients import list_clients, read_client_file, read_process_config_dir
from turnlog.entries.layout import is_session_id, scan_folder
from turnlog.entries.slug import make_slug

_SLACK_SECONDS = 2.0
"""How inaccurate the start time of a process may be: Linux counts it from boot, in whole seconds."""
_TAIL_BYTES = 1 << 16
_ANSWER_MARKS = (b'"type":"assistant"', b'"type": "assistant"')


class ClientMatch(NamedTuple):
    """A client that may have a session open."""

    client: LooseClient
    words: str
    is_writing: bool = False
    """Whether the client has a file of the session open for writing, which is a certain sign."""


def match_clients(target: SessionTarget, running: Iterable[LooseClient]) -> list[ClientMatch]:
    """List the clients that may have a session open, starting with those that write to it."""
    near = [client for client in _select_unregistered(target, running) if _works_in(client, target)]
    if not near:
        return []
    others = _list_sibling_write_times(target)
    matches = [match for client in near if (match := _match_client(client, target, others, len(near))) is not None]
    return sorted(matches, key=lambda match: not match.is_writing)


def _select_unregistered(target: SessionTarget, running: Iterable[LooseClient]) -> list[LooseClient]:
    """Return the clients whose open session is unknown, except those that were started by a known client."""
    if target.config_dir is None:
        return []
    known = {client.pid for client in list_clients(target.config_dir)}
    return [client for client in running if known.isdisjoint((client.pid, client.parent))]


def _works_in(client: LooseClient, target: SessionTarget) -> bool:
    """Return whether a client could open this session, or True if that is unknown."""
    is_elsewhere = client.config_dir is not None and not _is_same_path(client.config_dir, target.config_dir)
    is_there = not client.folders or any(make_slug(folder) == target.path.parent.name for folder in client.folders)
    return is_there and not is_elsewhere


def _is_same_path(one: Path, other: Path | None) -> bool:
    return other is not None and os.path.realpath(one) == os.path.realpath(other)


def _match_client(client: LooseClient, target: SessionTarget, others: list[float], near: int) -> ClientMatch | None:
    file, folder = os.path.realpath(target.path), os.path.realpath(target.session_dir) + os.sep
    if any(name == file or name.startswith(folder) for name in client.writing):
        return ClientMatch(client, f"process {client.pid} has it open for writing", is_writing=True)
    since = client.started - _SLACK_SECONDS
    if _find_last_touch(target) >= since:
        words = f"Claude Code (process {client.pid}) runs in its folder, and the session was used after it started"
        return ClientMatch(client, words)
    if sum(written >= since for written in others) >= near:
        return None
    where = "in its folder" if client.folders else "in an unknown folder"
    return ClientMatch(client, f"Claude Code (process {client.pid}) runs {where} and does not say what it has open")


def _find_last_touch(target: SessionTarget) -> float:
    """Return when a client last wrote the transcript or one of the files that it writes when it resumes a session."""
    config, session_id = target.config_dir or target.path.parent, target.session_id
    paths = (
        target.path,
        config / "debug" / f"{session_id}.txt",
        config / "todos" / f"{session_id}-agent-{session_id}.json",
    )
    return max(map(_get_write_time, paths))


def _list_sibling_write_times(target: SessionTarget) -> list[float]:
    """Return when each of the folder's other sessions that contain answers was last written."""
    files = [Path(item.path) for item in scan_folder(target.path.parent) if item.name.endswith(".jsonl")]
    others = [path for path in files if is_session_id(path.stem) and path.stem != target.session_id]
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
"""A file written within this many seconds may be written again."""
_SESSION_OPTIONS = {b"--resume", b"-r", b"--session-id"}
_PROC_FOLDER = Path("/proc")
_OPEN_FLAGS_PATTERN = re.compile(rb"^flags:\s*([0-7]+)", re.MULTILINE)


class OpenSign(NamedTuple):
    kind: str
    words: str
    """A clause for messages, such as `process 4711 has it open`."""
    pid: int | None = None

    @property
    def is_certain(self) -> bool:
        """Whether a process certainly has the session open."""
        return self.kind in ("registered", "command", "handle")

    @property
    def is_question(self) -> bool:
        """Whether only the user can know if a client has the session open."""
        return self.kind in ("client", "unseen")

    @property
    def remedy(self) -> str:
        """What the user can do about the sign."""
        if self.is_certain:
            return "end that process first"
        step = "end that process first" if self.kind == "client" else "wait until nothing writes to it"
        return f"{step}, or use --force"


def find_open_signs(target: SessionTarget, now: float | None = None) -> list[OpenSign]:
    """Find all signs that a session is open, certain ones first."""
    signs = [
        *_find_registered_signs(target),
        *_find_process_signs(target),
        *_find_growth_signs(target, time.time() if now is None else now),
    ]
    certain_pids = {sign.pid for sign in signs if sign.is_certain}
    signs += [
        sign
        for sign in _find_loose_client_signs(target, _list_running_clients())
        if sign.pid is None or sign.pid not in certain_pids
    ]
    return sorted(signs, key=lambda sign: not sign.is_certain)


def select_blocking_signs(signs: Iterable[OpenSign], *, force: bool = False, asked: bool = False) -> list[OpenSign]:
    """Return the signs that prevent a change: certain ones, and uncertain ones that the user has not dismissed.

    `force` dismisses all uncertain signs; `asked` dismisses those that only the user can resolve.
    """
    return [sign for sign in signs if sign.is_certain or not (force or (asked and sign.is_question))]


def find_open_writer(paths: Iterable[Path]) -> tuple[Path, int] | None:
    """Return one of the files that another process has open for writing, and that process (Linux)."""
    wanted = {os.path.realpath(path): path for path in paths}
    for item in scan_folder(_PROC_FOLDER):
        if item.name.isdecimal() and (pid := int(item.name)) != os.getpid():
            for opened in _list_written_files(pid):
                if opened in wanted:
                    return wanted[opened], pid
    return None


def find_recent_writes(target: SessionTarget) -> list[OpenSign]:
    """Find signs that a session was written just now, without examining processes."""
    return list(_find_growth_signs(target, time.time()))


def find_suspect_sessions(targets: Iterable[SessionTarget]) -> list[SessionTarget]:
    """Select the sessions that `find_open_signs` may report as open, listing all processes only once."""
    sessions = list(targets)
    if not sessions:
        return []
    registries = {target.config_dir / "sessions" for target in sessions if target.config_dir is not None}
    files = [item.path for folder in registries for item in scan_folder(folder) if item.name.endswith(".json")]
    named = {str(read_client_file(path).get("sessionId")).lower().encode() for path in files}
    open_files: set[str] = set()
    for item in scan_folder(_PROC_FOLDER):
        if item.name.isdecimal() and int(item.name) != os.getpid():
            named |= _read_command_words(int(item.name))
            open_files |= set(_list_open_files(int(item.name)))
    running = _list_running_clients()
    return [
        target
        for target in sessions
        if target.session_id.lower().encode() in named
        or _has_open_file(target, open_files)
        or _find_loose_client_signs(target, running)
    ]


def _list_running_clients() -> list[LooseClient] | None:
    """List the running clients; return None if the system does not show them."""
    try:
        return find_running_clients()
    except ProcessesHidden:
        return None


def _find_loose_client_signs(target: SessionTarget, running: list[LooseClient] | None) -> list[OpenSign]:
    """Find clients that do not report their session and may have this session open."""
    if target.config_dir is None:
        return []
    if running is None:
        return [OpenSign("unseen", "turnlog can't see whether Claude Code has it open, because `ps` does not work")]
    matches = match_clients(target, running)
    return [OpenSign("handle" if match.is_writing else "client", match.words, match.client.pid) for match in matches]


def _read_command_words(pid: int) -> set[bytes]:
    try:
        arguments = (_PROC_FOLDER / str(pid) / "cmdline").read_bytes().lower().split(b"\0")
    except OSError:
        return set()
    return {text for argument in arguments for text in (argument, argument.partition(b"=")[2])}


def _list_open_files(pid: int) -> Iterator[str]:
    for item in scan_folder(_PROC_FOLDER / str(pid) / "fd"):
        with contextlib.suppress(OSError):
            yield str(Path(item.path).readlink())


def _has_open_file(target: SessionTarget, open_files: set[str]) -> bool:
    file, folder = os.path.realpath(target.path), os.path.realpath(target.session_dir) + os.sep
    return file in open_files or any(path.startswith(folder) for path in open_files)


def _find_registered_signs(target: SessionTarget) -> Iterator[OpenSign]:
    for client in list_clients(target.config_dir) if target.config_dir else ():
        if client.session_id != target.session_id:
            continue
        if client.is_here:
            yield OpenSign("registered", f"it is open in Claude Code, process {client.pid}", client.pid)
        else:
            words = f"Claude Code on another machine or in a container registered it ({client.path})"
            yield OpenSign("elsewhere", words, client.pid)


def _find_process_signs(target: SessionTarget) -> Iterator[OpenSign]:
    """Find signs among this user's processes; without /proc, there are none."""
    own_pid = os.getpid()
    file, folder = os.path.realpath(target.path), os.path.realpath(target.session_dir) + os.sep
    for item in scan_folder(_PROC_FOLDER):
        if not item.name.isdecimal() or (pid := int(item.name)) == own_pid:
            continue
        if _was_started_with(pid, target.session_id) and not _has_session_elsewhere(pid, target):
            yield OpenSign("command", f"process {pid} was started with its id", pid)
        elif _writes_to_session(pid, file, folder):
            yield OpenSign("handle", f"process {pid} has it open for writing", pid)


def _was_started_with(pid: int, session_id: str) -> bool:
    try:
        arguments = (_PROC_FOLDER / str(pid) / "cmdline").read_bytes().split(b"\0")
    except OSError:
        return False
    id_bytes = session_id.lower().encode()
    for argument, following in zip(arguments, [*arguments[1:], b""], strict=True):
        name, _, value = argument.partition(b"=")
        if name in _SESSION_OPTIONS and id_bytes in (value.lower(), following.lower()):
            return True
    return False


def _has_session_elsewhere(pid: int, target: SessionTarget) -> bool:
    """Return whether a process was started for a different config folder that has a session with the same id."""
    folder = read_process_config_dir(pid)
    if folder is None or target.config_dir is None or os.path.realpath(folder) == os.path.realpath(target.config_dir):
        return False
    return any(Path(item.path, f"{target.session_id}.jsonl").is_file() for item in scan_folder(folder / "projects"))


def _writes_to_session(pid: int, file: str, folder: str) -> bool:
    return any(opened == file or opened.startswith(folder) for opened in _list_written_files(pid))


def _list_written_files(pid: int) -> Iterator[str]:
    for item in scan_folder(_PROC_FOLDER / str(pid) / "fd"):
        with contextlib.suppress(OSError):
            opened = str(Path(item.path).readlink())
            flags = _OPEN_FLAGS_PATTERN.search((_PROC_FOLDER / str(pid) / "fdinfo" / item.name).read_bytes())
            if opened.startswith("/") and flags and int(flags[1], 8) & os.O_ACCMODE != os.O_RDONLY:
                yield opened


def _find_growth_signs(target: SessionTarget, now: float) -> Iterator[OpenSign]:
    """Find files of the session or its sub-agents that were written just now."""
    files = [str(target.path)]
    files += [item.path for item in scan_folder(target.session_dir / "subagents") if item.name.endswith(".jsonl")]
    times = []
    for name in files:
        with contextlib.suppress(OSError):
            times.append(Path(name).stat().st_mtime)
    age = min((abs(now - written) for written in times), default=RECENT_WRITE_SECONDS)
    if age < RECENT_WRITE_SECONDS:
        yield OpenSign("growth", f"it was written {age:.0f} s ago")
