"""The panel that compares tools: how often calls succeed and how long they take."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from turnlog.session.tallies import ToolTally
from turnlog.web import amounts
from turnlog.web.charts.column_chart import ChartColumn, ColumnPart, render_column_chart
from turnlog.web.charts.meter import render_meter
from turnlog.web.insights.panels import Panel, PanelCell, PanelHead, PanelTable
from turnlog.web.slices.slice_address import SliceAddress

_MAX_ROWS = 20
_MAX_COLUMNS = 8
_MAX_LABEL_CHARS = 12
_OUTCOMES = ("succeeded", "failed", "unanswered")
_DEFINITION = (
    "Each call counts once, sub-agents included. Failed: the result is an error; denied and interrupted calls count."
    " Durations: from a call's line to its result, waiting for permission included; median, and the duration that 95 %"
    " of the calls do not exceed. Tools that wait for a person's answer have none in the chart."
)


def build_tools_panel(document: Mapping[str, Any], times: Mapping[str, list[float]], links: SliceAddress) -> Panel:
    """Compare the tools with the most calls; `times` has the durations of each tool's calls in milliseconds."""
    ordered = sorted(document["rows"], key=lambda row: (-row["calls"], row["tool"]))
    rows = ordered[:_MAX_ROWS]
    tallies = {row["tool"]: ToolTally(row["tool"], times=times.get(row["tool"], [])) for row in ordered}
    charts = (
        ("Calls by tool", _render_calls(rows[:_MAX_COLUMNS], links)),
        ("Duration by tool in seconds", _render_durations(rows, tallies, links)),
    )
    heads = [
        PanelHead("Tool", is_number=False),
        PanelHead("", kind="bar"),
        PanelHead("Calls"),
        PanelHead("Failed"),
        PanelHead("Succeeded"),
        PanelHead("Median"),
        PanelHead("95 %"),
        PanelHead("In all"),
    ]
    cells = [_build_row(row, tallies[row["tool"]], links) for row in rows]
    table = PanelTable(heads, cells, _build_total(document["total"]["calls"], tallies), len(ordered) - len(rows))
    return Panel("tools", "Success and duration by tool", table, charts, _DEFINITION, is_wide=True, empty="No calls.")


def _count_by_outcome(row: Mapping[str, Any]) -> tuple[int, int, int]:
    return row["calls"] - row["failed"] - row["unanswered"], row["failed"], row["unanswered"]


def _render_calls(rows: Sequence[Mapping[str, Any]], links: SliceAddress) -> Any:
    columns = []
    for row in rows:
        succeeded, failed, unanswered = counts = _count_by_outcome(row)
        words = f"{row['tool']}: {succeeded:,} succeeded, {failed:,} failed, {unanswered:,} unanswered"
        href, failures = links.build(by_tool=row["tool"]), links.build(by_tool=row["tool"], outcome="failed")
        parts = ColumnPart(words, href), ColumnPart(words, failures), ColumnPart(words, href)
        columns.append(ChartColumn(_shorten_name(row["tool"]), counts, words, href, parts))
    return render_column_chart("Calls by tool", _OUTCOMES, columns, amounts.format_axis_number, has_all_labels=True)


def _render_durations(rows: Sequence[Mapping[str, Any]], tallies: Mapping[str, ToolTally], links: SliceAddress) -> Any:
    columns = []
    for row in rows:
        tally = tallies[row["tool"]]
        if tally.median is None or tally.p95 is None or tally.waits_for_person:
            continue
        median, high = tally.median / 1000, tally.p95 / 1000
        words = f"{row['tool']}: median {_format_duration(tally.median)}, 95 % within {_format_duration(tally.p95)}"
        href = links.build(by_tool=row["tool"])
        columns.append(ChartColumn(_shorten_name(row["tool"]), (median, high - median), words, href))
    series = ("median", "up to 95 %")
    return render_column_chart(
        "Duration by tool", series, columns[:_MAX_COLUMNS], lambda value: f"{value:g} s", has_all_labels=True
    )


def _shorten_name(tool: str) -> str:
    """Return a name that fits below a column: of an MCP tool, the part after its server."""
    name = tool.rpartition("__")[2] or tool
    return name if len(name) <= _MAX_LABEL_CHARS else f"{name[: _MAX_LABEL_CHARS - 1]}…"


def _build_row(row: Mapping[str, Any], tally: ToolTally, links: SliceAddress) -> list[PanelCell]:
    tool, every = row["tool"], links.build(by_tool=row["tool"])
    failed = links.build(by_tool=tool, outcome="failed") if row["failed"] else None
    succeeded, *_ = counts = _count_by_outcome(row)
    return [
        PanelCell(tool, every, tool),
        PanelCell("", bar=render_meter(counts, row["calls"], "outcomes"), kind="bar"),
        PanelCell(f"{row['calls']:,}", every),
        PanelCell(f"{row['failed']:,}", failed),
        PanelCell(amounts.format_share(succeeded, row["calls"])),
        *_build_duration_cells(tally.median, tally.p95, sum(tally.times) if tally.times else None),
    ]


def _build_total(total: Mapping[str, Any], tallies: Mapping[str, ToolTally]) -> list[PanelCell]:
    times = [time for tally in tallies.values() for time in tally.times]
    every = ToolTally("", times=times)
    succeeded, *_ = _count_by_outcome(total)
    return [
        PanelCell("All tools"),
        PanelCell("", kind="bar"),
        PanelCell(f"{total['calls']:,}"),
        PanelCell(f"{total['failed']:,}"),
        PanelCell(amounts.format_share(succeeded, total["calls"])),
        *_build_duration_cells(every.median, every.p95, sum(times) if times else None),
    ]


def _build_duration_cells(*milliseconds: float | None) -> list[PanelCell]:
    return [PanelCell("–" if value is None else _format_duration(value)) for value in milliseconds]


def _format_duration(milliseconds: float) -> str:
    return f"{milliseconds:.0f} ms" if milliseconds < 999.5 else amounts.format_seconds(milliseconds / 1000)
