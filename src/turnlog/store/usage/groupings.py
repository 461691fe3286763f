"""What usage can be grouped by: one row in `GROUPINGS` for each kind of report.

The command's choices, the reports, the table, the CSV, the JSON document, the pages and the sentence that describes
what is counted are all derived from these rows. A new kind of report requires one row here and its keys in
docs/json.md.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import groupby
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from turnlog.errors import UsageError
from turnlog.store.project_folders import load_session_folders
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
    """A column of the table that identifies the rows."""

    head: str
    get_text: Callable[[UsageReportRow, TimeZone], str]
    """Returns the text of the cell; the table truncates it and makes it safe for a terminal."""
    min_cells: int | None = None
    """The minimum width of the cell in a narrow terminal; None if it must not be cut."""
    is_number: bool = False


class UsageGrouping(NamedTuple):
    build_report: BuildReport
    keys: tuple[str, ...]
    """The labels of a row that CSV and JSON contain."""
    columns: tuple[GroupingColumn, ...]
    """The columns of the table that identify a row."""
    definition: str = ""
    """Which row a message is counted in, as part of a sentence; `{zone}` is replaced with the time zone."""
    counts_calls: bool = False
    """Whether the report counts tool calls instead of messages."""
    to_document: Callable[[dict[str, Any]], dict[str, Any]] = dict
    """Converts the labels of a row for JSON."""


def find_grouping(kind: str) -> UsageGrouping:
    """Return the grouping with this name; raise `UsageError` for an unknown name."""
    if kind not in GROUPINGS:
        raise UsageError(f"unknown report {kind!r}; choose one of {', '.join(GROUPINGS)}")
    return GROUPINGS[kind]


def build_usage_report(db: apsw.Connection, request: UsageRequest) -> UsageReport:
    return find_grouping(request.kind).build_report(db, request)


def build_row_report(list_rows: ListRows, *, is_by_day: bool = False) -> BuildReport:
    """Return a report builder that gets its rows from a function and sums them for the total."""

    def build_report(db: apsw.Connection, request: UsageRequest) -> UsageReport:
        wanted, stretches = build_usage_scope(db, request, is_by_day=is_by_day)
        rows = list_rows(db, wanted, stretches)
        return UsageReport(rows, add_usage_sums(row.sum for row in rows), *count_report_sessions(db, wanted))

    return build_report


def build_label_column(key: str, head: str = "", min_cells: int | None = None) -> GroupingColumn:
    """Return a column that shows one label unchanged."""
    return GroupingColumn(head or key, lambda row, _: str(row.labels[key] or "(unknown)"), min_cells)


# -- periods


def _sum_by_day(
    db: apsw.Connection, wanted: SpendFilter, stretches: list[ClockStretch]
) -> list[tuple[int | None, UsageSum]]:
    """Sum usage by day, in days since 1970; None, for messages whose time is unknown, comes last."""
    sums = list(sum_spend_by(db, wanted, f"CASE WHEN hour >= 0 THEN {build_day_expression(stretches)} END"))
    return sorted(sums, key=lambda pair: (pair[0] is None, pair[0]))


def _build_period_grouping(key: str, head: str, definition: str, name_day: Callable[[int], str]) -> UsageGrouping:
    """Group messages by the period that their day belongs to."""

    def list_rows(db: apsw.Connection, wanted: SpendFilter, stretches: list[ClockStretch]) -> list[UsageReportRow]:
        days = _sum_by_day(db, wanted, stretches)
        periods = groupby(days, key=lambda pair: None if pair[0] is None else name_day(pair[0]))
        return [UsageReportRow({key: period}, add_usage_sums(usage for _, usage in pairs)) for period, pairs in periods]

    report = build_row_report(list_rows, is_by_day=True)
    return UsageGrouping(report, (key,), (build_label_column(key, head),), definition)


# -- sessions, projects, models


def _list_session_rows(db: apsw.Connection, wanted: SpendFilter, _: list[ClockStretch]) -> list[UsageReportRow]:
    labels, whole = _load_session_labels(db), sum_whole_sessions(db)
    rows = [
        UsageReportRow(dict(zip(_SESSION_LABELS, labels[session], strict=True)), usage, whole[session])
        for session, usage in sum_spend_by(db, wanted, "session")
    ]
    return _sort_by_cost(rows)


_SESSION_LABELS = ("session_id", "project", "title", "gone")


def _load_session_labels(db: apsw.Connection) -> dict[int, tuple[str, str | None, str | None, bool]]:
    """Return the id, project (or its folder's name) and title of each session, and whether its file was deleted."""
    folders = load_session_folders(db)
    rows = db.execute(
        "SELECT session.id, uuid, file.title, coalesce(gone IS NOT NULL, 0) FROM session"
        " LEFT JOIN file ON file.session = session.id AND file.kind = 'session'"
    )
    return {number: (uuid, folders[number], title, bool(gone)) for number, uuid, title, gone in rows}


def _format_last_day(row: UsageReportRow, zone: TimeZone) -> str:
    return zone.format_time(row.sum.last)[:10] if row.sum.last else ""


def _format_title(row: UsageReportRow, _: TimeZone) -> str:
    return ("(gone) " if row.labels["gone"] else "") + (row.labels["title"] or "(no title)")


def _list_project_rows(db: apsw.Connection, wanted: SpendFilter, _: list[ClockStretch]) -> list[UsageReportRow]:
    labels = _load_session_labels(db)
    sums: dict[str | None, list[UsageSum]] = {}
    for session, usage in sum_spend_by(db, wanted, "session"):
        sums.setdefault(labels[session][1], []).append(usage)
    return _sort_by_cost(
        [
            UsageReportRow({"project": place, "sessions": len(members)}, add_usage_sums(members))
            for place, members in sums.items()
        ]
    )


def _list_model_rows(db: apsw.Connection, wanted: SpendFilter, _: list[ClockStretch]) -> list[UsageReportRow]:
    names: dict[int | None, str] = dict(db.execute("SELECT id, text FROM name WHERE kind = 'model'"))
    return _sort_by_cost(
        [UsageReportRow({"model": names.get(model)}, usage) for model, usage in sum_spend_by(db, wanted, "model")]
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
"""The kinds of reports by name, in the order of the help texts."""
