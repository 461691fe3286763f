"""The reports: which rows of `spend` count, what they are added up by, and what each row is called."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date
from itertools import groupby, pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

from turnlog.store.session_counts import count_sessions
from turnlog.store.usage.sums import Sum, Wanted, added, by, total, whole_sessions
from turnlog.store.usage.zones import DAY, Stretch, Zone, day_number, written_day

if TYPE_CHECKING:
    import apsw

    from turnlog.store.usage.calls import ToolRow

PERIODS = ("daily", "weekly", "monthly")
KINDS = (*PERIODS, "session", "project", "model", "tool", "blocks")
_EXACT = "temp.exact_spend"


class Request(NamedTuple):
    """What somebody wants to know."""

    kind: str = "daily"
    since: date | None = None
    until: date | None = None
    """The last day that counts."""
    project: str | None = None
    model: str | None = None
    zone: Zone = Zone()
    now: float = 0.0
    """In seconds since 1970: which block is open."""


class Row(NamedTuple):
    """One line of a report."""

    labels: dict[str, Any]
    """What it is about."""
    sum: Sum
    whole: Sum | None = None
    """Of a session: all that it used, at any time, also what another session pays for."""


class Report(NamedTuple):
    """A report with its total."""

    rows: list[Row]
    total: Sum
    sessions: int
    """How many sessions are in it: all that there are, or those with usage in the part that was asked for."""
    gone: int
    """How many of these have no file any more."""
    with_usage: int = 0
    """How many sessions have usage in it; sub-agents without a main transcript are among them."""
    tools: tuple[ToolRow, ...] = ()
    """The rows of the report by tool."""


def report(db: apsw.Connection, request: Request) -> Report:
    """Make a report."""
    if request.kind == "blocks":
        from turnlog.store.usage.blocks import blocks

        return blocks(db, request)
    if request.kind == "tool":
        from turnlog.store.usage.calls import tools

        return _everything(db, request)._replace(tools=tools(db, request))
    wanted, stretches = scope(db, request)
    rows = _ROWS[request.kind](db, wanted, stretches)
    return Report(rows, added(row.sum for row in rows), *counted(db, wanted))


def scope(db: apsw.Connection, request: Request) -> tuple[Wanted, list[Stretch]]:
    """Which rows count, and how the clocks stand over them."""
    stretches = clocks(db, request.zone)
    wanted = filters(db, request)
    is_by_day = request.kind in PERIODS or request.since or request.until
    if is_by_day and any(stretch.offset % 3600 for stretch in stretches):
        return _exact(db, wanted, request, stretches)
    if request.since is not None:
        wanted = wanted.also("hour >= ?", request.zone.begins(request.since) // 3600)
    if request.until is not None:
        wanted = wanted.also("hour < ?", request.zone.begins(_next(request.until)) // 3600)
    return (wanted.also("hour >= 0") if request.until else wanted), stretches


def clocks(db: apsw.Connection, zone: Zone) -> list[Stretch]:
    """How the clocks of a zone stand over all messages."""
    first, last = db.execute("SELECT min(hour), max(hour) FROM spend WHERE hour >= 0").fetchone() or (0, 0)
    return zone.stretches(first or 0, last or 0)


def filters(db: apsw.Connection, request: Request) -> Wanted:
    """The rows of a project and of a model."""
    wanted = Wanted()
    if request.project is not None:
        ids = _known(db, "project", request.project)
        sessions = "SELECT id FROM session WHERE project IN (SELECT value FROM json_each(?))"
        wanted = wanted.also(f"session IN ({sessions})", ids)
    if request.model is not None:
        wanted = wanted.also("model IN (SELECT value FROM json_each(?))", _known(db, "model", request.model))
    return wanted


def _known(db: apsw.Connection, kind: str, value: str) -> str:
    """The numbers of what a word means, as JSON."""
    from turnlog.store.scope import known_projects, named, unknown

    if kind == "project":
        return str(known_projects(db, value))
    fits = named(db, kind, value)
    if not fits.ids:
        raise unknown(kind, value, fits.closest)
    return str(fits.ids)


def _exact(
    db: apsw.Connection, wanted: Wanted, request: Request, stretches: list[Stretch]
) -> tuple[Wanted, list[Stretch]]:
    """Where days begin within an hour of UTC, `spend` is too coarse for sessions that were at work at that time."""
    from turnlog.store.index.spend import fill

    zone = request.zone
    hours = [hour for (hour,) in db.execute("SELECT DISTINCT hour FROM spend WHERE hour >= 0")]
    split = [hour for hour in hours if zone.day(hour * 3600) != zone.day(hour * 3600 + 3599)]
    query = "SELECT DISTINCT session FROM spend WHERE hour IN (SELECT value FROM json_each(?))"
    sessions = [session for (session,) in db.execute(query, (str(split),))]
    db.execute(f"DROP TABLE IF EXISTS {_EXACT}")
    db.execute(
        f"CREATE TABLE {_EXACT} AS SELECT * FROM spend WHERE session NOT IN (SELECT value FROM json_each(?))",
        (str(sessions),),
    )
    db.execute(f"UPDATE {_EXACT} SET hour = {_day(stretches)} * 24 WHERE hour >= 0")
    fill(db, _EXACT, sessions, lambda seconds: zone.day(seconds) * 24)
    found = Wanted(_EXACT, wanted.conditions, wanted.values)
    if request.since is not None:
        found = found.also("hour >= ?", day_number(request.since) * 24)
    if request.until is not None:
        found = found.also("hour BETWEEN 0 AND ?", day_number(request.until) * 24)
    return found, [Stretch(0, 0)]


def _next(day: date) -> date:
    return date.fromordinal(min(day.toordinal() + 1, date.max.toordinal()))


def _by_day(db: apsw.Connection, wanted: Wanted, stretches: list[Stretch]) -> list[tuple[int | None, Sum]]:
    """Sums by day, in days since 1970; None for what has no known time, at the end."""
    found = list(by(db, wanted, f"CASE WHEN hour >= 0 THEN {_day(stretches)} END"))
    return sorted(found, key=lambda pair: (pair[0] is None, pair[0]))


def _day(stretches: list[Stretch]) -> str:
    """The day of an hour, in days since 1970, for SQL: clocks change seldom, so a handful of cases does."""
    cases = "".join(f" WHEN hour < {after.hour} THEN {at.offset}" for at, after in pairwise(stretches))
    last = stretches[-1].offset
    return f"(hour * 3600 + {f'CASE{cases} ELSE {last} END' if cases else last}) / {DAY}"


def _daily(db: apsw.Connection, wanted: Wanted, stretches: list[Stretch]) -> list[Row]:
    return [Row({"day": _written(day)}, found) for day, found in _by_day(db, wanted, stretches)]


def _weekly(db: apsw.Connection, wanted: Wanted, stretches: list[Stretch]) -> list[Row]:
    # The first of January 1970 was a Thursday.
    return _gathered(db, wanted, stretches, "week", lambda day: written_day((day + 3) // 7 * 7 - 3))


def _monthly(db: apsw.Connection, wanted: Wanted, stretches: list[Stretch]) -> list[Row]:
    return _gathered(db, wanted, stretches, "month", lambda day: written_day(day)[:7])


def _gathered(
    db: apsw.Connection, wanted: Wanted, stretches: list[Stretch], label: str, name: Callable[[int], str]
) -> list[Row]:
    days = _by_day(db, wanted, stretches)
    periods = groupby(days, key=lambda pair: None if pair[0] is None else name(pair[0]))
    return [Row({label: period}, added(found for _, found in pairs)) for period, pairs in periods]


def _written(day: int | None) -> str | None:
    return None if day is None else written_day(day)


def _sessions(db: apsw.Connection, wanted: Wanted, _: list[Stretch]) -> list[Row]:
    known, whole = _places(db), whole_sessions(db)
    rows = [
        Row(dict(zip(_PLACE, known[session], strict=True)), found, whole[session])
        for session, found in by(db, wanted, "session")
    ]
    return _costliest(rows)


_PLACE = ("session_id", "project", "title", "gone")


def _places(db: apsw.Connection) -> dict[int, tuple[str, str | None, str | None, bool]]:
    """The id, project and title of each session, and whether its file is gone; a folder's name if no entry has it."""
    rows = db.execute(
        "SELECT session.id, uuid, coalesce(cwd, name.text), file.title,"
        " coalesce(gone IS NOT NULL, 0) FROM session JOIN name ON name.id = project"
        " LEFT JOIN file ON file.session = session.id AND file.kind = 'session'"
    )
    return {number: (uuid, place, title, bool(gone)) for number, uuid, place, title, gone in rows}


