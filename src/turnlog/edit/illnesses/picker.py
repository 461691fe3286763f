"""Illnesses of a session's location: a wrong folder or file name, or anything else that hides it from the client."""

from __future__ import annotations

import os
import re
import shlex
from functools import lru_cache
from heapq import nlargest
from operator import attrgetter
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Any

import msgspec

from turnlog.edit.closing_entries import build_title_entries
from turnlog.edit.draft import Draft
from turnlog.edit.illnesses.illness import TALK_TYPES, Illness, RepairAttempt, RepairCase, Symptom, Symptoms
from turnlog.edit.illnesses.lost_parts import detect_missing_prompts
from turnlog.edit.illnesses.resumption import repair_refusal
from turnlog.entries.belongings import read_custom_title
from turnlog.entries.file_ends import MAX_END_BYTES
from turnlog.entries.layout import is_session_id, list_project_sessions
from turnlog.entries.peek import Peek, peek_file, peek_safely
from turnlog.entries.slug import make_slug
from turnlog.session.session import Session

INDEX_FILE_NAME = "sessions-index.json"
_WORKTREE_PATH = re.compile(r"[/\\]\.claude[/\\]worktrees[/\\]")
HIDDEN_ENTRYPOINTS = ("sdk-cli", "sdk-ts", "sdk-py")
"""Entry points of sessions that client 2.1.325 does not list; the value in the first entry counts."""
_MAX_READ_NEIGHBOURS = 20
"""How many sessions of the same folder are read to find out where a project is now."""
_MAX_KNOWN_PROJECTS = 64
_PROGRAM_REASON = "a program wrote it"
_AGENT_REASON = "it begins with entries of a sub-agent"
_ELSEWHERE_REASON = "it is in the folder of another project"
"""The reasons that the repair distinguishes, as the symptoms state them."""


def diagnose_surroundings(session: Session) -> list[Symptom]:
    """Find the symptoms of a session's location; a file outside any project folder has none."""
    symptoms = Symptoms()
    path = session.path
    if path is None or path.parent.parent.name != "projects":
        return []
    try:
        ends = peek_file(path)
    except OSError:
        return []
    detect_missing_prompts(session, path.parent.parent.parent, path.stem, symptoms)
    if not ends.junk:
        _detect_unlisted(session, path, ends, symptoms)
        _detect_index_gap(path, symptoms)
        _detect_late_title(session, path, symptoms)
        _detect_missing_folder(session, path, symptoms)
    return symptoms.list_symptoms()


# -- the client's list


def _detect_unlisted(session: Session, path: Path, ends: Peek, symptoms: Symptoms) -> None:
    """Determine why the client's session list leaves out this session."""
    if not is_session_id(path.stem):
        symptoms.note("not-in-picker", "warning", "the name of the file is not a session id")
    if ends.is_sidechain:
        symptoms.note("not-in-picker", "warning", _AGENT_REASON)
    if ends.entrypoint in HIDDEN_ENTRYPOINTS:
        symptoms.note("not-in-picker", "info", f"{_PROGRAM_REASON}, not a person (entrypoint {ends.entrypoint})")
    first = next((entry for entry in session.entries if entry.type in TALK_TYPES), None)
    if first is not None and session.read_body(first).get("teamName"):
        symptoms.note("not-in-picker", "info", "it belongs to a team of agents")
    if session.folders and not any(_matches_folder(path.parent.name, folder) for folder in session.folders):
        text = f"{_ELSEWHERE_REASON} than the one it was written in, {session.folders[0]}"
        is_gone = not os.path.isdir(session.folders[0])  # noqa: PTH112
        symptoms.note(
            "not-in-picker",
            "warning",
            text,
            remedy=build_move_command(session.folders[0], path) if is_gone else "",
            notice="Claude Code's list of sessions shows it in another project.",
        )
    elif any(map(_WORKTREE_PATH.search, session.folders[:1])):
        symptoms.note(
            "not-in-picker", "info", f"it belongs to a git worktree, {session.folders[0]}, and is listed there"
        )


