"""Which sessions an agent may read: those of one project or, if the user allowed it, all on this machine.

Ids, paths and queries come from a model that may have read hostile text, so everything is checked against the working
folder that a session records, and a session elsewhere gives the same answer as one that doesn't exist.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from turnlog.api.lookup import list_config_folders, peek_in_index
from turnlog.api.sessions import CatalogueRow, load_catalogue, split_path
from turnlog.demo import is_demo
from turnlog.entries.layout import SessionFile, is_session_id, list_session_files
from turnlog.entries.peek import peek_safely
from turnlog.entries.slug import make_slug
from turnlog.errors import Ambiguous, NotFound
from turnlog.session.session_lookup import LAST_SESSION_NAME

if TYPE_CHECKING:
    import apsw

    from turnlog.api.config import Config

_ID_START = re.compile(r"[0-9a-f][0-9a-f-]{3,35}")
_MAX_LISTED_IDS = 5


class ReadableSession(NamedTuple):
    """A session in the index that may be read."""

    number: int
    uuid: str
    path: str


class ProjectScope:
    """The sessions that may be read."""

    def __init__(self, folder: Path | None) -> None:
        self.folder = folder
        """The project's folder; None for all projects."""
        spellings = {os.path.abspath(folder), os.path.realpath(folder)} if folder else set[str]()  # noqa: PTH100
        self._parts = [split_path(spelling) for spelling in sorted(spellings)]
        self._slugs = {make_slug(spelling) for spelling in spellings}
        # The home folder and the root contain all other projects, so they stand only for themselves.
        wide = {os.path.abspath(os.sep), os.path.realpath(Path.home())}  # noqa: PTH100
        self._is_exact = bool(spellings & wide)

    @property
    def description(self) -> str:
        return f"the project {self.folder}" if self.folder else "all projects on this machine"

    def contains_folder(self, cwd: str | None) -> bool:
        """Return whether a working folder is the project's folder or below it."""
        if self.folder is None:
            return True
        if cwd is None:
            return False
        parts = split_path(cwd)
        if ".." in parts:
            return False
        return any(parts == own or (parts[: len(own)] == own and not self._is_exact) for own in self._parts)

    def contains_session(self, cwd: str | None, project_dir: str) -> bool:
        """Return whether a session may be read; one without a working folder is judged by the folder of its file."""
        if cwd is None and self.folder is not None:
            return project_dir in self._slugs
        return self.contains_folder(cwd)

    def list_rows(self, config: Config) -> list[CatalogueRow]:
        """List the sessions, newest first."""
        found = load_catalogue(list_config_folders(config), known=peek_in_index(config))
        rows = () if found.is_demo else found.rows
        return [row for row in rows if self.contains_session(row.ends.cwd, row.file.project_dir.name)]

    def find_session(self, name: str, config: Config, current: str | None = None) -> SessionFile:
        """Find a session by its id, the start of its id, or `last`, which is the newest one but for the current one."""
        wanted = name.strip().lower()
        if wanted == LAST_SESSION_NAME:
            return self._find_last(config, current)
        if not _ID_START.fullmatch(wanted):
            raise NotFound("not a session id; use an id, its first characters (at least 4), or last")
        files = [item for item in _list_files(config) if item.session_id.startswith(wanted)]
        found = [item for item in files if self._may_read(item)]
        if not found:
            raise NotFound(f"no session {wanted} in {self.description}; list_sessions lists the ids")
        if len({item.session_id for item in found}) > 1:
            listed = ", ".join(item.session_id for item in found[:_MAX_LISTED_IDS])
            raise Ambiguous(f"{len(found)} sessions start with {wanted}: {listed}; use more of the id")
        return max(found, key=lambda item: item.mtime_ns)

    def list_indexed(self, db: apsw.Connection) -> list[ReadableSession]:
        """List the sessions in an index that may be read, excluding the demo."""
        rows = db.execute(
            "SELECT session.id, uuid, path, cwd, text FROM session JOIN name ON name.id = project"
            " JOIN file ON file.session = session.id AND file.kind = 'session'"
        )
        found = [
            ReadableSession(number, uuid, path)
            for number, uuid, path, cwd, folder in rows
            if self.contains_session(cwd, os.path.basename(folder))  # noqa: PTH119 - thousands of rows
        ]
        # A machine without sessions has an index that contains nothing but the demo.
        return [] if found and is_demo(Path(found[0].path)) else found

    def _find_last(self, config: Config, current: str | None) -> SessionFile:
        for item in sorted(_list_files(config), key=lambda item: -item.mtime_ns):
            if item.session_id != current and self._may_read(item) and not peek_safely(item.file).junk:
                return item
        raise NotFound(f"no session in {self.description}")

    def _may_read(self, item: SessionFile) -> bool:
        return self.contains_session(peek_safely(item.file).cwd, item.project_dir.name)


def _list_files(config: Config) -> Iterator[SessionFile]:
    for folder in list_config_folders(config):
        yield from (item for item in list_session_files(folder) if is_session_id(item.session_id))
