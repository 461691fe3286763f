"""What the running processes show about a session, beyond what its client writes to disk.

    is_alive            whether a client that registered is still running
    find_clients        the running clients, by their working folder: old ones register nothing
    list_children       what a client is running: a command has a process, a call that waits for permission has none
    read_activity       how much a client reads and writes: while it works, it keeps drawing a spinner

Linux provides all of this in /proc. On other systems, `NoProcesses` provides nothing, and states are inferred from the
transcript.
"""

from __future__ import annotations

import contextlib
import os
import sys
import time
from pathlib import Path
from typing import NamedTuple, Protocol

from turnlog.entries.clients import is_client_process, is_process_alive, read_process_config_dir
from turnlog.entries.layout import is_session_id, scan_folder

_PROC_FOLDER = Path("/proc")
_MAX_COMMAND_CHARS = 4000
_SESSION_OPTIONS = ("--resume", "-r", "--session-id")
_RECHECK_SECONDS = 10.0
"""How often a process that is not a client is examined again: a shell can become a client with `exec`."""
_YOUNG_SECONDS = 5.0
"""A process this young is examined every time, because a client starts as `node` and renames itself."""


class ChildProcess(NamedTuple):
    """A process that a client started."""

    pid: int
    command: str
    """Its words, separated by spaces."""
    started: float | None = None
    """In seconds since 1970; None if unknown."""


class ClientProcess(NamedTuple):
    """A running client."""

    pid: int
    parent: int
    start: str
    """When it started, in clock ticks since boot; with the pid, it identifies the process."""
    started: float
    """The same in seconds since 1970."""
    folder: str
    """Its working folder; empty if unknown."""
    config_dir: Path | None = None
    """None if unknown."""
    session_id: str | None = None
    """The session that its command line names; a client under Node shows its arguments only while it starts."""


def find_named_session(words: list[str]) -> str | None:
    """Return the session named in a client's command line, if the client continues it in the same file."""
    if "--fork-session" in words:
        return None
    for word, following in zip(words, [*words[1:], ""], strict=False):
        name, _, value = word.partition("=")
        if name in _SESSION_OPTIONS and is_session_id(value or following):
            return (value or following).lower()
    return None


class ProcessActivity(NamedTuple):
    """How much a process has read and written since it started."""

    reads: int
    writes: int
    written_bytes: int


class Processes(Protocol):
    """The processes of a machine."""

    @property
    def process_space(self) -> int | None:
        """The namespace in which their ids are valid, as hooks report it; None if this system has none."""

    def is_alive(self, pid: int, start: object) -> bool:
        """Return whether a process is running; `start` distinguishes it from a later process with the same number."""

    def find_clients(self) -> list[ClientProcess] | None:
        """List the running clients; None if this system does not show them."""

    def list_children(self, pid: int) -> list[ChildProcess] | None:
        """List the running child processes of a process; return None if this system does not show them."""

    def read_activity(self, pid: int) -> ProcessActivity | None:
        """Return how much a process has read and written; None if this system does not show it."""


class NoProcesses:
    """A system that reveals nothing about a process except whether it is running."""

    process_space: int | None = None

    def is_alive(self, pid: int, start: object) -> bool:
        return is_process_alive(pid, start)

    def find_clients(self) -> list[ClientProcess] | None:
        return None

    def list_children(self, pid: int) -> list[ChildProcess] | None:
        return None

    def read_activity(self, pid: int) -> ProcessActivity | None:
        return None


