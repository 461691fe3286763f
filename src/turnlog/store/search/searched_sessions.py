"""Details of the sessions in which a search found something."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Any

import apsw
from msgspec import Struct

from turnlog.store.project_folders import load_project_path

_PATH_SEPARATOR = re.compile(r"[/\\]")


class SearchedSession(Struct):
    """A session as its files describe it."""

    uuid: str
    folder: str
    """The project's folder: without `cwd`, where other sessions of it started or, if unknown, below `projects`."""
    path: str | None = None
    """The main file."""
    cwd: str | None = None
    title: str | None = None
    started: str | None = None
    ended: str | None = None
    is_gone: bool = False
    paths: dict[int, str] = {}
    """All of its files, by number."""
    agents: dict[int, str] = {}
    """The ids of sub-agents, by the number of their file."""

    @property
    def project_name(self) -> str:
        """The name of the folder in which the session started."""
        return _PATH_SEPARATOR.split((self.cwd or self.folder).rstrip("/\\"))[-1]


def load_searched_sessions(db: apsw.Connection, numbers: Iterable[int]) -> dict[int, SearchedSession]:
    rows: list[Any] = db.execute(
        "SELECT session.id, uuid, text, file.id, path, file.kind, agent, gone, cwd, started, ended, title"
        " FROM session JOIN name ON name.id = project"
        " JOIN file ON file.session = session.id WHERE session.id IN (SELECT value FROM json_each(?))",
        (json.dumps(list(numbers)),),
    ).fetchall()
    sessions: dict[int, SearchedSession] = {}
    for number, uuid, folder, file, path, kind, agent, gone, cwd, started, ended, title in rows:
        session = sessions.setdefault(number, SearchedSession(uuid, folder))
        session.paths[file] = path
        if agent is not None:
            session.agents[file] = agent
        if kind == "session":
            session.path, session.cwd, session.started, session.ended = path, cwd, started, ended
            session.is_gone = gone is not None
            session.title = title
    for session in sessions.values():
        if session.cwd is None:
            session.folder = load_project_path(db, session.folder)
    return sessions
