"""The terminal during a session: output is only appended, and existing lines are never changed.

Only the rows below the output are repainted: the unfinished row of the model's text, the activity, and the input.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterator

from turnlog.agent.console.live_rows import BottomRows, LiveRows, PlainRows
from turnlog.render import terminal
from turnlog.render.streamed_markdown import StreamedMarkdown

_COLUMNS_PATTERN = re.compile(r"(?=.{,30}\S  +\S) *\S+(?: \S+)*  +")
"""The first column of a line with two."""


class ConsoleScreen:
    """Writes to a terminal; safe to use from several threads."""

    def __init__(
        self,
        write: Callable[[str], object],
        look: terminal.TerminalScreen,
        measure: Callable[[], int] | None = None,
        *,
        is_plain: bool = False,
        reflows: bool = False,
    ) -> None:
        self._look = look
        self._measure = measure
        """Measures the current width of the terminal, since windows can be resized."""
        self._markdown = StreamedMarkdown(lambda: self.look)
        self._is_plain = is_plain
        """Whether nothing is painted again: the terminal does not support it, or a screen reader would repeat it."""
        self._rows: BottomRows = (
            PlainRows(self._measure_width) if is_plain else LiveRows(self._measure_width, reflows=reflows)
        )
        self._write = write
        self._lock = threading.RLock()
        self._is_typed = False
        self._below = ""
        """The person's input while output appears above it."""
        self._hint = ""
        self._activity: Callable[[terminal.TerminalScreen], str] | None = None
        self._part = ""
        """What the latest output is part of."""

    @property
    def look(self) -> terminal.TerminalScreen:
        return self._look if self._measure is None else self._look._replace(width=self._measure())

    def write_lines(self, *lines: str) -> None:
        """Write whole lines; any untrusted text in them must already have been made visible."""
        with self._lock:
            self._refresh(*self._markdown.end_text(), *lines)

    def write_prose(self, *lines: str, style: str | None = None) -> None:
        """Write lines of visible text without colours, wrapped between words."""
        look = self.look
        styles = () if style is None else (style,)
        self.write_lines(*(look.paint(row, *styles) for line in lines for row in _wrap_line(line, look.width)))

    def start_part(self, part: str, *, is_attached: bool = False) -> None:
        """Leave an empty row before output of another part (the prompt, text, calls …), unless it is attached."""
        with self._lock:
            if part != self._part:
                if self._part and not is_attached:
                    self.write_lines("")
                self._part = part

    def begin_text(self) -> None:
        """Start a new piece of text from the model."""
        self.finish_line()

    def write_text_part(self, text: str) -> None:
        """Write a streamed piece of the model's text."""
        with self._lock:
            self._refresh(*self._markdown.add_text(text))

    def finish_line(self) -> None:
        with self._lock:
            self._refresh(*self._markdown.end_text())

    def show_typed(self, text: str, hint: str = "> ", *, always: bool = False) -> None:
        """Show the person's input below all other output, with the cursor after it.

        With `always`, the input line is shown even if it is empty."""
        with self._lock:
            self._below, self._hint, self._is_typed = text, hint, bool(text) or always
            self._refresh()

    def keep_typed_line(self) -> None:
        """Leave the input on the screen as a finished line."""
        with self._lock:
            if self._is_typed:
                self._is_typed = False
                self._refresh(self._hint + terminal.make_visible(self._below))

    def show_activity(self, render: Callable[[terminal.TerminalScreen], str] | None) -> None:
        """Show a line about the work in progress below the output; None removes it."""
        with self._lock:
            self._activity = render
            self._refresh()

    def refresh(self) -> None:
        """Repaint what has changed with time."""
        with self._lock:
            self._refresh()

    def _refresh(self, *lines: str) -> None:
        rows: list[str] = []
        if not self._is_plain:
            if open_row := self._markdown.open_row:
                rows.append(open_row)
            if self._activity is not None:
                rows.append(self._activity(self.look))
        if self._is_typed:
            rows.append(self._render_bottom_line())
        if update := self._rows.update(lines, rows):
            self._write(update)

    def _measure_width(self) -> int:
        return self.look.width or 80

    def _render_bottom_line(self) -> str:
        """Render the end of the person's input on one line."""
        room = max(self._measure_width() - terminal.measure_width(self._hint) - 1, 4)
        text = terminal.make_visible(self._below[-4 * room :].replace("\n", "⏎"))
        while terminal.measure_width(text) > room:
            text = text[1:]
        return self._hint + text


def _wrap_line(line: str, width: int | None) -> Iterator[str]:
    """Wrap a line between words; further rows begin below the second column or, without one, a little indented."""
    if width is None:
        yield line
        return
    columns = _COLUMNS_PATTERN.match(line)
    indent = columns.end() if columns else len(line) - len(line.lstrip()) + 2
    yield from terminal.wrap_words(line, width - 1, indent)
