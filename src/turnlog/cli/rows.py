"""Tables on a terminal: a header and columns that fit the width.

If a table is too wide, its text is cut first, then the least important columns are dropped; a line below the table
lists the dropped columns. If the output is not a terminal, nothing is left out.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from turnlog.cli.terminal import TerminalScreen, measure_width, pad_to_cells

COLUMN_GAP_CELLS = 2
_MIN_NAME_CELLS = 24
_MIN_TEXT_CELLS = 12
_MIN_TITLE_CELLS = 16


class FittedColumns(NamedTuple):
    """The visible columns of a table and their widths."""

    kept: list[int]
    widths: list[int]
    """Widths of the kept columns."""
    left_out: list[int]


def fit_columns(
    widths: Sequence[int], available: int | None, texts: Mapping[int, int], spare: Sequence[int] = ()
) -> FittedColumns:
    """Fit columns into a line: cut `texts` down to their minimum width, then drop `spare` columns in order."""
    sizes, waiting = dict(enumerate(widths)), list(spare)
    while available is not None and waiting and _count_excess(sizes, available) > _count_slack(sizes, texts):
        sizes.pop(waiting.pop(0), None)
    for _ in range(_count_excess(sizes, available) if available is not None else 0):
        wide = [column for column, least in texts.items() if sizes.get(column, 0) > least]
        if not wide:
            break
        sizes[max(wide, key=sizes.__getitem__)] -= 1
    return FittedColumns(list(sizes), list(sizes.values()), [at for at in range(len(widths)) if at not in sizes])


def _count_excess(sizes: Mapping[int, int], available: int) -> int:
    return max(sum(sizes.values()) + COLUMN_GAP_CELLS * (len(sizes) - 1) - available, 0)


def _count_slack(sizes: Mapping[int, int], texts: Mapping[int, int]) -> int:
    return sum(max(sizes[column] - least, 0) for column, least in texts.items() if column in sizes)


def render_table_rows(
    head: tuple[str, ...],
    cells: Iterable[tuple[str, ...]],
    screen: TerminalScreen,
    numbers: range,
    spare: Sequence[str] = (),
) -> Iterator[str]:
    """Render a table with a header, or nothing if it has no rows. Cells must already be escaped.

    Text columns may be cut; if that is not enough, the `spare` columns are left out in the given order.
    """
    found = list(cells)
    if not found:
        return
    widths = [max(map(measure_width, column)) for column in zip(head, *found, strict=True)]
    texts = {at: _MIN_NAME_CELLS if at == 0 else _MIN_TEXT_CELLS for at in range(len(head)) if at not in numbers}
    fitted = fit_columns(widths, screen.width, texts, [head.index(name) for name in spare if name in head])
    yield screen.paint(screen.fit(_render_row(head, fitted, numbers)), "bold")
    yield from (screen.fit(_render_row(row, fitted, numbers)) for row in found)
    yield from describe_left_out([head[at] for at in fitted.left_out], screen)


def render_titled_rows(
    cells: Sequence[tuple[str, ...]],
    screen: TerminalScreen,
    numbers: Collection[int] = (),
    texts: Mapping[int, int] | None = None,
    spare: Sequence[int] = (),
) -> Iterator[str]:
    """Render a list without a header: an id, some columns, and a title that gets the rest of the line."""
    if not cells:
        return
    widths = [max(map(measure_width, column)) for column in zip(*(row[:-1] for row in cells), strict=True)]
    available = None if screen.width is None else screen.width - COLUMN_GAP_CELLS - _MIN_TITLE_CELLS
    fitted = fit_columns(widths, available, texts or {}, spare)
    for row in cells:
        left = [
            row[at].rjust(size) if at in numbers else pad_to_cells(row[at], size)
            for at, size in zip(fitted.kept, fitted.widths, strict=True)
        ]
        rest = "".join(" " * COLUMN_GAP_CELLS + text for text in left[1:]) + " " * COLUMN_GAP_CELLS
        title = screen.fit(row[-1], measure_width(left[0] + rest))
        yield screen.paint(left[0], "yellow") + screen.paint(rest, "dim") + title


def describe_left_out(names: Sequence[str], screen: TerminalScreen) -> Iterator[str]:
    """List the columns that did not fit."""
    if names:
        yield from screen.wrap_prose(
            f"No room at this width for: {', '.join(names)}; a wider terminal or --json shows them."
        )


def _render_row(cells: tuple[str, ...], fitted: FittedColumns, numbers: range) -> str:
    texts = (
        cells[at].rjust(size)
        if at in numbers
        else pad_to_cells(_keep_path_end(cells[at], size) if at == 0 else cells[at], size)
        for at, size in zip(fitted.kept, fitted.widths, strict=True)
    )
    return (" " * COLUMN_GAP_CELLS).join(texts).rstrip()


def _keep_path_end(cell: str, size: int) -> str:
    """Shorten a path to its end, which is more informative than its start."""
    return cell if measure_width(cell) <= size else "…" + cell[len(cell) - size + 1 :]


def format_table_number(value: int) -> str:
    """Format a number for a table; zero becomes a dot."""
    return f"{value:,}" if value else "·"
