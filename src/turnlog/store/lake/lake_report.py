"""The report over a lake: usage, tools, the cache, versions, and how many people use it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from turnlog.store.lake.exact_messages import format_lake_time
from turnlog.store.lake.lake_spend import LakeSpend
from turnlog.store.usage.usage_sums import UsageSum, add_usage_sums

if TYPE_CHECKING:
    from turnlog.store.lake.lake import Lake

_MAX_VERSIONS = 100_000
USAGE_GROUPS = ("team", "person", "project", "model", "month")
_SESSION_QUERY = """
    SELECT {what}, count(*) FILTER (is_session), count(DISTINCT person) FILTER (is_session),
        sum(prompts) FILTER (is_session), sum(turns) FILTER (is_session)
    FROM session_rows WHERE true {bounds} GROUP BY 1
"""
_ONE_CALL = """
    SELECT min(tool) AS tool, max(failed) AS failed, min(time) AS started,
        max(duration_ms) AS duration_ms, max(input_chars) AS input_chars, max(result_chars) AS result_chars
    FROM calls WHERE tool IS NOT NULL AND input_chars IS NOT NULL {bounds} GROUP BY call_id
"""
_TOOL_QUERY = """
    SELECT tool, count(*), count(*) FILTER (failed), count(*) FILTER (failed IS NULL),
        coalesce(sum(input_chars), 0)::BIGINT, coalesce(sum(result_chars), 0)::BIGINT,
        quantile_cont(duration_ms, 0.5), quantile_cont(duration_ms, 0.95), max(duration_ms),
        coalesce(sum(duration_ms), 0)::BIGINT
    FROM ({calls}) GROUP BY tool ORDER BY 2 DESC, 1
"""
_VERSION_QUERY = """
    SELECT version, count(*) FILTER (is_session), epoch_us(min(started)), epoch_us(max(ended)), sum(broken)::BIGINT,
        count(*) FILTER (unknown <> '{}')
    FROM session_rows WHERE version IS NOT NULL GROUP BY 1
    ORDER BY list_transform(string_split(version, '.'), lambda part: try_cast(part AS INTEGER)) DESC, 1 DESC LIMIT ?
"""
_UNKNOWN_QUERY = """
    SELECT version, name, sum(times)::BIGINT FROM (
        SELECT version, unnest(map_keys(found)) AS name, unnest(map_values(found)) AS times
        FROM (SELECT version, from_json(unknown, '"MAP(VARCHAR, BIGINT)"') AS found FROM session_rows
            WHERE unknown IS NOT NULL AND unknown <> '{}')
    ) GROUP BY 1, 2 ORDER BY 3 DESC, 2 LIMIT ?
"""


class GroupUsage(NamedTuple):
    """The usage of one team, person, project, model or month."""

    name: str | None
    sessions: int | None
    """The sessions that started in the period; None for a model."""
    people: int | None
    sum: UsageSum


class ToolSummary(NamedTuple):
    """The calls to one tool, each call once."""

    tool: str
    calls: int
    failed: int
    unanswered: int
    input_chars: int
    result_chars: int
    median_ms: float | None
    """From a call's line to its result, including any wait for permission."""
    p95_ms: float | None
    max_ms: int | None
    total_ms: int


class MonthlyAdoption(NamedTuple):
    """How much was started in one month."""

    month: str | None
    people: int
    sessions: int
    prompts: int
    turns: int


class VersionSummary(NamedTuple):
    """The sessions that one version of the client wrote last."""

    version: str
    sessions: int
    first: str | None
    last: str | None
    broken: int
    """Lines that are not entries."""
    with_unknown: int
    """Files that contain something that turnlog does not recognise."""


class UnknownSummary(NamedTuple):
    """Something that the format registry of turnlog doesn't contain."""

    version: str | None
    name: str
    times: int


class LakeReport(NamedTuple):
    """Everything that `turnlog fleet report` shows."""

    snapshot: int
    created: str
    sessions: int
    people: int
    files: int
    deleted_files: int
    failed_files: int
    total: UsageSum
    usage: dict[str, list[GroupUsage]]
    """By the names in USAGE_GROUPS."""
    tools: list[ToolSummary]
    adoption: list[MonthlyAdoption]
    versions: list[VersionSummary]
    unknown: list[UnknownSummary]


