"""What usage is added up by: one row of `GROUPINGS` for each kind of report.

The command's choices, the reports, the table, the CSV, the JSON document, the pages and the sentence that says what is
counted all derive from it. A new kind of report is one row here and its keys in docs/json.md.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import groupby
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from turnlog.errors import UsageError
from turnlog.store.usage.time_zones import ClockStretch, TimeZone, format_day
from turnlog.store.usage.tool_usage import list_tool_usage
from turnlog.store.usage.usage_blocks import report_blocks, to_block_document
from turnlog.store.usage.usage_reports import (
    UsageReport,
    UsageReportRow,
    UsageRequest,
    build_day_expression,
    build_usage_scope,
    count_report_sessions,
)
from turnlog.store.usage.usage_sums import (
    SpendFilter,
    UsageSum,
    add_usage_sums,
    sum_spend,
    sum_spend_by,
    sum_whole_sessions,
)

if TYPE_CHECKING:
    import apsw

BuildReport: TypeAlias = "Callable[[apsw.Connection, UsageRequest], UsageReport]"
ListRows: TypeAlias = "Callable[[apsw.Connection, SpendFilter, list[ClockStretch]], list[UsageReportRow]]"
_ID_CHARS = 8


class GroupingColumn(NamedTuple):
    """A column of the table that names the rows."""

    head: str
    get_text: Callable[[UsageReportRow, TimeZone], str]
    """The cell; the table cuts it and makes it fit for a terminal."""
    min_cells: int | None = None
    """How far a terminal that is too narrow may cut it; None: not at all."""
    is_number: bool = False


class UsageGrouping(NamedTuple):
    """A kind of report."""

    build_report: BuildReport
    keys: tuple[str, ...]
    """The labels of a row under which CSV and JSON name it."""
    columns: tuple[GroupingColumn, ...]
    """How the table names a row."""
    definition: str = ""
    """Where a message counts, in words; `{zone}` stands for the time zone."""
    counts_calls: bool = False
    """Whether it is calls of tools that count, and not messages."""
    to_document: Callable[[dict[str, Any]], dict[str, Any]] = dict
    """The labels of a row as JSON."""


def find_grouping(kind: str) -> UsageGrouping:
    """The grouping of a name; raises UsageError for a name that there is not."""
    if kind not in GROUPINGS:
        raise UsageError(f"there is no report {kind}; there are {', '.join(GROUPINGS)}")
    return GROUPINGS[kind]


def build_usage_report(db: apsw.Connection, request: UsageRequest) -> UsageReport:
    """Build the report that was asked for."""
    return find_grouping(request.kind).build_report(db, request)


def build_row_report(list_rows: ListRows, *, is_by_day: bool = False) -> BuildReport:
    """A report whose rows a function lists, and whose total is their sum."""

    def build_report(db: apsw.Connection, request: UsageRequest) -> UsageReport:
        wanted, stretches = build_usage_scope(db, request, is_by_day=is_by_day)
        rows = list_rows(db, wanted, stretches)
        return UsageReport(rows, add_usage_sums(row.sum for row in rows), *count_report_sessions(db, wanted))

    return build_report


def build_label_column(key: str, head: str = "", min_cells: int | None = None) -> GroupingColumn:
    """A column that shows one label as it is."""
    return GroupingColumn(head or key, lambda row, _: str(row.labels[key] or "(unknown)"), min_cells)


# -- periods


def _sum_by_day(
    db: apsw.Connection, wanted: SpendFilter, stretches: list[ClockStretch]
) -> list[tuple[int | None, UsageSum]]:
    """Sums by day, in days since 1970; None for what has no known time, at the end."""
    found = list(sum_spend_by(db, wanted, f"CASE WHEN hour >= 0 THEN {build_day_expression(stretches)} END"))
    return sorted(found, key=lambda pair: (pair[0] is None, pair[0]))


def _build_period_grouping(key: str, head: str, definition: str, name_day: Callable[[int], str]) -> UsageGrouping:
    """Messages by a period that a day belongs to."""

    def list_rows(db: apsw.Connection, wanted: SpendFilter, stretches: list[ClockStretch]) -> list[UsageReportRow]:
        days = _sum_by_day(db, wanted, stretches)
        periods = groupby(days, key=lambda pair: None if pair[0] is None else name_day(pair[0]))
        return [UsageReportRow({key: period}, add_usage_sums(found for _, found in pairs)) for period, pairs in periods]

    report = build_row_report(list_rows, is_by_day=True)
    return UsageGrouping(report, (key,), (build_label_column(key, head),), definition)


# -- sessions, projects, models


def _list_session_rows(db: apsw.Connection, wanted: SpendFilter, _: list[ClockStretch]) -> list[UsageReportRow]:
    known, whole = _load_session_labels(db), sum_whole_sessions(db)
    rows = [
        UsageReportRow(dict(zip(_SESSION_LABELS, known[session], strict=True)), found, whole[session])
        for session, found in sum_spend_by(db, wanted, "session")
    ]
    return _sort_by_cost(rows)


_SESSION_LABELS = ("session_id", "project", "title", "gone")


def _load_session_labels(db: apsw.Connection) -> dict[int, tuple[str, str | None, str | None, bool]]:
    """The id, project and title of each session, and whether its file is gone; a folder's name if no entry has it."""
    rows = db.execute(
        "SELECT session.id, uuid, coalesce(cwd, name.text), file.title,"
        " coalesce(gone IS NOT NULL, 0) FROM session JOIN name ON name.id = project"
        " LEFT JOIN file ON file.session = session.id AND file.kind = 'session'"
    )
    return {number: (uuid, place, title, bool(gone)) for number, uuid, place, title, gone in rows}


