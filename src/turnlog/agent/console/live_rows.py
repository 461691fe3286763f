"""The rows at the bottom of the terminal that are repainted in place; everything above them is final.

Only these rows are ever erased. Each must be narrower than the window.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, Protocol

from turnlog.render.terminal import measure_width

_CLEAR_LINE, _CLEAR_BELOW = "\x1b[K", "\x1b[J"
_STYLE_PATTERN = re.compile("\x1b\\[[0-9;]*m")
_REFLOWING_TERMINALS = ("TMUX", "VTE_VERSION", "KITTY_WINDOW_ID", "TERM_PROGRAM", "WT_SESSION", "ALACRITTY_WINDOW_ID")
"""Variables of terminals that wrap long lines anew when their window becomes narrower."""


def does_terminal_reflow(environ: Mapping[str, str]) -> bool:
    return any(name in environ for name in _REFLOWING_TERMINALS)


class CursorPlace(NamedTuple):
    row: int
    column: int


class BottomRows(Protocol):
    def update(self, lines: Sequence[str], rows: Sequence[str], cursor: CursorPlace | None = None) -> str:
        """Return what to write so that final `lines` appear above the new `rows`."""


class LiveRows:
    """Remembers the rows on the terminal, and repaints only what has changed."""

    def __init__(self, measure: Callable[[], int], *, reflows: bool = False) -> None:
        self._measure = measure
        self._reflows = reflows
        self._rows: list[str] = []
        self._cursor = CursorPlace(0, 0)
        self._width = 0
        """The width of the window when the rows were painted."""

    def update(self, lines: Sequence[str], rows: Sequence[str], cursor: CursorPlace | None = None) -> str:
        cursor = cursor or CursorPlace(max(len(rows) - 1, 0), _measure_painted(rows[-1]) if rows else 0)
        width, resized = self._measure(), ""
        if self._rows and width < self._width and self._reflows:
            resized = self._erase_reflowed(width)
        self._width = width
        parts = [resized]
        if lines:
            parts.append(self._place_lines(lines))
        parts += (self._paint_row(at, row) for at, row in enumerate(rows))
        if len(rows) < len(self._rows):
            parts.append(self._move(len(rows), 0) + _CLEAR_BELOW)
        self._rows = list(rows)
        parts.append(self._move(*cursor))
        return "".join(parts)

    def _place_lines(self, lines: Sequence[str]) -> str:
        """Write final lines in place of the rows; of a line that continues the first row, write only the rest."""
        first, others = (self._rows[0], self._rows[1:]) if self._rows else ("", [])
        is_continued = lines[0].startswith(first)
        start = first if is_continued else ""
        move = self._move(0, _measure_painted(start))
        text = "\n".join(lines)[len(start) :]
        if is_continued and len(lines) == 1 and _measure_painted(lines[0]) < self._width:
            self._rows, self._cursor = others, CursorPlace(-1, _measure_painted(lines[0]))
            return move + text + ("" if others else self._move(0, 0))
        clear = _CLEAR_BELOW if others or not is_continued else ""
        self._rows, self._cursor = [], CursorPlace(0, 0)
        return f"{move}{clear}{text}\n"

    def _paint_row(self, at: int, row: str) -> str:
        before = self._rows[at] if at < len(self._rows) else ""
        if row == before and at < len(self._rows):
            return ""
        column = _measure_painted(before) if before and row.startswith(before) else 0
        move = self._move(at, column)
        self._cursor = CursorPlace(at, _measure_painted(row))
        if column:
            return move + row[len(before) :]
        return move + (_CLEAR_LINE if before else "") + row

    def _move(self, row: int, column: int) -> str:
        """Move the cursor; below the last row, line feeds create new rows."""
        if (row, column) == self._cursor:
            return ""
        down = row - self._cursor.row
        start = "\n" * down if down > 0 else f"\x1b[{-down}A\r" if down < 0 else "\r"
        self._cursor = CursorPlace(row, column)
        return start + (f"\x1b[{column}C" if column else "")

    def _erase_reflowed(self, width: int) -> str:
        """Erase rows that the terminal has wrapped anew because the window became narrower."""
        above = sum(_count_rows(row, width) for row in self._rows[: self._cursor.row]) + self._cursor.column // width
        self._rows, self._cursor = [], CursorPlace(0, 0)
        return (f"\x1b[{above}A" if above else "") + "\r" + _CLEAR_BELOW


class PlainRows:
    """For terminals that don't support escape sequences: one row, which is overwritten with blanks."""

    def __init__(self, measure: Callable[[], int]) -> None:
        self._measure = measure
        self._row = ""

    def update(self, lines: Sequence[str], rows: Sequence[str], cursor: CursorPlace | None = None) -> str:
        row = rows[-1] if rows else ""
        before, self._row = self._row, row
        if not lines and row.startswith(before):
            return row[len(before) :]
        clear = f"\r{' ' * (self._measure() - 1)}\r" if before else ""
        return clear + "".join(f"{line}\n" for line in lines) + row


def _measure_painted(text: str) -> int:
    return measure_width(_STYLE_PATTERN.sub("", text))


def _count_rows(row: str, width: int) -> int:
    return max(-(-_measure_painted(row) // width), 1)
