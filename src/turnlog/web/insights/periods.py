"""Panels of what was used over time: cost, tokens, the share of the cache, the hours of the week, five-hour blocks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date, timedelta
from typing import Any

from turnlog.web import amounts
from turnlog.web.charts.columns import Column, columns
from turnlog.web.charts.heat import DAYS, heat
from turnlog.web.charts.lines import Point, line
from turnlog.web.insights.panels import Cell, Head, Panel, Table, searched, words

Row = Mapping[str, Any]
_NAMES = {"daily": "day", "weekly": "week", "monthly": "month"}
_KINDS = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens", "output_tokens")
_SERIES = ("input", "cache write", "cache read", "output")
_MOST_GAPS = 800


def over_time(document: Row) -> Panel:
    """Cost and tokens by day, week or month."""
    kind = document["kind"]
    name = _NAMES[kind]
    rows = _filled(document["rows"], kind)
    cost = [
        Column(_label(row[name], kind), (row["cost_usd"],), _said(row, name), _link(row[name], kind)) for row in rows
    ]
    tokens = [
        Column(_label(row[name], kind), tuple(row[key] for key in _KINDS), _said(row, name), _link(row[name], kind))
        for row in rows
    ]
    charts = (
        (f"Cost by {name}", columns(f"Cost by {name}", ("cost",), cost, _dollars, _range(rows, name))),
        (f"Tokens by {name}", columns(f"Tokens by {name}", _SERIES, tokens, amounts.rounded, _range(rows, name))),
    )
    heads = [Head(name.capitalize(), is_number=False), Head("Cost"), Head("Saved"), Head("Messages")]
    heads += [Head(text.capitalize()) for text in _SERIES]
    table = Table(
        heads,
        [_sums(row, Cell(row[name] or "no date", _link(row[name], kind))) for row in reversed(document["rows"])],
        _sums(document["total"], Cell("Total")),
    )
    return Panel("time", "Over time", table, charts, document["definition"], is_folded=True, is_wide=True)


def cache(document: Row) -> Panel:
    """How much of the input came out of the cache, and what that saved."""
    kind = document["kind"]
    name = _NAMES[kind]
    rows = _filled(document["rows"], kind)
    points = [
        Point(
            _label(row[name], kind),
            share,
            f"{row[name]}: {amounts.share(row[_KINDS[2]], _given(row))} of the input from the cache,"
            f" {amounts.money(row['cache_saved_usd'])} saved",
            _link(row[name], kind),
        )
        if (share := _share(row)) is not None
        else Point(_label(row[name], kind), None, f"{row[name]}: nothing")
        for row in rows
    ]
    chart = line("Share of the input from the cache", points, "{:.0%}".format, _range(rows, name), highest=1.0)
    heads = [Head(name.capitalize(), is_number=False), Head("From the cache"), Head("Saved"), Head("Cache read")]
    heads += [Head("Cache write"), Head("Input")]
    made = [_cached(row, Cell(row[name] or "no date", _link(row[name], kind))) for row in reversed(document["rows"])]
    total = document["total"]
    note = (
        f"{amounts.share(total[_KINDS[2]], _given(total))} of all input came from the cache;"
        f" it saved {amounts.money(total['cache_saved_usd'])} against the price of plain input."
    )
    defined = (
        "Share: tokens read from the cache, of all tokens sent (input, cache read and written). "
        + document["definition"]
    )
    table = Table(heads, made, _cached(total, Cell("Total")))
    charts = (("Share of the input from the cache", chart),)
    return Panel("cache", "Cache", table, charts, defined, note, is_folded=True)


def hours(found: Sequence[Sequence[int]], place: str) -> Panel:
    """When work is done."""
    chart = heat("Messages by day of the week and hour", found, _hour_said)
    heads = [Head("Hour", is_number=False), *(Head(day) for day in DAYS)]
    rows = [words([f"{hour:02}:00", *(f"{found[day][hour]:,}" for day in range(7))]) for hour in range(24)]
    defined = f"Counted: every message once, in the hour in which it ended ({place})."
    charts = (("Messages by hour of the week", chart),)
    return Panel("hours", "Hours", Table(heads, rows), charts, defined, is_folded=True)


def blocks(document: Row) -> Panel:
    """Five-hour blocks, and how fast the open one goes."""
    rows = document["rows"]
    found = [Column(_start(row)[5:10], (row["cost_usd"],), _block_said(row), _block_link(row)) for row in rows]
    heads = [Head("Block", is_number=False), Head("Cost"), Head("Tokens"), Head("Messages"), Head("Per hour")]
    made = [
        [
            Cell(_start(row) + (" (open)" if row["open"] else ""), _block_link(row)),
            Cell(amounts.money(row["cost_usd"])),
            Cell(amounts.short(_all(row)), title=f"{_all(row):,}"),
            Cell(f"{row['messages']:,}"),
            Cell(amounts.money(_burn(row))),
        ]
        for row in reversed(rows)
    ]
    now = next((row for row in rows if row["open"] and row["pace"]), None)
    note = _pace(now) if now else "No block is open now."
    left = document["all_rows"] - len(rows)
    defined = document["definition"] + " Per hour: cost by the time from a block's first to its last message."
    chart = columns("Cost of five-hour blocks", ("cost",), found, _dollars, f"{len(rows)} blocks")
    charts = (("Cost of five-hour blocks", chart),)
    return Panel("blocks", "Five-hour blocks", Table(heads, made, left=left), charts, defined, note, is_folded=True)


# -- amounts of a row


def _given(row: Row) -> int:
    return int(sum(row[key] for key in _KINDS[:3]))


def _all(row: Row) -> int:
    return int(sum(row[key] for key in _KINDS))


def _share(row: Row) -> float | None:
    given = _given(row)
    return row[_KINDS[2]] / given if given else None


def _dollars(value: float) -> str:
    return f"${value:,.0f}" if value >= 10 or value == 0 else f"${value:,.2f}"


def _sums(row: Row, first: Cell) -> list[Cell]:
    money = [Cell(amounts.money(row["cost_usd"])), Cell(amounts.money(row["cache_saved_usd"]))]
    tokens = [Cell(amounts.short(row[key]), title=f"{row[key]:,}") for key in _KINDS]
    return [first, *money, Cell(f"{row['messages']:,}"), *tokens]


def _cached(row: Row, first: Cell) -> list[Cell]:
    tokens = [Cell(amounts.short(row[key]), title=f"{row[key]:,}") for key in (_KINDS[2], _KINDS[1], _KINDS[0])]
    return [
        first,
        Cell(amounts.share(row[_KINDS[2]], _given(row))),
        Cell(amounts.money(row["cache_saved_usd"])),
        *tokens,
    ]


def _burn(row: Row) -> float:
    begun, ended = amounts.seconds_of(row["first"]), amounts.seconds_of(row["last"])
    taken = max((ended or 0) - (begun or 0), 60)
    return float(row["cost_usd"] / taken * 3600)


# -- words and addresses


def _said(row: Row, name: str) -> str:
    return (
        f"{row[name]}: {amounts.money(row['cost_usd'])}, {amounts.short(_all(row))} tokens,"
        f" {amounts.count(row['messages'], 'message')}"
    )


def _range(rows: Sequence[Row], name: str) -> str:
    return f"From {rows[0][name]} to {rows[-1][name]}" if rows else "Nothing"


def _hour_said(day: int, hour: int, value: int) -> str:
    return f"{DAYS[day]} {hour:02}:00: {amounts.count(value, 'message')}"


def _start(row: Row) -> str:
    return amounts.local(amounts.seconds_of(row["start"]))


def _block_said(row: Row) -> str:
    return f"{_start(row)}: {amounts.money(row['cost_usd'])}, {amounts.short(_all(row))} tokens"


def _block_link(row: Row) -> str:
    return searched(("after", row["start"][:19] + "Z"), ("before", row["end"][:19] + "Z"), ("kind", "prompt"))


def _pace(row: Row) -> str:
    pace = row["pace"]
    return (
        f"Open now, {pace['minutes_left']} min left: {amounts.short(pace['tokens_per_minute'])} tokens a minute,"
        f" {amounts.money(pace['usd_per_hour'])} an hour; at that pace it ends at"
        f" {amounts.money(pace['projected_usd'])} and {amounts.short(pace['projected_tokens'])} tokens."
    )


def _link(period: str | None, kind: str) -> str | None:
    if period is None:
        return None
    first = _day(period)
    days = {"daily": 1, "weekly": 7}.get(kind, 32)
    last = first + timedelta(days=days)
    if kind == "monthly":
        last = last.replace(day=1)
    return searched(("after", first.isoformat()), ("before", last.isoformat()), ("kind", "prompt"))


def _label(period: str | None, kind: str) -> str:
    if period is None:
        return "?"
    return _day(period).strftime("%b %Y" if kind == "monthly" else "%d %b").lstrip("0")


def _day(period: str) -> date:
    return date.fromisoformat(period if len(period) > 7 else f"{period}-01")


def _filled(rows: Sequence[Row], kind: str) -> list[Row]:
    """The rows with a known time, and empty ones between them: days without work are a part of the picture."""
    name = _NAMES[kind]
    known = {row[name]: row for row in rows if row[name] is not None}
    if not known:
        return []
    day, last = _day(min(known)), _day(max(known))
    empty = dict.fromkeys((*_KINDS, "cost_usd", "cache_saved_usd", "messages"), 0)
    found: list[Row] = []
    while day <= last and len(found) < _MOST_GAPS:
        text = day.isoformat()[:7] if kind == "monthly" else day.isoformat()
        found.append(known.get(text) or {name: text, **empty})
        day = _next(day, kind)
    return found if day > last else list(known.values())


def _next(day: date, kind: str) -> date:
    if kind == "monthly":
        return date(day.year + day.month // 12, day.month % 12 + 1, 1)
    return day + timedelta(days=1 if kind == "daily" else 7)


def suited(first: float | None, last: float | None) -> str:
    """Days for some months, weeks for some years, else months."""
    days = ((last or 0) - (first or 0)) / 86400
    return "daily" if days <= 100 else "weekly" if days <= 900 else "monthly"