def _format_last_day(row: UsageReportRow, zone: TimeZone) -> str:
    return zone.format_time(row.sum.last)[:10] if row.sum.last else ""


def _format_title(row: UsageReportRow, _: TimeZone) -> str:
    return ("(gone) " if row.labels["gone"] else "") + (row.labels["title"] or "(no title)")


def _list_project_rows(db: apsw.Connection, wanted: SpendFilter, _: list[ClockStretch]) -> list[UsageReportRow]:
    known = _load_session_labels(db)
    sums: dict[str | None, list[UsageSum]] = {}
    for session, found in sum_spend_by(db, wanted, "session"):
        sums.setdefault(known[session][1], []).append(found)
    return _sort_by_cost(
        [
            UsageReportRow({"project": place, "sessions": len(found)}, add_usage_sums(found))
            for place, found in sums.items()
        ]
    )


def _list_model_rows(db: apsw.Connection, wanted: SpendFilter, _: list[ClockStretch]) -> list[UsageReportRow]:
    names: dict[int | None, str] = dict(db.execute("SELECT id, text FROM name WHERE kind = 'model'"))
    return _sort_by_cost(
        [UsageReportRow({"model": names.get(model)}, found) for model, found in sum_spend_by(db, wanted, "model")]
    )


def _sort_by_cost(rows: list[UsageReportRow]) -> list[UsageReportRow]:
    return sorted(rows, key=lambda row: (-row.sum.cost, -row.sum.tokens, str(row.labels)))


# -- tools and blocks


def _report_tools(db: apsw.Connection, request: UsageRequest) -> UsageReport:
    wanted, _ = build_usage_scope(db, request)
    counts = count_report_sessions(db, wanted)
    return UsageReport([], sum_spend(db, wanted), *counts, tools=list_tool_usage(db, request))


def _format_block_end(row: UsageReportRow, zone: TimeZone) -> str:
    clock = zone.format_time(row.labels["end"])[11:]
    return f"{clock} open" if row.labels["open"] else clock


GROUPINGS: dict[str, UsageGrouping] = {
    "daily": _build_period_grouping("day", "day", ", on the day on which it ended ({zone})", format_day),
    "weekly": _build_period_grouping(
        "week",
        "week from",
        ", in the week (from Monday) in which it ended ({zone})",
        lambda day: format_day((day + 3) // 7 * 7 - 3),  # the first of January 1970 was a Thursday
    ),
    "monthly": _build_period_grouping(
        "month", "month", ", in the month in which it ended ({zone})", lambda day: format_day(day)[:7]
    ),
    "session": UsageGrouping(
        build_row_report(_list_session_rows),
        _SESSION_LABELS,
        (
            GroupingColumn("session", lambda row, _: str(row.labels["session_id"] or "(unknown)")[:_ID_CHARS]),
            GroupingColumn("last", _format_last_day),
            GroupingColumn("title", _format_title, min_cells=16),
        ),
        ", in the session that has it first",
    ),
    "project": UsageGrouping(
        build_row_report(_list_project_rows),
        ("project", "sessions"),
        (
            build_label_column("project", min_cells=16),
            GroupingColumn("sessions", lambda row, _: f"{row.labels['sessions']:,}", is_number=True),
        ),
        ", in the project of the session that has it first",
    ),
    "model": UsageGrouping(
        build_row_report(_list_model_rows), ("model",), (build_label_column("model", min_cells=12),)
    ),
    "tool": UsageGrouping(_report_tools, ("tool",), (build_label_column("tool", min_cells=16),), counts_calls=True),
    "blocks": UsageGrouping(
        report_blocks,
        ("start", "end", "open"),
        (
            GroupingColumn("start", lambda row, zone: zone.format_time(row.labels["start"])),
            GroupingColumn("end", _format_block_end),
        ),
        "; a block begins at the full hour of its first message and lasts five hours",
        to_document=to_block_document,
    ),
}
"""The kinds of reports by their names, in the order in which help texts list them."""
