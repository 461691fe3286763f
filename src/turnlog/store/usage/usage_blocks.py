"""Five-hour blocks, as Claude Code's limits count them.

A block starts at the beginning of the hour (UTC) of its first message and lasts five hours; the next one starts with
the next message after that. Blocks cover the whole machine, even if a report shows only part of them, because the
limits don't depend on projects.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from turnlog.store.usage.time_zones import format_client_time, to_day_number
from turnlog.store.usage.usage_reports import (
    UsageReport,
    UsageReportRow,
    UsageRequest,
    build_spend_filter,
    count_report_sessions,
)
from turnlog.store.usage.usage_sums import PICO_PER_DOLLAR, UsageSum, add_usage_sums, sum_spend_by

if TYPE_CHECKING:
    import apsw

BLOCK_HOURS = 5
MIN_PACE_MINUTES = 5
"""A shorter stretch of work says nothing about the rest of the block."""


class BlockPace(NamedTuple):
    """The rate of the block that is still open, and its projected totals."""

    tokens_per_minute: float
    usd_per_hour: float
    minutes_left: int
    projected_tokens: int
    projected_usd: float


def report_blocks(db: apsw.Connection, request: UsageRequest) -> UsageReport:
    """Report one row for each block that starts on a requested day."""
    wanted = build_spend_filter(db, request)
    hours = [hour for (hour,) in db.execute("SELECT DISTINCT hour FROM spend WHERE hour >= 0 ORDER BY hour")]
    sums = dict(sum_spend_by(db, wanted.with_condition("hour >= 0"), "hour"))
    rows, counted_hours = [], []
    for start, inside in _group_into_blocks(hours):
        used = [hour for hour in inside if hour in sums]
        if used and _is_wanted_block(start, request):
            usage = add_usage_sums(sums[hour] for hour in used)
            rows.append(UsageReportRow(_build_labels(start, usage, request.now), usage))
            counted_hours += used
    counts = count_report_sessions(
        db, wanted.with_condition("hour IN (SELECT value FROM json_each(?))", str(counted_hours))
    )
    return UsageReport(rows, add_usage_sums(row.sum for row in rows), *counts)


def _group_into_blocks(hours: list[int]) -> list[tuple[int, list[int]]]:
    """Group the hours with messages by the hour in which their block starts."""
    blocks: list[tuple[int, list[int]]] = []
    for hour in hours:
        if not blocks or hour >= blocks[-1][0] + BLOCK_HOURS:
            blocks.append((hour, []))
        blocks[-1][1].append(hour)
    return blocks


def _is_wanted_block(start: int, request: UsageRequest) -> bool:
    day = request.zone.to_day(start * 3600)
    if request.since is not None and day < to_day_number(request.since):
        return False
    return request.until is None or day <= to_day_number(request.until)


def _build_labels(start: int, usage: UsageSum, now: float) -> dict[str, Any]:
    end = start + BLOCK_HOURS
    is_open = start * 3600 <= now < end * 3600
    return {
        "start": start * 3600,
        "end": end * 3600,
        "open": is_open,
        "pace": compute_block_pace(end, usage, now) if is_open else None,
    }


def to_block_document(labels: dict[str, Any]) -> dict[str, Any]:
    """Convert the labels of a block for JSON."""
    pace = labels["pace"]
    times = {name: format_client_time(labels[name]) for name in ("start", "end")}
    return {**labels, **times, "pace": pace and pace._asdict()}


def compute_block_pace(end: int, usage: UsageSum, now: float) -> BlockPace | None:
    """Compute the rate between the first and the last message of a block, and the totals at its end at that rate.

    Return None if too little has been done for a rate.
    """
    minutes = ((usage.last or 0) - (usage.first or 0)) / 60
    if minutes < MIN_PACE_MINUTES:
        return None
    left = max(end * 60 - now / 60, 0)
    per_minute, usd_per_minute = usage.tokens / minutes, usage.cost / PICO_PER_DOLLAR / minutes
    return BlockPace(
        round(per_minute, 1),
        round(usd_per_minute * 60, 6),
        round(left),
        usage.tokens + round(per_minute * left),
        round(usage.cost / PICO_PER_DOLLAR + usd_per_minute * left, 6),
    )
