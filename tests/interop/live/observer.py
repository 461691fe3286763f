"""Samples of what a run leaves on disk and in /proc, each with its time."""

from __future__ import annotations

import contextlib
import json
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.interop.live.state_recording import DOMAIN, ProcessSample

_IGNORED_FOLDERS = frozenset(
    {"backups", "cache", "debug", "downloads", "file-history", "paste-cache", "plugins", "session-env",
     "shell-snapshots", "statsig", "telemetry"}
)  # fmt: skip
_IGNORED_FILES = frozenset({"settings.json"})
_IGNORED_SUFFIXES = (".key", ".lock", ".tmp")
"""Keys are secrets, if only of a client that has ended."""
_DOMAIN_FIELD = re.compile(r'("pidDomain":\s*)"[^"]*"')
_RECORDER_OPTIONS = re.compile(r" --session-id \S+")
"""People don't name a session when they start it, so the board must not learn its id from there."""
_CLIENT_FOLDER = re.compile(r"/[^\s'\"]*/node_modules/")
"""Where a client is installed on this machine."""
_MAX_COMMAND_CHARS = 2000


class FileObserver:
    """Tells what was added to, replaced or removed below a config folder."""

    def __init__(self, config_dir: Path, wall: float) -> None:
        self._config_dir, self._wall = config_dir, wall
        self._known: dict[str, tuple[int, int, bytes]] = {}

    def poll(self, clock: Callable[[], float]) -> list[dict[str, Any]]:
        steps: list[dict[str, Any]] = []
        found: set[str] = set()
        for path in self._list_files():
            name = path.relative_to(self._config_dir).as_posix()
            found.add(name)
            with contextlib.suppress(FileNotFoundError):
                if step := self._compare(name, path, clock):
                    steps.append(step)
        for name in [name for name in self._known if name not in found]:
            del self._known[name]
            steps.append({"t": clock(), "file": name, "gone": True})
        return steps

    def _list_files(self) -> list[Path]:
        files: list[Path] = []
        for folder, names, entries in os.walk(self._config_dir):
            names[:] = [name for name in names if name not in _IGNORED_FOLDERS]
            files += [
                Path(folder) / name
                for name in entries
                if name not in _IGNORED_FILES and not name.endswith(_IGNORED_SUFFIXES)
            ]
        return files

    def _compare(self, name: str, path: Path, clock: Callable[[], float]) -> dict[str, Any] | None:
        stat = path.stat()
        size, mtime, before = self._known.get(name, (-1, -1, b""))
        if (stat.st_size, stat.st_mtime_ns) == (size, mtime):
            return None
        data, seen = path.read_bytes(), clock()
        self._known[name] = (stat.st_size, stat.st_mtime_ns, data)
        if data == before and size >= 0:
            return None
        step = {"t": round(min(stat.st_mtime_ns / 1e9 - self._wall, seen), 3), "file": name}
        if size >= 0 and before and data.startswith(before):
            return {**step, "add": _to_text(data[len(before) :])}
        return {**step, "set": _DOMAIN_FIELD.sub(rf'\1"{DOMAIN}"', _to_text(data))}


class ProcessObserver:
    """Tells which processes the clients have started, and how much the clients have read and written."""

    def __init__(self) -> None:
        self.latest: list[ProcessSample] = []
        self._counts: dict[int, list[int]] = {}

    def poll(self, roots: list[int], clock: Callable[[], float]) -> list[dict[str, Any]]:
        seen = clock()
        processes = list_process_trees(roots)
        steps: list[dict[str, Any]] = [{"t": seen, "processes": processes}] if processes != self.latest else []
        self.latest = processes
        counts = {pid: count for pid in roots if (count := read_io_counts(pid))}
        if counts != self._counts:
            self._counts = counts
            steps.append({"t": seen, "io": counts})
        return steps


def read_io_counts(pid: int) -> list[int]:
    """Return how many reads, writes and written bytes a process has made; a client that draws a spinner writes much."""
    try:
        lines = Path(f"/proc/{pid}/io").read_text().splitlines()
    except OSError:
        return []
    values = {name: int(value) for name, _, value in (line.partition(": ") for line in lines)}
    return [values["syscr"], values["syscw"], values["wchar"]]


def list_process_trees(roots: list[int]) -> list[ProcessSample]:
    """List some processes and all that descend from them; zombies have ended."""
    parents = {pid: fields for pid in _list_pids() if (fields := _read_stat(pid))}
    wanted: list[int] = []
    level = [pid for pid in roots if pid in parents]
    while level:
        wanted += level
        level = [pid for pid, fields in parents.items() if fields[0] in level]
    return [sample for pid in sorted(wanted) if (sample := _read_process(pid, *parents[pid]))]


def _list_pids() -> list[int]:
    return [int(path.name) for path in Path("/proc").iterdir() if path.name.isdecimal()]


def _read_stat(pid: int) -> tuple[int, str, str] | None:
    """Return a process's parent, start and name."""
    try:
        head, _, rest = Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")
    except OSError:
        return None
    fields = rest.split()
    return None if fields[0] == "Z" else (int(fields[1]), fields[19], head.partition("(")[2])


def _read_process(pid: int, parent: int, start: str, name: str) -> ProcessSample | None:
    try:
        cwd = str(Path(f"/proc/{pid}/cwd").readlink())
        words = Path(f"/proc/{pid}/cmdline").read_text(errors="replace").split("\0")
    except OSError:
        return None
    # `node claude …` and `claude …`, wherever they are installed
    words = [
        Path(word).name if re.fullmatch(r"/\S*/(node|claude|claude\.exe|cli\.js)", word) else word for word in words
    ]
    command = _RECORDER_OPTIONS.sub("", " ".join(words).strip())
    command = _CLIENT_FOLDER.sub("/opt/claude/node_modules/", command)
    return ProcessSample(pid, parent, start, name, cwd, command[:_MAX_COMMAND_CHARS])


class HookObserver:
    """Tells what hooks received."""

    def __init__(self, spool: Path, wall: float) -> None:
        self._spool, self._wall = spool, wall

    def poll(self, clock: Callable[[], float]) -> list[dict[str, Any]]:
        steps: list[dict[str, Any]] = []
        for path in sorted(self._spool.glob("[0-9]*.json")):
            started = int(path.name.partition("-")[0]) / 1e9 - self._wall
            received, end = json.JSONDecoder().raw_decode(text := path.read_text("utf-8", "surrogateescape"))
            processes = [line.split() for line in text[end:].strip().splitlines()]
            by = [[int(fields[0]), int(fields[21])] for fields in processes]
            steps.append({"t": round(min(started, clock()), 3), "hook": received, "by": by})
            path.unlink()
        return steps


def _to_text(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")
