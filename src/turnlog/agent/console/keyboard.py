"""The keyboard of a terminal: whole lines at the prompt, single keys during a turn.

At the prompt, the system's line editor (`readline`), if available, provides history and keeps pasted text in one piece.
During a turn, keys are read one by one without echo so that Esc can stop the turn and the person can type ahead. Where
that is not possible (on Windows), Ctrl-C stops the turn, and nothing is read until the turn ends.
"""

from __future__ import annotations

import codecs
import contextlib
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from turnlog.agent.console.keys import PASTE_END, PASTE_START, Key, parse_keys, unify_line_breaks
from turnlog.agent.console.line_editor import (
    MAX_PASTE_CHARS,
    MENU_COMPLETION_TYPE,
    PASTE_COMPLETION_TYPE,
    PICTURE_COMPLETION_TYPE,
    add_to_history,
    bind_prompt_keys,
    load_line_editor,
    read_paste,
)
from turnlog.agent.console.prompt_history import PromptHistory
from turnlog.errors import TurnlogError

_KEY_SEQUENCE_SECONDS = 0.05
"""How long to wait for the rest of a key's escape sequence."""
_POLL_SECONDS = 0.1
_RETRY_SECONDS = 0.1


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
        self._matches: list[str] = []
        self._history = PromptHistory(history) if history is not None else None
        self._menu_calls = 0
        """How often keys of ours called us in this line: twice for the mode key, and once for Esc, Esc."""
        self._text_at_escape = ""
        self._line_number = 0
        self._is_pasting = False
        self._is_typing = False
        """Whether the prompt is waiting for input and can be interrupted."""
        self._rest = ""
        """The start of pasted text whose end has not arrived."""
        self._decoder = codecs.getincrementaldecoder("utf-8")("ignore")
        self._readline = load_line_editor(self._history, self._complete, is_dumb=is_dumb_terminal())
        self._lock = threading.Lock()
        self._waker: tuple[int, int] | None = None
        self._initial_state = _read_terminal_state()
        """The terminal's state at the start, restored at the end."""
        if (reconfigure := getattr(sys.stdin, "reconfigure", None)) is not None:
            reconfigure(errors="replace")
        _keep_typed_on_interrupt()

    @property
    def has_keys(self) -> bool:
        return self._initial_state is not None

    # -- lines

    def read_line(self, hint: str, *, draft: str = "", keep: bool = False) -> str:
        """Read a line. Raises EOFError at the end of input and KeyboardInterrupt on Ctrl-C.

        A line that ends with a backslash continues on the next line, and Esc followed by Enter inserts a line break.
        With `keep`, the line is added to the history, the mode key raises ModeKeyPressed, and an interrupt raises
        TypingInterrupted.
        """
        editor = self._readline
        if editor is not None:
            editor.set_auto_history(False)
            editor.set_startup_hook(lambda: editor.insert_text(draft))
        try:
            parts = [self._read_interruptible_line(hint) if keep else input(hint)]
            if editor is not None:
                editor.set_startup_hook(None)
            while parts[-1].endswith("\\") and not parts[-1].endswith("\\\\"):
                parts[-1] = parts[-1][:-1]
                parts.append(input("… "))
        finally:
            if editor is not None:
                editor.set_startup_hook(None)
        text = "\n".join(parts)
        if keep and self._menu_calls > 1:
            raise ModeKeyPressed(text)
        if keep and text.strip():
            self.remember(text)
        return text

    def remember(self, text: str) -> None:
        """Add a prompt to what Up brings back."""
        if self._readline is not None:
            add_to_history(self._readline, text)
            if self._history is not None:
                self._history.add(self.expand(text))

    def interrupt_typing(self) -> None:
        """Interrupt the prompt so that the console can show a notice; can be called from any thread."""
        with self._lock:
            if self._is_typing:
                signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGUSR1)

    def _read_interruptible_line(self, hint: str) -> str:
        """Read a line that `interrupt_typing` can interrupt; the line editor reacts only to signals."""
        self._line_number, self._menu_calls = self._line_number + 1, 0
        if self._readline is None or os.name == "nt":
            return input(hint)
        before = signal.signal(signal.SIGUSR1, self._on_interrupt_signal)
        # As late as possible: a signal that arrives before the editor waits would take effect only at the next line.
        self._readline.set_pre_input_hook(lambda: setattr(self, "_is_typing", True))
        try:
            return input(hint)
        except TypingInterrupted as interrupt:
            if self._menu_calls == 1 and str(interrupt) == self._text_at_escape:  # else somebody went on typing
                raise RewindKeyPressed(str(interrupt)) from None
            raise
        finally:
            with self._lock:
                self._is_typing = False
            self._readline.set_pre_input_hook(None)
            signal.signal(signal.SIGUSR1, before)

    def _on_interrupt_signal(self, *_: object) -> None:
        if self._is_pasting:  # the line editor would drop the exception
            self._interrupt_soon()
        elif self._is_typing:
            self._is_typing = False
            raise TypingInterrupted(self._readline.get_line_buffer())

    def _complete(self, text: str, state: int) -> str | None:
        """Return the completion with the number `state`, as the line editor wants it."""
        kind = self._readline.get_completion_type()
        if kind == MENU_COMPLETION_TYPE:
            self._menu_calls += 1
            self._text_at_escape = self._readline.get_line_buffer()
            self._interrupt_soon()
            return None
        if kind in (PASTE_COMPLETION_TYPE, PICTURE_COMPLETION_TYPE):
            self._insert_paste(is_picture=kind == PICTURE_COMPLETION_TYPE)
            return None
        if not state:
            # Only at the prompt: what completes must not be offered in answer to a question.
            self._matches = self.complete(text, self._readline.get_begidx() == 0) if self._is_typing else []
        return self._matches[state] if state < len(self._matches) else None

    def _insert_paste(self, *, is_picture: bool) -> None:
        """Insert what the terminal pastes, or the picture on the clipboard."""
        self._is_pasting = True
        try:
            pasted = "" if is_picture else unify_line_breaks(read_paste(sys.stdin.fileno()))
            try:
                shown = (
                    pasted if not self._is_typing else self.paste_picture() if is_picture else self.adopt_paste(pasted)
                )
            except TurnlogError as error:
                shown, self.message = pasted, str(error)
                self._interrupt_soon()
            with contextlib.suppress(UnicodeError):  # the editor accepts only characters of the locale
                self._readline.insert_text(shown)
        finally:
            self._is_pasting = False

    def _interrupt_soon(self) -> None:
        """Interrupt the prompt when the line editor waits for keys again."""
        number = self._line_number

        def interrupt() -> None:
            if self._line_number == number:
                self.interrupt_typing()

        timer = threading.Timer(_RETRY_SECONDS, interrupt)
        timer.daemon = True
        timer.start()

    def use_vi_keys(self) -> None:
        """Edit the prompt with the keys of vi instead of those of Emacs."""
        editor = self._readline
        if editor is not None and "libedit" not in (editor.__doc__ or ""):
            editor.parse_and_bind("set editing-mode vi")
            editor.parse_and_bind("set show-mode-in-prompt off")
            editor.parse_and_bind(r'"\C-e": end-of-line')
            bind_prompt_keys(editor)

    def discard_typed(self) -> None:
        """Discard unread input: it can't be the answer to a question that was not yet visible."""
        if os.name != "nt":
            import termios

            with contextlib.suppress(termios.error):
                termios.tcflush(sys.stdin.fileno(), termios.TCIFLUSH)

    def close(self) -> None:
        """Restore the terminal's initial state."""
        if self._initial_state is not None:
            _set_terminal_state(self._initial_state)

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
        self._waker = os.pipe()
        _set_terminal_state(now)
        _switch_paste_marks("h")
        try:
            yield
        finally:
            _switch_paste_marks("l")
            _set_terminal_state(before)
            with self._lock:  # or another thread could write into a file that reuses these numbers
                for end in self._waker:
                    os.close(end)
                self._waker = None

    def wake_waiter(self) -> None:
        """Make `wait_for_keys` return; can be called from any thread."""
        with self._lock:
            if self._waker is not None:
                os.write(self._waker[1], b".")

    def wait_for_keys(self, over: threading.Event | None = None, seconds: float | None = None) -> list[Key]:
        """Wait for keys and return them; return [] after `wake_waiter` or the given time.

        Raises EOFError if the terminal was closed."""
        if self._waker is None:  # this terminal can't deliver single keys
            (over or threading.Event()).wait(_POLL_SECONDS)
            return []
        import select

        fd = sys.stdin.fileno()
        ready, _, _ = select.select([fd, self._waker[0]], [], [], seconds)
        if not ready:
            return []
        if self._waker[0] in ready:
            os.read(self._waker[0], 4096)
            return []
        raw = _read_terminal(fd)
        if raw.endswith(b"\x1b") and select.select([fd], [], [], _KEY_SEQUENCE_SECONDS)[0]:
            raw += os.read(fd, 4096)
        text = self._rest + self._decoder.decode(raw)
        is_whole = text.rfind(PASTE_START) <= text.rfind(PASTE_END) or len(text) > MAX_PASTE_CHARS
        text, self._rest = (text, "") if is_whole else ("", text)
        return list(parse_keys(text))


def _read_terminal_state() -> Any:
    """Return the terminal's state, or None if the system does not provide one."""
    if os.name == "nt":
        return None
    import termios

    return termios.tcgetattr(sys.stdin.fileno())


def _keep_typed_on_interrupt() -> None:
    """Make the terminal keep typed input after Ctrl-C; otherwise, the line editor would wait for discarded input."""
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
        raw = os.read(fd, 4096)
    except OSError:
        raw = b""
    if not raw:
        raise EOFError
    return raw


def is_dumb_terminal() -> bool:
    """Return whether the terminal does not support escape sequences."""
    return os.name != "nt" and os.environ.get("TERM", "dumb") == "dumb"


def _switch_paste_marks(switch: str) -> None:
    """Switch the marks around pasted text on (`h`) or off (`l`)."""
    if not is_dumb_terminal() and sys.stdout is not None and sys.stdout.isatty():
        sys.stdout.write(f"\x1b[?2004{switch}")
        sys.stdout.flush()
