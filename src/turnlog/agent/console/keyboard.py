"""The keyboard of a terminal: whole lines at the prompt, single keys during a turn.

All input is read here and split into keys and pasted text in one place (`keys`), in every state of the console: what is
pasted is never a key. At the prompt, a line editor gets the keys. During a turn, they are read without echo so that Esc
can stop the turn and the person can type ahead. Where that is not possible (on Windows), Ctrl-C stops the turn, and
nothing is read until the turn ends.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from turnlog.agent.console.keys import (
    COMMAND_MARKS,
    ENTER,
    ESCAPE,
    NEXT_MODE,
    PASTE,
    PICTURE,
    Key,
    KeyParser,
    protect_pasted_mark,
)
from turnlog.agent.console.line_editor import LineEditor, load_line_editor
from turnlog.agent.console.prompt_history import PromptHistory
from turnlog.errors import TurnlogError

_MAX_READ_BYTES = 65_536
_POLL_SECONDS = 0.1


class ModeKeyPressed(Exception):
    """Raised when the mode key is pressed at the prompt; the exception's text is the input so far."""


class RewindKeyPressed(Exception):
    """Raised when Esc is pressed twice at the prompt; the exception's text is the input so far."""


class TypingInterrupted(Exception):
    """Raised when another thread interrupts the prompt; the exception's text is the input so far."""


