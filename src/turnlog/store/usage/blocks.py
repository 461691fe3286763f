"""Five-hour blocks, as the client's limits count them.

A block begins at the full hour (UTC) of the first message and lasts five hours; the next begins with the next message
after that. The blocks are those of the whole machine, whatever a report shows of them: limits do not know projects.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from turnlog.store.usage.reports import Report, Request, Row, counted, filters
from turnlog.store.usage.sums import PICO, Sum, added, by
from turnlog.store.usage.zones import day_number

if TYPE_CHECKING:
    import apsw

HOURS = 5


class Pace(NamedTuple):
    """How fast the block that is still open goes, and where that leads."""

    tokens_per_minute: float
    usd_per_hour: float
    minutes_left: int
    projected_tokens: int
    projected_usd: float


def blocks(db: apsw.Connection, request: Request) -> Report:
    """One row for each block that begins on a wanted day."""
    wanted = filters(db, request)
    hours = [hour for (hour,) in db.execute("SELECT DISTINCT hour FROM spend WHERE hour >= 0 ORDER BY hour")]
    sums = dict(by(db, wanted.also("hour >= 0"), "hour"))
    rows, shown = [], []
    for start, inside in _blocks(hours):
        used = [hour for hour in inside if hour in sums]
        if used and _is_wanted(start, request):
            found = added(sums[hour] for hour in used)
            rows.append(Row(_labels(start, found, request.now), found))
            shown += used
    counts = counted(db, wanted.also("hour IN (SELECT value FROM json_each(?))", str(shown)))
    return Report(rows, added(row.sum for row in rows), *counts)


def _blocks(hours: list[int]) -> list[tuple[int, list[int]]]:
    """The hours with messages, by the hour in which their block begins."""
    found: list[tuple[int, list[int]]] = []
    for hour in hours:
        if not found or hour >= found[-1][0] + HOURS:
            found.append((hour, []))
        found[-1][1].append(hour)
    return found


def _is_wanted(start: int, request: Request) -> bool:
    day = request.zone.day(start * 3600)
    if request.since is not None and day < day_number(request.since):
        return False
    return request.until is None or day <= day_number(request.until)


def _labels(start: int, found: Sum, now: float) -> dict[str, Any]:
    end = start + HOURS
    is_open = start * 3600 <= now < end * 3600
    return {
        "start": start * 3600,
        "end": end * 3600,
        "open": is_open,
        "pace": pace(end, found, now) if is_open else None,
    }


def pace(end: int, found: Sum, now: float) -> Pace:
    """The rate from the first to the last message of a block, and the block's end at that rate."""
    minutes = max(((found.last or 0) - (found.first or 0)) / 60, 1)
    left = max(end * 60 - now / 60, 0)
    per_minute, usd_per_minute = found.tokens / minutes, found.cost / PICO / minutes
    return Pace(
        round(per_minute, 1),
        round(usd_per_minute * 60, 6),
        round(left),
        found.tokens + round(per_minute * left),
        round(found.cost / PICO + usd_per_minute * left, 6),
    )
