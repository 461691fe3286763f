"""Panels about usage over time: cost, tokens, cache share, hours of the week and five-hour blocks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date, timedelta
from typing import Any

from turnlog.store.usage.groupings import GROUPINGS
from turnlog.web import amounts
from turnlog.web.charts.column_chart import ChartColumn, render_column_chart
from turnlog.web.charts.heat_map import DAY_NAMES, render_heat_map
from turnlog.web.charts.line_chart import LinePoint, render_line_chart
from turnlog.web.insights.panels import Panel, PanelCell, PanelHead, PanelTable, build_search_address, build_text_cells

UsageRow = Mapping[str, Any]
_TOKEN_FIELDS = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens", "output_tokens")
_TOKEN_LABELS = ("input", "cache write", "cache read", "output")
_MAX_PERIODS = 800


def build_time_panel(document: UsageRow) -> Panel:
    """Show cost and tokens by day, week or month."""
    kind = document["kind"]
    (name,) = GROUPINGS[kind].keys
    rows = _fill_gaps(document["rows"], kind)
    cost = [
        ChartColumn(
            _format_period_label(row[name], kind, rows),
            (row["cost_usd"],),
            _describe_period(row, name),
            _build_period_address(row[name], kind),
        )
        for row in rows
    ]
    tokens = [
        ChartColumn(
            _format_period_label(row[name], kind, rows),
            tuple(row[key] for key in _TOKEN_FIELDS),
            _describe_period(row, name),
            _build_period_address(row[name], kind),
        )
        for row in rows
    ]
    charts = (
        (
            f"Cost by {name}",
            render_column_chart(f"Cost by {name}", ("cost",), cost, _format_axis_dollars, _describe_range(rows, name)),
        ),
        (
            f"Tokens by {name}",
            render_column_chart(
                f"Tokens by {name}", _TOKEN_LABELS, tokens, amounts.format_axis_number, _describe_range(rows, name)
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
        [
            _build_sum_cells(row, PanelCell(row[name] or "no date", _build_period_address(row[name], kind)))
            for row in reversed(document["rows"])
        ],
        _build_sum_cells(document["total"], PanelCell("Total")),
    )
    return Panel("time", "Over time", table, charts, document["definition"], is_folded=True, is_wide=True)


def build_cache_panel(document: UsageRow) -> Panel:
    """Show how much of the input came from the cache and what that saved."""
    kind = document["kind"]
    (name,) = GROUPINGS[kind].keys
    rows = _fill_gaps(document["rows"], kind)
    points = [
        LinePoint(
            _format_period_label(row[name], kind, rows),
            share,
            f"{row[name]}: {amounts.format_share(row[_TOKEN_FIELDS[2]], _count_input_tokens(row))} of the input "
            f"from the cache,"
            f" {amounts.format_usd(row['cache_saved_usd'])} saved",
            _build_period_address(row[name], kind),
        )
        if (share := _compute_cache_share(row)) is not None
        else LinePoint(_format_period_label(row[name], kind, rows), None, f"{row[name]}: no usage")
        for row in rows
    ]
    chart = render_line_chart(
        "Share of the input from the cache", points, "{:.0%}".format, _describe_range(rows, name), highest=1.0
    )
    heads = [
        PanelHead(name.capitalize(), is_number=False),
        PanelHead("From the cache"),
        PanelHead("Saved"),
        PanelHead("Cache read"),
    ]
    heads += [PanelHead("Cache write"), PanelHead("Input")]
    cells = [
        _build_cache_cells(row, PanelCell(row[name] or "no date", _build_period_address(row[name], kind)))
        for row in reversed(document["rows"])
    ]
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


def build_hours_panel(counts: Sequence[Sequence[int]], time_zone: str) -> Panel:
    """Show the hours of work by day of the week."""
    chart = render_heat_map("Messages by day of the week and hour", counts, _describe_hour)
    heads = [PanelHead("Hour", is_number=False), *(PanelHead(day) for day in DAY_NAMES)]
    rows = [build_text_cells([f"{hour:02}:00", *(f"{counts[day][hour]:,}" for day in range(7))]) for hour in range(24)]
    definition = f"Each message counts once, in the hour in which it ended ({time_zone})."
    charts = (("Messages by hour of the week", chart),)
    return Panel("hours", "Hours", PanelTable(heads, rows), charts, definition, is_folded=True)


def build_blocks_panel(document: UsageRow) -> Panel:
    """Show five-hour blocks and the pace of the open block."""
    rows = document["rows"]
    columns = [
        ChartColumn(_format_block_start(row)[:10], (row["cost_usd"],), _describe_block(row), _build_block_address(row))
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
            PanelCell(_format_block_start(row) + (" (open)" if row["open"] else ""), _build_block_address(row)),
            PanelCell(amounts.format_usd(row["cost_usd"])),
            PanelCell(amounts.format_short_number(_count_all_tokens(row)), title=f"{_count_all_tokens(row):,}"),
            PanelCell(f"{row['messages']:,}"),
            PanelCell(amounts.format_usd(_compute_hourly_cost(row))),
        ]
        for row in reversed(rows)
    ]
    current = next((row for row in rows if row["open"] and row["pace"]), None)
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


def _compute_hourly_cost(row: UsageRow) -> float:
    first, last = amounts.parse_seconds(row["first"]), amounts.parse_seconds(row["last"])
    seconds = max((last or 0) - (first or 0), 60)
    return float(row["cost_usd"] / seconds * 3600)


# -- labels and addresses


def _describe_period(row: UsageRow, name: str) -> str:
    return (
        f"{row[name]}: {amounts.format_usd(row['cost_usd'])}, "
        f"{amounts.format_short_number(_count_all_tokens(row))} tokens,"
        f" {amounts.format_count(row['messages'], 'message')}"
    )


def _describe_range(rows: Sequence[UsageRow], name: str) -> str:
    return f"From {rows[0][name]} to {rows[-1][name]}" if rows else "No usage"


def _describe_hour(day: int, hour: int, value: int) -> str:
    return f"{DAY_NAMES[day]} {hour:02}:00: {amounts.format_count(value, 'message')}"


def _format_block_start(row: UsageRow) -> str:
    return amounts.format_local_time(amounts.parse_seconds(row["start"]))


def _describe_block(row: UsageRow) -> str:
    return (
        f"{_format_block_start(row)}: {amounts.format_usd(row['cost_usd'])}, "
        f"{amounts.format_short_number(_count_all_tokens(row))} tokens"
    )


def _build_block_address(row: UsageRow) -> str:
    return build_search_address(
        ("after", row["start"][:19] + "Z"), ("before", row["end"][:19] + "Z"), ("kind", "prompt")
    )


def _describe_pace(row: UsageRow) -> str:
    pace = row["pace"]
    return (
        f"Open now, {pace['minutes_left']} min left: {amounts.format_short_number(pace['tokens_per_minute'])} "
        f"tokens a minute,"
        f" {amounts.format_usd(pace['usd_per_hour'])} an hour; at this pace it ends at"
        f" {amounts.format_usd(pace['projected_usd'])} and "
        f"{amounts.format_short_number(pace['projected_tokens'])} tokens."
    )


def _build_period_address(period: str | None, kind: str) -> str | None:
    if period is None:
        return None
    first = _to_first_day(period)
    days = {"daily": 1, "weekly": 7}.get(kind, 32)
    last = first + timedelta(days=days)
    if kind == "monthly":
        last = last.replace(day=1)
    return build_search_address(("after", first.isoformat()), ("before", last.isoformat()), ("kind", "prompt"))


def _format_period_label(period: str | None, kind: str, rows: Sequence[UsageRow] = ()) -> str:
    """Return a label for the axis, with the year if the rows are from more than one year."""
    if period is None:
        return "?"
    (name,) = GROUPINGS[kind].keys
    years = {str(row[name])[:4] for row in (*rows[:1], *rows[-1:])}
    form = "%b %Y" if kind == "monthly" else "%d %b %Y" if len(years) > 1 else "%d %b"
    return _to_first_day(period).strftime(form).lstrip("0")


def _to_first_day(period: str) -> date:
    return date.fromisoformat(period if len(period) > 7 else f"{period}-01")


def _fill_gaps(rows: Sequence[UsageRow], kind: str) -> list[UsageRow]:
    """Add empty rows for periods without usage, and drop the row without a date."""
    (name,) = GROUPINGS[kind].keys
    known = {row[name]: row for row in rows if row[name] is not None}
    if not known:
        return []
    day, last = _to_first_day(min(known)), _to_first_day(max(known))
    empty = dict.fromkeys((*_TOKEN_FIELDS, "cost_usd", "cache_saved_usd", "messages"), 0)
    filled: list[UsageRow] = []
    while day <= last and len(filled) < _MAX_PERIODS:
        text = day.isoformat()[:7] if kind == "monthly" else day.isoformat()
        filled.append(known.get(text) or {name: text, **empty})
        day = _find_next_period(day, kind)
    return filled if day > last else list(known.values())


def _find_next_period(day: date, kind: str) -> date:
    if kind == "monthly":
        return date(day.year + day.month // 12, day.month % 12 + 1, 1)
    return day + timedelta(days=1 if kind == "daily" else 7)


def choose_period(first: float | None, last: float | None) -> str:
    """Choose days for up to 100 days, weeks for up to 900, and months beyond that."""
    days = ((last or 0) - (first or 0)) / 86400
    return "daily" if days <= 100 else "weekly" if days <= 900 else "monthly"
