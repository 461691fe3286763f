"""Prose in a terminal, wrapped between words as it streams in."""

from __future__ import annotations

import re
from collections.abc import Callable

from turnlog.render import terminal

_UNSPACED_SCRIPTS = "\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\uff00-\uffef"
"""Scripts without spaces between words: a line may break after every character."""
_PIECE_PATTERN = re.compile(f"\n| +|[{_UNSPACED_SCRIPTS}]|[^\n {_UNSPACED_SCRIPTS}]+")
_HEADING_PATTERN = re.compile("#{1,6}")
_LIST_ITEM_PATTERN = re.compile(r"[-*+]|\d{1,3}[.)]")
_MIN_WRAP_CELLS = 20


class ProseWrapper:
    """Wraps visible text as it streams in, holding back the last word until it is complete."""

    def __init__(self, look: Callable[[], terminal.TerminalScreen]) -> None:
        self._look = look
        self._is_code = False
        self._reset_line()

    @property
    def is_open(self) -> bool:
        """Whether the current line has text."""
        return self._column > 0 or bool(self._word)

    def add_text(self, text: str) -> str:
        """Add streamed text, and return what can be written."""
        pieces: list[str] = []
        for piece in _PIECE_PATTERN.findall(text):
            if piece == "\n":
                pieces.append(self.end_line() + "\n")
                self._reset_line()
            elif piece[0] == " ":
                pieces.append(self._place_held_word())
                self._space += piece
            else:
                if self._word and len(piece) == 1 and terminal.measure_width(piece) == 2:
                    pieces.append(self._place_held_word())
                self._word += piece
        if self._is_code and not self._is_fence(self._word) and self._word.strip("`~"):
            pieces.append(self._place_held_word())
        return "".join(pieces)

    def end_line(self) -> str:
        """End a line or the text, and return what was held back."""
        return self._place_held_word()

    def begin_text(self) -> None:
        self._is_code = False
        self._reset_line()

    def _reset_line(self) -> None:
        self._column = 0
        self._word = self._space = ""
        self._indent = 0
        self._is_first = True
        self._is_whole = False
        """Whether the terminal wraps the line."""
        self._style: tuple[str, ...] = ()

    def _place_held_word(self) -> str:
        """Return the held word, on this line or the next."""
        word, space = self._word, self._space
        if not word:
            return ""
        self._word = self._space = ""
        if self._is_first:
            self._classify_line(word, len(space))
        look, cells = self._look(), terminal.measure_width(word)
        if self._must_break_line(look, len(space) + cells):
            self._column = self._indent + cells
            return "\n" + " " * self._indent + look.paint(word, *self._style)
        self._column += len(space) + cells
        return space + look.paint(word, *self._style)

    def _classify_line(self, word: str, indent: int) -> None:
        """Detect headings, lists, tables and code by the first word of a line."""
        if self._is_fence(word):
            self._is_code = not self._is_code
            self._is_whole, self._style = True, ("dim",)
        elif self._is_code:
            self._is_whole, self._style = True, ("cyan",)
        elif word.startswith("|"):
            self._is_whole = True
        elif _HEADING_PATTERN.fullmatch(word):
            self._style = ("bold",)
        self._indent = indent + (len(word) + 1 if _LIST_ITEM_PATTERN.fullmatch(word) else 0)
        self._is_first = False

    def _is_fence(self, word: str) -> bool:
        return self._is_first and word.startswith(("```", "~~~"))

    def _must_break_line(self, look: terminal.TerminalScreen, cells: int) -> bool:
        width = look.width
        if width is None or width < _MIN_WRAP_CELLS or self._is_whole or self._column <= self._indent:
            return False
        return self._column + cells >= width
