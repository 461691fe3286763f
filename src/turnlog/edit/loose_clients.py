"""Running clients that say nowhere which session they have open: old ones, under Node.

Such a client has the process title `claude` and no arguments, registers nothing, and opens its transcript only while
it writes a line. What can be seen: its working folder, when it started and, on Linux, its environment. Linux tells
all of that in /proc; elsewhere `ps` and `lsof` are asked. On Windows nothing of it can be seen.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from turnlog.entries.layout import scan_folder

_PROC_FOLDER = Path("/proc")
_CLIENT_NAMES = ("claude", "claude.exe")
_RUNTIME_NAMES = ("node", "node.exe", "bun", "nodejs")
_CLIENT_SCRIPTS = ("/claude-code/cli.js", "/bin/claude", "/.bin/claude")
_MAX_WAIT_SECONDS = 20
_DELETED_SUFFIX = " (deleted)"


class LooseClient(NamedTuple):
    """A running client of which it is not known which session it has open."""

    pid: int
    parent: int
    """The process that started it."""
    started: float
    folders: tuple[str, ...]
    """Its working folder, by every name that it may know it by; empty if that can't be seen."""
    config_dir: Path | None = None
    """None if that can't be seen."""
    writing: frozenset[str] = frozenset()
    """The files that it has open for writing, as far as they were looked at."""


class ProcessesHidden(Exception):
    """This system does not show its processes."""


def find_running_clients() -> list[LooseClient]:
    """All clients of this user that run, registered or not; raises `ProcessesHidden`."""
    if sys.platform == "win32":  # pragma: no cover - needs that system
        return []
    return list(_read_proc() if (_PROC_FOLDER / "self" / "stat").exists() else ask_ps())


def is_client_process(words: list[str], title: str = "") -> bool:
    """Whether a command line, or the name of a process, is a client's."""
    if title in _CLIENT_NAMES:
        return True
    name = PurePosixPath(words[0]).name if words else ""
    is_script = name in _RUNTIME_NAMES and any(word.endswith(_CLIENT_SCRIPTS) for word in words[1:4])
    return name in _CLIENT_NAMES or is_script


def read_process_config_dir(pid: int) -> Path | None:
    """The config folder that a process works with, by its environment; None if that can't be seen."""
    try:
        words = (_PROC_FOLDER / str(pid) / "environ").read_bytes().split(b"\0")
    except OSError:
        return None
    given = dict(word.partition(b"=")[::2] for word in words)
    if folder := given.get(b"CLAUDE_CONFIG_DIR"):
        return Path(os.fsdecode(folder))
    return Path(os.fsdecode(given[b"HOME"])) / ".claude" if given.get(b"HOME") else None


# -- Linux


def _read_proc() -> Iterator[LooseClient]:
    booted = _read_boot_time()
    for item in scan_folder(_PROC_FOLDER):
        if item.name.isdecimal() and int(item.name) != os.getpid():
            with contextlib.suppress(OSError, ValueError, IndexError):  # it may end at any moment
                if (found := _read_process(int(item.name), booted)) is not None:
                    yield found


def _read_process(pid: int, booted: float) -> LooseClient | None:
    folder = _PROC_FOLDER / str(pid)
    words = [os.fsdecode(word) for word in (folder / "cmdline").read_bytes().split(b"\0") if word]
    is_ours = folder.stat().st_uid == os.geteuid() or os.geteuid() == 0
    if not is_ours or not is_client_process(words, (folder / "comm").read_text(errors="replace").strip()):
        return None
    fields = (folder / "stat").read_bytes().rsplit(b")", 1)[1].split()
    started = booted + int(fields[19]) / os.sysconf("SC_CLK_TCK")
    return LooseClient(pid, int(fields[1]), started, _read_process_folders(folder), read_process_config_dir(pid))


def _read_process_folders(process: Path) -> tuple[str, ...]:
    """The working folder of a process, and the name that it had when the process started.

    One that has ended, and of which only the number is left, has none: that raises.
    """
    try:
        cwd = os.fspath((process / "cwd").readlink())
    except PermissionError:
        return ()
    folders = [cwd.removesuffix(_DELETED_SUFFIX)]
    with contextlib.suppress(OSError):
        words = (process / "environ").read_bytes().split(b"\0")
        begun = next((os.fsdecode(word[4:]) for word in words if word.startswith(b"PWD=/")), None)
        # Who renames a project's folder takes the client's working folder along; the client itself goes on with the
        # old name. A PWD that leads elsewhere is another program's.
        if begun and not Path(begun).exists():
            folders.append(begun)
    return tuple(folders)


def _read_boot_time() -> float:
    with contextlib.suppress(OSError, StopIteration, ValueError):
        lines = (_PROC_FOLDER / "stat").read_text().splitlines()
        return float(next(line.split()[1] for line in lines if line.startswith("btime ")))
    return 0.0


# -- elsewhere


def ask_ps() -> Iterator[LooseClient]:
    """The clients that `ps` lists; `lsof` says where they work, and what they have open for writing."""
    listed = _run_program(["ps", "-x", "-ww", "-o", "pid=,ppid=,etime=,args="])
    if listed is None:
        raise ProcessesHidden("`ps` could not be asked")
    now = time.time()
    for line in listed.splitlines():
        pid, parent, elapsed, *words = [*line.split(), "", "", ""]
        words = [word for word in words if word]
        if pid.isdecimal() and parent.isdecimal() and int(pid) != os.getpid() and is_client_process(words):
            folders, writing = _ask_lsof(int(pid))
            age = parse_elapsed(elapsed)
            started = 0.0 if age is None else now - age
            yield LooseClient(int(pid), int(parent), started, folders, None, writing)


def parse_elapsed(text: str) -> float | None:
    """The seconds that `[[days-]hours:]minutes:seconds` means; None if it is nothing of that kind."""
    days, _, clock = text.rpartition("-")
    parts = clock.split(":")
    if not all(part.isdecimal() for part in (*parts, days or "0")):
        return None
    seconds = 0
    for part in parts:
        seconds = seconds * 60 + int(part)
    return float(int(days or 0) * 86_400 + seconds)


def _ask_lsof(pid: int) -> tuple[tuple[str, ...], frozenset[str]]:
    told = _run_program(["lsof", "-w", "-p", str(pid), "-F", "fan"])
    return parse_lsof(told.splitlines()) if told is not None else ((), frozenset())


def parse_lsof(lines: Iterable[str]) -> tuple[tuple[str, ...], frozenset[str]]:
    """The working folder, and the files that are open for writing, from what `lsof -F fan` prints."""
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


def _run_program(words: list[str]) -> str | None:
    """What a program prints; None if it can't be asked."""
    env = {**os.environ, "LC_ALL": "C"}
    try:
        done = subprocess.run(
            words, capture_output=True, env=env, text=True, errors="replace", timeout=_MAX_WAIT_SECONDS, check=False
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout or None
