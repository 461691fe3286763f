"""A line editor for a Python without GNU readline (such as one that is built with libedit)."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable

from turnlog.agent.console.keys import (
    BACKSPACE,
    CLEAR_LINE,
    DELETE_WORD,
    DOWN,
    END_OF_INPUT,
    ENTER,
    UP,
    Key,
)
from turnlog.render.terminal import make_visible, measure_width

_TO_START, _TO_END, _DELETE_REST = b"\x01", b"\x05", b"\x0b"
_STEPS_BY_SEQUENCE = {b"\x1b[D": -1, b"\x1bOD": -1, b"\x02": -1, b"\x1b[C": 1, b"\x1bOC": 1, b"\x06": 1}
_START_SEQUENCES = frozenset({_TO_START, b"\x1b[H", b"\x1bOH", b"\x1b[1~"})
_END_SEQUENCES = frozenset({_TO_END, b"\x1b[F", b"\x1bOF", b"\x1b[4~"})
_DELETE_SEQUENCE = b"\x1b[3~"


class SimpleEditor:
    """Edits one line, which it shows on one row, as far as it fits."""

    is_vi = False

    def __init__(self, complete: Callable[[str, bool], list[str]]) -> None:
        self.text = ""
        self.is_over = True
        self._point = 0
        self._hint = ""
        self._complete = complete
        self._history: list[str] = []
        self._at = 0
        """The position in the history; its length while a new line is edited."""
        self._draft = ""
        """The new line, while an earlier one is shown."""
        self._state: object = None

    @property
    def is_at_start(self) -> bool:
        return self._point == 0

    def begin(self, hint: str, draft: str) -> None:
        self.text, self._point, self._hint, self.is_over = draft, len(draft), hint, False
        self._at, self._draft = len(self._history), ""
        self._state = _switch_terminal()
        self._show()

    def press(self, key: Key) -> None:
        before, after = self.text[: self._point], self.text[self._point :]
        if key.name == ENTER:
            self._point = len(self.text)
            self._show()
            self.end()
            return
        if key.name == END_OF_INPUT and not self.text:
            self.end()
            raise EOFError
        if key.name in (UP, DOWN):
            self._recall(-1 if key.name == UP else 1)
        elif key.text == "\t":
            self._complete_word(before, after)
        elif not key.name:
            self.insert(key.text)
        elif key.name == BACKSPACE:
            self._set(before[:-1], after)
        elif key.name == DELETE_WORD:
            rest = before.rstrip()
            self._set(rest[: len(rest) - len(rest.split()[-1])] if rest else "", after)
        elif key.name == CLEAR_LINE:
            self._set("", after)
        elif key.raw == _DELETE_REST:
            self._set(before, "")
        elif key.raw == _DELETE_SEQUENCE or key.name == END_OF_INPUT:
            self._set(before, after[1:])
        elif key.raw in _START_SEQUENCES or key.raw in _END_SEQUENCES:
            self._point = 0 if key.raw in _START_SEQUENCES else len(self.text)
        else:
            self._point = min(max(self._point + _STEPS_BY_SEQUENCE.get(key.raw, 0), 0), len(self.text))
        self._show()

    def insert(self, text: str) -> None:
        self._set(self.text[: self._point] + text, self.text[self._point :])
        self._show()

    def resize(self) -> None:
        self._show()

    def finish(self) -> None:
        self.end()

    def end(self) -> None:
        if not self.is_over:
            self.is_over = True
            sys.stdout.write("\n")
            sys.stdout.flush()
            _restore_terminal(self._state)

    def has_history(self, text: str) -> bool:
        return text in self._history

    def add_history(self, text: str) -> None:
        self._history.append(text)

    def use_vi_keys(self) -> None:
        """Do nothing: this editor has only one set of keys."""

    def _set(self, before: str, after: str) -> None:
        self.text, self._point = before + after, len(before)

    def _recall(self, step: int) -> None:
        """Show an earlier or later line of the history."""
        if not 0 <= self._at + step <= len(self._history):
            return
        if self._at == len(self._history):
            self._draft = self.text
        self._at += step
        self._set(self._history[self._at] if self._at < len(self._history) else self._draft, "")

    def _complete_word(self, before: str, after: str) -> None:
        word = before.split(" ")[-1]
        matches = self._complete(word, word == before)
        common = matches[0] if matches else ""
        while not all(match.startswith(common) for match in matches):
            common = common[:-1]
        if len(common) > len(word):
            self._set(before.removesuffix(word) + common, after)
        elif len(matches) > 1:
            sys.stdout.write("\n" + "  ".join(map(make_visible, matches)) + "\n")

    def _show(self) -> None:
        """Paint the part of the line that ends at the cursor, and what follows it if there is room."""
        room = max(shutil.get_terminal_size().columns - measure_width(self._hint) - 1, 4)
        before = make_visible(self.text[: self._point][-4 * room :].replace("\n", "⏎"))
        while measure_width(before) > room:
            before = before[1:]
        after = make_visible(self.text[self._point :][:room].replace("\n", "⏎"))
        while measure_width(before + after) > room:
            after = after[:-1]
        back = f"\x1b[{measure_width(after)}D" if measure_width(after) else ""
        sys.stdout.write(f"\r\x1b[K{self._hint}{before}{after}{back}")
        sys.stdout.flush()


def _switch_terminal() -> object:
    """Let the terminal pass on single keys without echo; return its state before."""
    if sys.platform == "win32":
        return None
    import termios

    before = termios.tcgetattr(sys.stdin.fileno())
    now = termios.tcgetattr(sys.stdin.fileno())
    now[3] &= ~(termios.ICANON | termios.ECHO | termios.IEXTEN)
    termios.tcsetattr(sys.stdin.fileno(), termios.TCSADRAIN, now)
    return before


def _restore_terminal(state: object) -> None:
    if sys.platform != "win32" and isinstance(state, list):
        import termios

        termios.tcsetattr(sys.stdin.fileno(), termios.TCSADRAIN, state)
