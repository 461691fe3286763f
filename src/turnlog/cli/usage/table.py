"""A usage report as a table with a total, followed by what it counts and what is uncertain."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, NamedTuple

from turnlog.cli.rows import COLUMN_GAP_CELLS, FittedColumns, describe_left_out, fit_columns
from turnlog.cli.terminal import TerminalScreen, measure_width, pad_to_cells, to_visible_line
from turnlog.store.usage.usage_document import UsageReportDetails, describe_usage_counting
from turnlog.store.usage.usage_sums import PICO_PER_DOLLAR, UsageSum

if TYPE_CHECKING:
    from turnlog.store.usage.groupings import GroupingColumn
    from turnlog.store.usage.time_zones import TimeZone
    from turnlog.store.usage.usage_blocks import BlockPace
    from turnlog.store.usage.usage_reports import UsageReportRow

_MAX_CELL_CHARS = 60
_SPARE_COLUMNS = (
    *("est. more", "characters in", "saved $", "no result", "not final", "unpriced", "messages", "cache write"),
    *("whole $", "last", "cache read", "characters out", "end"),
)
"""The columns to leave out, in this order, if the terminal is too narrow."""
NumberFormat = Callable[[int], str]


class _UsageGrid(NamedTuple):
    heads: list[str]
    rows: list[list[str]]
    total: list[str]
    labels: tuple[GroupingColumn, ...]
    """The first columns."""


def render_usage_table(shown: UsageReportDetails, screen: TerminalScreen) -> Iterator[str]:
    if not (shown.report.rows or shown.report.tools):
        yield "No usage in these sessions." if _is_filtered(shown) else "No usage yet."
        return
    make = _build_tool_grid if shown.get_grouping().counts_calls else _build_usage_grid
    grid = make(shown, "{:,}".format)
    if screen.width and sum(_measure_widths(grid)) + COLUMN_GAP_CELLS * (len(grid.heads) - 1) > screen.width:
        grid = make(shown, format_compact_number)
    yield from _render_grid(grid, screen)
    for words in _list_notes(shown):
        yield from screen.wrap_prose(words)


def _is_filtered(shown: UsageReportDetails) -> bool:
    request = shown.request
    return any((request.since, request.until, request.project, request.model))


def format_compact_number(number: int) -> str:
    """Format a number briefly: 999, 12.3k, 4.5M, 1.2G."""
    amount, unit = float(number), ""
    for unit in ("", "k", "M", "G"):
        if abs(amount) < 999.5 or unit == "G":
            break
        amount /= 1000
    return f"{amount:.0f}{unit}" if not unit or abs(amount) >= 99.95 else f"{amount:.1f}{unit}"


def format_pico_dollars(pico: int) -> str:
    """Format pico dollars; amounts below a cent get more digits."""
    dollars = pico / PICO_PER_DOLLAR
    return f"{dollars:,.2f}" if abs(dollars) >= 0.01 or not pico else f"{dollars:.4f}"


def _build_usage_grid(shown: UsageReportDetails, number: NumberFormat) -> _UsageGrid:
    total = shown.report.total
    columns: dict[str, Callable[[UsageSum], str]] = {
        "messages": lambda found: number(found.messages),
        "input": lambda found: number(found.input),
        "output": lambda found: number(found.output),
        "cache write": lambda found: number(found.cache_write),
        "cache read": lambda found: number(found.cache_read),
        "cost $": lambda found: format_pico_dollars(found.cost),
        "saved $": lambda found: format_pico_dollars(found.saved),
    }
    if total.unpriced:
        columns["unpriced"] = lambda found: number(found.unpriced) if found.unpriced else ""
    if total.doubtful_messages:
        columns["not final"] = lambda found: number(found.doubtful_messages) if found.doubtful_messages else ""
        columns["est. more"] = lambda found: _format_estimate(found, shown.is_indexed, number)
    labels, zone = shown.get_grouping().columns, shown.request.zone
    rows = [
        [
            *(_format_label(label.get_text(row, zone)) for label in labels),
            *(cell(row.sum) for cell in columns.values()),
        ]
        for row in shown.report.rows
    ]
    last = ["total", *[""] * (len(labels) - 1), *(cell(total) for cell in columns.values())]
    grid = _UsageGrid([*(label.head for label in labels), *columns], rows, last, labels)
    return _add_whole_cost(grid, shown.report.rows) if _has_shared_messages(shown) else grid


def _format_estimate(found: UsageSum, is_known: bool, number: NumberFormat) -> str:
    if not found.doubtful_messages:
        return ""
    return f"~{number(found.estimate)}" if is_known else "?"


def _has_shared_messages(shown: UsageReportDetails) -> bool:
    """Return whether any session has messages that are counted towards another session."""
    return not _is_filtered(shown) and any(row.whole and row.whole.cost != row.sum.cost for row in shown.report.rows)


def _add_whole_cost(grid: _UsageGrid, rows: list[UsageReportRow]) -> _UsageGrid:
    """Add a column with each session's whole cost after the column with its own share."""
    at = grid.heads.index("cost $") + 1
    for cells, row in zip(grid.rows, rows, strict=True):
        cells.insert(at, format_pico_dollars(row.whole.cost) if row.whole else "")
    grid.heads.insert(at, "whole $")
    grid.total.insert(at, "")
    return grid


