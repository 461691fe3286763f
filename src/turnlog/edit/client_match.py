"""Which session a client may have open that does not say so: by its folder, and by what was written since it started.

A client works with the sessions of its working folder. Whatever it does to one of them leaves a trace that is younger
than its process: a line of the transcript or, when it only resumed it, the session's log or to-do list. Without such a
trace a session may still be open, because one that was picked from the list leaves none. That is assumed unless
another conversation of the folder was written for each client that runs there.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from turnlog.edit.loose_clients import LooseClient
from turnlog.edit.target import SessionTarget
from turnlog.entries.clients import list_clients
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