class Keyboard:
    """Reads from the terminal on standard input."""

    def __init__(self, history: Path | None = None) -> None:
        self.complete: Callable[[str, bool], list[str]] = lambda _word, _is_first: []
        """Completes a word of the prompt, given whether it is the first."""
        self.adopt_paste: Callable[[str], str] = lambda text: text
        """Returns what to insert for pasted text."""
        self.paste_picture: Callable[[], str] = lambda: ""
        """Returns what to insert for the picture on the clipboard."""
        self.expand: Callable[[str], str] = lambda text: text
        """Returns a prompt with what stands for pasted text replaced by it."""
        self.message = ""
        """What to tell the person when the prompt is interrupted."""
        self._history = PromptHistory(history) if history is not None else None
        self._parser = KeyParser()
        self._keys: list[Key] = []
        """Keys that have been read but not used."""
        self._lock = threading.Lock()
        self._is_typing = False
        """Whether the prompt is waiting for input and can be interrupted."""
        self._is_interrupted = self._is_resized = self._is_watching = False
        self._waker: tuple[int, int] | None = None
        self._editor: LineEditor | None = None
        self._initial_state = _read_terminal_state()
        """The terminal's state at the start, restored at the end."""
        if (reconfigure := getattr(sys.stdin, "reconfigure", None)) is not None:
            reconfigure(errors="replace")
        if self._initial_state is not None:
            self._waker = os.pipe()
            os.set_blocking(self._waker[1], False)
            self._editor = load_line_editor(self._history, self._complete)
            _keep_typed_on_interrupt()
            _switch_paste_marks("h")
            signal.signal(signal.SIGWINCH, self._on_resize)

    @property
    def has_keys(self) -> bool:
        return self._initial_state is not None

    # -- lines

    def read_line(self, hint: str, *, draft: str = "", keep: bool = False) -> str:
        """Read a line. Raises EOFError at the end of input and KeyboardInterrupt on Ctrl-C.

        A line that ends with a backslash continues on the next line, and Esc followed by Enter inserts a line break.
        A line that begins with a command's mark which was not typed gets a blank before it.
        With `keep`, the line is added to the history, the mode key raises ModeKeyPressed, and an interrupt raises
        TypingInterrupted.
        """
        parts = [self._read_one_line(hint, draft, keep=keep)]
        while parts[-1].endswith("\\") and not parts[-1].endswith("\\\\"):
            parts[-1] = parts[-1][:-1]
            parts.append(self._read_one_line("… ", "", keep=False))
        text = "\n".join(parts)
        if keep and text.strip():
            self.remember(text)
        return text

    def remember(self, text: str) -> None:
        """Add a prompt to what Up brings back."""
        if self._editor is not None:
            self._editor.add_history(text)
        if self._history is not None:
            whole = self.expand(text)
            self._history.add(whole if text.startswith(COMMAND_MARKS) else protect_pasted_mark(whole))

    def interrupt_typing(self) -> None:
        """Interrupt the prompt so that the console can show a notice; can be called from any thread."""
        with self._lock:
            self._is_interrupted = self._is_typing
            self._wake()

    def use_vi_keys(self) -> None:
        """Edit the prompt with the keys of vi instead of those of Emacs."""
        if self._editor is not None:
            self._editor.use_vi_keys()

    def _read_one_line(self, hint: str, draft: str, *, keep: bool) -> str:
        editor = self._editor
        if editor is None:
            return _read_system_line(hint)
        _switch_paste_marks("h")
        editor.begin(hint, draft)
        line = _PromptLine(editor)
        self._is_interrupted, self._is_typing = False, keep
        try:
            while not editor.is_over:
                self._press_keys(line, keep=keep)
            return line.text
        except KeyboardInterrupt:
            self._parser.give_up_end()
            raise
        except EOFError:
            sys.stdout.write("" if is_dumb_terminal() else "\n")
            raise
        finally:
            with self._lock:
                self._is_typing = False
            editor.end()

    def _press_keys(self, line: _PromptLine, *, keep: bool) -> None:
        """Wait for keys and apply them to the line."""
        self._keys = self._keys or self._read_keys(None)
        if self._is_resized:
            self._is_resized = False
            line.editor.resize()
        while self._keys and not line.editor.is_over:
            key = self._keys.pop(0)
            if key.name == NEXT_MODE and keep:
                text = line.text
                line.editor.finish()
                raise ModeKeyPressed(text)
            if key.name == ESCAPE and keep and line.is_second_escape():
                raise RewindKeyPressed(line.text)
            if key.name == PASTE or (key.name == PICTURE and keep):
                self._insert_paste(line, key, keep=keep)
            else:
                line.press(key)
        if self._is_interrupted and not line.editor.is_over:
            raise TypingInterrupted(line.text)

    def _insert_paste(self, line: _PromptLine, key: Key, *, keep: bool) -> None:
        """Insert what was pasted, or the picture on the clipboard."""
        try:
            shown = self.paste_picture() if key.name == PICTURE else self.adopt_paste(key.text) if keep else key.text
        except TurnlogError as error:
            shown, self.message = key.text if key.name == PASTE else "", str(error)
            self._is_interrupted = True
        line.insert(shown)

    def _complete(self, word: str, is_first: bool) -> list[str]:
        # Only at the prompt: what completes must not be offered in answer to a question.
        return self.complete(word, is_first) if self._is_typing else []

    def _on_resize(self, *_: object) -> None:
        self._is_resized = True
        self._wake()

    def discard_typed(self) -> None:
        """Discard unread keys: they can't be the answer to a question that was not yet visible.

        Pasted text whose end has not arrived stays pasted text."""
        if self._initial_state is None:
            return
        import select

        self._keys.clear()
        with self.watch_keys(), contextlib.suppress(EOFError):
            while select.select([sys.stdin.fileno()], [], [], 0)[0]:
                self._parser.feed(_read_terminal(sys.stdin.fileno()))
        self._parser.end_burst()

    def close(self) -> None:
        """Restore the terminal's initial state."""
        if self._initial_state is not None:
            _switch_paste_marks("l")
            _set_terminal_state(self._initial_state)

    @contextlib.contextmanager
    def lend_terminal(self) -> Iterator[None]:
        """Let another program use the terminal for the duration of the block."""
        if self._initial_state is None:
            yield
            return
        before = _read_terminal_state()
        _switch_paste_marks("l")
        _set_terminal_state(self._initial_state)
        try:
            yield
        finally:
            _set_terminal_state(before)
            _switch_paste_marks("h")

    # -- keys

    @contextlib.contextmanager
    def watch_keys(self) -> Iterator[None]:
        """Read single keys without echo for the duration of the block."""
        before, now = _read_terminal_state(), _read_terminal_state()
        if now is None:
            yield
            return
        import termios

        now[3] &= ~(termios.ICANON | termios.ECHO)
        _set_terminal_state(now)
        _switch_paste_marks("h")
        try:
            yield
        except KeyboardInterrupt:
            self._parser.give_up_end()
            raise
        finally:
            _set_terminal_state(before)

    def wake_waiter(self) -> None:
        """Make `wait_for_keys` return; can be called from any thread."""
        with self._lock:
            self._wake()

    def wait_for_keys(self, over: threading.Event | None = None, seconds: float | None = None) -> list[Key]:
        """Wait for keys and return them; return [] after `wake_waiter` or the given time.

        Raises EOFError if the terminal was closed."""
        if self._waker is None:  # this terminal can't deliver single keys
            (over or threading.Event()).wait(_POLL_SECONDS)
            return []
        keys, self._keys = self._keys, []
        return keys or self._read_keys(seconds)

    def _wake(self) -> None:
        if self._waker is not None:
            with contextlib.suppress(BlockingIOError):
                os.write(self._waker[1], b".")

    def _read_keys(self, seconds: float | None) -> list[Key]:
        """Read what the terminal sends, up to a pause if that decides what it means."""
        assert self._waker is not None
        import select

        fd = sys.stdin.fileno()
        pause = self._parser.pause_seconds
        ready, _, _ = select.select([fd, self._waker[0]], [], [], seconds if pause is None else pause)
        if self._waker[0] in ready:
            os.read(self._waker[0], 4096)
            return []
        keys = self._parser.feed(_read_terminal(fd)) if ready else self._parser.end_burst()
        while (pause := self._parser.pause_seconds) is not None:
            if select.select([fd], [], [], pause)[0]:
                keys += self._parser.feed(_read_terminal(fd))
            else:
                keys += self._parser.end_burst()
        return keys


