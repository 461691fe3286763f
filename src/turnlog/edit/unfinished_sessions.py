"""Keeps a note beside a session that is being written, so that files left by a killed process can be removed.

    <project>/.turnlog-making-<new id>     {session_id, pid, procStart, pidDomain, todos}

A session's transcript is written last. Therefore, if there is a note but no transcript, and the process has ended, all
files under the new id are copies that nothing refers to. The next edit that creates a session in the folder removes
them.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import time
from collections.abc import Iterable, Iterator
from pathlib import Path, PurePath
from typing import Any

from turnlog.entries.atomic_file import remove_leftover_temporary
from turnlog.entries.belongings import list_belongings
from turnlog.entries.clients import is_process_alive, read_client_file, read_process_domain, read_process_identity
from turnlog.entries.layout import MAKING_NOTE_PREFIX, list_unfinished_ids
from turnlog.entries.patch import encode_json_line

_MAX_AGE_SECONDS = 86_400.0
"""A note from another machine that shares the folder counts as abandoned after this time."""


@contextlib.contextmanager
def keep_unfinished_note(transcript: Path, root: Path, goals: Iterable[Path] = ()) -> Iterator[None]:
    """Keep a note while a session is being written; first remove what other processes left behind in its folder."""
    remove_unfinished(transcript.parent, root)
    note = transcript.with_name(MAKING_NOTE_PREFIX + transcript.stem)
    todos = [goal.name for goal in goals if goal.parent == root / "todos"]
    body = {"session_id": transcript.stem, "pid": os.getpid(), **read_process_identity(os.getpid()), "todos": todos}
    try:
        # Not through a temporary file, which nobody would find again. An empty note protects nothing. The id is new, so
        # a note with this name is ours and can be removed at any interrupt.
        with os.fdopen(os.open(note, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(encode_json_line(body) + b"\n")
        yield
    finally:
        note.unlink(missing_ok=True)


def remove_unfinished(folder: Path, root: Path) -> list[str]:
    """Remove what remains of sessions that killed processes were writing in a folder, and return their ids."""
    removed = []
    for session_id in list_unfinished_ids(folder):
        note = folder / (MAKING_NOTE_PREFIX + session_id)
        if _is_being_made(note):
            continue
        if not os.path.lexists(folder / f"{session_id}.jsonl"):
            for path in _find_copies(folder, root, session_id):
                _remove_path(path)
            for path in _find_todos(note, root, session_id):
                remove_leftover_temporary(path)
            removed.append(session_id)
        remove_leftover_temporary(folder / f"{session_id}.jsonl")
        note.unlink(missing_ok=True)
    return removed


def _is_being_made(note: Path) -> bool:
    fields: dict[str, Any] = read_client_file(str(note))
    pid, domain = fields.get("pid"), fields.get("pidDomain")
    with contextlib.suppress(OSError):
        if fields and domain != read_process_domain():  # the process runs elsewhere and can't be checked
            return time.time() - note.lstat().st_mtime < _MAX_AGE_SECONDS
    return type(pid) is int and 0 < pid < 1 << 31 and is_process_alive(pid, fields.get("procStart"))


def _find_copies(folder: Path, root: Path, session_id: str) -> Iterator[Path]:
    """Find the files and folders under the id of a session that was never finished."""
    yield folder / session_id
    if root != folder:
        yield root / "file-history" / session_id
        yield root / "tasks" / session_id
        yield from list_belongings(root, folder, session_id, loose={}).todos


def _find_todos(note: Path, root: Path, session_id: str) -> Iterator[Path]:
    """Find the session's to-do lists; their folder is shared by all sessions, so only the note lists their names."""
    names = read_client_file(str(note)).get("todos")
    for name in names if isinstance(names, list) else ():
        if isinstance(name, str) and session_id in name and name == PurePath(name).name:
            yield root / "todos" / name


def _remove_path(path: Path) -> None:
    if path.is_symlink() or path.is_file():
        path.unlink()
    elif path.is_dir():
        shutil.rmtree(path)
