"""The list of all sessions: kept in memory while the index is unchanged, then filtered, sorted and split into pages."""

from __future__ import annotations

import os
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from turnlog.entries.cleanup import compute_deletion_time, describe_deletion_times, read_cleanup_days
from turnlog.store.insight.catalog import CatalogSession, list_catalog, read_catalog_state
from turnlog.store.usage.usage_sums import PICO_PER_DOLLAR
from turnlog.web.amounts import folder_name
from turnlog.web.home.late_work import LateWork
from turnlog.web.home.listing_filter import ListingFilter
from turnlog.web.home.provisional import FilePeeks, is_unread
from turnlog.web.machine import Machine, SessionRefs
from turnlog.web.slices.slice_figures import SliceFigures, add_slice_figures

PAGE_SIZE = 60
_BUSY_PAUSE_FACTOR = 4
"""While the index grows, the listing is built again after this many times the time that building it took."""
_MAX_WAIT_SECONDS = 0.3
"""A page does not wait for a listing that takes longer to build."""
MAX_QUICK_SESSIONS = 3_000
"""A listing of so many sessions is certainly quick to build."""
_NEWEST_SESSIONS = 300
"""How many sessions the listing contains that is shown first."""
SOON_SECONDS = 7 * 86400
"""The list warns this long before Claude Code deletes a session."""


class UpcomingDeletion(NamedTuple):
    """Unarchived sessions that Claude Code is about to delete."""

    ends: tuple[float, ...]
    """The time from which each of them may be deleted."""
    days: tuple[int, ...]
    """The values of the setting `cleanupPeriodDays`."""

    def describe_time(self, now: float) -> str:
        return describe_deletion_times(self.ends, now)


class HomeListing(NamedTuple):
    """All sessions in the index."""

    rows: list[CatalogSession]
    """Newest first; forks and clones follow their origin."""
    letters: Mapping[int, str]
    """The text that a filter searches, by session number."""
    refs: SessionRefs
    ends: dict[int, float]
    """The time from which Claude Code may delete a session, if that is soon."""
    deletion: UpcomingDeletion | None
    by_uuid: dict[str, CatalogSession]
    projects: list[tuple[str, int]]
    """The projects by name, each with its number of sessions."""
    provisional: frozenset[int] = frozenset()
    """The sessions that the index has listed but not read yet."""
    is_reading: bool = False
    """Whether the index was being updated when this listing was built."""
    known_total: int | None = None
    """The number of sessions, if the listing contains only the newest of them."""

    @property
    def is_large(self) -> bool:
        """Whether there are so many sessions that building anything from all of them takes a while."""
        return self.is_partial or len(self.rows) > MAX_QUICK_SESSIONS

    @property
    def is_partial(self) -> bool:
        return self.known_total is not None

    @property
    def total(self) -> int:
        """The number of sessions with a conversation."""
        return sum(number for _, number in self.projects) if self.known_total is None else self.known_total


class ProjectGroup(NamedTuple):
    """A project's sessions that match the filter."""

    project: str
    sessions: int = 0
    cost_usd: float = 0.0
    newest: float = 0.0

    def with_session(self, row: CatalogSession, cost_usd: float) -> ProjectGroup:
        return ProjectGroup(self.project, self.sessions + 1, self.cost_usd + cost_usd, max(self.newest, row.last))


class ListingPage(NamedTuple):
    rows: list[CatalogSession]
    total: int
    """How many sessions match."""
    hidden: int
    """How many more would match but contain no conversation."""
    page: int
    before: CatalogSession | None
    """The last session of the previous page."""
    is_nested: bool
    """Whether forks and clones follow their origin."""
    groups: dict[str, ProjectGroup]
    """By project, if the list is grouped."""
    figures: SliceFigures | None = None
    """What all sessions that match add up to in the filter's part of the usage."""
    row_figures: Mapping[int, SliceFigures] = {}
    """What each of the rows adds to that, by session number; empty if the filter has no such part."""

    @property
    def has_more(self) -> bool:
        """True if another page follows."""
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
"""The sortable columns: label, sort key, and whether the largest value comes first. Health is not in the index, so the
caller supplies its key."""