class ProcFolder:
    """The processes of Linux."""

    def __init__(self, root: Path = _PROC_FOLDER) -> None:
        self._root = root
        self.process_space = _read_process_space(root)
        self._others: dict[int, tuple[float, float]] = {}
        """When each process that is no client was first seen and last examined."""

    def is_alive(self, pid: int, start: object) -> bool:
        return is_process_alive(pid, start) and self._read_stat(pid)[:1] != [b"Z"]

    def find_clients(self) -> list[ClientProcess] | None:
        """List this user's clients; most other processes are examined only occasionally."""
        now = time.monotonic()
        pids = [int(item.name) for item in scan_folder(self._root) if item.name.isdecimal()]
        if not pids:
            return None
        self._others = {pid: self._others[pid] for pid in pids if pid in self._others}
        clients = []
        for pid in pids:
            first, last = self._others.get(pid, (now, float("-inf")))
            if pid == os.getpid() or (now - first > _YOUNG_SECONDS and now - last < _RECHECK_SECONDS):
                continue
            client = self._read_client(pid)
            if client is None:
                self._others[pid] = (first, now)
            else:
                self._others.pop(pid, None)
                clients.append(client)
        return clients

    def _read_client(self, pid: int) -> ClientProcess | None:
        folder = self._root / str(pid)
        with contextlib.suppress(OSError, ValueError):  # a process can end at any moment
            with open(f"{folder}/cmdline", "rb") as file:  # noqa: PTH123 - many processes, every few seconds
                words = [os.fsdecode(word) for word in file.read(_MAX_COMMAND_CHARS).split(b"\0") if word]
            if not words or not is_client_process(words):
                return None
            stat = self._read_stat(pid)
            if os.geteuid() in (0, folder.stat().st_uid) and len(stat) > 19 and stat[0] != b"Z":
                return ClientProcess(
                    pid,
                    int(stat[1]),
                    stat[19].decode(),
                    _to_epoch(stat[19]),
                    self._read_folder(folder),
                    read_process_config_dir(pid),
                    find_named_session(words),
                )
        return None

    @staticmethod
    def _read_folder(process: Path) -> str:
        try:
            return os.fspath((process / "cwd").readlink()).removesuffix(" (deleted)")
        except OSError:
            return ""

    def list_children(self, pid: int) -> list[ChildProcess] | None:
        """List the direct children of all threads."""
        children: list[ChildProcess] = []
        tasks = scan_folder(self._root / str(pid) / "task")
        for task in tasks:
            try:
                pids = Path(task.path, "children").read_bytes().split()
            except FileNotFoundError:
                if Path(task.path).exists():  # the kernel was built without this file
                    return None
                continue
            except OSError:
                continue
            children += [child for number in pids if (child := self._read_child(int(number))) is not None]
        return children if tasks else None

    def _read_child(self, pid: int) -> ChildProcess | None:
        stat = self._read_stat(pid)
        if len(stat) <= 19 or stat[0] == b"Z":
            return None
        command = ""
        with contextlib.suppress(OSError):
            data = (self._root / str(pid) / "cmdline").read_bytes()[:_MAX_COMMAND_CHARS]
            command = os.fsdecode(data).replace("\0", " ").strip()
        return ChildProcess(pid, command, _to_epoch(stat[19]))

    def read_activity(self, pid: int) -> ProcessActivity | None:
        try:
            lines = (self._root / str(pid) / "io").read_text().splitlines()
            values = {name: int(value) for name, _, value in (line.partition(": ") for line in lines)}
            return ProcessActivity(values["syscr"], values["syscw"], values["wchar"])
        except (OSError, ValueError, KeyError):
            return None

    def _read_stat(self, pid: int) -> list[bytes]:
        """Return the fields of a process, starting with its state; return an empty list if it has ended."""
        try:
            return (self._root / str(pid) / "stat").read_bytes().rsplit(b")", 1)[1].split()
        except (OSError, IndexError):
            return []


def _read_process_space(root: Path) -> int | None:
    try:
        return int(str((root / "self/ns/pid").readlink())[5:-1])  # `pid:[4026531836]`
    except (OSError, ValueError):
        return None


def _to_epoch(ticks: bytes) -> float:
    """Convert clock ticks since boot to seconds since 1970."""
    since_boot = time.clock_gettime(time.CLOCK_BOOTTIME) if hasattr(time, "CLOCK_BOOTTIME") else time.monotonic()
    return time.time() - since_boot + int(ticks) / os.sysconf("SC_CLK_TCK")


def open_processes() -> Processes:
    """Return the access to processes that this system supports."""
    if sys.platform == "linux" and (_PROC_FOLDER / "self" / "stat").exists():
        return ProcFolder()
    return NoProcesses()