class _PromptLine:
    """The line at the prompt, and whether its first character was typed."""

    def __init__(self, editor: LineEditor) -> None:
        self.editor = editor
        self._is_mark_typed = editor.text.startswith(COMMAND_MARKS)
        self._text_at_escape: str | None = None
        """The text when Esc was pressed just before; None after any other key."""

    @property
    def text(self) -> str:
        """The text; a command's mark that was not typed stands behind a blank."""
        text = self.editor.text
        return text if self._is_mark_typed else protect_pasted_mark(text)

    def is_second_escape(self) -> bool:
        """Return whether Esc was pressed just before, too."""
        return self._text_at_escape == self.editor.text

    def press(self, key: Key) -> None:
        """Apply a key. A character typed after Esc is typed: an Esc just after a turn was meant to stop that turn."""
        if key.name == ESCAPE and not self.editor.is_vi:
            self._text_at_escape = self.editor.text
            return
        before, is_escaped = self.editor.text, self._text_at_escape is not None
        self._text_at_escape = None
        if not self.editor.is_vi:
            is_escaped = is_escaped or key.raw == b"\x1b\r"
            if is_escaped and key.raw in (b"\r", b"\n", b"\x1b\r", b"\x1b\n"):
                self.editor.insert("\n")
                return
            if len(key.raw) == 2 and key.raw[0] == 0x1B and 0x20 <= key.raw[1] < 0x7F:
                key = Key(key.text[1:], "", key.raw[1:])
        self.editor.press(key)
        after = self.editor.text
        if key.name == ENTER or before[:1] == after[:1]:
            return
        self._is_mark_typed = after.startswith(COMMAND_MARKS) and (
            after[0] == key.text or (after not in before and self.editor.has_history(after))
        )

    def insert(self, text: str) -> None:
        """Insert text that was pasted."""
        self._text_at_escape = None
        if self.editor.is_at_start:
            text, self._is_mark_typed = protect_pasted_mark(text), False
        self.editor.insert(text)


def _read_terminal_state() -> Any:
    """Return the terminal's state, or None if the system does not provide one."""
    if os.name == "nt":
        return None
    import termios

    return termios.tcgetattr(sys.stdin.fileno())


def _keep_typed_on_interrupt() -> None:
    """Make the terminal keep typed input after Ctrl-C; otherwise, the end of pasted text could get lost."""
    if (state := _read_terminal_state()) is not None:
        import termios

        state[3] |= termios.NOFLSH
        _set_terminal_state(state)


def _set_terminal_state(state: Any) -> None:
    import termios

    with contextlib.suppress(termios.error, ValueError):
        termios.tcsetattr(sys.stdin.fileno(), termios.TCSADRAIN, state)


def _read_terminal(fd: int) -> bytes:
    try:
        raw = os.read(fd, _MAX_READ_BYTES)
    except OSError:
        raw = b""
    if not raw:
        raise EOFError
    return raw


def _read_system_line(hint: str) -> str:
    """Read a line without an editor of ours (on Windows); lines that arrive together with it are part of the text."""
    parts = [input(hint)]
    if sys.platform == "win32":
        import msvcrt

        while msvcrt.kbhit():
            parts.append(input("… "))
    return parts[0] if len(parts) == 1 else protect_pasted_mark("\n".join(parts))


def is_dumb_terminal() -> bool:
    """Return whether the terminal does not support escape sequences."""
    return os.name != "nt" and os.environ.get("TERM", "dumb") == "dumb"


def _switch_paste_marks(switch: str) -> None:
    """Switch the marks around pasted text on (`h`) or off (`l`)."""
    if not is_dumb_terminal() and sys.stdout is not None and sys.stdout.isatty():
        sys.stdout.write(f"\x1b[?2004{switch}")
        sys.stdout.flush()
