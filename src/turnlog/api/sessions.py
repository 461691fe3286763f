"""Lists the sessions on a machine, newest first."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct

from turnlog.api.config import Config, data_dir, load_config
from turnlog.api.lookup import (
    DEMO_NOTICE,
    Notify,
    list_config_folders,
    mention_unlisted,
    peek_in_index,
    shorten_ids,
)
from turnlog.entries.cleanup import compute_deletion_time, describe_deletion_times, read_cleanup_days
from turnlog.entries.layout import SessionFile, Survey, describe_other_file, is_session_id
from turnlog.entries.peek import Peek
from turnlog.entries.titles import SessionNames, SessionTitles
from turnlog.errors import UsageError
from turnlog.session.clock import to_iso_time
from turnlog.session.session_lookup import (
    KnownPeeks,
    compute_recency,
    list_sessions_or_demo,
    peek_sessions,
    read_all_titles,
)

if TYPE_CHECKING:
    import apsw


_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_WEEK_SECONDS = 7 * 86400
_PATH_SEPARATOR = re.compile(r"[/\\]")


class SessionInfo(Struct, frozen=True):
    """One session in the list."""

    session_id: str
    short_id: str | None
    """The shortest start of the id that is unique in the list; None if the file's name is not an id."""
    path: str
    project: str | None
    """The working folder in which it started."""
    cwd: str | None
    """The working folder at its end."""
    title: str | None
    titles: SessionNames
    started: str | None
    ended: str | None
    active: str
    """When something was last said in it."""
    version: str | None
    git_branch: str | None
    size: int
    mtime: str
    deleted_after: str | None
    """The time after which Claude Code deletes it; None if it never does."""
    junk: str | None
    """Why it is not a conversation; None if it is one."""
    demo: bool


class SessionList(Struct, frozen=True):
    """One page of the sessions on a machine."""

    sessions: list[SessionInfo]
    total: int
    """The number of sessions on all pages."""
    page: int
    pages: int
    hidden: int
    """The number of hidden files without a conversation."""
    others: int
    """The number of `.jsonl` files whose names are not session ids."""
    unlisted: list[str]
    """Folders and files that can't be read, with the reason."""


