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

from turnlog.agent.console.keys import PASTE_END, PASTE_START, Key, parse_keys

MAX_HISTORY_PROMPTS = 1000


class PromptHistory:
    """The file of earlier prompts, readable only by its owner."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def load(self) -> list[str]:
        """Return the newest prompts, oldest first; shorten the file if it contains many more than that."""
        try:
            lines = self._path.read_text("utf-8", "replace").splitlines()
        except OSError:
            return []
        if len(lines) > 2 * MAX_HISTORY_PROMPTS:
            with contextlib.suppress(OSError):
                self._write_text("".join(f"{line}\n" for line in lines[-MAX_HISTORY_PROMPTS:]), os.O_TRUNC)
        return [_unescape_prompt(line) for line in lines[-MAX_HISTORY_PROMPTS:] if line]

    def add(self, text: str) -> None:
        """Append a prompt; ignore write errors."""
        with contextlib.suppress(OSError):
            self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._write_text(_escape_prompt(text) + "\n", os.O_APPEND)

    def _write_text(self, text: str, mode: int) -> None:
        fd = os.open(self._path, os.O_WRONLY | os.O_CREAT | mode, 0o600)
        try:
            os.write(fd, text.encode("utf-8", "replace"))
        finally:
            os.close(fd)


def _escape_prompt(text: str) -> str:
    return "\\n".join(part.replace("\\", "\\\\") for part in text.splitlines())


def _unescape_prompt(line: str) -> str:
    return "\\".join(part.replace("\\n", "\n") for part in line.split("\\\\"))


_KEY_SEQUENCE_SECONDS = 0.05
"""How long to wait for the rest of a key's escape sequence."""
_POLL_SECONDS = 0.1
_MENU_COMPLETION_TYPE = ord("%")
"""The line editor's code for the kind of completion that the mode key triggers."""
_MAX_PASTE_CHARS = 16 << 20
_SEQUENCE_STARTS = "[O"
"""The second characters of escape sequences (arrows, pasted text)."""


class ModeKeyPressed(Exception):
    """Raised when the mode key is pressed at the prompt; the exception's text is the input so far."""


class TypingInterrupted(Exception):
    """Raised when another thread interrupts the prompt; the exception's text is the input so far."""


class Keyboard:
    """Reads from the terminal on standard input."""

    def __init__(self, history: Path | None = None) -> None:
        self._history = PromptHistory(history) if history is not None else None
        self._is_mode_key = False
        """Whether the mode key ended the line."""
        self._is_typing = False
        """Whether the prompt is waiting for input and can be interrupted."""
        self._rest = ""
        """The start of pasted text whose end has not arrived."""
        self._decoder = codecs.getincrementaldecoder("utf-8")("ignore")
        self._readline = _load_line_editor(self._history, self._on_mode_key)
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
        is_mode_key, self._is_mode_key = self._is_mode_key, False
        if keep and is_mode_key:
            raise ModeKeyPressed(text)
        if keep and editor is not None and text.strip():
            _add_to_history(editor, text)
            if self._history is not None:
                self._history.add(text)
        return text

    def interrupt_typing(self) -> None:
        """Interrupt the prompt so that the console can show a notice; can be called from any thread."""
        with self._lock:
            if self._is_typing:
                signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGUSR1)

    def _read_interruptible_line(self, hint: str) -> str:
        """Read a line that `interrupt_typing` can interrupt; the line editor reacts only to signals."""
        if self._readline is None or os.name == "nt":
            return input(hint)
        before = signal.signal(signal.SIGUSR1, self._on_interrupt_signal)
        # As late as possible: a signal that arrives before the editor waits would take effect only at the next line.
        self._readline.set_pre_input_hook(lambda: setattr(self, "_is_typing", True))
        try:
            return input(hint)
        finally:
            with self._lock:
                self._is_typing = False
            self._readline.set_pre_input_hook(None)
            signal.signal(signal.SIGUSR1, before)

    def _on_interrupt_signal(self, *_: object) -> None:
        if self._is_typing:
            self._is_typing = False
            raise TypingInterrupted(self._readline.get_line_buffer())

    def _on_mode_key(self, _text: str, _state: int) -> None:
        # Other keys may trigger completion too, but not of this type.
        if self._readline.get_completion_type() == _MENU_COMPLETION_TYPE:
            self._is_mode_key = True

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

    def wait_for_keys(self, over: threading.Event | None = None) -> list[Key]:
        """Wait for keys and return them; return [] after `wake_waiter`. Raises EOFError if the terminal was closed."""
        if self._waker is None:  # this terminal can't deliver single keys
            (over or threading.Event()).wait(_POLL_SECONDS)
            return []
        import select

        fd = sys.stdin.fileno()
        ready, _, _ = select.select([fd, self._waker[0]], [], [])
        if self._waker[0] in ready:
            os.read(self._waker[0], 4096)
            return []
        raw = _read_terminal(fd)
        if raw.endswith(b"\x1b") and select.select([fd], [], [], _KEY_SEQUENCE_SECONDS)[0]:
            raw += os.read(fd, 4096)
        text = self._rest + self._decoder.decode(raw)
        is_whole = text.rfind(PASTE_START) <= text.rfind(PASTE_END) or len(text) > _MAX_PASTE_CHARS
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


def _load_line_editor(history: PromptHistory | None, mode_key: Callable[[str, int], None]) -> Any:
    """Load the system's line editor and bind its keys; return None if it is missing."""
    try:
        import readline
    except ImportError:
        return None
    readline.parse_and_bind(r'"\e\C-m": "\C-v\C-j"')
    _let_escape_pass(readline)
    readline.parse_and_bind(f"set enable-bracketed-paste {'off' if is_dumb_terminal() else 'on'}")
    if "libedit" not in (readline.__doc__ or ""):
        # A key can call our code only as the completer, so the mode key completes and then presses Enter.
        readline.set_completer(mode_key)
        readline.parse_and_bind("set bell-style none")
        readline.parse_and_bind("tab: tab-insert")
        readline.parse_and_bind(r'"\C-x\C-y": menu-complete')
        readline.parse_and_bind(r'"\e[Z": "\C-x\C-y\C-e\C-m"')
    for text in history.load() if history is not None else ():
        _add_to_history(readline, text)
    return readline


def _let_escape_pass(editor: Any) -> None:
    """Make the line editor insert a character typed after Esc: an Esc just after a turn was meant to stop that turn.

    By default, the line editor treats Esc followed by a letter as Alt plus that letter, however long the pause between
    them.
    """
    if "libedit" in (editor.__doc__ or ""):
        return
    editor.parse_and_bind(r'"\e": ""')
    for char in map(chr, range(0x20, 0x7F)):
        if char not in _SEQUENCE_STARTS:
            quoted = f"\\{char}" if char in '"\\' else char
            editor.parse_and_bind(f'"\\e{quoted}": "{quoted}"')
    for arrow, function in (("D", "backward-word"), ("C", "forward-word")):  # what Alt-B and Alt-F did
        for modifier in (3, 5):  # Alt, Ctrl
            editor.parse_and_bind(rf'"\e[1;{modifier}{arrow}": {function}')


def _add_to_history(editor: Any, text: str) -> None:
    with contextlib.suppress(UnicodeError):  # the editor accepts only characters of the locale
        editor.add_history(text)
