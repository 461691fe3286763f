"""Tables on a terminal: a head, and columns that fit."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from turnlog.cli.terminal import Screen, pad, width


def rows(head: tuple[str, ...], cells: Iterable[tuple[str, ...]], screen: Screen, numbers: range) -> Iterator[str]:
    """A table with a head; nothing when it has no rows. The cells must have been made visible."""
    found = list(cells)
    if not found:
        return
    widths = [max(map(width, column)) for column in zip(head, *found, strict=True)]
    if screen.width:
        others = sum(widths[1:]) + 2 * len(widths)
        widths[0] = min(widths[0], max(screen.width - others, 24))
    yield screen.paint(_row(head, widths, numbers), "bold")
    yield from (screen.fit(_row(row, widths, numbers)) for row in found)


def _row(cells: tuple[str, ...], widths: list[int], numbers: range) -> str:
    fitted = (
        cell.rjust(size) if place in numbers else pad(_end(cell, size) if place == 0 else cell, size)
        for place, (cell, size) in enumerate(zip(cells, widths, strict=True))
    )
    return "  ".join(fitted).rstrip()


def _end(cell: str, size: int) -> str:
    """The end of a path that is too long: its name tells more than where it begins."""
    return cell if width(cell) <= size else "…" + cell[len(cell) - size + 1 :]


def number(value: int) -> str:
    """A number in a table; nothing for none."""
    return f"{value:,}" if value else "·"
