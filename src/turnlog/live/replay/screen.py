"""A terminal with growing text above a footer that is updated in place.

Text is only ever added, so all of it stays in the terminal's scrollback. The cursor rests at the start of the line
that is being written, and the footer is below. An update rewrites that line and the footer in one piece and erases
only what is left over, so nothing flickers; since the terminal itself keeps track of the cursor, this also works after
the window was resized.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from turnlog.render.prose import ProseWrapper
from turnlog.render.terminal import TerminalScreen, make_visible, measure_width, spell_unstyled_controls

_CLEAR_REST_OF_LINE, _CLEAR_BELOW = "\x1b[K", "\x1b[J"
_BEGIN_UPDATE, _END_UPDATE = "\x1b[?2026h", "\x1b[?2026l"
"""Terminals that support it show everything in between at once."""
_STYLED_PART = re.compile("\x1b\\[[0-9;]*m|[^\x1b]")
_STYLE = re.compile("\x1b\\[[0-9;]*m")
_STYLE_END = "\x1b[0m"


class ReplayScreen:
    """Writes lines and streamed text to a terminal, above a footer."""

    def __init__(self, write: Callable[[str], object], look: Callable[[], TerminalScreen]) -> None:
        """Write with `write`; `look` returns the current width, or None if the output is not a terminal."""
        self._write = write
        self._look = look
        self._prose = ProseWrapper(look)
        self._open = ""
        """The line that is being written."""
        self._footer: tuple[str, ...] = ()
        self._drawn: tuple[str, tuple[str, ...], int | None] = ("", (), None)
        """What is on the terminal: the open line, the footer and the width at that time."""
        self._waiting: list[str] = []
        """Text that is not yet on the terminal, in parts: a long answer has hundreds of thousands."""

    def write_lines(self, lines: Sequence[str]) -> None:
        """Add whole lines; the controls in them are spelled out."""
        self.finish_text()
        self._waiting += [f"{spell_unstyled_controls(line)}\n" for line in lines]

    def write_text(self, text: str) -> None:
        """Add a part of streamed text."""
        parts = text.replace("\r\n", "\n").expandtabs(4).split("\n")
        self._add_waiting(self._prose.add_text("\n".join(map(make_visible, parts))))

    def finish_text(self) -> None:
        """End streamed text, and its line if one is open."""
        self._add_waiting(self._prose.end_line())
        if not self._waiting[-1].endswith("\n") if self._waiting else self._open:
            self._waiting.append("\n")
        self._prose.begin_text()

    def set_footer(self, lines: Sequence[str]) -> None:
        """Replace the lines below the text; each must fit the width."""
        self._footer = tuple(map(spell_unstyled_controls, lines))

    def refresh(self) -> None:
        """Bring the terminal up to date, with one write and only if something changed."""
        width = self._look().width
        added = "".join(self._waiting)
        self._waiting.clear()
        if width is None:
            if added:
                self._write(added)
            return
        lines = _fold_lines(self._open + added, width)
        self._open = lines[-1]
        now = (self._open, self._footer, width)
        if len(lines) == 1 and now == self._drawn:
            return
        self._drawn = now
        above = "".join(f"{line}{_CLEAR_REST_OF_LINE}\r\n" for line in lines[:-1])
        footer = "".join(f"\r\n{line}{_CLEAR_REST_OF_LINE}" for line in self._footer)
        back = f"\x1b[{len(self._footer)}A\r" if self._footer else "\r"
        self._write(
            f"{_BEGIN_UPDATE}\r{above}{self._open}{_CLEAR_REST_OF_LINE}{footer}{_CLEAR_BELOW}{back}{_END_UPDATE}"
        )

    def close(self) -> None:
        """Remove the footer and leave the cursor on an empty line."""
        self.finish_text()
        self._footer = ()
        self.refresh()

    def _add_waiting(self, text: str) -> None:
        if text:
            self._waiting.append(text)


def _fold_lines(text: str, width: int) -> list[str]:
    """Split text into lines that are shorter than the width, so that the terminal never wraps one itself.

    Colours continue on the next line. A character that is wider than the terminal is left for the terminal to handle.
    """
    room = max(width - 1, 1)
    lines: list[str] = []
    for line in text.split("\n"):
        if len(line) <= room and line.isascii() and "\x1b" not in line:
            lines.append(line)
            continue
        row, used, style = "", 0, ""
        for part in _STYLED_PART.findall(line):
            if part[0] == "\x1b":
                style = "" if part == _STYLE_END else style + part
                row += part
                continue
            cells = measure_width(part)
            if used + cells > room and used:
                lines.append(row + (_STYLE_END if style else ""))
                row, used = style, 0
            row, used = row + part, used + cells
        lines.append(row)
    return lines


def measure_styled_width(text: str) -> int:
    """Return how many cells text with colours takes."""
    return measure_width(_STYLE.sub("", text))
