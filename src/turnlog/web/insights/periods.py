"""Panels about usage over time: cost, tokens, cache share, hours of the week and five-hour blocks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from turnlog.store.usage.groupings import GROUPINGS
from turnlog.store.usage.usage_blocks import MIN_PACE_MINUTES
from turnlog.store.usage.usage_slices import DAY_NAMES, WeekHour
from turnlog.web import amounts
from turnlog.web.charts.column_chart import ChartColumn, render_column_chart
from turnlog.web.charts.heat_map import render_heat_map
from turnlog.web.charts.line_chart import LinePoint, render_line_chart
from turnlog.web.insights.panels import Panel, PanelCell, PanelHead, PanelTable
from turnlog.web.insights.time_axis import TimeAxis, TimePeriod
from turnlog.web.slices.slice_address import SliceAddress

UsageRow = Mapping[str, Any]
_TOKEN_FIELDS = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens", "output_tokens")
_TOKEN_LABELS = ("input", "cache write", "cache read", "output")


class UsagePeriods(NamedTuple):
    """The periods of the charts over time, with their usage and where they lead."""

    axis: TimeAxis
    rows: list[tuple[TimePeriod, UsageRow]]
    """All periods, those without usage included."""
    by_label: Mapping[str, TimePeriod]
    links: SliceAddress

    def build_address(self, period: TimePeriod | None, row: UsageRow) -> str | None:
        """Return the address of the sessions behind a period; None if the time is unknown, or there are none."""
        if period is None or not row["messages"]:
            return None
        return self.links.build(since=period.first.isoformat(), until=period.last.isoformat())


def list_usage_periods(document: UsageRow, axis: TimeAxis, links: SliceAddress) -> UsagePeriods:
    """Add the periods without usage to the rows of a report, and leave out the row without a date."""
    (name,) = GROUPINGS[axis.kind].keys
    known = {row[name]: row for row in document["rows"] if row[name] is not None}
    empty = dict.fromkeys((*_TOKEN_FIELDS, "cost_usd", "cache_saved_usd", "messages"), 0)
    by_label = {
        start.isoformat()[:7] if axis.kind == "monthly" else start.isoformat(): period
        for start, period in axis.list_periods().items()
    }
    rows = [(period, known.get(label) or {name: label, **empty}) for label, period in by_label.items()]
    return UsagePeriods(axis, rows, by_label, links)


def build_time_panel(document: UsageRow, periods: UsagePeriods) -> Panel:
    """Show cost and tokens by day, week or month."""
    name = periods.axis.name
    cost = [
        ChartColumn(period.label, (row["cost_usd"],), _describe_period(row, period), periods.build_address(period, row))
        for period, row in periods.rows
    ]
    tokens = [
        column._replace(values=tuple(row[key] for key in _TOKEN_FIELDS))
        for column, (_, row) in zip(cost, periods.rows, strict=True)
    ]
    charts = (
        (
            f"Cost by {name}",
            render_column_chart(f"Cost by {name}", ("cost",), cost, _format_axis_dollars, periods.axis.words),
        ),
        (
            f"Tokens by {name}",
            render_column_chart(
                f"Tokens by {name}", _TOKEN_LABELS, tokens, amounts.format_axis_number, periods.axis.words
            ),
        ),
    )
    heads = [
        PanelHead(name.capitalize(), is_number=False),
        PanelHead("Cost"),
        PanelHead("Saved"),
        PanelHead("Messages"),
    ]
    heads += [PanelHead(text.capitalize()) for text in _TOKEN_LABELS]
    table = PanelTable(
        heads,
        [_build_sum_cells(row, _build_period_cell(row[name], row, periods)) for row in reversed(document["rows"])],
        _build_sum_cells(document["total"], PanelCell("Total")),
    )
    return Panel("time", "Over time", table, charts, document["definition"], is_folded=True, is_wide=True)


def _build_period_cell(label: str | None, row: UsageRow, periods: UsagePeriods) -> PanelCell:
    return PanelCell(label or "no date", periods.build_address(periods.by_label.get(label or ""), row))


def build_cache_panel(document: UsageRow, periods: UsagePeriods) -> Panel:
    """Show how much of the input came from the cache and what that saved."""
    name = periods.axis.name
    points = [_build_cache_point(period, row, periods) for period, row in periods.rows]
    chart = render_line_chart(
        "Share of the input from the cache", points, "{:.0%}".format, periods.axis.words, highest=1.0
    )
    heads = [
        PanelHead(name.capitalize(), is_number=False),
        PanelHead("From the cache"),
        PanelHead("Saved"),
        PanelHead("Cache read"),
    ]
    heads += [PanelHead("Cache write"), PanelHead("Input")]
    cells = [_build_cache_cells(row, _build_period_cell(row[name], row, periods)) for row in reversed(document["rows"])]
    total = document["total"]
    note = (
        f"{amounts.format_share(total[_TOKEN_FIELDS[2]], _count_input_tokens(total))} of all input came from the cache;"
        f" that saved {amounts.format_usd(total['cache_saved_usd'])} compared with uncached input."
    )
    definition = (
        "Share: tokens read from the cache, out of all tokens sent (input, cache read, cache write). "
        + document["definition"]
    )
    table = PanelTable(heads, cells, _build_cache_cells(total, PanelCell("Total")))
    charts = (("Share of the input from the cache", chart),)
    return Panel("cache", "Cache", table, charts, definition, note, is_folded=True)


def _build_cache_point(period: TimePeriod, row: UsageRow, periods: UsagePeriods) -> LinePoint:
    share = _compute_cache_share(row)
    if share is None:
        return LinePoint(period.label, None, f"{period.words}: no usage")
    part = amounts.format_share(row[_TOKEN_FIELDS[2]], _count_input_tokens(row))
    saved = amounts.format_usd(row["cache_saved_usd"])
    words = f"{period.words}: {part} of the input from the cache, {saved} saved"
    return LinePoint(period.label, share, words, periods.build_address(period, row))


def build_hours_panel(counts: Sequence[Sequence[int]], time_zone: str, links: SliceAddress) -> Panel:
    """Show the hours of work by day of the week."""

    def build_address(day: int, hour: int) -> str | None:
        return links.build(hour=str(WeekHour(day, hour))) if counts[day][hour] else None

    chart = render_heat_map("Messages by day of the week and hour", counts, _describe_hour, build_address)
    heads = [PanelHead("Hour", is_number=False), *(PanelHead(day) for day in DAY_NAMES)]
    rows = [
        [
            PanelCell(f"{hour:02}:00"),
            *(PanelCell(f"{counts[day][hour]:,}", build_address(day, hour)) for day in range(7)),
        ]
        for hour in range(24)
    ]
    definition = f"Each message counts once, in the hour in which it ended ({time_zone})."
    charts = (("Messages by hour of the week", chart),)
    return Panel("hours", "Hours", PanelTable(heads, rows), charts, definition, is_folded=True)


def build_blocks_panel(document: UsageRow, links: SliceAddress) -> Panel:
    """Show five-hour blocks and the pace of the open block."""
    rows = document["rows"]
    columns = [
        ChartColumn(
            _format_block_start(row)[:10], (row["cost_usd"],), _describe_block(row), _build_block_address(row, links)
        )
        for row in rows
    ]
    heads = [
        PanelHead("Block", is_number=False),
        PanelHead("Cost"),
        PanelHead("Tokens"),
        PanelHead("Messages"),
        PanelHead("Per hour"),
    ]
    cells = [
        [
            PanelCell(_format_block_start(row) + (" (open)" if row["open"] else ""), _build_block_address(row, links)),
            PanelCell(amounts.format_usd(row["cost_usd"])),
            PanelCell(amounts.format_short_number(_count_all_tokens(row)), title=f"{_count_all_tokens(row):,}"),
            PanelCell(f"{row['messages']:,}"),
            PanelCell(_format_hourly_cost(row)),
        ]
        for row in reversed(rows)
    ]
    current = next((row for row in rows if row["open"]), None)
    note = _describe_pace(current) if current else "No block is open now."
    left = document["all_rows"] - len(rows)
    definition = (
        document["definition"] + " Per hour: cost divided by the time from a block's first message to its last."
    )
    chart = render_column_chart(
        "Cost of five-hour blocks", ("cost",), columns, _format_axis_dollars, f"{len(rows)} blocks"
    )
    charts = (("Cost of five-hour blocks", chart),)
    return Panel(
        "blocks", "Five-hour blocks", PanelTable(heads, cells, left=left), charts, definition, note, is_folded=True
    )


# -- amounts of a row


def _count_input_tokens(row: UsageRow) -> int:
    return int(sum(row[key] for key in _TOKEN_FIELDS[:3]))


def _count_all_tokens(row: UsageRow) -> int:
    return int(sum(row[key] for key in _TOKEN_FIELDS))


def _compute_cache_share(row: UsageRow) -> float | None:
    tokens = _count_input_tokens(row)
    return row[_TOKEN_FIELDS[2]] / tokens if tokens else None


def _format_axis_dollars(value: float) -> str:
    return f"${value:,.0f}" if value >= 10 or value == 0 else f"${value:,.2f}"


def _build_sum_cells(row: UsageRow, first: PanelCell) -> list[PanelCell]:
    money = [PanelCell(amounts.format_usd(row["cost_usd"])), PanelCell(amounts.format_usd(row["cache_saved_usd"]))]
    tokens = [PanelCell(amounts.format_short_number(row[key]), title=f"{row[key]:,}") for key in _TOKEN_FIELDS]
    return [first, *money, PanelCell(f"{row['messages']:,}"), *tokens]


def _build_cache_cells(row: UsageRow, first: PanelCell) -> list[PanelCell]:
    tokens = [
        PanelCell(amounts.format_short_number(row[key]), title=f"{row[key]:,}")
        for key in (_TOKEN_FIELDS[2], _TOKEN_FIELDS[1], _TOKEN_FIELDS[0])
    ]
    return [
        first,
        PanelCell(amounts.format_share(row[_TOKEN_FIELDS[2]], _count_input_tokens(row))),
        PanelCell(amounts.format_usd(row["cache_saved_usd"])),
        *tokens,
    ]


def _format_hourly_cost(row: UsageRow) -> str:
    first, last = amounts.parse_seconds(row["first"]), amounts.parse_seconds(row["last"])
    seconds = (last or 0) - (first or 0)
    return "?" if seconds < MIN_PACE_MINUTES * 60 else amounts.format_usd(row["cost_usd"] / seconds * 3600)


# -- labels and addresses


def _describe_period(row: UsageRow, period: TimePeriod) -> str:
    return (
        f"{period.words}: {amounts.format_usd(row['cost_usd'])}, "
        f"{amounts.format_short_number(_count_all_tokens(row))} tokens,"
        f" {amounts.format_count(row['messages'], 'message')}"
    )


def _describe_hour(day: int, hour: int, value: int) -> str:
    return f"{DAY_NAMES[day]} {hour:02}:00: {amounts.format_count(value, 'message')}"


def _format_block_start(row: UsageRow) -> str:
    return amounts.format_local_time(amounts.parse_seconds(row["start"]))


def _describe_block(row: UsageRow) -> str:
    return (
        f"{_format_block_start(row)}: {amounts.format_usd(row['cost_usd'])}, "
        f"{amounts.format_short_number(_count_all_tokens(row))} tokens"
    )


def _build_block_address(row: UsageRow, links: SliceAddress) -> str:
    # A block is listed if it starts on one of the days, and counts to its end.
    return links.build(since="", until="", block=row["start"][:13])


def _describe_pace(row: UsageRow) -> str:
    pace = row["pace"]
    if pace is None:
        return "Open now: too little so far to tell a pace."
    return (
        f"Open now, {pace['minutes_left']} min left: {amounts.format_short_number(pace['tokens_per_minute'])} "
        f"tokens a minute,"
        f" {amounts.format_usd(pace['usd_per_hour'])} an hour; at this pace it ends at"
        f" {amounts.format_usd(pace['projected_usd'])} and "
        f"{amounts.format_short_number(pace['projected_tokens'])} tokens."
    )
