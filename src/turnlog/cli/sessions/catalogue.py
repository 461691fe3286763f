"""The list of sessions that `turnlog ls` prints."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from turnlog.cli import when
from turnlog.cli.rows import titled_rows
from turnlog.cli.terminal import Screen, cut, line
from turnlog.entries.cleanup import cleanup_days, deleted_after
from turnlog.entries.layout import SessionFile, Survey, other_file
from turnlog.entries.peek import Peek
from turnlog.entries.peeks import look_all
from turnlog.entries.titles import Titles
from turnlog.errors import UsageError
from turnlog.session.clock import iso
from turnlog.session.find import KnownTitles, listing, recency, titles_of

_LONGEST = 1000
_PROJECT_CELLS, _LONGEST_PROJECT = 8, 24
"""How narrow the column of projects may become, and how wide it is at most on a terminal."""
_SEPARATOR = re.compile(r"[/\\]")


class Row(NamedTuple):
    """One session."""

    file: SessionFile
    ends: Peek
    time: float
    """When something was last said in it."""


class Catalogue(NamedTuple):
    """The sessions to show."""

    rows: list[Row]
    hidden: int
    """How many files hold no conversation and are left out."""
    is_demo: bool
    survey: Survey

    def deletions(self) -> list[float | None]:
        """For each row, from when on the client may delete it, in seconds since 1970."""
        days = {folder: cleanup_days(folder) for folder in {row.file.config_dir for row in self.rows}}
        if self.is_demo:
            return [None] * len(self.rows)
        return [deleted_after(row.file.mtime_ns, days[row.file.config_dir]) for row in self.rows]


class SessionPage(NamedTuple):
    """Some of the sessions, with their names."""

    rows: list[Row]
    titles: list[Titles]
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
    def left(self) -> int:
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
    titles = titles_of([row.file for row in rows], [row.ends for row in rows], known)
    deletions = found.deletions()[part]
    total, hidden = len(found.rows), found.hidden
    return SessionPage(rows, titles, deletions, total, number, pages, hidden, found.is_demo, found.survey)


def catalogue(
    folders: Iterable[Path], project: str | None = None, everything: bool = False, *, other: bool = False
) -> Catalogue:
    """The sessions of some config folders, newest first; `UsageError` if none of them has such a project."""
    files, is_demo, survey = listing(folders)
    if other:
        files, is_demo = [item for path in survey.others if (item := other_file(path))], False
    seen = list(zip(files, look_all([item.file for item in files]), strict=True))
    fitting = [(item, ends) for item, ends in seen if project is None or belongs(ends.cwd, project)]
    if project is not None and seen and not fitting and not is_demo:
        from turnlog.store.scope import closest_projects, unknown  # to read an index takes longer than a list

        raise unknown("project", project, closest_projects(project, (ends.cwd for _, ends in seen if ends.cwd)))
    shown = [
        Row(item, ends, recency(item, ends, is_demo=is_demo)) for item, ends in fitting if everything or not ends.junk
    ]
    shown.sort(key=lambda row: (-row.time, row.file.session_id))
    return Catalogue(shown, len(fitting) - len(shown), is_demo, survey)


def belongs(cwd: str | None, project: str) -> bool:
    """Whether a working folder is the given one, lies below it, or has a name with the given letters."""
    if cwd is None:
        return False
    parts = _parts(cwd)
    if not _SEPARATOR.search(project) and project not in (".", "..", "~"):
        return project.casefold() in parts[-1].casefold() or _is_below(parts, project)
    return _is_below(parts, project)


def _is_below(parts: list[str], project: str) -> bool:
    # A folder of another machine, such as C:\Users\dana, is taken as it is written.
    expanded = os.path.expanduser(project)  # noqa: PTH111 - Path raises for ~nobody
    wanted = [_parts(project), _parts(os.path.abspath(expanded)), _parts(os.path.realpath(expanded))]  # noqa: PTH100
    return any(parts[: len(folder)] == folder for folder in wanted)


def _parts(path: str) -> list[str]:
    return _SEPARATOR.split(path.rstrip("/\\")) or [""]


def table(page: SessionPage, ids: dict[str, str], screen: Screen) -> Iterator[str]:
    """The sessions as lines, each with the short form of its id; on a terminal, cut to its width."""
    now = datetime.now(UTC)
    pairs = zip(page.rows, page.titles, strict=True)
    cells = [_cells(row, titles.best, _name(row.file, ids), screen, now) for row, titles in pairs]
    yield from titled_rows(cells, screen, numbers={3}, texts={2: _PROJECT_CELLS})


def _name(file: SessionFile, ids: dict[str, str]) -> str:
    """What other commands take for a session: a short id, or the path of a file whose name is none."""
    return ids.get(file.session_id) or line(file.file)


def _cells(row: Row, name: str | None, short: str, screen: Screen, now: datetime) -> tuple[str, str, str, str, str]:
    time = when.ago(row.time, now) if screen.width else when.absolute(row.time)
    project = line(_parts(row.ends.cwd)[-1]) if row.ends.cwd else "–"
    title = line((name or "")[:_LONGEST]) or "(no title)"
    if row.ends.junk:
        title = f"[{row.ends.junk}] {title if name else ''}".rstrip()
    return short, time, cut(project, _LONGEST_PROJECT) if screen.width else project, when.size(row.file.size), title


def document(page: SessionPage) -> dict[str, Any]:
    """The sessions as a JSON document."""
    rows = zip(page.rows, page.titles, page.deletions, strict=True)
    return {
        "sessions": [_session(row, titles, end, page.is_demo) for row, titles, end in rows],
        "total": page.total,
        "page": page.number,
        "pages": page.pages,
        "hidden": page.hidden,
        "others": len(page.survey.others),
        "unlisted": [str(item) for item in page.survey.unlisted],
    }


def _session(row: Row, titles: Titles, end: float | None, is_demo: bool) -> dict[str, Any]:
    file, ends, _ = row
    return {
        "session_id": file.session_id,
        "path": file.file,
        "project": ends.cwd,
        "cwd": ends.last_cwd,
        "title": titles.best,
        "titles": titles.document(),
        "started": ends.started,
        "ended": ends.ended,
        "version": ends.last_version,
        "git_branch": ends.git_branch,
        "size": file.size,
        "mtime": iso(datetime.fromtimestamp(file.mtime_ns / 1e9, UTC)),
        "deleted_after": None if end is None else iso(datetime.fromtimestamp(end, UTC)),
        "junk": ends.junk,
        "demo": is_demo,
    }
