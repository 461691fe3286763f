"""The list of all sessions, kept in memory while the index stays the same; filtered, sorted, and cut into pages."""

from __future__ import annotations

import os
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from turnlog.entries.cleanup import compute_deletion_time, read_cleanup_days
from turnlog.store.insight.catalog import CatalogSession, list_catalog, read_catalog_state
from turnlog.web.amounts import folder_name
from turnlog.web.machine import Machine, SessionRefs

PAGE_SIZE = 60
SOON_SECONDS = 7 * 86400
"""So many seconds before the client deletes a session, the list says so."""


class ListingFilter(NamedTuple):
    """Which sessions to show, and how."""

    q: str = ""
    """Words, all of which must stand somewhere in what the list says of a session."""
    project: str = ""
    """A project's path, or letters of its name."""
    sort: str = "time"
    is_turned: bool = False
    """The other way round than usual."""
    group: str = ""
    """`project`: by project."""
    everything: bool = False
    """Include files without a conversation."""
    page: int = 0


class UpcomingDeletion(NamedTuple):
    """The client is about to delete sessions that the archive has not."""

    sessions: int
    first: float
    days: tuple[int, ...]
    """The setting `cleanupPeriodDays`."""


class HomeListing(NamedTuple):
    """All sessions as the index knows them."""

    rows: list[CatalogSession]
    """Families together, the newest first."""
    letters: dict[int, str]
    """What a filter looks at, by number of the session."""
    refs: SessionRefs
    ends: dict[int, float]
    """From when on the client may delete a session, for those for which that is soon."""
    deletion: UpcomingDeletion | None
    by_uuid: dict[str, CatalogSession]
    projects: list[tuple[str, int]]
    """The projects and how many sessions each has, by name."""


class ProjectGroup(NamedTuple):
    """The sessions of a project that fit."""

    project: str
    sessions: int = 0
    cost_usd: float = 0.0
    newest: float = 0.0

    def with_session(self, row: CatalogSession) -> ProjectGroup:
        """The same with one more session."""
        return ProjectGroup(
            self.project, self.sessions + 1, self.cost_usd + row.own_cost_usd, max(self.newest, row.last)
        )


class ListingPage(NamedTuple):
    """The sessions of one page."""

    rows: list[CatalogSession]
    total: int
    """How many fit."""
    hidden: int
    """How many more would fit that hold no conversation."""
    page: int
    before: CatalogSession | None
    """The session before the first of the page."""
    is_nested: bool
    """Whether families stand together."""
    groups: dict[str, ProjectGroup]
    """The projects, where the list is grouped by them."""

    @property
    def has_more(self) -> bool:
        """Whether there is a page behind this one."""
        return (self.page + 1) * PAGE_SIZE < self.total


SortKey = Callable[[CatalogSession], Any]


def _rank_unknown_health(_: CatalogSession) -> int:
    return 0


SORT_COLUMNS: Mapping[str, tuple[str, SortKey, bool]] = {
    "title": ("Session", lambda row: (row.title or "\uffff").casefold(), False),
    "project": ("Project", lambda row: row.project.casefold(), False),
    "time": ("Last activity", lambda row: row.last, True),
    "duration": ("Length", lambda row: row.seconds or 0.0, True),
    "size": ("Size", lambda row: row.size, True),
    "turns": ("Turns", lambda row: row.prompts, True),
    "tools": ("Tools", lambda row: row.calls, True),
    "model": ("Models", lambda row: row.models or ("\uffff",), False),
    "cost": ("Cost", lambda row: row.cost_usd, True),
    "health": ("Health", _rank_unknown_health, True),
}
"""The columns by which the list can be sorted: their names, what counts, and whether the largest comes first. How
sessions are is not in the index: whoever asks says it."""


