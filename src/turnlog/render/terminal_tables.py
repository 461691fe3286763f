"""Markdown tables for a terminal: columns are aligned, and cells wrap if the table is wider than the window."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from turnlog.render.inline_markdown import TextSpan, scan_spans
from turnlog.render.row_wrapper import RowWrapper, paint_spans
from turnlog.render.terminal import TerminalScreen, make_visible, measure_width

_DELIMITER_PATTERN = re.compile(r"\|?\s*:?-+:?\s*(\|\s*:?-+:?\s*)*\|?\s*")
_SEPARATOR_CELLS = 3
_MIN_COLUMN_CELLS = 8
"""Narrower columns are not readable, so the table becomes a list."""


def is_delimiter_row(line: str) -> bool:
    """Return whether a line separates a table's header from its body."""
    return "-" in line and _DELIMITER_PATTERN.fullmatch(line.strip()) is not None


def render_table(lines: Sequence[str], look: TerminalScreen) -> Iterator[str]:
    """Render the lines of a table; the second one is the delimiter row."""
    header = _split_cells(lines[0])
    aligns = [_parse_align(cell) for cell in _split_cells(lines[1])]
    rows = [header, *map(_split_cells, lines[2:])]
    count = len(header)
    cells = [[_scan_cell(row[at] if at < len(row) else "") for at in range(count)] for row in rows]
    widths = _fit_widths([max(_measure(row[at]) for row in cells) for at in range(count)], look.width)
    if widths is None:
        yield from _render_records(cells, look)
        return
    bar = look.paint(" │ ", "dim")
    for number, row in enumerate(cells):
        columns = [_wrap_cell(cell, width, look, is_header=not number) for cell, width in zip(row, widths, strict=True)]
        for at in range(max(map(len, columns))):
            parts = [
                _align_cell(*(column[at] if at < len(column) else ("", 0)), width, align)
                for column, width, align in zip(columns, widths, _fill(aligns, count), strict=True)
            ]
            yield bar.join(parts).rstrip(" ")
        if not number:
            yield look.paint("─┼─".join("─" * width for width in widths), "dim")


def _split_cells(line: str) -> list[str]:
    line = line.strip().removeprefix("|")
    if line.endswith("|") and not line.endswith("\\|"):
        line = line[:-1]
    return [cell.strip() for cell in re.split(r"(?<!\\)\|(?=(?:[^`]*`[^`]*`)*[^`]*$)", line)]


def _parse_align(cell: str) -> str:
    if cell.endswith(":"):
        return "^" if cell.startswith(":") else ">"
    return "<"


def _fill(aligns: Sequence[str], count: int) -> list[str]:
    return [aligns[at] if at < len(aligns) else "<" for at in range(count)]


def _scan_cell(text: str) -> list[TextSpan]:
    return [TextSpan(make_visible(span.text.replace("\t", " ")), span.styles) for span in scan_spans(text).spans]


def _measure(spans: Sequence[TextSpan]) -> int:
    return sum(measure_width(span.text) for span in spans)


def _fit_widths(natural: list[int], width: int | None) -> list[int] | None:
    """Shrink the widest columns until the table fits; return None if it can't."""
    widths = [max(cells, 1) for cells in natural]
    if width is None:
        return widths
    room = width - 1 - _SEPARATOR_CELLS * (len(widths) - 1)
    while sum(widths) > room:
        widest = max(widths)
        if widest <= _MIN_COLUMN_CELLS:
            return None
        at = widths.index(widest)
        others = max((cells for cells in widths if cells < widest), default=_MIN_COLUMN_CELLS)
        widths[at] -= min(widest - max(others, _MIN_COLUMN_CELLS), sum(widths) - room) or 1
    return widths


def _wrap_cell(cell: Sequence[TextSpan], width: int, look: TerminalScreen, *, is_header: bool) -> list[tuple[str, int]]:
    """Wrap a cell to its column; return painted rows with their widths."""
    styles = ("bold",) if is_header else ()
    rows: list[list[TextSpan]] = [[]]
    used = 0
    for span in cell:
        for word in re.findall(r" +|[^ ]+", span.text):
            for piece in _split_word(word, width):
                cells = measure_width(piece)
                if used and used + cells > width:
                    rows.append([])
                    used = 0
                if used or piece.strip():
                    rows[-1].append(TextSpan(piece, (*styles, *span.styles)))
                    used += cells
    return [(paint_spans(row, look), _measure(row)) for row in rows]


def _split_word(word: str, width: int) -> Iterator[str]:
    """Split a word that is wider than its column."""
    piece, used = "", 0
    for char in word:
        cells = measure_width(char)
        if used + cells > width and piece:
            yield piece
            piece, used = "", 0
        piece, used = piece + char, used + cells
    yield piece


def _align_cell(text: str, cells: int, width: int, align: str) -> str:
    left = {"<": 0, ">": width - cells, "^": (width - cells) // 2}[align]
    return " " * left + text + " " * max(width - cells - left, 0)


def _render_records(cells: Sequence[Sequence[list[TextSpan]]], look: TerminalScreen) -> Iterator[str]:
    """Render each row as lines of `header: value`."""
    header, *rows = cells
    wrapper = RowWrapper(lambda: look)
    for number, row in enumerate(rows):
        if number:
            yield ""
        for name, value in zip(header, row, strict=True):
            wrapper.begin_line([TextSpan(f"{span.text}", ("bold", *span.styles)) for span in name], 2)
            for span in (TextSpan(": "), *value):
                yield from wrapper.add_span(span)
            yield from wrapper.end_line()
