"""A report of usage for people: a table with its total, what is counted, and what is doubtful."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, NamedTuple

from turnlog.cli.rows import GAP, FittedColumns, fit_columns, left_out
from turnlog.cli.terminal import Screen, line, pad, width
from turnlog.store.usage.document import Shown, definition
from turnlog.store.usage.sums import PICO, Sum

if TYPE_CHECKING:
    from turnlog.store.usage.blocks import Pace
    from turnlog.store.usage.reports import Row
    from turnlog.store.usage.zones import Zone

_SHORT = 8
_LONGEST = 60
_LEAST_CELLS = {"title": 16, "project": 16, "model": 12, "tool": 16}
"""How far a column of words may be cut."""
_SPARE = (
    *("est. more", "characters in", "saved $", "no result", "not final", "unpriced", "messages", "cache write"),
    *("whole $", "last", "cache read", "characters out", "end"),
)
"""The columns that are left out where a terminal has no room for all, in this order."""
Number = Callable[[int], str]


class _Grid(NamedTuple):
    heads: list[str]
    rows: list[list[str]]
    total: list[str]
    labels: int
    """So many of the first columns are words and stand on the left."""


def table(shown: Shown, screen: Screen) -> Iterator[str]:
    """The lines of a report."""
    if not (shown.report.rows or shown.report.tools):
        yield "No usage in these sessions." if _is_filtered(shown) else "No usage yet."
        return
    make = _tools if shown.request.kind == "tool" else _sums
    grid = make(shown, "{:,}".format)
    if screen.width and sum(_widths(grid)) + GAP * (len(grid.heads) - 1) > screen.width:
        grid = make(shown, short)
    yield from _lines(grid, screen)
    for words in _notes(shown):
        yield from screen.prose(words)


def _is_filtered(shown: Shown) -> bool:
    request = shown.request
    return any((request.since, request.until, request.project, request.model))


def short(number: int) -> str:
    """A number in few letters: 999, 12.3k, 4.5M, 1.2G."""
    amount, unit = float(number), ""
    for unit in ("", "k", "M", "G"):
        if abs(amount) < 999.5 or unit == "G":
            break
        amount /= 1000
    return f"{amount:.0f}{unit}" if not unit or abs(amount) >= 99.95 else f"{amount:.1f}{unit}"


def money(pico: int) -> str:
    """Pico dollars for people; amounts below a cent with more digits."""
    dollars = pico / PICO
    return f"{dollars:,.2f}" if abs(dollars) >= 0.01 or not pico else f"{dollars:.4f}"


def _sums(shown: Shown, number: Number) -> _Grid:
    total = shown.report.total
    columns: dict[str, Callable[[Sum], str]] = {
        "messages": lambda found: number(found.messages),
        "input": lambda found: number(found.input),
        "output": lambda found: number(found.output),
        "cache write": lambda found: number(found.cache_write),
        "cache read": lambda found: number(found.cache_read),
        "cost $": lambda found: money(found.cost),
        "saved $": lambda found: money(found.saved),
    }
    if total.unpriced:
        columns["unpriced"] = lambda found: number(found.unpriced) if found.unpriced else ""
    if total.doubtful:
        columns["not final"] = lambda found: number(found.doubtful) if found.doubtful else ""
        columns["est. more"] = lambda found: f"~{number(found.estimate)}" if found.doubtful else ""
    heads, name = _LABELS[shown.request.kind]
    rows = [
        [*name(row, shown.request.zone), *_sessions(row), *(cell(row.sum) for cell in columns.values())]
        for row in shown.report.rows
    ]
    several = ["sessions"] if shown.request.kind == "project" else []
    last = ["total", *[""] * (len(heads) + len(several) - 1), *(cell(total) for cell in columns.values())]
    grid = _Grid([*heads, *several, *columns], rows, last, len(heads))
    return _with_whole(grid, shown.report.rows) if _shares(shown) else grid


def _shares(shown: Shown) -> bool:
    """Whether a session has messages that another one pays for."""
    return not _is_filtered(shown) and any(row.whole and row.whole.cost != row.sum.cost for row in shown.report.rows)


def _with_whole(grid: _Grid, rows: list[Row]) -> _Grid:
    """The same with what each session cost in all, behind what it pays for."""
    at = grid.heads.index("cost $") + 1
    for cells, row in zip(grid.rows, rows, strict=True):
        cells.insert(at, money(row.whole.cost) if row.whole else "")
    grid.heads.insert(at, "whole $")
    grid.total.insert(at, "")
    return grid


def _sessions(row: Row) -> list[str]:
    """How many sessions a row is about, where it is about several."""
    return [f"{row.labels['sessions']:,}"] if "sessions" in row.labels else []


def _tools(shown: Shown, number: Number) -> _Grid:
    from turnlog.store.usage.calls import all_tools

    heads = ["tool", "calls", "failed", "no result", "characters in", "characters out", "est. tokens"]
    every = [*shown.report.tools, all_tools(shown.report.tools)._replace(tool="total")]
    cells = [
        [line(row.tool or "(no name)")[:_LONGEST], *map(number, row[1:]), f"~{number(row.tokens)}"] for row in every
    ]
    return _Grid(heads, cells[:-1], cells[-1], 1)


def _text(value: object, unknown: str = "(unknown)") -> str:
    return line(str(value)[:1000])[:_LONGEST] if value else unknown


def _session(row: Row, zone: Zone) -> list[str]:
    last = zone.written(row.sum.last)[:10] if row.sum.last else ""
    title = _text(row.labels["title"], "(no title)")
    return [_text(row.labels["session_id"])[:_SHORT], last, f"(gone) {title}" if row.labels["gone"] else title]


def _block(row: Row, zone: Zone) -> list[str]:
    return [zone.written(row.labels["start"]), zone.written(row.labels["end"])[11:] + " open" * row.labels["open"]]


_LABELS: dict[str, tuple[list[str], Callable[[Row, Zone], list[str]]]] = {
    "daily": (["day"], lambda row, _: [_text(row.labels["day"])]),
    "weekly": (["week from"], lambda row, _: [_text(row.labels["week"])]),
    "monthly": (["month"], lambda row, _: [_text(row.labels["month"])]),
    "session": (["session", "last", "title"], _session),
    "project": (["project"], lambda row, _: [_text(row.labels["project"])]),
    "model": (["model"], lambda row, _: [_text(row.labels["model"])]),
    "blocks": (["start", "end"], _block),
}


def _widths(grid: _Grid) -> list[int]:
    return [max(map(width, column)) for column in zip(grid.heads, *grid.rows, grid.total, strict=True)]


def _lines(grid: _Grid, screen: Screen) -> Iterator[str]:
    texts = {at: _LEAST_CELLS[head] for at, head in enumerate(grid.heads[: grid.labels]) if head in _LEAST_CELLS}
    spare = [grid.heads.index(head) for head in _SPARE if head in grid.heads]
    fitted = fit_columns(_widths(grid), screen.width, texts, spare)
    yield screen.paint(_line(grid, grid.heads, fitted), "dim")
    for row in grid.rows:
        yield _line(grid, row, fitted)
    yield screen.paint(_line(grid, grid.total, fitted), "bold")
    yield from left_out([grid.heads[at] for at in fitted.left_out], screen)


def _line(grid: _Grid, cells: list[str], fitted: FittedColumns) -> str:
    texts = (
        pad(cells[at], size) if at < grid.labels else cells[at].rjust(size)
        for at, size in zip(fitted.kept, fitted.widths, strict=True)
    )
    return (" " * GAP).join(texts).rstrip()


def _notes(shown: Shown) -> Iterator[str]:
    """What is counted, and what is to be doubted."""
    yield from definition(shown).replace(". Cost:", ".\nCost:").split("\n")
    if shown.request.kind == "tool":
        return
    report, total = shown.report, shown.report.total
    if total.unpriced:
        yield f"Unpriced: {total.unpriced:,} tokens of models without a known price; they are not in the cost."
    if total.doubtful:
        yield _doubts(total, shown.is_indexed)
    if _shares(shown):
        yield "Whole: with the messages that a session shares with others; the cost of each is in one session only."
    if report.gone:
        yield f"{report.gone:,} of {report.with_usage:,} sessions have no file any more; the index still knows them."
    for row in report.rows:
        if (pace := row.labels.get("pace")) is not None:
            yield _pace(pace, row, shown.request.zone)


def _doubts(total: Sum, is_indexed: bool) -> str:
    kinds = (("partial", "counted too early"), ("placeholder", "mere placeholders"), ("missing", "not recorded"))
    told = ", ".join(f"{getattr(total, name):,} {words}" for name, words in kinds if getattr(total, name))
    more = f" by about {total.estimate:,} tokens, going by the length of their text" if is_indexed else ""
    return f"Not final: the output of {total.doubtful:,} of {total.messages:,} messages ({told}); it is too low{more}."


def _pace(pace: Pace, row: Row, zone: Zone) -> str:
    return (
        f"Open until {zone.written(row.labels['end'])[11:]} ({pace.minutes_left} min left):"
        f" {pace.tokens_per_minute:,.0f} tokens a minute, ${pace.usd_per_hour:,.2f} an hour;"
        f" at this pace {pace.projected_tokens:,} tokens and ${pace.projected_usd:,.2f} at its end."
    )
