"""Symptoms that the session's own file does not show: its folder, its name, and the client's list of sessions."""

from __future__ import annotations

import os
import re
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Any

import msgspec

from turnlog.entries.belongings import read_custom_title
from turnlog.entries.file_ends import MAX_END_BYTES
from turnlog.entries.layout import is_session_id
from turnlog.entries.peek import Peek, peek_file
from turnlog.entries.slug import make_slug
from turnlog.session.health.symptoms import Symptom, Symptoms
from turnlog.session.session import Session

INDEX_FILE_NAME = "sessions-index.json"
_WORKTREE_PATH = re.compile(r"[/\\]\.claude[/\\]worktrees[/\\]")
HIDDEN_ENTRYPOINTS = ("sdk-cli", "sdk-ts", "sdk-py")
"""As the list of client 2.1.325 was seen to do; the first entry decides."""


def diagnose_surroundings(session: Session) -> list[Symptom]:
    """The symptoms of a session in its place; none for a file that lies in no project folder."""
    found = Symptoms()
    path = session.path
    if path is None or path.parent.parent.name != "projects":
        return []
    try:
        ends = peek_file(path)
    except OSError:
        return []
    if not ends.junk:
        _detect_unlisted(session, path, ends, found)
        _detect_index_gap(path, found)
        _detect_late_title(session, path, found)
        _detect_missing_folder(session, found)
    return found.list_symptoms()


def _detect_unlisted(session: Session, path: Path, ends: Peek, found: Symptoms) -> None:
    """Why the client's list would leave it out."""
    if not is_session_id(path.stem):
        found.note("not-in-picker", "warning", "the name of the file is no session id")
    if ends.is_sidechain:
        found.note("not-in-picker", "warning", "it begins with entries of a sub-agent")
    if ends.entrypoint in HIDDEN_ENTRYPOINTS:
        found.note("not-in-picker", "info", f"a program wrote it, not a person (entrypoint {ends.entrypoint})")
    first = next((entry for entry in session.entries if entry.type in ("user", "assistant")), None)
    if first is not None and session.read_body(first).get("teamName"):
        found.note("not-in-picker", "info", "it belongs to a team of agents")
    if session.folders and not any(_fits_folder(path.parent.name, folder) for folder in session.folders):
        text = f"it lies in the folder of another project than the one it was written in, {session.folders[0]}"
        found.note("not-in-picker", "warning", text)
    elif any(map(_WORKTREE_PATH.search, session.folders[:1])):
        found.note("not-in-picker", "info", f"it belongs to a git worktree, {session.folders[0]}: listed there")


def _fits_folder(name: str, folder: str) -> bool:
    """Whether a project folder is that of a working directory, or of one above it."""
    kind = PureWindowsPath if "\\" in folder else PurePosixPath
    path = kind(folder)
    return any(make_slug(str(above)).casefold() == name.casefold() for above in (path, *path.parents))


def _detect_index_gap(path: Path, found: Symptoms) -> None:
    """Whether the list that some older clients keep has it."""
    try:
        data = (path.parent / INDEX_FILE_NAME).read_bytes()
    except OSError:
        return
    try:
        rows = msgspec.json.decode(data)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        found.note("stale-index", "info", f"{INDEX_FILE_NAME} of its project is no JSON")
        return
    entries: Any = rows.get("entries") if isinstance(rows, dict) else None
    known = [row for row in entries if isinstance(row, dict)] if isinstance(entries, list) else []
    own = [row for row in known if row.get("sessionId") == path.stem]
    if not own:
        found.note("stale-index", "info", f"{INDEX_FILE_NAME} of its project does not have it")


def _detect_late_title(session: Session, path: Path, found: Symptoms) -> None:
    """Whether the title that a person gave stands where the client's list looks for it."""
    size = max((item.end for item in session.file.items), default=0)
    named = [
        entry
        for entry in session.entries
        if entry.type == "custom-title" and session.read_body(entry).get("customTitle")
    ]
    far = [entry for entry in named[-1:] if entry.end > MAX_END_BYTES and entry.offset < size - MAX_END_BYTES]
    if far and not read_custom_title(path.with_suffix("") / "custom-title.json"):
        found.add_items("title-not-in-tail", "warning", "the title that you gave stands in the middle of the file", far)


def _detect_missing_folder(session: Session, found: Symptoms) -> None:
    """Whether the folder in which it would be resumed exists; that of another system is not looked for."""
    folder = session.folders[0] if session.folders else None
    if folder is None or not os.path.isabs(folder) or os.path.isdir(folder):  # noqa: PTH112, PTH117
        return
    what = "its git worktree" if _WORKTREE_PATH.search(folder) else "its working folder"
    found.note("missing-cwd", "info", f"{what} does not exist: {folder}")
