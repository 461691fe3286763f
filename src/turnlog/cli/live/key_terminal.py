"""A terminal that delivers single keys without echo, and is restored no matter how the program ends."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import sys
from collections.abc import Iterator
from typing import Any

from turnlog.cli.progress import hide_work

_SEQUENCE_SECONDS = 0.05
"""How long to wait for the rest of a key's escape sequence."""
_HIDE_CURSOR, _SHOW_CURSOR = "\x1b[?25l", "\x1b[?25h"
_KEY_PATTERN = re.compile("\x1b\\[[0-9;?]*[@-~]|\x1bO.|\x1b|.", re.DOTALL)
_UNFINISHED_KEYS = (b"\x1b", b"\x1b[", b"\x1bO")


def can_read_keys() -> bool:
    """Return whether standard input is a terminal that can deliver single keys."""
    return os.name != "nt" and sys.stdin is not None and sys.stdin.isatty() and os.environ.get("TERM") != "dumb"


def write_out(text: str) -> None:
    """Write to standard output and flush it."""
    if sys.stdout is not None:
        hide_work()
        sys.stdout.write(text)
        sys.stdout.flush()


class KeyTerminal:
    """The terminal while the block of `open_key_terminal` is running."""

    def __init__(self, initial_state: Any, wake_fd: int) -> None:
        self._fd = sys.stdin.fileno()
        self._initial_state = initial_state
        self._wake_fd = wake_fd
        self.is_stop_requested = False
        """Whether Ctrl-Z was pressed; the program should then call `stop`."""

    def wait_for_keys(self, seconds: float | None) -> list[str]:
        """Wait for keys, at most this long; return early without keys if the window was resized or Ctrl-Z was pressed.

        Raises KeyboardInterrupt if the terminal is gone.
        """
        import select

        ready, _, _ = select.select([self._fd, self._wake_fd], [], [], seconds)
        if self._wake_fd in ready:
            os.read(self._wake_fd, 4096)
            return []
        if not ready:
            return []
        raw = os.read(self._fd, 1024)
        if not raw:
            raise KeyboardInterrupt
        while raw.endswith(_UNFINISHED_KEYS) and select.select([self._fd], [], [], _SEQUENCE_SECONDS)[0]:
            raw += os.read(self._fd, 1024)
        return _KEY_PATTERN.findall(raw.decode("utf-8", "ignore"))

    def enter(self) -> None:
        """Switch echo off and hide the cursor."""
        import termios

        state = termios.tcgetattr(self._fd)
        state[3] &= ~(termios.ICANON | termios.ECHO)
        termios.tcsetattr(self._fd, termios.TCSADRAIN, state)
        write_out(_HIDE_CURSOR)

    def leave(self) -> None:
        """Restore the terminal."""
        import termios

        with contextlib.suppress(OSError, ValueError):
            write_out(_SHOW_CURSOR)
        with contextlib.suppress(termios.error):
            termios.tcsetattr(self._fd, termios.TCSADRAIN, self._initial_state)

    def stop(self) -> None:
        """Suspend the program until the shell continues it; in the meantime, the terminal is restored."""
        self.is_stop_requested = False
        self.leave()
        os.kill(os.getpid(), signal.SIGSTOP)
        self.enter()


@contextlib.contextmanager
def open_key_terminal() -> Iterator[KeyTerminal]:
    """Read single keys until the block ends.

    Signal handlers only set flags, because they may run while something is being written.
    """
    import termios

    wake_end, signal_end = os.pipe()
    os.set_blocking(signal_end, False)
    terminal = KeyTerminal(termios.tcgetattr(sys.stdin.fileno()), wake_end)

    def request_stop(*_: object) -> None:
        terminal.is_stop_requested = True

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    handlers = {
        signal.SIGTSTP: request_stop,
        signal.SIGTERM: interrupt,
        signal.SIGHUP: interrupt,
        signal.SIGQUIT: interrupt,
        signal.SIGWINCH: lambda *_: None,
    }
    previous = {number: signal.signal(number, act) for number, act in handlers.items()}
    previous_fd = signal.set_wakeup_fd(signal_end, warn_on_full_buffer=False)
    try:
        terminal.enter()
        yield terminal
    finally:
        terminal.leave()
        signal.set_wakeup_fd(previous_fd)
        for number, act in previous.items():
            signal.signal(number, act)
        os.close(wake_end)
        os.close(signal_end)
