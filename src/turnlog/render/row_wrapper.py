"""Wraps styled text between words into rows of a terminal as it streams in."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from turnlog.render.inline_markdown import TextSpan
from turnlog.render.terminal import TerminalScreen, cut_to_cells, make_visible, measure_width

_UNSPACED_SCRIPTS = "\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\uff00-\uffef"
"""Scripts without spaces between words: a line may break after every character."""
_PIECE_PATTERN = re.compile(f" +|[{_UNSPACED_SCRIPTS}]|[^ {_UNSPACED_SCRIPTS}]+")
_UNSPACED_PATTERN = re.compile(f"[{_UNSPACED_SCRIPTS}]")
_MIN_WRAP_CELLS = 20


class RowWrapper:
    """Collects the words of one line. A row is complete when the next word does not fit into it."""

    def __init__(self, look: Callable[[], TerminalScreen]) -> None:
        self._look = look
        self.begin_line()

    def begin_line(
        self, start: Iterable[TextSpan] = (), indent: int = 0, continuation: Iterable[TextSpan] = ()
    ) -> None:
        """Begin a line with `start`; its further rows begin with `continuation` or with `indent` spaces."""
        self._row = list(start)
        self._continuation = list(continuation) or ([TextSpan(" " * indent)] if indent else [])
        self._column = _measure(self._row)
        self._indent = self._column
        self._space = TextSpan("")
        self._word: list[TextSpan] = []

    def add_span(self, span: TextSpan) -> list[str]:
        """Add text, and return the rows that it completes."""
        rows: list[str] = []
        for piece in _PIECE_PATTERN.findall(span.text.replace("\t", "    ")):
            if piece[0] == " ":
                rows += self._place_word()
                self._space = TextSpan(self._space.text + piece, span.styles)
                continue
            if _UNSPACED_PATTERN.match(piece):
                rows += self._place_word()
            if self._word and self._word[-1].styles == span.styles:
                self._word[-1] = TextSpan(self._word[-1].text + piece, span.styles)
            else:
                self._word.append(TextSpan(piece, span.styles))
        return rows

    def end_line(self) -> list[str]:
        """End the line, and return its remaining rows."""
        rows = [*self._place_word(), paint_spans(self._row, self._look())]
        self.begin_line()
        return rows

    def render_open_row(self, rest: str = "") -> str:
        """Render the unfinished row, followed by text that is not scanned yet, cut to the width."""
        look = self._look()
        room = max((look.width or 80) - 1, 1)
        row: list[TextSpan] = []
        for span in (*self._row, self._space, *self._word, TextSpan(rest)):
            if text := cut_to_cells(make_visible(span.text.replace("\t", "    ")), room):
                row.append(TextSpan(text, span.styles))
                room -= measure_width(text)
            if room <= 0:
                break
        return paint_spans(row, look)

    def _place_word(self) -> list[str]:
        """Move the last word to its row; return the row before it if that is complete."""
        if not self._word:
            return []
        word, self._word = [TextSpan(make_visible(span.text), span.styles) for span in self._word], []
        space, self._space = self._space, TextSpan("")
        look, cells, rows = self._look(), _measure(word), []
        if self._must_break(look.width, len(space.text) + cells):
            rows = [paint_spans(self._row, look)]
            self._row = [*self._continuation]
            self._column = _measure(self._row)
        elif space.text:
            word.insert(0, space if space.styles == word[0].styles else TextSpan(space.text))
        self._row += word
        self._column += _measure(word)
        return rows

    def _must_break(self, width: int | None, cells: int) -> bool:
        if width is None or width < _MIN_WRAP_CELLS or self._column <= self._indent:
            return False
        return self._column + cells >= width


def paint_spans(spans: Iterable[TextSpan], look: TerminalScreen) -> str:
    """Paint visible spans, joining neighbours in the same style."""
    parts: list[str] = []
    text, styles = "", tuple[str, ...]()
    for span in spans:
        if span.styles != styles:
            parts.append(look.paint(text, *styles))
            text, styles = "", span.styles
        text += span.text
    parts.append(look.paint(text, *styles))
    return "".join(parts)


def _measure(spans: Iterable[TextSpan]) -> int:
    return sum(measure_width(span.text) for span in spans)