class ListingCache:
    """Gives the list of a machine; for several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._known: tuple[tuple[Any, ...], HomeListing] | None = None

    def get_listing(self, place: Machine) -> HomeListing:
        """The list as of now; made again only if the index has changed."""
        db = place.store.db
        archive = place.data_dir / "archive" / "sessions"
        now = (*read_catalog_state(db), _read_mtime_ns(archive), place.index, int(time.time() // 3600))
        with self._lock:
            if self._known is None or self._known[0] != now:
                self._known = now, _build_listing(place, list_catalog(db, _list_archived_ids(archive)))
            return self._known[1]


def _build_listing(place: Machine, rows: list[CatalogSession]) -> HomeListing:
    ends = {} if place.is_demo else dict(_find_deletion_times(rows))
    return HomeListing(
        rows,
        {row.number: _build_filter_text(row) for row in rows},
        place.load_refs(),
        ends,
        _summarize_deletions(rows, ends),
        {row.uuid: row for row in reversed(rows)},
        _count_projects(rows),
    )


def _count_projects(rows: Sequence[CatalogSession]) -> list[tuple[str, int]]:
    counts = Counter(row.project for row in rows if row.talks)
    return sorted(counts.items(), key=lambda item: (folder_name(item[0]).casefold(), item[0]))


def _build_filter_text(row: CatalogSession) -> str:
    said = (row.title, row.first_prompt, row.project, row.git_branch, row.uuid, row.tag and f"#{row.tag}", *row.models)
    return "\n".join(word for word in said if word).casefold()


def _find_deletion_times(rows: Sequence[CatalogSession]) -> Iterator[tuple[int, float]]:
    """When the client will delete which sessions, where that is soon."""
    limit = time.time() + SOON_SECONDS
    days: dict[Path, int | None] = {}
    for row in rows:
        if row.is_gone or row.is_archived or not row.mtime_ns:
            continue
        folder = _find_config_dir(row)
        if folder not in days:
            days[folder] = read_cleanup_days(folder)
        end = compute_deletion_time(row.mtime_ns, days[folder])
        if end is not None and end < limit:
            yield row.number, end


def _find_config_dir(row: CatalogSession) -> Path:
    return Path(row.path).parents[2] if len(Path(row.path).parents) > 2 else Path(row.path).parent


def _summarize_deletions(rows: Sequence[CatalogSession], ends: Mapping[int, float]) -> UpcomingDeletion | None:
    if not ends:
        return None
    folders = {_find_config_dir(row) for row in rows if row.number in ends}
    days = sorted({found for folder in folders if (found := read_cleanup_days(folder))})
    return UpcomingDeletion(len(ends), min(ends.values()), tuple(days))


def select_listing_page(
    listing: HomeListing, wish: ListingFilter, health: SortKey = _rank_unknown_health
) -> ListingPage:
    """The sessions of a page; `health` says how bad the health of one is, as far as that is known."""
    words = wish.q.casefold().split()
    fitting = listing.rows
    if words or wish.project:
        fitting = [row for row in fitting if _is_match(row, listing.letters[row.number], words, wish.project)]
    talking = [row for row in fitting if row.talks or wish.everything]
    groups = _group_by_project(talking) if wish.group else {}
    rows, is_nested = _sort_rows(talking, wish, groups, health)
    page = min(max(wish.page, 0), max((len(rows) - 1) // PAGE_SIZE, 0))
    first = page * PAGE_SIZE
    before = rows[first - 1] if first else None
    return ListingPage(
        rows[first : first + PAGE_SIZE], len(rows), len(fitting) - len(talking), page, before, is_nested, groups
    )


def _is_match(row: CatalogSession, letters: str, words: Sequence[str], project: str) -> bool:
    return all(word in letters for word in words) and (not project or _is_in_project(row, project))


def _is_in_project(row: CatalogSession, project: str) -> bool:
    return project in (row.project, row.cwd) or project.casefold() in row.project.casefold()


def _group_by_project(rows: Sequence[CatalogSession]) -> dict[str, ProjectGroup]:
    found: dict[str, ProjectGroup] = {}
    for row in rows:
        found[row.project] = found.get(row.project, ProjectGroup(row.project)).with_session(row)
    return found


def _sort_rows(
    rows: list[CatalogSession], wish: ListingFilter, groups: Mapping[str, ProjectGroup], health: SortKey
) -> tuple[list[CatalogSession], bool]:
    """The sessions in the order that is wished for, and whether families still stand together in it."""
    _, key, is_down = SORT_COLUMNS.get(wish.sort, SORT_COLUMNS["time"])
    key = health if wish.sort == "health" else key
    is_usual = wish.sort not in SORT_COLUMNS or (wish.sort == "time" and not wish.is_turned)
    found = rows if is_usual else sorted(rows, key=key, reverse=is_down != wish.is_turned)
    if groups:
        found = sorted(found, key=lambda row: (-groups[row.project].newest, row.project))
    return found, is_usual


def _read_mtime_ns(folder: Path) -> int:
    try:
        return folder.stat().st_mtime_ns
    except OSError:
        return 0


def _list_archived_ids(folder: Path) -> set[str]:
    """The ids of the sessions in the archive, from the names of its files."""
    try:
        return {name[:36] for name in os.listdir(folder)}  # noqa: PTH208 - names are enough
    except OSError:
        return set()