def build_lake_report(
    lake: Lake, since: int | None = None, until: int | None = None, max_rows: int | None = 20
) -> LakeReport:
    """Build the report; `since` and `until` are times in seconds since 1970, and `until` is excluded."""
    spend = LakeSpend(lake, since, until)
    bounds = build_time_bounds("started", since, until)
    sums = {kind: spend.sum_usage_by(kind) for kind in USAGE_GROUPS}
    usage = {
        kind: _list_group_usage(kind, sums[kind], None if kind == "model" else _count_sessions(lake, kind, bounds))
        for kind in USAGE_GROUPS
    }
    files, deleted, failed = lake.execute(
        "SELECT count(*), count(*) FILTER (status = 'deleted'), count(*) FILTER (status = 'failed') FROM files"
    ).fetchone()
    sessions, people = lake.execute(
        f"SELECT count(*) FILTER (is_session), count(DISTINCT person) FROM session_rows WHERE true {bounds}"
    ).fetchone()
    tool_bounds = build_time_bounds("time", since, until)
    tools = lake.execute(_TOOL_QUERY.format(calls=_ONE_CALL.format(bounds=tool_bounds))).fetchall()
    return LakeReport(
        lake.snapshot.number,
        lake.snapshot.created,
        sessions,
        people,
        files,
        deleted,
        failed,
        add_usage_sums(sums["month"].values()),
        {kind: _cut_rows(kind, rows, max_rows) for kind, rows in usage.items()},
        [ToolSummary(*row) for row in tools[:max_rows]],
        list(_iter_adoption(lake, bounds)),
        [*_iter_versions(lake, max_rows or _MAX_VERSIONS)],
        [UnknownSummary(*row) for row in lake.execute(_UNKNOWN_QUERY, [max_rows or _MAX_VERSIONS]).fetchall()],
    )


def build_time_bounds(column: str, since: int | None, until: int | None) -> str:
    """Build conditions that limit a time column."""
    first = f" AND {column} >= to_timestamp({since})" if since is not None else ""
    return first + (f" AND {column} < to_timestamp({until})" if until is not None else "")


class _SessionCount(NamedTuple):
    sessions: int
    people: int


def _count_sessions(lake: Lake, kind: str, bounds: str) -> dict[Any, _SessionCount]:
    what = "strftime(make_timestamp(epoch_us(started)), '%Y-%m')" if kind == "month" else kind
    rows = lake.execute(_SESSION_QUERY.format(what=what, bounds=bounds)).fetchall()
    return {name: _SessionCount(sessions, people) for name, sessions, people, *_ in rows}


def _iter_adoption(lake: Lake, bounds: str) -> Iterator[MonthlyAdoption]:
    query = (
        _SESSION_QUERY.format(what="strftime(make_timestamp(epoch_us(started)), '%Y-%m')", bounds=bounds)
        + " ORDER BY 1"
    )
    for month, sessions, people, prompts, turns in lake.execute(query).fetchall():
        if sessions:
            yield MonthlyAdoption(month, people, sessions, int(prompts or 0), int(turns or 0))


def _iter_versions(lake: Lake, max_rows: int) -> Iterator[VersionSummary]:
    for version, sessions, first, last, broken, unknown in lake.execute(_VERSION_QUERY, [max_rows]).fetchall():
        times = (format_lake_time(first) or None, format_lake_time(last) or None)
        yield VersionSummary(version, sessions, *times, broken or 0, unknown)


def _list_group_usage(
    kind: str, sums: dict[str | None, UsageSum], counts: dict[Any, _SessionCount] | None
) -> list[GroupUsage]:
    names = dict.fromkeys([*sums, *(counts or ())])
    nobody = _SessionCount(0, 0)
    rows = []
    for name in names:
        sessions, people = (None, None) if counts is None else counts.get(name, nobody)
        rows.append(GroupUsage(name, sessions, people, sums.get(name, UsageSum())))
    if kind == "month":
        return sorted(rows, key=lambda row: row.name or "")
    rows.sort(key=lambda row: (-row.sum.cost, -row.sum.tokens, row.name or ""))
    return [row for row in rows if row.sum.messages or row.sessions]


def _cut_rows(kind: str, rows: list[GroupUsage], max_rows: int | None) -> list[GroupUsage]:
    """Keep the largest groups, or the newest months."""
    if max_rows is None:
        return rows
    return rows[-max_rows:] if kind == "month" else rows[:max_rows]
