"""The list of sessions that `turnlog ls` prints."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from turnlog.cli import time_format
from turnlog.cli.rows import render_titled_rows
from turnlog.cli.terminal import TerminalScreen, cut_to_cells, to_visible_line
from turnlog.entries.cleanup import compute_deletion_time, read_cleanup_days
from turnlog.entries.layout import SessionFile, Survey, other_file
from turnlog.entries.peek import Peek, peek_files
from turnlog.entries.titles import SessionTitles
from turnlog.errors import UsageError
from turnlog.session.clock import to_iso_time
from turnlog.session.session_lookup import KnownTitles, compute_recency, list_sessions_or_demo, read_all_titles

_MAX_TITLE_CHARS = 1000
_MIN_PROJECT_CELLS, _MAX_PROJECT_CELLS = 8, 24
"""How narrow the column of projects may become, and how wide it is at most on a terminal."""
_PATH_SEPARATOR = re.compile(r"[/\\]")


class CatalogueRow(NamedTuple):
    """One session."""

    file: SessionFile
    ends: Peek
    time: float
    """When something was last said in it."""


class Catalogue(NamedTuple):
    """The sessions to show."""

    rows: list[CatalogueRow]
    hidden: int
    """How many files hold no conversation and are left out."""
    is_demo: bool
    survey: Survey

    def find_deletion_times(self) -> list[float | None]:
        """For each row, from when on the client may delete it, in seconds since 1970."""
        days = {folder: read_cleanup_days(folder) for folder in {row.file.config_dir for row in self.rows}}
        if self.is_demo:
            return [None] * len(self.rows)
        return [compute_deletion_time(row.file.mtime_ns, days[row.file.config_dir]) for row in self.rows]


class SessionPage(NamedTuple):
    """Some of the sessions, with their names."""

    rows: list[CatalogueRow]
    titles: list[SessionTitles]
    deletions: list[float | None]
    total: int
    """How many sessions there are on all pages."""
    number: int
    """The number of this page, from 1."""
    pages: int
    hidden: int
    is_demo: bool
    survey: Survey
    """What lies beside them, and what could not be looked at."""

    @property
    def remaining_count(self) -> int:
        """How many sessions are on other pages."""
        return self.total - len(self.rows)


def cut_page(found: Catalogue, limit: int | None, number: int, known: KnownTitles | None = None) -> SessionPage:
    """One page of the sessions; all of them without a limit. Only their files are read where the ends don't tell."""
    size = limit or max(len(found.rows), 1)
    pages = max(-(-len(found.rows) // size), 1)
    if number > pages:
        raise UsageError(f"--page {number}: there {'is 1 page' if pages == 1 else f'are {pages} pages'}")
    part = slice((number - 1) * size, number * size)
    rows = found.rows[part]
    titles = read_all_titles([row.file for row in rows], [row.ends for row in rows], known)
    deletions = found.find_deletion_times()[part]
    total, hidden = len(found.rows), found.hidden
    return SessionPage(rows, titles, deletions, total, number, pages, hidden, found.is_demo, found.survey)


def load_catalogue(
    folders: Iterable[Path], project: str | None = None, everything: bool = False, *, other: bool = False
) -> Catalogue:
    """The sessions of some config folders, newest first; `UsageError` if none of them has such a project."""
    files, is_demo, survey = list_sessions_or_demo(folders)
    if other:
        files, is_demo = [item for path in survey.others if (item := other_file(path))], False
    seen = list(zip(files, peek_files([item.file for item in files]), strict=True))
    fitting = [(item, ends) for item, ends in seen if project is None or is_in_project(ends.cwd, project)]
    if project is not None and seen and not fitting and not is_demo:
        from turnlog.store.filter_values import build_unknown_error, suggest_projects

        raise build_unknown_error(
            "project", project, suggest_projects(project, (ends.cwd for _, ends in seen if ends.cwd))
        )
    shown = [
        CatalogueRow(item, ends, compute_recency(item, ends, is_demo=is_demo))
        for item, ends in fitting
        if everything or not ends.junk
    ]
    shown.sort(key=lambda row: (-row.time, row.file.session_id))
    return Catalogue(shown, len(fitting) - len(shown), is_demo, survey)


def is_in_project(cwd: str | None, project: str) -> bool:
    """Whether a working folder is the given one, lies below it, or has a name with the given letters."""
    if cwd is None:
        return False
    parts = _split_path(cwd)
    if not _PATH_SEPARATOR.search(project) and project not in (".", "..", "~"):
        return project.casefold() in parts[-1].casefold() or _is_below(parts, project)
    return _is_below(parts, project)


def _is_below(parts: list[str], project: str) -> bool:
    # A folder of another machine, such as C:\Users\dana, is taken as it is written.
    expanded = os.path.expanduser(project)  # noqa: PTH111 - Path raises for ~nobody
    wanted = [_split_path(project), _split_path(os.path.abspath(expanded)), _split_path(os.path.realpath(expanded))]  # noqa: PTH100
    return any(parts[: len(folder)] == folder for folder in wanted)


def _split_path(path: str) -> list[str]:
    return _PATH_SEPARATOR.split(path.rstrip("/\\")) or [""]


def render_session_table(page: SessionPage, ids: dict[str, str], screen: TerminalScreen) -> Iterator[str]:
    """The sessions as lines, each with the short form of its id; on a terminal, cut to its width."""
    now = datetime.now(UTC)
    pairs = zip(page.rows, page.titles, strict=True)
    cells = [_build_cells(row, titles.best, _name(row.file, ids), screen, now) for row, titles in pairs]
    yield from render_titled_rows(cells, screen, numbers={3}, texts={2: _MIN_PROJECT_CELLS})


def _name(file: SessionFile, ids: dict[str, str]) -> str:
    """What other commands take for a session: a short id, or the path of a file whose name is none."""
    return ids.get(file.session_id) or to_visible_line(file.file)


def _build_cells(
    row: CatalogueRow, name: str | None, short: str, screen: TerminalScreen, now: datetime
) -> tuple[str, str, str, str, str]:
    time = time_format.format_time_ago(row.time, now) if screen.width else time_format.format_epoch_time(row.time)
    project = to_visible_line(_split_path(row.ends.cwd)[-1]) if row.ends.cwd else "–"
    title = to_visible_line((name or "")[:_MAX_TITLE_CHARS]) or "(no title)"
    if row.ends.junk:
        title = f"[{row.ends.junk}] {title if name else ''}".rstrip()
    return (
        short,
        time,
        cut_to_cells(project, _MAX_PROJECT_CELLS) if screen.width else project,
        time_format.format_size(row.file.size),
        title,
    )


def to_session_list_document(page: SessionPage) -> dict[str, Any]:
    """The sessions as a JSON document."""
    rows = zip(page.rows, page.titles, page.deletions, strict=True)
    return {
        "sessions": [_to_session_document(row, titles, end, page.is_demo) for row, titles, end in rows],
        "total": page.total,
        "page": page.number,
        "pages": page.pages,
        "hidden": page.hidden,
        "others": len(page.survey.others),
        "unlisted": [str(item) for item in page.survey.unlisted],
    }


def _to_session_document(row: CatalogueRow, titles: SessionTitles, end: float | None, is_demo: bool) -> dict[str, Any]:
    file, ends, _ = row
    return {
        "session_id": file.session_id,
        "path": file.file,
        "project": ends.cwd,
        "cwd": ends.last_cwd,
        "title": titles.best,
        "titles": titles.to_document(),
        "started": ends.started,
        "ended": ends.ended,
        "version": ends.last_version,
        "git_branch": ends.git_branch,
        "size": file.size,
        "mtime": to_iso_time(datetime.fromtimestamp(file.mtime_ns / 1e9, UTC)),
        "deleted_after": None if end is None else to_iso_time(datetime.fromtimestamp(end, UTC)),
        "junk": ends.junk,
        "demo": is_demo,
    }
