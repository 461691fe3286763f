"""The list of all sessions, kept in memory while the index stays the same; filtered, sorted, and cut into pages."""

from __future__ import annotations

import os
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from turnlog.entries.cleanup import cleanup_days, deleted_after
from turnlog.store.insight.catalog import Listed, catalog, state
from turnlog.web.amounts import folder_name
from turnlog.web.place import Place, Refs

PAGE = 60
SOON = 7 * 86400
"""So many seconds before the client deletes a session, the list says so."""


class Wish(NamedTuple):
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
    """Also files that hold no conversation."""
    page: int = 0


class Deletion(NamedTuple):
    """The client is about to delete sessions that the archive has not."""

    sessions: int
    first: float
    days: tuple[int, ...]
    """The setting `cleanupPeriodDays`."""


class Listing(NamedTuple):
    """All sessions as the index knows them."""

    rows: list[Listed]
    """Families together, the newest first."""
    letters: dict[int, str]
    """What a filter looks at, by number of the session."""
    refs: Refs
    ends: dict[int, float]
    """From when on the client may delete a session, for those for which that is soon."""
    deletion: Deletion | None
    by_uuid: dict[str, Listed]
    projects: list[tuple[str, int]]
    """The projects and how many sessions each has, by name."""


class Group(NamedTuple):
    """The sessions of a project that fit."""

    project: str
    sessions: int = 0
    cost_usd: float = 0.0
    newest: float = 0.0

    def with_one(self, row: Listed) -> Group:
        """The same with one more session."""
        return Group(self.project, self.sessions + 1, self.cost_usd + row.own_cost_usd, max(self.newest, row.last))


class Page(NamedTuple):
    """The sessions of one page."""

    rows: list[Listed]
    total: int
    """How many fit."""
    hidden: int
    """How many more would fit that hold no conversation."""
    page: int
    before: Listed | None
    """The session before the first of the page."""
    is_nested: bool
    """Whether families stand together."""
    groups: dict[str, Group]
    """The projects, where the list is grouped by them."""

    @property
    def has_more(self) -> bool:
        """Whether there is a page behind this one."""
        return (self.page + 1) * PAGE < self.total


Key = Callable[[Listed], Any]


def _unknown(_: Listed) -> int:
    return 0


SORTS: Mapping[str, tuple[str, Key, bool]] = {
    "title": ("Session", lambda row: (row.title or "\uffff").casefold(), False),
    "project": ("Project", lambda row: row.project.casefold(), False),
    "time": ("Last activity", lambda row: row.last, True),
    "duration": ("Length", lambda row: row.seconds or 0.0, True),
    "size": ("Size", lambda row: row.size, True),
    "turns": ("Turns", lambda row: row.prompts, True),
    "tools": ("Tools", lambda row: row.calls, True),
    "model": ("Models", lambda row: row.models or ("\uffff",), False),
    "cost": ("Cost", lambda row: row.cost_usd, True),
    "health": ("Health", _unknown, True),
}
"""The columns by which the list can be sorted: their names, what counts, and whether the largest comes first. How
sessions are is not in the index: whoever asks says it."""


