"""The terminal while a session is at work: everything is added at its end, and nothing that stands there is touched.

Only the line at the bottom, on which a person types ahead while the model works, is drawn anew: what is written
meanwhile comes line by line above it. No sequence that clears the screen or moves the cursor up is ever sent.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterable

from turnlog.render import terminal

_AGAIN = "\r\x1b[K"
"""Back to the start of the line, and empty it."""
_UNSETTLED = re.compile("[\u2000-\U0010ffff]+\\Z")
"""What may become one picture with what comes next."""


class Screen:
    """Writes to a terminal; may be called by several threads."""

    def __init__(self, write: Callable[[str], object], look: terminal.Screen) -> None:
        self.look = look
        self._write = write
        self._lock = threading.RLock()
        self._is_open = False
        """Whether the line at the bottom holds text that is still growing."""
        self._held = ""
        """Streamed text that is not yet shown."""
        self._below = ""
        """What the person types while something is written above it."""
        self._hint = ""
        self._waiting = ""
        """The beginning of a line that will stand above that."""

    def say(self, *lines: str) -> None:
        """Write whole lines; texts of strangers in them must have been made visible."""
        with self._lock:
            self.finish()
            self._put("".join(f"{line}\n" for line in lines))

    def part(self, text: str, *styles: str) -> None:
        """Write more of a text as it comes from a model."""
        with self._lock:
            text = self._held + text
            unsettled = _UNSETTLED.search(text)
            self._held = unsettled[0][-8:] if unsettled else ""
            self._flow(text[: len(text) - len(self._held)], styles)

    def finish(self) -> None:
        """End the line that is being written."""
        with self._lock:
            held, self._held = self._held, ""
            self._flow(held, ())
            if self._is_open:
                self._put("\n")
            self._is_open = False

    def typed(self, text: str, hint: str = "> ") -> None:
        """Show what the person has typed ahead, below everything else; nothing takes it away."""
        with self._lock:
            before, self._below, self._hint = self._below, text, hint
            if text == before:
                return
            if text and not before and self._is_open:
                self._write("\n")
                self._is_open = False
            if text:
                self._write(_AGAIN + self._bottom())
            elif before:
                waiting, self._waiting = self._waiting, ""
                self._write(_AGAIN + waiting)

    def _flow(self, text: str, styles: Iterable[str]) -> None:
        if not text:
            return
        parts = text.replace("\r\n", "\n").expandtabs(4).split("\n")
        shown = "\n".join(self.look.paint(terminal.visible(part), *styles) for part in parts)
        self._is_open = bool(parts[-1]) or (self._is_open and len(parts) == 1)
        self._put(shown)

    def _put(self, text: str) -> None:
        """Write a visible text; above what the person types, only whole lines come."""
        if not self._below:
            self._write(text)
            return
        whole, end, self._waiting = (self._waiting + text).rpartition("\n")
        if end:
            self._write(f"{_AGAIN}{whole}\n{self._bottom()}")

    def _bottom(self) -> str:
        """The end of what the person types, on one line."""
        text = terminal.visible(self._below)
        room = (self.look.width or 80) - len(self._hint) - 1
        while terminal.width(text) > room:
            text = text[1:]
        return self._hint + text
