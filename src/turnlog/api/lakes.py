"""Reports on a lake: the sessions of many people as tables (docs/fleet.md). `turnlog.fleet` builds lakes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from msgspec import Struct

from turnlog.api.usage import UsageAmounts, to_usage_amounts

if TYPE_CHECKING:
    from turnlog.store.lake.lake import Lake
    from turnlog.store.lake.lake_report import GroupUsage, ToolSummary


class LakeUsageRow(Struct, frozen=True):
    """The usage of one team, person, project, model or month."""

    __flat_fields__: ClassVar = ("amounts",)
    name: str | None
    sessions: int | None
    """The sessions that started in the period; None in the rows by model."""
    people: int | None
    cache_hit_rate: float | None
    """The share of the prompt tokens that came from the cache."""
    amounts: UsageAmounts


class LakeToolRow(Struct, frozen=True):
    """The calls to one tool."""

    tool: str
    calls: int
    failed: int
    unanswered: int
    failure_rate: float | None
    """The share of the answered calls that failed."""
    median_seconds: float | None
    p95_seconds: float | None
    max_seconds: float | None
    total_seconds: float


class LakeMonth(Struct, frozen=True):
    """How much was started in one month."""

    month: str | None
    people: int
    sessions: int
    prompts: int
    turns: int


class LakeVersion(Struct, frozen=True):
    """One version of the client, and how well its files are understood."""

    version: str
    sessions: int
    first: str | None
    last: str | None
    broken: int
    """Lines that are not entries."""
    files_with_unknown: int
    """Files that contain something that this version of turnlog does not recognise."""


class LakeUnknown(Struct, frozen=True):
    """A type, field or value that turnlog did not recognise."""

    version: str | None
    name: str
    count: int


class LakeSummary(Struct, frozen=True):
    """A report on a lake."""

    lake: str
    snapshot: int
    created: str
    since: str | None
    until: str | None
    sessions: int
    people: int
    files: int
    deleted_files: int
    failed_files: int
    total: LakeUsageRow
    teams: list[LakeUsageRow]
    persons: list[LakeUsageRow]
    """By pseudonym."""
    projects: list[LakeUsageRow]
    models: list[LakeUsageRow]
    months: list[LakeUsageRow]
    tools: list[LakeToolRow]
    """By number of calls."""
    adoption: list[LakeMonth]
    versions: list[LakeVersion]
    """The newest first."""
    unknown: list[LakeUnknown]


class LakeQueryResult(Struct, frozen=True):
    """The answer to an SQL query."""

    columns: list[str]
    rows: list[list[Any]]
    """Each with one value per column."""
    is_cut: bool
    """Whether there are more rows."""


def report_lake(
    lake: str | Path,
    *,
    since: str | date | None = None,
    until: str | date | None = None,
    snapshot: int | None = None,
    limit: int | None = 20,
) -> LakeSummary:
    """Report usage, tools, cache, versions and adoption in a lake, every message once (docs/fleet.md).

    Days are in UTC, and `until` is the last day to include. `limit` is the number of rows in each table.
    """
    from turnlog.store.lake.lake_report import build_lake_report

    first, last = _parse_lake_day(since, "--since"), _parse_lake_day(until, "--until")
    with _open_lake(lake, snapshot) as opened:
        found = build_lake_report(
            opened, _to_seconds(first), _to_seconds(last + timedelta(days=1) if last else None), limit
        )
        total = LakeUsageRow(
            None, found.sessions, found.people, _compute_hit_rate(found.total), to_usage_amounts(found.total)
        )
        rows = {kind: [_to_usage_row(row) for row in groups] for kind, groups in found.usage.items()}
        return LakeSummary(
            opened.files.location,
            found.snapshot,
            found.created,
            first.isoformat() if first else None,
            last.isoformat() if last else None,
            found.sessions,
            found.people,
            found.files,
            found.deleted_files,
            found.failed_files,
            total,
            rows["team"],
            rows["person"],
            rows["project"],
            rows["model"],
            rows["month"],
            [_to_tool_row(row) for row in found.tools],
            [LakeMonth(*row) for row in found.adoption],
            [LakeVersion(*row) for row in found.versions],
            [LakeUnknown(*row) for row in found.unknown],
        )


def query_lake(
    lake: str | Path, query: str, *, snapshot: int | None = None, limit: int | None = 1000
) -> LakeQueryResult:
    """Run a SELECT statement (DuckDB's SQL) on the tables of a lake; it can only read, and only the lake."""
    with _open_lake(lake, snapshot) as opened:
        opened.lock()
        result = opened.execute_untrusted(query)
        rows = _fetch_rows(result, None if limit is None else limit + 1)
        columns = list(result.columns)
        is_cut = limit is not None and len(rows) > limit
        return LakeQueryResult(columns, rows[:limit], is_cut)


def _fetch_rows(result: Any, most: int | None) -> list[list[Any]]:
    """Fetch rows through Arrow, because DuckDB's own conversion of times requires another package."""
    rows: list[list[Any]] = []
    for batch in result.to_arrow_reader(10_000):
        columns = [column.to_pylist() for column in batch.columns]
        rows += map(list, zip(*columns, strict=True))
        if most is not None and len(rows) >= most:
            return rows[:most]
    return rows


@contextmanager
def _open_lake(location: str | Path, snapshot: int | None) -> Iterator[Lake]:
    from turnlog.store.lake.lake import Lake

    with Lake(str(location), snapshot) as opened:
        yield opened


def _parse_lake_day(day: str | date | None, option: str) -> date | None:
    from turnlog.store.usage.time_zones import parse_day

    if not isinstance(day, str):
        return day
    return parse_day(day, option, lambda: datetime.now(UTC).date())


def _to_seconds(day: date | None) -> int | None:
    return None if day is None else int(datetime(day.year, day.month, day.day, tzinfo=UTC).timestamp())


def _to_usage_row(row: GroupUsage) -> LakeUsageRow:
    return LakeUsageRow(row.name, row.sessions, row.people, _compute_hit_rate(row.sum), to_usage_amounts(row.sum))


def _compute_hit_rate(usage: Any) -> float | None:
    prompt = usage.input + usage.cache_read + usage.cache_write
    return round(usage.cache_read / prompt, 4) if prompt else None


def _to_rounded_seconds(milliseconds: float | None) -> float | None:
    return None if milliseconds is None else round(milliseconds / 1000, 3)


def _to_tool_row(row: ToolSummary) -> LakeToolRow:
    answered = row.calls - row.unanswered
    return LakeToolRow(
        row.tool,
        row.calls,
        row.failed,
        row.unanswered,
        round(row.failed / answered, 4) if answered else None,
        _to_rounded_seconds(row.median_ms),
        _to_rounded_seconds(row.p95_ms),
        _to_rounded_seconds(row.max_ms),
        round(row.total_ms / 1000, 3),
    )