def list_sessions(
    project: str | None = None,
    *,
    limit: int | None = None,
    page: int = 1,
    include_junk: bool = False,
    other_files: bool = False,
    config: Config | None = None,
    notify: Notify | None = None,
) -> SessionList:
    """List the sessions on this machine, newest first; if there are none, list the demo sessions.

    `project` limits the list to a folder and its subfolders, or to folders whose names contain the given text.
    `include_junk` adds files without a conversation. `other_files` instead lists the `.jsonl` files whose names are not
    session ids.
    """
    config = config or load_config()
    known = peek_in_index(config)
    found = load_catalogue(list_config_folders(config), project, include_junk, other=other_files, known=known)
    size = limit or max(len(found.rows), 1)
    pages = max(-(-len(found.rows) // size), 1)
    if page > pages:
        raise UsageError(f"--page {page}: there {'is 1 page' if pages == 1 else f'are {pages} pages'}")
    deletions = found.find_deletion_times()
    if notify:
        _mention_state(found, deletions, notify)
    part = slice((page - 1) * size, page * size)
    rows = found.rows[part]
    titles = read_all_titles([row.file for row in rows], [row.ends for row in rows], known)
    ids = shorten_ids(
        [row.file.session_id for row in found.rows if not other_files or is_session_id(row.file.session_id)]
    )
    return SessionList(
        [
            _to_listed_session(row, names, ids.get(row.file.session_id), end, found.is_demo)
            for row, names, end in zip(rows, titles, deletions[part], strict=True)
        ],
        len(found.rows),
        page,
        pages,
        found.hidden,
        len(found.survey.others),
        [str(item) for item in found.survey.unlisted],
    )


def _to_listed_session(
    row: CatalogueRow, titles: SessionTitles, short: str | None, end: float | None, is_demo: bool
) -> SessionInfo:
    file, ends, active = row
    return SessionInfo(
        file.session_id,
        short,
        file.file,
        ends.cwd,
        ends.last_cwd,
        titles.best,
        titles.names,
        ends.started,
        ends.ended,
        _to_time_text(active),
        ends.last_version,
        ends.git_branch,
        file.size,
        _to_time_text(file.mtime_ns / 1e9),
        None if end is None else _to_time_text(end),
        ends.junk,
        is_demo,
    )


def _to_time_text(seconds: float) -> str:
    # Not fromtimestamp(), which refuses times before 1970 on Windows: sessions may contain any time.
    return to_iso_time(_EPOCH + timedelta(seconds=seconds)) or ""


def _mention_state(found: Catalogue, deletions: Sequence[float | None], notify: Notify) -> None:
    if found.is_demo:
        notify(DEMO_NOTICE)
    elif warning := _build_deletion_warning(found, deletions):
        notify(warning)
    mention_unlisted(found.survey.unlisted, notify)


def _build_deletion_warning(found: Catalogue, deletions: Sequence[float | None]) -> str | None:
    """Build a one-line warning about sessions that will be deleted within a week; return None if there are none."""
    limit = time.time() + _WEEK_SECONDS
    soon = [(end, row.file) for row, end in zip(found.rows, deletions, strict=True) if end and end < limit]
    if soon:
        kept = _read_archived_names()
        soon = [(end, file) for end, file in soon if file.session_id not in kept]
    if not soon:
        return None
    when = describe_deletion_times([end for end, _ in soon], time.time())
    folders = {file.config_dir for _, file in soon}
    days = sorted({days for folder in folders if (days := read_cleanup_days(folder))})
    many = f"{len(soon)} sessions" if len(soon) > 1 else "1 session"
    setting = ", ".join(f"{number:g}" for number in days)
    return (
        f"Claude Code will delete {many} {when} (cleanupPeriodDays {setting}); "
        f"run `turnlog archive on` to keep {'them' if len(soon) > 1 else 'it'}."
    )


def _read_archived_names() -> set[str]:
    """Read the ids in the archive from its file names: loading a decoder would take longer."""
    try:
        return {name[:36] for name in os.listdir(data_dir() / "archive" / "sessions")}  # noqa: PTH208
    except OSError:
        return set()


# -- the files behind the list


class CatalogueRow(NamedTuple):
    """One session file, described by its start and end."""

    file: SessionFile
    ends: Peek
    time: float
    """When something was last said in it."""


class Catalogue(NamedTuple):
    """The session files of some config folders, newest first."""

    rows: list[CatalogueRow]
    hidden: int
    """The number of hidden files without a conversation."""
    is_demo: bool
    survey: Survey

    def find_deletion_times(self) -> list[float | None]:
        """Compute when Claude Code may delete the session in each row, in seconds since 1970."""
        days = {folder: read_cleanup_days(folder) for folder in {row.file.config_dir for row in self.rows}}
        if self.is_demo:
            return [None] * len(self.rows)
        return [compute_deletion_time(row.file.mtime_ns, days[row.file.config_dir]) for row in self.rows]


def load_catalogue(
    folders: Iterable[Path],
    project: str | None = None,
    everything: bool = False,
    *,
    other: bool = False,
    known: KnownPeeks | None = None,
) -> Catalogue:
    """List the session files of some config folders; raise `UsageError` if no session belongs to the project.

    `known` describes sessions from an index, so that their files need not be read.
    """
    files, is_demo, survey = list_sessions_or_demo(folders)
    if other:
        files, is_demo = [item for path in survey.others if (item := describe_other_file(path))], False
    seen = list(zip(files, peek_sessions(files, known), strict=True))
    matches = [(item, ends) for item, ends in seen if project is None or is_in_project(ends.cwd, project)]
    if project is not None and seen and not matches and not is_demo:
        from turnlog.store.filter_values import build_unknown_error, suggest_projects

        raise build_unknown_error(
            "project", project, suggest_projects(project, (ends.cwd for _, ends in seen if ends.cwd))
        )
    rows = [
        CatalogueRow(item, ends, compute_recency(item, ends, is_demo=is_demo))
        for item, ends in matches
        if everything or not ends.junk
    ]
    rows.sort(key=lambda row: (-row.time, row.file.session_id))
    return Catalogue(rows, len(matches) - len(rows), is_demo, survey)


def is_in_project(cwd: str | None, project: str) -> bool:
    """Return whether a working folder is the given one, is below it, or has a name that contains the given text."""
    if cwd is None:
        return False
    parts = split_path(cwd)
    if not _PATH_SEPARATOR.search(project) and project not in (".", "..", "~"):
        return project.casefold() in parts[-1].casefold() or _is_below(parts, project)
    return _is_below(parts, project)


def _is_below(parts: list[str], project: str) -> bool:
    # A folder from another machine, such as C:\Users\dana, is compared as written.
    expanded = os.path.expanduser(project)  # noqa: PTH111 - Path raises for ~nobody
    wanted = [split_path(project), split_path(os.path.abspath(expanded)), split_path(os.path.realpath(expanded))]  # noqa: PTH100
    return any(parts[: len(folder)] == folder for folder in wanted)


def split_path(path: str) -> list[str]:
    """Split a path from any operating system into its parts."""
    return _PATH_SEPARATOR.split(path.rstrip("/\\")) or [""]


def find_project_sessions(db: apsw.Connection, project: str) -> list[int]:
    """Find the numbers of a project's sessions in the index; raise `UsageError` if there are none."""
    rows = db.execute("SELECT DISTINCT session, cwd FROM file WHERE kind = 'session'")
    if found := [number for number, cwd in rows if is_in_project(cwd, project)]:
        return found
    from turnlog.store.filter_values import require_projects

    query = "SELECT id FROM session WHERE project IN (SELECT value FROM json_each(?))"
    return [number for (number,) in db.execute(query, (str(require_projects(db, project)),))]