def _matches_folder(name: str, folder: str) -> bool:
    """Return whether a project folder belongs to a working directory or to one of its parents."""
    kind = PureWindowsPath if "\\" in folder else PurePosixPath
    path = kind(folder)
    return any(make_slug(str(above)).casefold() == name.casefold() for above in (path, *path.parents))


def make_listable(case: RepairCase) -> RepairAttempt:
    """Fix what keeps a file off the session list; the result lists the reasons that no edit can fix."""
    draft, words, left, home = case.draft, list[str](), 0, None
    for symptom in case.symptoms:
        if symptom.text.startswith(_PROGRAM_REASON):
            draft = _mark_as_typed(case, draft)
            words.append("its entries now say that a person began it (entrypoint cli)")
        elif symptom.text.startswith(_AGENT_REASON):
            draft, change = _put_main_first(case, draft)
            words.append(change)
        elif symptom.text.startswith(_ELSEWHERE_REASON) and not symptom.remedy and not case.is_in_place:
            home = _find_own_folder(case.session)
            words.append(f"the new session is in its own project's folder, {home}")
        else:
            left += 1
            words.append(f"{symptom.text}; {_explain_no_edit(symptom)}")
    return RepairAttempt(draft, len(case.symptoms) - left, "; ".join(words), left, home)


def _explain_no_edit(symptom: Symptom) -> str:
    if not symptom.text.startswith(_ELSEWHERE_REASON):
        return "no edit can change that"
    return f"`{symptom.remedy}`" if symptom.remedy else "without --in-place, the new session is in its own folder"


def _find_own_folder(session: Session) -> Path:
    """Return the folder of the project that a session was written in, in the same config folder."""
    assert session.path is not None
    return session.path.parent.with_name(make_slug(session.folders[0]))


def _mark_as_typed(case: RepairCase, draft: Draft) -> Draft:
    changes = {
        at: {"entrypoint": "cli"}
        for at, row in enumerate(draft.rows)
        if row.entry is not None and case.session.read_body(row.entry).get("entrypoint") in HIDDEN_ENTRYPOINTS
    }
    return draft.with_changes(changes)


def _put_main_first(case: RepairCase, draft: Draft) -> tuple[Draft, str]:
    """Move the first entry of the main conversation before those of sub-agents."""
    heads = [row.entry for row in draft.rows]
    main = [at for at, head in enumerate(heads) if head and head.type in TALK_TYPES and not head.is_sidechain]
    if not main:
        attempt = repair_refusal(case)
        return attempt.draft, attempt.words
    before = [row for row in draft.rows[: main[0]] if row.entry and row.entry.is_sidechain]
    others = [row for row in draft.rows[: main[0]] if not (row.entry and row.entry.is_sidechain)]
    rows = (*others, draft.rows[main[0]], *before, *draft.rows[main[0] + 1 :])
    return draft._replace(rows=rows), "put the first entry of the conversation before those of sub-agents"


NOT_IN_PICKER = Illness(
    "not-in-picker",
    "Claude Code's list of sessions does not show it.",
    "the list only shows sessions that people began, by folder and file name",
    make_listable,
)


def _detect_index_gap(path: Path, symptoms: Symptoms) -> None:
    """Check whether the session is missing from the index that some older clients keep."""
    try:
        data = (path.parent / INDEX_FILE_NAME).read_bytes()
    except OSError:
        return
    try:
        rows = msgspec.json.decode(data)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        symptoms.note("stale-index", "info", f"{INDEX_FILE_NAME} of its project is not JSON")
        return
    entries: Any = rows.get("entries") if isinstance(rows, dict) else None
    known = [row for row in entries if isinstance(row, dict)] if isinstance(entries, list) else []
    own = [row for row in known if row.get("sessionId") == path.stem]
    if not own:
        symptoms.note("stale-index", "info", f"{INDEX_FILE_NAME} of its project does not contain it")


STALE_INDEX = Illness(
    "stale-index",
    "Clients around 2.1.30 do not list it, or show old titles.",
    "the project's sessions-index.json is out of date (#25032, #21610)",
    remedy="move {project}/sessions-index.json aside; the client writes a new one",
    alternative="move the project's sessions-index.json aside; the client writes a new one",
)


