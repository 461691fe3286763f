"""Finds running clients that do not report which session they have open: old clients that run under Node.

Such a client has the process title `claude` and no arguments, registers nothing, and opens its transcript only while it
writes a line. turnlog can see its working folder, its start time and, on Linux, its environment. On Linux, all of this
is in /proc; elsewhere, turnlog runs `ps` and `lsof`. On Windows, none of it is available.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from turnlog.entries.clients import is_client_process, read_process_config_dir
from turnlog.entries.layout import scan_folder

_PROC_FOLDER = Path("/proc")
_MAX_WAIT_SECONDS = 20
_DELETED_SUFFIX = " (deleted)"


class LooseClient(NamedTuple):
    """A running client whose open session is unknown."""

    pid: int
    parent: int
    """The id of the client's parent process."""
    started: float
    folders: tuple[str, ...]
    """All names of the client's working folder; empty if unknown."""
    config_dir: Path | None = None
    """None if unknown."""
    writing: frozenset[str] = frozenset()
    """The files that the client is known to have open for writing."""


class ProcessesHidden(Exception):
    """The system does not allow its processes to be listed."""


def find_running_clients() -> list[LooseClient]:
    """Find all running clients of this user, registered or not; raise `ProcessesHidden` if they can't be listed."""
    if sys.platform == "win32":  # pragma: no cover - needs that system
        return []
    return list(_read_proc() if (_PROC_FOLDER / "self" / "stat").exists() else ask_ps())


# -- Linux


def _read_proc() -> Iterator[LooseClient]:
    booted = _read_boot_time()
    for item in scan_folder(_PROC_FOLDER):
        if item.name.isdecimal() and int(item.name) != os.getpid():
            with contextlib.suppress(OSError, ValueError, IndexError):  # a process can end at any moment
                if (found := _read_process(int(item.name), booted)) is not None:
                    yield found


def _read_process(pid: int, booted: float) -> LooseClient | None:
    folder = _PROC_FOLDER / str(pid)
    arguments = [os.fsdecode(word) for word in (folder / "cmdline").read_bytes().split(b"\0") if word]
    is_ours = folder.stat().st_uid == os.geteuid() or os.geteuid() == 0
    if not is_ours or not is_client_process(arguments, (folder / "comm").read_text(errors="replace").strip()):
        return None
    fields = (folder / "stat").read_bytes().rsplit(b")", 1)[1].split()
    started = booted + int(fields[19]) / os.sysconf("SC_CLK_TCK")
    return LooseClient(pid, int(fields[1]), started, _read_process_folders(folder), read_process_config_dir(pid))


def _read_process_folders(process: Path) -> tuple[str, ...]:
    """Return a process's current working folder and, if the folder was renamed after the start, its old name.

    Raises an exception if the process has ended and only its process ID is left.
    """
    try:
        cwd = os.fspath((process / "cwd").readlink())
    except PermissionError:
        return ()
    folders = [cwd.removesuffix(_DELETED_SUFFIX)]
    with contextlib.suppress(OSError):
        variables = (process / "environ").read_bytes().split(b"\0")
        started_in = next((os.fsdecode(word[4:]) for word in variables if word.startswith(b"PWD=/")), None)
        # When a project's folder is renamed, the client's working folder moves along, but the client still uses the old
        # name. A PWD that exists belongs to another program.
        if started_in and not Path(started_in).exists():
            folders.append(started_in)
    return tuple(folders)


def _read_boot_time() -> float:
    with contextlib.suppress(OSError, StopIteration, ValueError):
        lines = (_PROC_FOLDER / "stat").read_text().splitlines()
        return float(next(line.split()[1] for line in lines if line.startswith("btime ")))
    return 0.0


# -- elsewhere


def ask_ps() -> Iterator[LooseClient]:
    """Find clients with `ps`; use `lsof` to find their working folders and the files they have open for writing."""
    output = _run_program(["ps", "-x", "-ww", "-o", "pid=,ppid=,etime=,args="])
    if output is None:
        raise ProcessesHidden("`ps` does not work")
    now = time.time()
    for line in output.splitlines():
        pid, parent, elapsed, *arguments = [*line.split(), "", "", ""]
        arguments = [word for word in arguments if word]
        if pid.isdecimal() and parent.isdecimal() and int(pid) != os.getpid() and is_client_process(arguments):
            folders, writing = _ask_lsof(int(pid))
            age = parse_elapsed(elapsed)
            started = 0.0 if age is None else now - age
            yield LooseClient(int(pid), int(parent), started, folders, None, writing)


def parse_elapsed(text: str) -> float | None:
    """Convert `[[days-]hours:]minutes:seconds` to seconds; return None if the text has a different form."""
    days, _, clock = text.rpartition("-")
    parts = clock.split(":")
    if not all(part.isdecimal() for part in (*parts, days or "0")):
        return None
    seconds = 0
    for part in parts:
        seconds = seconds * 60 + int(part)
    return float(int(days or 0) * 86_400 + seconds)


def _ask_lsof(pid: int) -> tuple[tuple[str, ...], frozenset[str]]:
    output = _run_program(["lsof", "-w", "-p", str(pid), "-F", "fan"])
    return parse_lsof(output.splitlines()) if output is not None else ((), frozenset())


def parse_lsof(lines: Iterable[str]) -> tuple[tuple[str, ...], frozenset[str]]:
    """Read the working folder and the files open for writing from the output of `lsof -F fan`."""
    folders: list[str] = []
    writing: set[str] = set()
    name = access = ""
    for line in lines:
        field, value = line[:1], line[1:]
        if field == "f":
            name, access = value, ""
        elif field == "a":
            access = value
        elif field == "n" and name == "cwd":
            folders.append(value)
        elif field == "n" and access in ("w", "u"):
            writing.add(value)
    return tuple(folders), frozenset(writing)


def _run_program(command: list[str]) -> str | None:
    """Return the output of a program, or None if it can't be run."""
    env = {**os.environ, "LC_ALL": "C"}
    try:
        result = subprocess.run(
            command, capture_output=True, env=env, text=True, errors="replace", timeout=_MAX_WAIT_SECONDS, check=False
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return result.stdout or None