class ListingCache:
    """Builds the listing of a machine and shares it between threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._known: tuple[tuple[Any, ...], HomeListing] | None = None
        self._next_build = 0.0
        self._build_seconds = 0.0
        """How long the latest build took."""
        self._late = LateWork("listing")
        self.peeks = FilePeeks()

    def get_listing(self, machine: Machine) -> HomeListing:
        """Return the current listing; it is rebuilt only if the index has changed, and seldom while that goes on."""
        with self._lock:
            state = machine.state
            if self._known is not None and state.is_busy and time.monotonic() < self._next_build:
                return self._known[1]
            db = machine.store.db
            archive = machine.data_dir / "archive" / "sessions"
            now = (*read_catalog_state(db), _read_mtime_ns(archive), machine.index, int(time.time() // 3600))
            if self._known is None or self._known[0] != now or self._known[1].provisional:
                begin = time.monotonic()
                with db:  # another process may be writing
                    rows = list_catalog(db, _list_archived_ids(archive))
                self._known = now, _build_listing(machine, rows, self.peeks, state.is_complete)
                self._build_seconds = time.monotonic() - begin
                self._next_build = time.monotonic() + _BUSY_PAUSE_FACTOR * self._build_seconds
            elif self._known[1].is_reading is state.is_complete:
                self._known = now, self._known[1]._replace(is_reading=not state.is_complete)
            return self._known[1]

    def get_first_rows(self, machine: Machine) -> HomeListing:
        """Return the current listing if that is quick; otherwise the previous one, or the newest sessions alone.

        Then a thread builds the current listing, and pages learn that they are out of date.
        """
        db, known = machine.store.db, self._known
        if known is not None and self._build_seconds < _MAX_WAIT_SECONDS:
            return self.get_listing(machine)
        # A file that was not read yet may be a session; an empty one is none.
        total: Any = db.execute(
            "SELECT count(*) FROM file WHERE kind = 'session' AND (is_session OR (? AND offset = 0))",
            (not machine.state.is_complete,),
        ).get
        if total <= MAX_QUICK_SESSIONS:
            return self.get_listing(machine)
        if known is not None and not self._lock.locked():
            archive = machine.data_dir / "archive" / "sessions"
            now = (*read_catalog_state(db), _read_mtime_ns(archive), machine.index, int(time.time() // 3600))
            if known[0] == now and not known[1].provisional:
                return self.get_listing(machine)
        self._late.start(machine, lambda: self.get_listing(machine) is not (known and known[1]))
        if known is not None:
            return known[1]
        with db:
            rows = list_catalog(
                db, _list_archived_ids(machine.data_dir / "archive" / "sessions"), newest=_NEWEST_SESSIONS
            )
        return _build_listing(machine, rows, self.peeks, machine.state.is_complete)._replace(known_total=total)


def _build_listing(machine: Machine, rows: list[CatalogSession], peeks: FilePeeks, is_complete: bool) -> HomeListing:
    provisional = frozenset() if is_complete else frozenset(row.number for row in rows if is_unread(row))
    rows = peeks.describe_rows(rows) if provisional else rows
    ends = {} if machine.is_demo else dict(_find_deletion_times(rows))
    return HomeListing(
        rows,
        _FilterTexts({row.number: row for row in rows}),
        machine.load_refs(),
        ends,
        _summarize_deletions(rows, ends),
        {row.uuid: row for row in reversed(rows)},
        _count_projects(rows),
        provisional,
        not is_complete,
    )


def _count_projects(rows: Sequence[CatalogSession]) -> list[tuple[str, int]]:
    counts = Counter(row.project for row in rows if row.talks)
    return sorted(counts.items(), key=lambda item: (folder_name(item[0]).casefold(), item[0]))


class _FilterTexts(Mapping[int, str]):
    """The text of each session that a filter searches, built when it is needed."""

    def __init__(self, rows: Mapping[int, CatalogSession]) -> None:
        self._rows = rows
        self._known: dict[int, str] = {}

    def __getitem__(self, number: int) -> str:
        text = self._known.get(number)
        if text is None:
            text = self._known[number] = _build_filter_text(self._rows[number])
        return text

    def __iter__(self) -> Iterator[int]:
        return iter(self._rows)

    def __len__(self) -> int:
        return len(self._rows)


def _build_filter_text(row: CatalogSession) -> str:
    parts = (row.title, row.first_prompt, row.project, row.git_branch, row.uuid, row.tag and f"#{row.tag}", *row.models)
    return "\n".join(part for part in parts if part).casefold()


def _find_deletion_times(rows: Sequence[CatalogSession]) -> Iterator[tuple[int, float]]:
    """Yield the sessions that Claude Code will delete soon, and when."""
    limit = time.time() + SOON_SECONDS
    days: dict[str, int | None] = {}
    for row in rows:
        if row.is_gone or row.is_archived or not row.mtime_ns:
            continue
        folder = row.path[: -len(row.uuid) - len("/.jsonl")]
        if folder not in days:
            days[folder] = read_cleanup_days(_to_config_dir(folder))
        end = compute_deletion_time(row.mtime_ns, days[folder])
        if end is not None and end < limit:
            yield row.number, end


def _find_project_folder(row: CatalogSession) -> str:
    return os.path.dirname(row.path)  # noqa: PTH120 - perhaps for every file


def _to_config_dir(project_folder: str) -> Path:
    parents = Path(project_folder).parents
    return parents[1] if len(parents) > 1 else Path(project_folder)


def _summarize_deletions(rows: Sequence[CatalogSession], ends: Mapping[int, float]) -> UpcomingDeletion | None:
    if not ends:
        return None
    folders = {_to_config_dir(folder) for folder in {_find_project_folder(row) for row in rows if row.number in ends}}
    days = sorted({found for folder in folders if (found := read_cleanup_days(folder))})
    return UpcomingDeletion(tuple(ends.values()), tuple(days))


def select_listing_page(
    listing: HomeListing,
    filters: ListingFilter,
    health: SortKey = _rank_unknown_health,
    figures: Mapping[int, SliceFigures] | None = None,
) -> ListingPage:
    """Return one page of the listing.

    `health` ranks a session's health, if known; `figures` has what the sessions with usage in the filter's part of the
    usage add to its sum.
    """
    words = filters.q.casefold().split()
    matches = listing.rows
    if words or filters.project:
        is_path = any(path == filters.project for path, _ in listing.projects)
        matches = [
            row for row in matches if _is_match(row, listing.letters[row.number], words, filters.project, is_path)
        ]
    if figures is not None:
        matches = [row for row in matches if row.number in figures]
    if filters.only == "deleting":
        matches = [row for row in matches if row.number in listing.ends]
    # A part of the usage is shown with all sessions that have some of it: its sum includes them.
    talking = [row for row in matches if row.talks or filters.everything or figures is not None]
    total = None if figures is None else add_slice_figures(figures[row.number] for row in talking)
    groups = _group_by_project(talking, figures) if filters.group else {}
    rows, is_nested = _sort_rows(talking, filters, groups, health, figures)
    page = min(max(filters.page, 0), max((len(rows) - 1) // PAGE_SIZE, 0))
    first = page * PAGE_SIZE
    before = rows[first - 1] if first else None
    shown = rows[first : first + PAGE_SIZE]
    return ListingPage(
        shown,
        len(rows),
        len(matches) - len(talking),
        page,
        before,
        is_nested,
        groups,
        total,
        {} if figures is None else {row.number: figures[row.number] for row in shown},
    )


def _is_match(row: CatalogSession, letters: str, words: Sequence[str], project: str, is_path: bool) -> bool:
    return all(word in letters for word in words) and (not project or _is_in_project(row, project, is_path))


def _is_in_project(row: CatalogSession, project: str, is_path: bool) -> bool:
    """Return whether a session is in a project, given as its exact path or as a part of it."""
    return project in (row.project, row.cwd) or (not is_path and project.casefold() in row.project.casefold())


def _group_by_project(
    rows: Sequence[CatalogSession], figures: Mapping[int, SliceFigures] | None
) -> dict[str, ProjectGroup]:
    groups: dict[str, ProjectGroup] = {}
    for row in rows:
        usage = figures[row.number].usage if figures is not None else None
        cost_usd = row.own_cost_usd if usage is None else usage.cost / PICO_PER_DOLLAR
        groups[row.project] = groups.get(row.project, ProjectGroup(row.project)).with_session(row, cost_usd)
    return groups


def _sort_rows(
    rows: list[CatalogSession],
    filters: ListingFilter,
    groups: Mapping[str, ProjectGroup],
    health: SortKey,
    figures: Mapping[int, SliceFigures] | None,
) -> tuple[list[CatalogSession], bool]:
    """Sort the sessions; also return whether forks and clones still follow their origin."""
    _, key, is_down = SORT_COLUMNS.get(filters.sort, SORT_COLUMNS["time"])
    key = health if filters.sort == "health" else key
    if filters.sort == "cost" and figures is not None:
        key = partial(_rank_figures, figures)
    is_usual = filters.sort not in SORT_COLUMNS or (filters.sort == "time" and not filters.is_turned)
    ordered = rows if is_usual else sorted(rows, key=key, reverse=is_down != filters.is_turned)
    if groups:
        ordered = sorted(ordered, key=lambda row: (-groups[row.project].newest, row.project))
    return ordered, is_usual


def _rank_figures(figures: Mapping[int, SliceFigures], row: CatalogSession) -> tuple[float, ...]:
    return figures[row.number].rank


def _read_mtime_ns(folder: Path) -> int:
    try:
        return folder.stat().st_mtime_ns
    except OSError:
        return 0


def _list_archived_ids(folder: Path) -> set[str]:
    """Read the ids of archived sessions from the names of the archive's files."""
    try:
        return {name[:36] for name in os.listdir(folder)}  # noqa: PTH208 - names are enough
    except OSError:
        return set()