def _detect_late_title(session: Session, path: Path, symptoms: Symptoms) -> None:
    """Find a title set by the user that is in a place where the client's session list does not look."""
    size = max((item.end for item in session.file.items), default=0)
    titled = [
        entry
        for entry in session.entries
        if entry.type == "custom-title" and session.read_body(entry).get("customTitle")
    ]
    far = [entry for entry in titled[-1:] if entry.end > MAX_END_BYTES and entry.offset < size - MAX_END_BYTES]
    if far and not read_custom_title(path.with_suffix("") / "custom-title.json"):
        symptoms.add_items("title-not-in-tail", "warning", "your title is in the middle of the file", far)


def repeat_title(case: RepairCase) -> RepairAttempt:
    """Repeat the user's title at the end of the file."""
    title = str(case.session.read_body(case.entries[-1])["customTitle"])
    draft = case.draft.with_added_lines(*build_title_entries(title, case.session.session_id or ""))
    return RepairAttempt(draft, 1, "repeated the title at the end")


TITLE_NOT_IN_TAIL = Illness(
    "title-not-in-tail",
    "Claude Code's list does not show the title that you gave.",
    "the list reads only both ends of a file, and the title is between them (#28249, #47550)",
    repeat_title,
    remedy="turnlog rename {session} TITLE",
)


# -- its working directory


def _detect_missing_folder(session: Session, path: Path, symptoms: Symptoms) -> None:
    """Check whether the folder to resume the session in is missing; skip paths from other operating systems."""
    folder = session.folders[0] if session.folders else None
    if folder is None or not os.path.isabs(folder) or os.path.isdir(folder):  # noqa: PTH112, PTH117
        return
    subject = "its git worktree" if _WORKTREE_PATH.search(folder) else "its working directory"
    remedy = f"{build_move_command(folder, path)}, if the project has moved"
    symptoms.note("missing-cwd", "info", f"{subject} does not exist: {folder}", remedy=remedy)


def build_move_command(old: str, path: Path) -> str:
    """Return the command that moves a project's sessions to its new path; NEW stands for a path that is unknown."""
    new = _find_new_path(old, path.parent)
    if new is None:
        return f"turnlog move {shlex.quote(old)} NEW"
    goal, sources = path.parent.with_name(make_slug(new)), (path.parent, path.parent.with_name(make_slug(old)))
    is_merge = goal.is_dir() and any(source != goal and source.is_dir() for source in sources)
    return f"turnlog move {shlex.quote(old)} {shlex.quote(new)}{' --merge' if is_merge else ''}"


def _find_new_path(old: str, project_dir: Path) -> str | None:
    """Guess where a project is now: a removed worktree's repository, or the path of the folder's other sessions."""
    if found := _WORKTREE_PATH.search(old):
        repository = old[: found.start()]
        return repository if os.path.isdir(repository) else None  # noqa: PTH112
    try:
        changed_ns = project_dir.stat().st_mtime_ns
    except OSError:
        return None
    return next((folder for folder in _list_recent_folders(project_dir, changed_ns) if os.path.isdir(folder)), None)  # noqa: PTH112


@lru_cache(_MAX_KNOWN_PROJECTS)
def _list_recent_folders(project_dir: Path, changed_ns: int) -> tuple[str, ...]:  # noqa: ARG001 - a key of the cache
    """List the working folders of a project folder's latest sessions; once for all of its sessions that ask."""
    files = nlargest(_MAX_READ_NEIGHBOURS, list_project_sessions(project_dir), key=attrgetter("mtime_ns"))
    folders = (peek_safely(item.file).cwd for item in files)
    return tuple(folder for folder in folders if folder and _is_home_of(folder, project_dir))


def _is_home_of(folder: str, project_dir: Path) -> bool:
    """Return whether a project folder is named after a folder."""
    return make_slug(folder).casefold() == project_dir.name.casefold()


MISSING_CWD = Illness(
    "missing-cwd",
    "The session can't be resumed from the list: its folder does not exist.",
    "the project was moved, renamed or deleted, or its git worktree removed (#83146, #84209, #76446)",
    remedy="turnlog move OLD NEW, if the project has moved",
    alternative="`turnlog move OLD NEW`, if the project has moved; the doctor names both folders",
)
