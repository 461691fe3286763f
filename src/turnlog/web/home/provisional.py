"""Describes session files that the index has not read yet, from the folder listing and the two ends of each file.

The index lists all files before it reads the first one, so every session has a row at once. Until the index has read
a file, its row is provisional: its title, project and times come from the ends of the file, and it has no figures.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Sequence
from itertools import groupby

from msgspec.structs import replace

from turnlog.entries.file_stamp import FileStamp, to_file_stamp
from turnlog.entries.peek import Peek, peek_safely
from turnlog.entries.titles import SessionTitles
from turnlog.session.clock import parse_timestamp
from turnlog.store.insight.catalog import CatalogSession

_PEEK_SECONDS = 0.25
"""How long one listing may read the ends of files; the next one continues."""


def is_unread(row: CatalogSession) -> bool:
    """Return whether the index has listed a session's file but not read it."""
    return row.size == 0 and not row.is_gone


class FilePeeks:
    """What the ends of unread files contain; a file is read again when it changes."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[FileStamp, Peek]] = {}

    def describe_rows(self, rows: Sequence[CatalogSession]) -> list[CatalogSession]:
        """Describe the unread sessions among the rows, newest first, and restore the order of the list."""
        projects = self._find_projects(rows)
        deadline = time.monotonic() + _PEEK_SECONDS
        described = []
        for row in rows:
            if is_unread(row):
                folder = os.path.dirname(row.path)  # noqa: PTH120 - perhaps for every file
                row = self._describe_row(replace(row, project=projects.get(folder, row.project)), deadline)
            described.append(row)
        return list(_sort_families(described))

    def _find_projects(self, rows: Sequence[CatalogSession]) -> dict[str, str]:
        """Find the project of each folder from one of its sessions, so that unread ones don't count as projects of
        their own."""
        projects: dict[str, str] = {}
        unread: dict[str, CatalogSession] = {}
        for row in rows:
            folder = os.path.dirname(row.path)  # noqa: PTH120
            if is_unread(row):
                unread.setdefault(folder, row)
            elif row.cwd:
                projects.setdefault(folder, row.project)
        for folder, row in unread.items():
            if folder not in projects:
                projects[folder] = self._describe_row(row, None).project
        return projects

    def complete_row(self, row: CatalogSession) -> CatalogSession:
        """Describe a row of the page that is shown, however long it takes."""
        return self._describe_row(row, None)

    def _describe_row(self, row: CatalogSession, deadline: float | None) -> CatalogSession:
        try:
            status = os.stat(row.path)  # noqa: PTH116 - perhaps for every file
        except OSError:
            return replace(row, talks=True)
        state = to_file_stamp(status)
        known = self._known.get(row.path)
        if known is None or known[0] != state:
            if deadline is not None and time.monotonic() > deadline:
                return replace(row, size=status.st_size, mtime_ns=status.st_mtime_ns, talks=True)
            known = self._known[row.path] = state, peek_safely(row.path)
        return _apply_peek(replace(row, size=status.st_size, mtime_ns=status.st_mtime_ns), known[1])


def _apply_peek(row: CatalogSession, peek: Peek) -> CatalogSession:
    titles = peek.titles or SessionTitles(
        custom=peek.custom_title,
        ai=peek.ai_title,
        summary=peek.summary,
        first_prompt=peek.first_prompt,
        first_command=peek.first_command,
        last_prompt=peek.last_prompt,
    )
    started, ended = parse_timestamp(peek.started), parse_timestamp(peek.ended)
    return replace(
        row,
        title=titles.best,
        first_prompt=peek.first_prompt,
        project=row.project if row.cwd else peek.cwd or row.project,
        cwd=peek.cwd,
        git_branch=peek.git_branch,
        version=peek.version,
        started=peek.started,
        ended=peek.ended,
        last=ended.timestamp() if ended else row.last,
        seconds=(ended - started).total_seconds() if started and ended and ended >= started else None,
        talks=peek.junk is None or peek.junk == "unreadable",
    )


def _sort_families(rows: Sequence[CatalogSession]) -> Iterator[CatalogSession]:
    """Yield the rows with the newest family first, as the catalog does."""
    families = [list(family) for _, family in groupby(rows, key=lambda row: row.root)]
    families.sort(key=lambda family: max(row.last for row in family), reverse=True)
    for family in families:
        yield from family
