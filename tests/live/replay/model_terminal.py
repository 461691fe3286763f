"""A terminal of the tests: it knows the few sequences that a replay may send, and fails on any other."""

from __future__ import annotations

import re

from turnlog.render.terminal import measure_width

_TOKEN = re.compile("\x1b\\[(\\??[0-9;]*)([A-Za-z])|(\x1b.?)|([\x00-\x1f\x7f-\x9f])|(.)", re.DOTALL)


class ModelTerminal:
    """A screen with scrollback."""

    def __init__(self, columns: int = 80, rows: int = 24) -> None:
        self.columns, self.rows = columns, rows
        self.lines = [""]
        """All lines, with those that scrolled away."""
        self.x = self.y = 0
        self.is_cursor_visible = True

    @property
    def top(self) -> int:
        return max(len(self.lines) - self.rows, 0)

    @property
    def screen(self) -> list[str]:
        return [line.rstrip() for line in self.lines[self.top :]]

    @property
    def text(self) -> str:
        """All lines, without those that are empty at the end."""
        return "\n".join(line.rstrip() for line in self.lines).rstrip("\n")

    def feed(self, text: str) -> None:
        for found in _TOKEN.finditer(text):
            values, command, escape, control, char = found.groups()
            if char is not None:
                self._put(char)
            elif control is not None:
                self._control(control)
            else:
                assert escape is None, f"an escape sequence that a replay never sends: {found[0]!r}"
                self._command(values, command)

    def _put(self, char: str) -> None:
        cells = measure_width(char)
        assert self.x + cells <= self.columns, f"a line is wider than {self.columns}: {self.lines[self.y]!r}"
        line = self.lines[self.y].ljust(self.x)
        self.lines[self.y] = line[: self.x] + char + "\0" * (cells - 1) + line[self.x + cells :]
        self.x += cells

    def _control(self, control: str) -> None:
        if control == "\r":
            self.x = 0
        elif control == "\n":
            self.y += 1
            if self.y == len(self.lines):
                self.lines.append("")
        else:
            raise AssertionError(f"a control character that a replay never sends: {control!r}")

    def _command(self, values: str, command: str) -> None:
        if command == "m" or (values, command) in (("?2026", "h"), ("?2026", "l")):
            return
        if command in "hl" and values == "?25":
            self.is_cursor_visible = command == "h"
        elif command == "K" and not values:
            self.lines[self.y] = self.lines[self.y][: self.x]
        elif command == "J" and not values:
            self.lines[self.y] = self.lines[self.y][: self.x]
            del self.lines[self.y + 1 :]
        elif command == "A":
            self.y -= int(values)
            assert self.y >= self.top, "the cursor may not leave the screen at its top"
        else:
            raise AssertionError(f"an escape sequence that a replay never sends: {values}{command}")