def _build_tool_grid(shown: UsageReportDetails, number: NumberFormat) -> _UsageGrid:
    from turnlog.store.usage.tool_usage import sum_tool_usage

    labels = shown.get_grouping().columns
    amounts = ["calls", "failed", "no result", "characters in", "characters out", "est. tokens"]
    every = [*shown.report.tools, sum_tool_usage(shown.report.tools)._replace(tool="total")]
    cells = [[_format_label(row.tool or "(no name)"), *map(number, row[1:]), f"~{number(row.tokens)}"] for row in every]
    return _UsageGrid([*(label.head for label in labels), *amounts], cells[:-1], cells[-1], labels)


def _format_label(text: str) -> str:
    return to_visible_line(text[:1000])[:_MAX_CELL_CHARS]


def _measure_widths(grid: _UsageGrid) -> list[int]:
    return [max(map(measure_width, column)) for column in zip(grid.heads, *grid.rows, grid.total, strict=True)]


def _render_grid(grid: _UsageGrid, screen: TerminalScreen) -> Iterator[str]:
    texts = {at: label.min_cells for at, label in enumerate(grid.labels) if label.min_cells is not None}
    spare = [grid.heads.index(head) for head in _SPARE_COLUMNS if head in grid.heads]
    fitted = fit_columns(_measure_widths(grid), screen.width, texts, spare)
    yield screen.paint(_render_row(grid, grid.heads, fitted), "dim")
    for row in grid.rows:
        yield _render_row(grid, row, fitted)
    yield screen.paint(_render_row(grid, grid.total, fitted), "bold")
    yield from describe_left_out([grid.heads[at] for at in fitted.left_out], screen)


def _render_row(grid: _UsageGrid, cells: list[str], fitted: FittedColumns) -> str:
    words = {at for at, label in enumerate(grid.labels) if not label.is_number}
    texts = (
        pad_to_cells(cells[at], size) if at in words else cells[at].rjust(size)
        for at, size in zip(fitted.kept, fitted.widths, strict=True)
    )
    return (" " * COLUMN_GAP_CELLS).join(texts).rstrip()


def _list_notes(shown: UsageReportDetails) -> Iterator[str]:
    """Explain what the report counts and what is uncertain."""
    yield from describe_usage_counting(shown).replace(". Cost:", ".\nCost:").split("\n")
    if shown.get_grouping().counts_calls:
        return
    report, total = shown.report, shown.report.total
    if total.unpriced:
        yield f"Unpriced: {total.unpriced:,} tokens from models without a known price; they are not in the cost."
    if total.doubtful_messages:
        yield _describe_doubts(total, shown.is_indexed)
    if _has_shared_messages(shown):
        yield (
            "Whole: including messages that a session shares with others; each message's own cost counts in only one"
            " session."
        )
    if report.gone:
        yield (
            f"{report.gone:,} of {report.with_usage:,} sessions no longer have a file; their counts come from the"
            " index."
        )
    for row in report.rows:
        if row.labels.get("open"):
            yield _describe_pace(row.labels["pace"], row, shown.request.zone)


def _describe_doubts(total: UsageSum, is_indexed: bool) -> str:
    kinds = (("partial", "counted too early"), ("placeholder", "placeholders only"), ("missing", "not recorded"))
    told = ", ".join(f"{getattr(total, name):,} {words}" for name, words in kinds if getattr(total, name))
    more = f" by about {total.estimate:,} tokens, judging by the length of their text" if is_indexed else ""
    return (
        f"Not final: the output of {total.doubtful_messages:,} of {total.messages:,} messages ({told}); it "
        f"is too low{more}."
    )


def _describe_pace(pace: BlockPace | None, row: UsageReportRow, zone: TimeZone) -> str:
    if pace is None:
        return f"Open until {zone.format_time(row.labels['end'])[11:]}: too little so far to tell a pace."
    return (
        f"Open until {zone.format_time(row.labels['end'])[11:]} ({pace.minutes_left} min left):"
        f" {pace.tokens_per_minute:,.0f} tokens a minute, ${pace.usd_per_hour:,.2f} an hour;"
        f" at this pace {pace.projected_tokens:,} tokens and ${pace.projected_usd:,.2f} at its end."
    )
