"""Wakes: what the hook has left for a worker. One stays until what it asks for is in the outbox.

A wake is only a hint: what one that is lost would have brought is found by `recovery`.
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
"""So many broken wakes are kept to be looked at."""
_MAX_HEAD_BYTES = 1 << 16
_STALE_TEMPORARY_NS = 3600 * 10**9
_EXPIRED_NS = 30 * 86400 * 10**9
"""A wake of other surroundings for which nobody has come for so long is dropped."""


class Wake(NamedTuple):
    """What the client said once, and how the hook was called."""

    path: Path
    made: int
    """When, in nanoseconds since 1970."""
    surroundings: str
    """A mark of the variables that say where spans go; see `hook`."""
    since: float | None
    """When the hook was installed, in seconds since 1970."""
    targets: tuple[str, ...]
    """The names that the hook was given; none: whatever is configured."""
    event: str
    transcript: Path
    agent_id: str | None = None
    agent_transcript: Path | None = None
    answer: str | None = None
    """The last text of the model; None if the client does not tell."""
    prompt_id: str | None = None

    @property
    def session_id(self) -> str:
        """The session that it is about."""
        return self.transcript.stem


class WakeCount(NamedTuple):
    """How many wakes there are."""

    waiting: int
    broken: int


def list_waiting_wakes(folder: Path, surroundings: str) -> list[Wake]:
    """The wakes for a worker with such surroundings, the oldest first; broken ones are set aside."""
    found = []
    for path in _list_wake_files(folder / "wakes"):
        try:
            wake = _read_wake(path)
        except FileNotFoundError:
            continue  # another worker was faster
        except (OSError, ValueError):
            _move_aside(path, folder / "broken")
            continue
        if wake.surroundings == surroundings:
            found.append(wake)
        elif time.time_ns() - wake.made > _EXPIRED_NS:
            remove_wakes([wake])
    return found


def remove_wakes(wakes: Iterable[Wake]) -> None:
    """Remove wakes: what they asked for is in the outbox."""
    for wake in wakes:
        with suppress(OSError):
            wake.path.unlink()


def set_wakes_aside(wakes: Iterable[Wake], folder: Path) -> None:
    """Keep wakes that can't be served apart from those that wait."""
    for wake in wakes:
        _move_aside(wake.path, folder / "broken")


def announce_worker(folder: Path, surroundings: str) -> None:
    """Say that a worker is here: wakes that are left from now on need a further one."""
    with suppress(OSError):
        (folder / "wakes" / f"starting-{surroundings}").unlink()


def count_wakes(folder: Path) -> WakeCount:
    """How many wait, and how many are set aside."""
    return WakeCount(len(_list_wake_files(folder / "wakes")), len(_list_wake_files(folder / "broken")))


def _list_wake_files(folder: Path) -> list[Path]:
    found = []
    for item in scan_folder(folder):
        if item.name.endswith(".wake"):
            found.append(Path(item.path))
        elif item.name.endswith(".tmp"):
            _remove_stale(item)
    return sorted(found)


def _remove_stale(item: os.DirEntry[str]) -> None:
    """Remove what a hook that was killed has left."""
    with suppress(OSError):
        if time.time_ns() - item.stat().st_mtime_ns > _STALE_TEMPORARY_NS:
            Path(item.path).unlink()


def _read_wake(path: Path) -> Wake:
    head, _, said = path.read_bytes().partition(b"\n")
    if len(head) > _MAX_HEAD_BYTES:
        raise ValueError("the first line is too long")
    try:
        version, surroundings, since, targets = ast.literal_eval(head.decode("ascii"))
    except (SyntaxError, TypeError, MemoryError, RecursionError) as error:
        raise ValueError("the first line is not ours") from error
    if version != 1:
        raise ValueError("from another version of turnlog")
    told = decode_first_object(said) or {}
    transcript = _parse_transcript_path(told.get("transcript_path"))
    if transcript is None:
        raise ValueError("names no transcript")
    return Wake(
        path,
        int(path.name.partition("-")[0]),
        str(surroundings),
        float(since[0]) if since else None,
        tuple(map(str, targets)),
        _read_text(told, "hook_event_name") or "",
        transcript,
        _read_text(told, "agent_id"),
        _parse_transcript_path(told.get("agent_transcript_path")),
        _read_text(told, "last_assistant_message"),
        _read_text(told, "prompt_id"),
    )


def _read_text(told: dict[str, Any], name: str) -> str | None:
    value = told.get(name)
    return value if isinstance(value, str) else None


def _parse_transcript_path(value: object) -> Path | None:
    """The path of a transcript; nothing for what can't be one."""
    if not isinstance(value, str) or "\0" in value or not value.endswith(".jsonl"):
        return None
    try:
        os.fsencode(value)
    except UnicodeEncodeError:
        return None
    found = Path(value)
    return found if found.is_absolute() else None


def _move_aside(path: Path, folder: Path) -> None:
    with suppress(OSError):
        folder.mkdir(mode=0o700, exist_ok=True)
        path.replace(folder / path.name)
        for old in _list_wake_files(folder)[:-_MAX_BROKEN_WAKES]:
            old.unlink()
