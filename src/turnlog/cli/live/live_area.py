"""A part of the terminal that is redrawn in place, below lines that scroll up and stay in the scrollback.

Only the area itself is ever overwritten, in one write and between the marks of a synchronised update, so nothing
flickers. The number of rows to overwrite is computed for the current width, because a narrower window wraps old lines.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Callable, Sequence

from turnlog.cli.terminal import measure_width, spell_unstyled_controls

_BEGIN_UPDATE, _END_UPDATE = "\x1b[?2026h", "\x1b[?2026l"
_HIDE_CURSOR, _SHOW_CURSOR = "\x1b[?25l", "\x1b[?25h"
_COLOUR_ESCAPES = re.compile("\x1b\\[[0-9;]*m")


def measure_terminal() -> os.terminal_size:
    """Return the real size of the terminal: the variables COLUMNS and LINES may be out of date."""
    try:
        size = os.get_terminal_size(sys.stdout.fileno())
    except (OSError, ValueError, AttributeError):
        return shutil.get_terminal_size()
    return size if size.columns and size.lines else shutil.get_terminal_size()


class LiveArea:
    """The last lines of a terminal."""

    def __init__(self, write: Callable[[str], object]) -> None:
        self._write = write
        self._lines: list[str] = []
        self._columns = 0

    def update(self, above: Sequence[str], lines: Sequence[str]) -> None:
        """Print lines above the area, and replace the lines in it."""
        columns, rows = measure_terminal()
        shown = [spell_unstyled_controls(line) for line in list(lines)[: max(rows - 1, 1)]]
        if not above and shown == self._lines and columns == self._columns:
            return
        start = "" if self._lines else _HIDE_CURSOR
        parts = [_BEGIN_UPDATE, start, self._move_to_top(columns)]
        parts += [f"{spell_unstyled_controls(line)}\x1b[K\n" for line in above]
        parts += ["\n".join(f"{line}\x1b[K" for line in shown), "\x1b[J", _END_UPDATE]
        self._lines, self._columns = shown or [""], columns
        self._write("".join(parts))

    def close(self, *, erase: bool = False) -> None:
        """Leave the area as it is, or erase it, and continue on a new line."""
        if self._lines:
            end = self._move_to_top(measure_terminal().columns) + "\x1b[J" if erase else "\n"
            self._lines = []
            self._write(end + _SHOW_CURSOR)

    def _move_to_top(self, columns: int) -> str:
        heights = [max(-(-measure_width(_COLOUR_ESCAPES.sub("", line)) // max(columns, 1)), 1) for line in self._lines]
        up = sum(heights) - 1
        return f"\r\x1b[{up}A" if up > 0 else "\r"
