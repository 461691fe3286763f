"""What is left of sessions whose transcript is gone: what was typed, copies of files, sub-agents, large outputs."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from turnlog.entries.agents import AgentsBySession, list_loose_agents
from turnlog.entries.belongings import Belongings, list_belongings, read_history
from turnlog.entries.layout import (
    SessionFile,
    Survey,
    is_session_id,
    list_project_folders,
    list_session_files,
    list_unfinished_ids,
    scan_folder,
)
from turnlog.entries.slug import make_slug
from turnlog.session.clock import parse_timestamp
from turnlog.session.session import Session

_FOLDERS_BY_ID = ("file-history", "tasks", "session-env", "todos", "debug")
_ID_IN_NAME = re.compile(r"([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})(?:-agent-.*)?(?:\.\w+)?", re.IGNORECASE)
_PASTED_TEXT = re.compile(r"\[Pasted text #(\d+)[^\]]*\]")


class TypedText(NamedTuple):
    """Something that was typed in a session, with pasted texts in their place as far as they were kept."""

    text: str
    time: datetime | None


class Leftover(NamedTuple):
    """A session whose transcript is gone."""

    session_id: str
    config_dir: Path
    project: str | None
    """The working folder, if the history names it."""
    project_dir: Path | None
    """The project folder that it lay in, if that can be told."""
    typed: tuple[TypedText, ...]
    """In the order of the history."""
    rest: Belongings

    @property
    def file_count(self) -> int:
        """How many files are left beside what was typed."""
        rest = self.rest
        parts = (rest.subagents, rest.loose_agents, rest.tool_results, rest.workflows, rest.file_history)
        return sum(map(len, (*parts, rest.todos, rest.tasks, rest.other)))

    @property
    def last_typed_at(self) -> datetime | None:
        """When something was last typed in it."""
        return max((item.time for item in self.typed if item.time), default=None)


def list_leftovers(config_dir: Path) -> list[Leftover]:
    """The sessions of a config folder of which something is left but the transcript, the newest first."""
    survey = Survey()
    there = {item.session_id.lower() for item in list_session_files(config_dir, survey)}
    # Copies that a killed turnlog has left are no session: the next clone removes them.
    there |= {
        identity.lower() for folder in list_project_folders(config_dir) for identity in list_unfinished_ids(folder)
    }
    typed = _group_history_by_session(config_dir)
    folders = _map_project_folders(config_dir)
    ids = [
        identity
        for identity in dict.fromkeys((*typed, *folders, *_list_named_ids(config_dir)))
        if identity not in there
    ]
    loose: dict[Path, AgentsBySession] = {}
    found = [
        _build_leftover(config_dir, identity, typed.get(identity, []), folders.get(identity), loose) for identity in ids
    ]
    told = [item for item in found if (item.typed or item.file_count) and not _is_hidden(item, survey)]
    return sorted(told, key=lambda item: item.last_typed_at or datetime.min.replace(tzinfo=UTC), reverse=True)


def _is_hidden(item: Leftover, survey: Survey) -> bool:
    """Whether the transcript may be there, in a folder that can't be listed."""
    place = item.project_dir or item.config_dir / "projects" / "-"
    return survey.hides(str(place / f"{item.session_id}.jsonl"))


def _build_leftover(
    config_dir: Path, identity: str, rows: list[dict[str, Any]], folder: Path | None, loose: dict[Path, AgentsBySession]
) -> Leftover:
    project = next((row["project"] for row in rows if isinstance(row.get("project"), str)), None)
    home = folder or (config_dir / "projects" / make_slug(project) if project else None)
    if home is not None and home not in loose:
        loose[home] = list_loose_agents(home)
    place = home or config_dir / "projects" / "-"
    rest = list_belongings(config_dir, place, identity, loose=loose.get(place, {}))
    return Leftover(identity, config_dir, project, home, tuple(map(_read_typed_text, rows)), rest)


def _group_history_by_session(config_dir: Path) -> dict[str, list[dict[str, Any]]]:
    """The lines of the history by session."""
    found: dict[str, list[dict[str, Any]]] = {}
    for row in read_history(config_dir):
        identity = row.get("sessionId")
        if isinstance(identity, str) and is_session_id(identity) and isinstance(row.get("display"), str):
            found.setdefault(identity.lower(), []).append(row)
    return found


def _read_typed_text(row: dict[str, Any]) -> TypedText:
    pasted = row.get("pastedContents")
    texts = (
        {str(key): part.get("content") for key, part in pasted.items() if isinstance(part, dict)}
        if isinstance(pasted, dict)
        else {}
    )

    def whole(mark: re.Match[str]) -> str:
        text = texts.get(mark[1])
        return text if isinstance(text, str) else mark[0]

    return TypedText(_PASTED_TEXT.sub(whole, str(row["display"])), parse_timestamp(row.get("timestamp")))


def _map_project_folders(config_dir: Path) -> dict[str, Path]:
    """The project folder of each session that has a folder of its own, or loose sub-agents."""
    found: dict[str, Path] = {}
    for project in list_project_folders(config_dir):
        for item in scan_folder(project):
            if is_session_id(item.name) and item.is_dir(follow_symlinks=False):
                found.setdefault(item.name.lower(), project)
        for identity, agents in list_loose_agents(project).items():
            if is_session_id(identity) and any(agent.kind != "warm-up" for agent in agents):
                found.setdefault(identity.lower(), project)
    return found


def _list_named_ids(config_dir: Path) -> Iterator[str]:
    """The ids that files and folders of the client are named after."""
    for folder in _FOLDERS_BY_ID:
        for item in scan_folder(config_dir / folder):
            if name := _ID_IN_NAME.fullmatch(item.name):
                yield name[1].lower()


class KinSession(NamedTuple):
    """A session that has entries of another one, copied when it was forked."""

    path: Path
    entries: int


def find_kin_sessions(session_id: str, files: Iterable[SessionFile]) -> list[KinSession]:
    """The sessions among some files that hold entries of a session, or name it as their origin; reads them all."""
    wanted, found = session_id.encode(), []
    for item in files:
        try:
            if wanted not in item.path.read_bytes():
                continue
        except OSError:
            continue
        with Session.open(item.path) as session:
            count = sum(
                _is_from_session(session, entry.index, session_id) for entry in session.file.entries if entry.uuid
            )
        if count:
            found.append(KinSession(item.path, count))
    return sorted(found, key=lambda one: -one.entries)


def _is_from_session(session: Session, index: int, session_id: str) -> bool:
    entry = session.file.entries[index]
    if entry.session_id == session_id:
        return True
    origin = session.read_body(entry).get("forkedFrom")
    return isinstance(origin, dict) and origin.get("sessionId") == session_id
