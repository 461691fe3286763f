"""The keyboard of a terminal: lines at rest, and single keys while a turn is at work.

At rest the line editor of the system (`readline`) is used where there is one: history, and pasted text as one piece.
While a turn is at work keys are read as they come, without being echoed, so that Esc can stop it and lines can be typed
ahead. Where that is not possible (Windows), Ctrl-C stops it, and nothing is read until it is over.
"""

from __future__ import annotations

import codecs
import contextlib
import os
import re
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

ESCAPE, ENTER, BACKSPACE, CLEAR = "escape", "enter", "backspace", "clear"
_PAUSE = 0.05
"""Seconds within which the rest of a key's sequence comes."""
_TICK = 0.1
_SEQUENCE = re.compile("\x1b(?:\\[[0-9;?]*[ -/]*[@-~]|O.|[^\\[O\x1b])")
_NAMED = {"\r": ENTER, "\n": ENTER, "\x7f": BACKSPACE, "\x08": BACKSPACE, "\x15": CLEAR, "\x1b": ESCAPE}
_LINES = 1000
"""So many lines of history are kept."""


class Key(NamedTuple):
    """One key, or a character."""

    text: str
    name: str = ""
    """What it does; empty for a character."""


def keys(text: str) -> Iterator[Key]:
    """The keys in what a terminal sent; sequences of keys that mean nothing here are left out."""
    for char in _SEQUENCE.sub("", text):
        if char in _NAMED:
            yield Key(char, _NAMED[char])
        elif char.isprintable() or char == "\t":
            yield Key(char)


class Keyboard:
    """Reads from the terminal that standard input is."""

    def __init__(self, history: Path | None = None) -> None:
        self._history = history
        self._decoder = codecs.getincrementaldecoder("utf-8")("ignore")
        self._readline = _editor(history)
        self._lock = threading.Lock()
        self._waker: tuple[int, int] | None = None
        self._usual = _state()
        """How the terminal was found."""
        _keep_typed()

    # -- lines

    def line(self, hint: str, *, draft: str = "", keep: bool = False) -> str:
        """Read a line; EOFError at the end of input, KeyboardInterrupt if it is given up.

        A line that ends with a backslash goes on; so does one in which Esc and Enter are pressed. `keep`: it belongs
        into the history.
        """
        editor = self._readline
        if editor is not None:
            editor.set_auto_history(False)
            editor.set_startup_hook(lambda: editor.insert_text(draft))
        try:
            parts = [input(hint)]
            if editor is not None:
                editor.set_startup_hook(None)
            while parts[-1].endswith("\\") and not parts[-1].endswith("\\\\"):
                parts[-1] = parts[-1][:-1]
                parts.append(input("… "))
        finally:
            if editor is not None:
                editor.set_startup_hook(None)
        text = "\n".join(parts)
        if keep and editor is not None and text.strip():
            editor.add_history(text)
        return text

    def forget(self) -> None:
        """Drop what was typed and not read yet: it can't be an answer to a question that was not asked yet."""
        if os.name != "nt":
            import termios

            with contextlib.suppress(termios.error):
                termios.tcflush(sys.stdin.fileno(), termios.TCIFLUSH)

    def close(self) -> None:
        """Give the terminal back as it was, and keep the history for next time."""
        if self._usual is not None:
            _set_state(self._usual)
        if self._readline is None or self._history is None:
            return
        with contextlib.suppress(OSError):
            self._history.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._history.touch(mode=0o600)
            self._readline.set_history_length(_LINES)
            self._readline.write_history_file(str(self._history))

    # -- keys

    @contextlib.contextmanager
    def watching(self) -> Iterator[None]:
        """Read single keys, unseen, until the end of this."""
        before, now = _state(), _state()
        if now is None:
            yield
            return
        import termios

        now[3] &= ~(termios.ICANON | termios.ECHO)
        self._waker = os.pipe()
        _set_state(now)
        try:
            yield
        finally:
            _set_state(before)
            with self._lock:  # or somebody would write into what is opened next under these numbers
                for end in self._waker:
                    os.close(end)
                self._waker = None

    def wake(self) -> None:
        """Let whoever waits for keys look up; from any thread."""
        with self._lock:
            if self._waker is not None:
                os.write(self._waker[1], b".")

    def wait(self, over: threading.Event) -> list[Key]:
        """The keys that came, none if there was something else to look at; EOFError if the terminal is gone."""
        if self._waker is None:  # no keys can be read here
            over.wait(_TICK)
            return []
        import select

        fd = sys.stdin.fileno()
        ready, _, _ = select.select([fd, self._waker[0]], [], [])
        if self._waker[0] in ready:
            os.read(self._waker[0], 4096)
            return []
        raw = _read(fd)
        if raw.endswith(b"\x1b") and select.select([fd], [], [], _PAUSE)[0]:
            raw += os.read(fd, 4096)
        return list(keys(self._decoder.decode(raw)))


def _state() -> Any:
    """How the terminal behaves; None where that can't be told."""
    if os.name == "nt":
        return None
    import termios

    return termios.tcgetattr(sys.stdin.fileno())


def _keep_typed() -> None:
    """Let Ctrl-C not throw away what was typed before it: the line editor would wait for that, and hear no more."""
    if (state := _state()) is not None:
        import termios

        state[3] |= termios.NOFLSH
        _set_state(state)


def _set_state(state: Any) -> None:
    import termios

    with contextlib.suppress(termios.error, ValueError):
        termios.tcsetattr(sys.stdin.fileno(), termios.TCSADRAIN, state)


def _read(fd: int) -> bytes:
    try:
        raw = os.read(fd, 4096)
    except OSError:
        raw = b""
    if not raw:
        raise EOFError
    return raw


def _editor(history: Path | None) -> Any:
    """The line editor of the system, if there is one."""
    try:
        import readline
    except ImportError:
        return None
    readline.parse_and_bind(r'"\e\C-m": "\C-v\C-j"')
    readline.parse_and_bind("set enable-bracketed-paste on")
    if history is not None:
        with contextlib.suppress(OSError):
            readline.read_history_file(str(history))
    return readline