class Lists:
    """Gives the list of a machine; for several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._known: tuple[tuple[Any, ...], Listing] | None = None

    def of(self, place: Place) -> Listing:
        """The list as of now; made again only if the index has changed."""
        db = place.store.db
        archive = place.data_dir / "archive" / "sessions"
        now = (*state(db), _changed(archive), place.index, int(time.time() // 3600))
        with self._lock:
            if self._known is None or self._known[0] != now:
                self._known = now, _made(place, catalog(db, _names(archive)))
            return self._known[1]


def _made(place: Place, rows: list[Listed]) -> Listing:
    ends = {} if place.is_demo else dict(_ends(rows))
    return Listing(
        rows,
        {row.number: _letters(row) for row in rows},
        place.refs(),
        ends,
        _deletion(rows, ends),
        {row.uuid: row for row in reversed(rows)},
        _projects(rows),
    )


def _projects(rows: Sequence[Listed]) -> list[tuple[str, int]]:
    counts = Counter(row.project for row in rows if row.talks)
    return sorted(counts.items(), key=lambda item: (folder_name(item[0]).casefold(), item[0]))


def _letters(row: Listed) -> str:
    said = (row.title, row.first_prompt, row.project, row.git_branch, row.uuid, row.tag and f"#{row.tag}", *row.models)
    return "\n".join(word for word in said if word).casefold()


def _ends(rows: Sequence[Listed]) -> Iterator[tuple[int, float]]:
    """When the client will delete which sessions, where that is soon."""
    limit = time.time() + SOON
    days: dict[Path, int | None] = {}
    for row in rows:
        if row.is_gone or row.is_archived or not row.mtime_ns:
            continue
        folder = _config_dir(row)
        if folder not in days:
            days[folder] = cleanup_days(folder)
        end = deleted_after(row.mtime_ns, days[folder])
        if end is not None and end < limit:
            yield row.number, end


def _config_dir(row: Listed) -> Path:
    return Path(row.path).parents[2] if len(Path(row.path).parents) > 2 else Path(row.path).parent


def _deletion(rows: Sequence[Listed], ends: Mapping[int, float]) -> Deletion | None:
    if not ends:
        return None
    folders = {_config_dir(row) for row in rows if row.number in ends}
    days = sorted({found for folder in folders if (found := cleanup_days(folder))})
    return Deletion(len(ends), min(ends.values()), tuple(days))


def chosen(listing: Listing, wish: Wish, health: Key = _unknown) -> Page:
    """The sessions of a page; `health` says how bad the health of one is, as far as that is known."""
    words = wish.q.casefold().split()
    fitting = listing.rows
    if words or wish.project:
        fitting = [row for row in fitting if _fits(row, listing.letters[row.number], words, wish.project)]
    talking = [row for row in fitting if row.talks or wish.everything]
    groups = _groups(talking) if wish.group else {}
    rows, is_nested = _ordered(talking, wish, groups, health)
    page = min(max(wish.page, 0), max((len(rows) - 1) // PAGE, 0))
    first = page * PAGE
    before = rows[first - 1] if first else None
    return Page(rows[first : first + PAGE], len(rows), len(fitting) - len(talking), page, before, is_nested, groups)


def _fits(row: Listed, letters: str, words: Sequence[str], project: str) -> bool:
    return all(word in letters for word in words) and (not project or _is_of(row, project))


def _is_of(row: Listed, project: str) -> bool:
    return project in (row.project, row.cwd) or project.casefold() in row.project.casefold()


def _groups(rows: Sequence[Listed]) -> dict[str, Group]:
    found: dict[str, Group] = {}
    for row in rows:
        found[row.project] = found.get(row.project, Group(row.project)).with_one(row)
    return found


def _ordered(rows: list[Listed], wish: Wish, groups: Mapping[str, Group], health: Key) -> tuple[list[Listed], bool]:
    """The sessions in the order that is wished for, and whether families still stand together in it."""
    _, key, is_down = SORTS.get(wish.sort, SORTS["time"])
    key = health if wish.sort == "health" else key
    is_usual = wish.sort not in SORTS or (wish.sort == "time" and not wish.is_turned)
    found = rows if is_usual else sorted(rows, key=key, reverse=is_down != wish.is_turned)
    if groups:
        found = sorted(found, key=lambda row: (-groups[row.project].newest, row.project))
    return found, is_usual


def _changed(folder: Path) -> int:
    try:
        return folder.stat().st_mtime_ns
    except OSError:
        return 0


def _names(folder: Path) -> set[str]:
    """The ids of the sessions in the archive, from the names of its files."""
    try:
        return {name[:36] for name in os.listdir(folder)}  # noqa: PTH208 - names are enough
    except OSError:
        return set()
