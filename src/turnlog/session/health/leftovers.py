"""What is left of sessions whose transcript is gone: what was typed, copies of files, sub-agents, large outputs."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from turnlog.entries.agents import Loose, loose_agents
from turnlog.entries.belongings import Belongings, belongings, history
from turnlog.entries.layout import SessionFile, Survey, is_session_id, projects, scan, session_files, unfinished_ids
from turnlog.entries.slug import slug
from turnlog.session.clock import moment
from turnlog.session.session import Session

_BY_ID = ("file-history", "tasks", "session-env", "todos", "debug")
_ID = re.compile(r"([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})(?:-agent-.*)?(?:\.\w+)?", re.IGNORECASE)
_PASTED = re.compile(r"\[Pasted text #(\d+)[^\]]*\]")


class Typed(NamedTuple):
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
    typed: tuple[Typed, ...]
    """In the order of the history."""
    rest: Belongings

    @property
    def files(self) -> int:
        """How many files are left beside what was typed."""
        rest = self.rest
        parts = (rest.subagents, rest.loose_agents, rest.tool_results, rest.workflows, rest.file_history)
        return sum(map(len, (*parts, rest.todos, rest.tasks, rest.other)))

    @property
    def last(self) -> datetime | None:
        """When something was last typed in it."""
        return max((item.time for item in self.typed if item.time), default=None)


def leftovers(config_dir: Path) -> list[Leftover]:
    """The sessions of a config folder of which something is left but the transcript, the newest first."""
    survey = Survey()
    there = {item.session_id.lower() for item in session_files(config_dir, survey)}
    # Copies that a killed turnlog has left are no session: the next clone removes them.
    there |= {identity.lower() for folder in projects(config_dir) for identity in unfinished_ids(folder)}
    typed = _histories(config_dir)
    folders = _folders(config_dir)
    ids = [identity for identity in dict.fromkeys((*typed, *folders, *_named(config_dir))) if identity not in there]
    loose: dict[Path, Loose] = {}
    found = [_leftover(config_dir, identity, typed.get(identity, []), folders.get(identity), loose) for identity in ids]
    told = [item for item in found if (item.typed or item.files) and not _is_hidden(item, survey)]
    return sorted(told, key=lambda item: item.last or datetime.min.replace(tzinfo=UTC), reverse=True)


def _is_hidden(item: Leftover, survey: Survey) -> bool:
    """Whether the transcript may be there, in a folder that can't be listed."""
    place = item.project_dir or item.config_dir / "projects" / "-"
    return survey.hides(str(place / f"{item.session_id}.jsonl"))


def _leftover(
    config_dir: Path, identity: str, rows: list[dict[str, Any]], folder: Path | None, loose: dict[Path, Loose]
) -> Leftover:
    project = next((row["project"] for row in rows if isinstance(row.get("project"), str)), None)
    home = folder or (config_dir / "projects" / slug(project) if project else None)
    if home is not None and home not in loose:
        loose[home] = loose_agents(home)
    place = home or config_dir / "projects" / "-"
    rest = belongings(config_dir, place, identity, loose=loose.get(place, {}))
    return Leftover(identity, config_dir, project, home, tuple(map(_typed, rows)), rest)


def _histories(config_dir: Path) -> dict[str, list[dict[str, Any]]]:
    """The lines of the history by session."""
    found: dict[str, list[dict[str, Any]]] = {}
    for row in history(config_dir):
        identity = row.get("sessionId")
        if isinstance(identity, str) and is_session_id(identity) and isinstance(row.get("display"), str):
            found.setdefault(identity.lower(), []).append(row)
    return found


def _typed(row: dict[str, Any]) -> Typed:
    pasted = row.get("pastedContents")
    texts = (
        {str(key): part.get("content") for key, part in pasted.items() if isinstance(part, dict)}
        if isinstance(pasted, dict)
        else {}
    )

    def whole(mark: re.Match[str]) -> str:
        text = texts.get(mark[1])
        return text if isinstance(text, str) else mark[0]

    return Typed(_PASTED.sub(whole, str(row["display"])), moment(row.get("timestamp")))


def _folders(config_dir: Path) -> dict[str, Path]:
    """The project folder of each session that has a folder of its own, or loose sub-agents."""
    found: dict[str, Path] = {}
    for project in projects(config_dir):
        for item in scan(project):
            if is_session_id(item.name) and item.is_dir(follow_symlinks=False):
                found.setdefault(item.name.lower(), project)
        for identity, agents in loose_agents(project).items():
            if is_session_id(identity) and any(agent.kind != "warm-up" for agent in agents):
                found.setdefault(identity.lower(), project)
    return found


def _named(config_dir: Path) -> Iterator[str]:
    """The ids that files and folders of the client are named after."""
    for folder in _BY_ID:
        for item in scan(config_dir / folder):
            if name := _ID.fullmatch(item.name):
                yield name[1].lower()


class Kin(NamedTuple):
    """A session that has entries of another one, copied when it was forked."""

    path: Path
    entries: int


def kin(session_id: str, files: Iterable[SessionFile]) -> list[Kin]:
    """The sessions among some files that hold entries of a session, or name it as their origin; reads them all."""
    wanted, found = session_id.encode(), []
    for item in files:
        try:
            if wanted not in item.path.read_bytes():
                continue
        except OSError:
            continue
        with Session.open(item.path) as session:
            count = sum(_is_from(session, entry.index, session_id) for entry in session.file.entries if entry.uuid)
        if count:
            found.append(Kin(item.path, count))
    return sorted(found, key=lambda one: -one.entries)


def _is_from(session: Session, index: int, session_id: str) -> bool:
    entry = session.file.entries[index]
    if entry.session_id == session_id:
        return True
    origin = session.body(entry).get("forkedFrom")
    return isinstance(origin, dict) and origin.get("sessionId") == session_id
