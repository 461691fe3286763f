"""A model's text on its way to the terminal: words are not torn at the end of a line, headings and code are told apart.

Nothing is left out and nothing is added but line ends: what Markdown marks stays as it was written. Code and tables are
left to the terminal, so that they can be copied as they are.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from turnlog.render import terminal

_UNSPACED_SCRIPTS = "\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\uff00-\uffef"
"""Scripts that put no blanks between words: a line may end behind every character."""
_PIECE_PATTERN = re.compile(f"\n| +|[{_UNSPACED_SCRIPTS}]|[^\n {_UNSPACED_SCRIPTS}]+")
_HEADING_PATTERN = re.compile("#{1,6}")
_LIST_ITEM_PATTERN = re.compile(r"[-*+]|\d{1,3}[.)]")
_MIN_WRAP_CELLS = 20


class ProseWrapper:
    """Takes visible text as it comes; gives what can be written. The last word is held until it is known to end."""

    def __init__(self, look: Callable[[], terminal.TerminalScreen]) -> None:
        self._look = look
        self._is_code = False
        self._reset_line()

    @property
    def is_open(self) -> bool:
        """Whether something stands on the line."""
        return self._column > 0 or bool(self._word)

    def add_text(self, text: str) -> str:
        """Take more of a text."""
        given: list[str] = []
        for piece in _PIECE_PATTERN.findall(text):
            if piece == "\n":
                given.append(self.end_line() + "\n")
                self._reset_line()
            elif piece[0] == " ":
                given.append(self._place_held_word())
                self._space += piece
            else:
                if self._word and len(piece) == 1 and terminal.measure_width(piece) == 2:
                    given.append(self._place_held_word())
                self._word += piece
        if self._is_code and not self._is_fence(self._word) and self._word.strip("`~"):
            given.append(self._place_held_word())
        return "".join(given)

    def end_line(self) -> str:
        """The text ends here, or a line of it."""
        return self._place_held_word()

    def begin_text(self) -> None:
        """Another text begins."""
        self._is_code = False
        self._reset_line()

    def _reset_line(self) -> None:
        self._column = 0
        self._word = self._space = ""
        self._indent = 0
        self._is_first = True
        self._is_whole = False
        """Whether the line is left to the terminal."""
        self._style: tuple[str, ...] = ()

    def _place_held_word(self) -> str:
        """The word that was held, on this line or on the next."""
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
        """What the line is, by its first word."""
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
