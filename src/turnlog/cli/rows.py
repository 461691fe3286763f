"""Tables on a terminal: a head, and columns that fit.

A table that is too wide first loses letters of its texts, then the columns that can be spared most; the line below it
names these. Where the output is no terminal, nothing is left out.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from turnlog.cli.terminal import Screen, pad, width

GAP = 2
_NAME_CELLS = 24
_TEXT_CELLS = 12
_TITLE_CELLS = 16


class FittedColumns(NamedTuple):
    """Which columns of a table are shown, and how wide each is."""

    kept: list[int]
    widths: list[int]
    """Of those that are kept."""
    left_out: list[int]


def fit_columns(
    widths: Sequence[int], available: int | None, texts: Mapping[int, int], spare: Sequence[int] = ()
) -> FittedColumns:
    """Fit columns into the cells of a line; `texts` may be cut to so many cells, `spare` go in that order."""
    sizes, waiting = dict(enumerate(widths)), list(spare)
    while available is not None and waiting and _excess(sizes, available) > _slack(sizes, texts):
        sizes.pop(waiting.pop(0), None)
    for _ in range(_excess(sizes, available) if available is not None else 0):
        wide = [column for column, least in texts.items() if sizes.get(column, 0) > least]
        if not wide:
            break
        sizes[max(wide, key=sizes.__getitem__)] -= 1
    return FittedColumns(list(sizes), list(sizes.values()), [at for at in range(len(widths)) if at not in sizes])


def _excess(sizes: Mapping[int, int], available: int) -> int:
    return max(sum(sizes.values()) + GAP * (len(sizes) - 1) - available, 0)


def _slack(sizes: Mapping[int, int], texts: Mapping[int, int]) -> int:
    return sum(max(sizes[column] - least, 0) for column, least in texts.items() if column in sizes)


def rows(
    head: tuple[str, ...],
    cells: Iterable[tuple[str, ...]],
    screen: Screen,
    numbers: range,
    spare: Sequence[str] = (),
) -> Iterator[str]:
    """A table with a head; nothing when it has no rows. The cells must have been made visible.

    Columns that are no numbers may be cut; where that is not enough, the `spare` ones are left out in that order.
    """
    found = list(cells)
    if not found:
        return
    widths = [max(map(width, column)) for column in zip(head, *found, strict=True)]
    texts = {at: _NAME_CELLS if at == 0 else _TEXT_CELLS for at in range(len(head)) if at not in numbers}
    fitted = fit_columns(widths, screen.width, texts, [head.index(name) for name in spare if name in head])
    yield screen.paint(screen.fit(_row(head, fitted, numbers)), "bold")
    yield from (screen.fit(_row(row, fitted, numbers)) for row in found)
    yield from left_out([head[at] for at in fitted.left_out], screen)


def titled_rows(
    cells: Sequence[tuple[str, ...]],
    screen: Screen,
    numbers: Collection[int] = (),
    texts: Mapping[int, int] | None = None,
    spare: Sequence[int] = (),
) -> Iterator[str]:
    """A list without a head: an id, some columns, and last a title, which gets what is left of the line."""
    if not cells:
        return
    widths = [max(map(width, column)) for column in zip(*(row[:-1] for row in cells), strict=True)]
    available = None if screen.width is None else screen.width - GAP - _TITLE_CELLS
    fitted = fit_columns(widths, available, texts or {}, spare)
    for row in cells:
        left = [
            row[at].rjust(size) if at in numbers else pad(row[at], size)
            for at, size in zip(fitted.kept, fitted.widths, strict=True)
        ]
        rest = "".join(" " * GAP + text for text in left[1:]) + " " * GAP
        title = screen.fit(row[-1], width(left[0] + rest))
        yield screen.paint(left[0], "yellow") + screen.paint(rest, "dim") + title


def left_out(names: Sequence[str], screen: Screen) -> Iterator[str]:
    """Say which columns there was no room for."""
    if names:
        yield from screen.prose(
            f"No room at this width for: {', '.join(names)}; a wider terminal or --json shows them."
        )


def _row(cells: tuple[str, ...], fitted: FittedColumns, numbers: range) -> str:
    texts = (
        cells[at].rjust(size) if at in numbers else pad(_end(cells[at], size) if at == 0 else cells[at], size)
        for at, size in zip(fitted.kept, fitted.widths, strict=True)
    )
    return (" " * GAP).join(texts).rstrip()


def _end(cell: str, size: int) -> str:
    """The end of a path that is too long: its name tells more than where it begins."""
    return cell if width(cell) <= size else "…" + cell[len(cell) - size + 1 :]


def number(value: int) -> str:
    """A number in a table; nothing for none."""
    return f"{value:,}" if value else "·"
