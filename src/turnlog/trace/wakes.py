"""Wakes: notes that the hook leaves for a worker. A wake is kept until its spans are in the outbox.

Wakes are only hints: if one is lost, `recovery` finds the session.
"""

from __future__ import annotations

import ast
import os
import time
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from turnlog.entries.layout import scan_folder
from turnlog.entries.line_decoder import decode_first_object

_MAX_BROKEN_WAKES = 100
"""The number of broken wakes to keep for inspection."""
_MAX_HEAD_BYTES = 1 << 16
_STALE_TEMPORARY_NS = 3600 * 10**9
_EXPIRED_NS = 30 * 86400 * 10**9
"""A wake with different surroundings is dropped if no worker has handled it for this long."""


class Wake(NamedTuple):
    """One message from Claude Code, and the arguments of the hook."""

    path: Path
    time_ns: int
    """In nanoseconds since 1970."""
    surroundings: str
    """A hash of the variables that determine where spans are sent; see `hook`."""
    since: float | None
    """When the hook was installed, in seconds since 1970."""
    targets: tuple[str, ...]
    """The target names in the hook's arguments; an empty list means all configured targets."""
    event: str
    transcript: Path
    agent_id: str | None = None
    agent_transcript: Path | None = None
    answer: str | None = None
    """The model's last text; None if the client doesn't report it."""
    prompt_id: str | None = None

    @property
    def session_id(self) -> str:
        """The session that the wake is about."""
        return self.transcript.stem


class WakeCount(NamedTuple):
    """The number of wakes that are waiting, and of those that are broken."""

    waiting: int
    broken: int


def list_waiting_wakes(folder: Path, surroundings: str) -> list[Wake]:
    """List the wakes for a worker with these surroundings, oldest first; set broken ones aside."""
    wakes = []
    for path in _list_wake_files(folder / "wakes"):
        try:
            wake = _read_wake(path)
        except FileNotFoundError:
            continue  # another worker did this first
        except (OSError, ValueError):
            _move_aside(path, folder / "broken")
            continue
        if wake.surroundings == surroundings:
            wakes.append(wake)
        elif time.time_ns() - wake.time_ns > _EXPIRED_NS:
            remove_wakes([wake])
    return wakes


def remove_wakes(wakes: Iterable[Wake]) -> None:
    """Delete wakes whose spans are in the outbox."""
    for wake in wakes:
        with suppress(OSError):
            wake.path.unlink()


def set_wakes_aside(wakes: Iterable[Wake], folder: Path) -> None:
    """Set aside wakes that can't be handled."""
    for wake in wakes:
        _move_aside(wake.path, folder / "broken")


def announce_worker(folder: Path, surroundings: str) -> None:
    """Record that a worker is running, so that later wakes start a new one."""
    with suppress(OSError):
        (folder / "wakes" / f"starting-{surroundings}").unlink()


def count_wakes(folder: Path) -> WakeCount:
    return WakeCount(len(_list_wake_files(folder / "wakes")), len(_list_wake_files(folder / "broken")))


def _list_wake_files(folder: Path) -> list[Path]:
    paths = []
    for item in scan_folder(folder):
        if item.name.endswith(".wake"):
            paths.append(Path(item.path))
        elif item.name.endswith(".tmp"):
            _remove_stale(item)
    return sorted(paths)


def _remove_stale(item: os.DirEntry[str]) -> None:
    """Delete the files that a killed hook left behind."""
    with suppress(OSError):
        if time.time_ns() - item.stat().st_mtime_ns > _STALE_TEMPORARY_NS:
            Path(item.path).unlink()


def _read_wake(path: Path) -> Wake:
    head, _, message = path.read_bytes().partition(b"\n")
    if len(head) > _MAX_HEAD_BYTES:
        raise ValueError("the first line is too long")
    try:
        version, surroundings, since, targets = ast.literal_eval(head.decode("ascii"))
    except (SyntaxError, TypeError, MemoryError, RecursionError) as error:
        raise ValueError("the first line was not written by turnlog") from error
    if version != 1:
        raise ValueError("written by a different version of turnlog")
    fields = decode_first_object(message) or {}
    transcript = _parse_transcript_path(fields.get("transcript_path"))
    if transcript is None:
        raise ValueError("no transcript path")
    return Wake(
        path,
        int(path.name.partition("-")[0]),
        str(surroundings),
        float(since[0]) if since else None,
        tuple(map(str, targets)),
        _read_text(fields, "hook_event_name") or "",
        transcript,
        _read_text(fields, "agent_id"),
        _parse_transcript_path(fields.get("agent_transcript_path")),
        _read_text(fields, "last_assistant_message"),
        _read_text(fields, "prompt_id"),
    )


def _read_text(fields: dict[str, Any], name: str) -> str | None:
    value = fields.get(name)
    return value if isinstance(value, str) else None


def _parse_transcript_path(value: object) -> Path | None:
    """Return the path of a transcript, or None if the value can't be a path."""
    if not isinstance(value, str) or "\0" in value or not value.endswith(".jsonl"):
        return None
    try:
        os.fsencode(value)
    except UnicodeEncodeError:
        return None
    path = Path(value)
    return path if path.is_absolute() else None


def _move_aside(path: Path, folder: Path) -> None:
    with suppress(OSError):
        folder.mkdir(mode=0o700, exist_ok=True)
        path.replace(folder / path.name)
        for old in _list_wake_files(folder)[:-_MAX_BROKEN_WAKES]:
            old.unlink()
