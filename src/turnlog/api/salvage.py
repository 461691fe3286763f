"""Lists and salvages what is left of sessions whose transcripts are gone."""

from __future__ import annotations

import os
import uuid
from pathlib import Path

from msgspec import Struct

from turnlog.api.config import Config, data_dir, load_config
from turnlog.api.lookup import Notify, find_whole_copies, list_config_folders
from turnlog.edit.apply import create_transcript
from turnlog.edit.illnesses.lost_transcripts import (
    Leftover,
    SalvageOrigin,
    find_kin_sessions,
    list_leftovers,
    rebuild_session,
    select_prompts,
)
from turnlog.edit.whole_copies import WholeCopies
from turnlog.entries.layout import Survey, list_session_files
from turnlog.entries.patch import encode_json_line
from turnlog.entries.resume_command import build_resume_command
from turnlog.errors import Ambiguous, NotFound, TurnlogError
from turnlog.session.clock import to_iso_time


class LostSession(Struct, frozen=True):
    """A session whose transcript is gone."""

    session_id: str
    config_dir: str
    project: str | None
    """The working folder, if the history contains it."""
    project_dir: str | None
    """Claude Code's folder for the project, if it can be determined."""
    last: str | None
    """The time of the last prompt."""
    prompts: int
    files: int
    """The number of files with its id."""
    better: str | None
    """`trash` or `archive` if the whole session is there."""
    restore: str | None
    """The command that restores the whole session."""
    first_prompt: str | None


class LostSessionList(Struct, frozen=True):
    """All of a machine's sessions whose transcripts are gone."""

    sessions: list[LostSession]


class TypedPrompt(Struct, frozen=True):
    """A prompt that the user typed."""

    text: str
    time: str | None


class SessionPart(Struct, frozen=True):
    """A remaining file of a session."""

    kind: str
    path: str


class RelatedSession(Struct, frozen=True):
    """A session that contains entries from a lost one."""

    path: str
    entries: int


class SessionRemains(LostSession, frozen=True):
    """Everything that is left of one session."""

    typed: list[TypedPrompt]
    parts: list[SessionPart]
    kin: list[RelatedSession]
    resumable_prompts: int
    """The number of prompts that a new session would contain."""


class SalvagedSession(Struct, frozen=True):
    """A new session with the prompts from a lost one."""

    session_id: str
    path: str
    prompts: int
    resume: str
    """The command that resumes it in its folder."""


def list_lost_sessions(config: Config | None = None, notify: Notify | None = None) -> LostSessionList:
    """List the sessions whose transcripts are gone but that left other traces, newest first."""
    folders, survey = list_config_folders(config or load_config()), Survey()
    copies = WholeCopies(data_dir())
    found = [item for folder in folders for item in list_leftovers(folder, survey)]
    if notify is not None:
        for place in sorted(set(survey.unlisted)):
            if not any(place.path.startswith(other.path + os.sep) for other in survey.unlisted):
                notify(f"Can't open {place}. What is left there is not listed.")
    return LostSessionList([LostSession(*_list_facts(item, copies)) for item in found])


def find_remains(session_id: str, *, config: Config | None = None) -> SessionRemains:
    """Find everything that is left of a session, given its id or the start of its id."""
    folders = list_config_folders(config or load_config())
    item = _find_leftover(session_id, folders)
    files = [file for folder in folders for file in list_session_files(folder)]
    return SessionRemains(
        *_list_facts(item, WholeCopies(data_dir())),
        [TypedPrompt(typed.text, to_iso_time(typed.time)) for typed in item.typed],
        [SessionPart(kind, str(path)) for kind, paths in _group_files(item).items() for path in paths],
        [RelatedSession(str(kin.path), kin.entries) for kin in find_kin_sessions(item.session_id, files)],
        len(select_prompts(item.typed)),
    )


def salvage_session(session_id: str, *, config: Config | None = None) -> SalvagedSession:
    """Write a new session with the prompts from a lost one, each with a note that its answer is lost."""
    item = _find_leftover(session_id, list_config_folders(config or load_config()))
    if copy := WholeCopies(data_dir()).find_by_id(item.session_id):
        raise TurnlogError(f"It is {copy.describe()}. Nothing was written.")
    if item.project_dir is None or item.project is None:
        raise TurnlogError(f"{item.session_id}: the session's project is unknown; use -o FILE to save what is left")
    name = str(uuid.uuid4())
    rows = rebuild_session(SalvageOrigin(item.session_id, item.project), item.typed, name, lambda: str(uuid.uuid4()))
    if not rows:
        raise TurnlogError(f"{item.session_id}: no prompts are left; use -o FILE to save what else is left")
    item.project_dir.mkdir(parents=True, exist_ok=True)
    path = item.project_dir / f"{name}.jsonl"
    create_transcript(path, (encode_json_line(row) + b"\n" for row in rows), root=item.config_dir / "projects")
    resume = build_resume_command(name, item.project)
    return SalvagedSession(name, str(path), len(select_prompts(item.typed)), resume)


def _find_leftover(name: str, folders: list[Path]) -> Leftover:
    found = [item for folder in folders for item in list_leftovers(folder)]
    matches = [item for item in found if name and item.session_id.startswith(name.lower())]
    if not matches:
        if copies := find_whole_copies(name):
            raise NotFound(f"nothing else is left of session {copies[0].session_id}; it is {copies[0].describe()}")
        raise NotFound(f"no lost session matches {name!r}; `turnlog salvage` lists all lost sessions")
    if len({item.session_id for item in matches}) > 1:
        ids = ", ".join(item.session_id for item in matches[:5])
        raise Ambiguous(f"{name!r} matches {len(matches)} sessions: {ids}; use more of the id")
    return matches[0]


def _list_facts(
    item: Leftover, copies: WholeCopies
) -> tuple[str, str, str | None, str | None, str | None, int, int, str | None, str | None, str | None]:
    copy = copies.find_by_id(item.session_id)
    return (
        item.session_id,
        str(item.config_dir),
        item.project,
        str(item.project_dir) if item.project_dir else None,
        to_iso_time(item.last_typed_at),
        len(item.typed),
        item.file_count,
        copy.place if copy else None,
        copy.command if copy else None,
        item.typed[0].text if item.typed else None,
    )


def _group_files(item: Leftover) -> dict[str, tuple[Path, ...]]:
    """Group the remaining files by kind."""
    rest = item.rest
    found = {
        "sub-agents": rest.subagents + rest.loose_agents,
        "outputs": rest.tool_results,
        "copies of files": rest.file_history,
        "to-dos and tasks": rest.todos + rest.tasks,
        "workflows": rest.workflows,
        "other": rest.other + tuple(path for path in (rest.session_env, rest.debug, rest.custom_title) if path),
    }
    return {name: paths for name, paths in found.items() if paths}
