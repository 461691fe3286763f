"""What a terminal shows of what is written to it; a sequence that it does not know is an error."""

from __future__ import annotations

import re
from collections.abc import Iterator

from turnlog.render.terminal import measure_width

_PART = re.compile("\x1b\\[(?P<number>[0-9;?]*)(?P<action>[A-Za-z@])|(?P<char>.)", re.DOTALL)


class Display:
    """A terminal of endless height: its rows as plain text, without the styles."""

    def __init__(self, text: str = "", *, is_strict: bool = True) -> None:
        self.rows: list[list[str]] = [[]]
        self.row = self.column = 0
        self._is_strict = is_strict
        self.write(text)

    def write(self, text: str) -> None:
        """Take what a program writes."""
        for _ in self.steps(text):
            pass

    def steps(self, text: str, start: int = 0) -> Iterator[int]:
        """Take what a program writes, character by character; the position in the text behind each."""
        for part in _PART.finditer(text, start):
            if char := part["char"]:
                self._put(char)
            else:
                self._act(part["action"], part["number"])
            yield part.end()

    @property
    def lines(self) -> list[str]:
        """The rows, without blanks at their ends."""
        return ["".join(row).rstrip(" ") for row in self.rows]

    @property
    def before_cursor(self) -> str:
        """The row of the cursor, up to it."""
        return "".join(self.rows[self.row][: self.column])

    def _put(self, char: str) -> None:
        if char == "\n":
            self.row, self.column = self.row + 1, 0
            if self.row == len(self.rows):
                self.rows.append([])
        elif char == "\r":
            self.column = 0
        elif char == "\b" and not self._is_strict:
            self.column = max(self.column - 1, 0)
        elif char != "\x07" or self._is_strict:
            self._print(char)

    def _print(self, char: str) -> None:
        row, cells = self.rows[self.row], measure_width(char)
        row += [" "] * (self.column - len(row))
        if cells:
            row[self.column : self.column + cells] = [char, *[""] * (cells - 1)]
        elif self.column:
            row[self.column - 1] += char
        self.column += cells

    def _act(self, action: str, number: str) -> None:
        if action == "A":
            self.row -= int(number or 1)
            assert self.row >= 0
        elif action == "C":
            self.column += int(number or 1)
        elif action == "J" and number == "2" and not self._is_strict:
            pass  # clears the screen; what was on it is kept here as if it had scrolled away
        elif action in "KJ":
            assert not number or (action, number) == ("K", "2")  # progress of a slow start erases its whole row
            del self.rows[self.row][0 if number else self.column :]
            if action == "J":
                del self.rows[self.row + 1 :]
        elif self._is_strict:
            assert action == "m" or number == "?2004", action
