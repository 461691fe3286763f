"""Finds sessions that may have spans, including those that have only sub-agent files left."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from turnlog.api.config import Config
from turnlog.api.lookup import Notify, list_config_folders, locate_session
from turnlog.api.sessions import CatalogueRow, is_in_project
from turnlog.entries.agents import StraySession, list_agents_by_session, list_stray_sessions, read_last_write_ns
from turnlog.entries.layout import list_project_folders
from turnlog.entries.peek import peek_safely
from turnlog.errors import NotFound

_WITHOUT_ANSWERS = frozenset({"empty", "summary-only", "metadata-only", "unreadable"})
_MIN_NAME_CHARS = 4


class TraceableFile(NamedTuple):
    """A session that may have spans."""

    path: Path
    """The path of its file, which may no longer exist."""
    time: float
    """The time of its last message."""
    written_ns: int


def find_traceable(name: str | Path, config: Config, notify: Notify | None = None) -> Path:
    """Find the file of a session by name, even if only its sub-agents' files are left."""
    try:
        return locate_session(name, config, notify)
    except NotFound:
        name = str(name)
        found = [item.path for item in _find_strays(config) if name in (str(item.path), item.path.stem[: len(name)])]
        if len(found) != 1 or len(name) < _MIN_NAME_CHARS:
            raise
        return found[0]


def traceable_files(rows: Iterable[CatalogueRow], config: Config, project: str | None) -> list[TraceableFile]:
    """List the sessions that may have spans, oldest first, so that originals come before their copies."""
    found = [TraceableFile(row.file.path, row.time, row.file.mtime_ns) for row in _skip_unanswered(rows)]
    for item in _find_strays(config):
        if project is None or is_in_project(peek_safely(str(item.agents[0].path)).cwd, project):
            written = max(read_last_write_ns(agent.path) or 0 for agent in item.agents)
            found.append(TraceableFile(item.path, written / 1e9, written))
    return sorted(found, key=lambda item: item.written_ns)


def _skip_unanswered(rows: Iterable[CatalogueRow]) -> Iterator[CatalogueRow]:
    """Skip files without an answer, unless one of their sub-agents has answered."""
    owners: dict[Path, frozenset[str]] = {}
    for row in rows:
        if row.ends.junk in _WITHOUT_ANSWERS:
            folder = row.file.project_dir
            if folder not in owners:
                owners[folder] = frozenset(list_agents_by_session(folder))
            if row.file.session_id not in owners[folder]:
                continue
        yield row


def _find_strays(config: Config) -> Iterator[StraySession]:
    for folder in list_config_folders(config):
        for project in list_project_folders(folder):
            yield from list_stray_sessions(project)
