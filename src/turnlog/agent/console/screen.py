"""The terminal during a session: output is only appended, and existing lines are never changed.

Only the bottom line, where a person types ahead while the model is working, is redrawn; output appears line by line
above it. Sequences that clear the screen or move the cursor up are never sent.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable

from turnlog.render import terminal
from turnlog.render.prose import ProseWrapper

_CLEAR_LINE_SEQUENCE = "\r\x1b[K"
"""Returns to the start of the line and clears it."""
_OPEN_GRAPHEME_PATTERN = re.compile("[\u2000-\U0010ffff]+\\Z")
"""Characters that may combine with the next ones into one symbol."""


class ConsoleScreen:
    """Writes to a terminal; safe to use from several threads."""

    def __init__(
        self,
        write: Callable[[str], object],
        look: terminal.TerminalScreen,
        measure: Callable[[], int] | None = None,
        *,
        is_dumb: bool = False,
    ) -> None:
        self._look = look
        self._measure = measure
        """Measures the current width of the terminal, since windows can be resized."""
        self._prose = ProseWrapper(lambda: self.look)
        self._is_dumb = is_dumb
        """Whether the terminal does not support escape sequences."""
        self._write = write
        self._lock = threading.RLock()
        self._is_open = False
        """Whether the bottom line has text that is still growing."""
        self._held = ""
        """Streamed text that has not been written yet."""
        self._is_typed = False
        self._below = ""
        """The person's input while output appears above it."""
        self._hint = ""
        self._waiting = ""
        """The start of an output line that will appear above the input."""
        self._progress = ""
        """Progress text shown where the next line will appear."""

    @property
    def look(self) -> terminal.TerminalScreen:
        return self._look if self._measure is None else self._look._replace(width=self._measure())

    def write_lines(self, *lines: str) -> None:
        """Write whole lines; any untrusted text in them must already have been made visible."""
        with self._lock:
            self.finish_line()
            self._write_visible("".join(f"{line}\n" for line in lines))

    def begin_text(self) -> None:
        """Start a new piece of text from the model."""
        with self._lock:
            self.finish_line()
            self._prose.begin_text()

    def write_text_part(self, text: str) -> None:
        """Write a streamed piece of the model's text."""
        with self._lock:
            text = self._held + text
            unsettled = _OPEN_GRAPHEME_PATTERN.search(text)
            self._held = unsettled[0][-8:] if unsettled else ""
            self._write_prose(text[: len(text) - len(self._held)])

    def finish_line(self) -> None:
        with self._lock:
            held, self._held = self._held, ""
            self._write_prose(held)
            self._write_visible(self._prose.end_line())
            if self._is_open or self._prose.is_open:
                self._write_visible("\n")
                self._prose.add_text("\n")
            self._is_open = False

    def show_typed(self, text: str, hint: str = "> ", *, always: bool = False) -> None:
        """Show the person's input below all other output, with the cursor after it.

        With `always`, the input line is shown even if it is empty."""
        with self._lock:
            before = self._render_bottom_line() if self._is_typed else None
            self._below, self._hint, self._is_typed = text, hint, bool(text) or always
            if self._is_typed:
                self._draw_bottom_line(before)
            elif before is not None:
                waiting, self._waiting = self._waiting, ""
                self._write(self._build_clear_sequence() + waiting)

    def keep_typed_line(self) -> None:
        """Leave the input on the screen as a finished line."""
        with self._lock:
            if not self._is_typed:
                return
            whole = self._hint + terminal.make_visible(self._below)
            again = "" if whole == self._render_bottom_line() else self._build_clear_sequence() + whole
            waiting, self._waiting, self._is_typed = self._waiting, "", False
            self._write(f"{again}\n{waiting}")

    def _draw_bottom_line(self, before: str | None) -> None:
        """Draw the bottom line; if it only grew, write only the new part."""
        bottom = self._render_bottom_line()
        if before is None:
            self._clear_progress()
            if self._is_open:
                self._write("\n")
                self._is_open = False
            self._write(self._build_clear_sequence() + bottom)
        elif bottom != before:
            self._write(bottom[len(before) :] if bottom.startswith(before) else self._build_clear_sequence() + bottom)

    def show_progress(self, text: str) -> None:
        """Show progress (visible text) where the next line will appear, unless a line is being written."""
        with self._lock:
            if self._is_dumb or self._is_typed or self._is_open or self._held or self._prose.is_open:
                return
            self._progress = self.look.fit(text, 1)
            self._write(_CLEAR_LINE_SEQUENCE + self.look.paint(self._progress, "dim"))

    def _clear_progress(self) -> None:
        if self._progress:
            self._progress = ""
            self._write(_CLEAR_LINE_SEQUENCE)

    def _build_clear_sequence(self) -> str:
        """Return the sequence that clears the bottom line."""
        return f"\r{' ' * ((self.look.width or 80) - 1)}\r" if self._is_dumb else _CLEAR_LINE_SEQUENCE

    def _write_prose(self, text: str) -> None:
        parts = text.replace("\r\n", "\n").expandtabs(4).split("\n")
        wrapped = self._prose.add_text("\n".join(map(terminal.make_visible, parts)))
        if wrapped:
            self._is_open = not wrapped.endswith("\n")
        self._write_visible(wrapped)

    def _write_visible(self, text: str) -> None:
        """Write visible text; if the person's input is shown, only whole lines appear above it."""
        if not text:
            return
        if not self._is_typed:
            self._clear_progress()
            self._write(text)
            return
        whole, end, self._waiting = (self._waiting + text).rpartition("\n")
        if end:
            self._write(f"{self._build_clear_sequence()}{whole}\n{self._render_bottom_line()}")

    def _render_bottom_line(self) -> str:
        """Render the end of the person's input on one line."""
        room = max((self.look.width or 80) - terminal.measure_width(self._hint) - 1, 4)
        text = terminal.make_visible(self._below[-4 * room :].replace("\n", "⏎"))
        while terminal.measure_width(text) > room:
            text = text[1:]
        return self._hint + text