def _projects(db: apsw.Connection, wanted: Wanted, _: list[Stretch]) -> list[Row]:
    known = _places(db)
    sums: dict[str | None, list[Sum]] = {}
    for session, found in by(db, wanted, "session"):
        sums.setdefault(known[session][1], []).append(found)
    return _costliest([Row({"project": place, "sessions": len(found)}, added(found)) for place, found in sums.items()])


def _models(db: apsw.Connection, wanted: Wanted, _: list[Stretch]) -> list[Row]:
    names: dict[int | None, str] = dict(db.execute("SELECT id, text FROM name WHERE kind = 'model'"))
    return _costliest([Row({"model": names.get(model)}, found) for model, found in by(db, wanted, "model")])


def _costliest(rows: list[Row]) -> list[Row]:
    return sorted(rows, key=lambda row: (-row.sum.cost, -row.sum.tokens, str(row.labels)))


def counted(db: apsw.Connection, wanted: Wanted) -> tuple[int, int, int]:
    """How many sessions are in a report, how many of them have no file any more, and how many have usage in it."""
    with_usage, gone = db.execute(
        "SELECT count(*), coalesce(sum(session NOT IN (SELECT session FROM file WHERE gone IS NULL)), 0)"
        f" FROM (SELECT DISTINCT session {wanted.sql})",
        wanted.values,
    ).fetchone() or (0, 0)
    sessions = with_usage if wanted.conditions else count_sessions(db).sessions
    return sessions, gone, with_usage


def _everything(db: apsw.Connection, request: Request) -> Report:
    """Only the total and how many sessions are in it."""
    wanted, _ = scope(db, request)
    return Report([], total(db, wanted), *counted(db, wanted))


_ROWS: dict[str, Callable[[Any, Wanted, list[Stretch]], list[Row]]] = {
    "daily": _daily,
    "weekly": _weekly,
    "monthly": _monthly,
    "session": _sessions,
    "project": _projects,
    "model": _models,
}
