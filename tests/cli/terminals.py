"""A program in a terminal, what the terminal then shows, and sessions that are written meanwhile."""

from __future__ import annotations

import json
import os
import re
import select
import signal
import struct
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType

from tests.cli.conftest import Machine
from tests.live.clock import build_now
from tests.live.session_moves import append
from tests.session.build import SESSION, encode_lines
from turnlog.entries.clients import read_process_identity

_TOKEN = re.compile("\x1b\\[([?0-9;]*)([A-Za-z])|\x1b\\]([^\x07]*)\x07|(\r|\n)|([^\x1b\r\n]+)")


class Screen:
    """A terminal's lines, as far as our programs write them."""

    def __init__(self, columns: int, rows: int) -> None:
        self.columns, self.rows = columns, rows
        self.lines: list[str] = [""]
        """All lines since the start: those that scrolled away too."""
        self.row = self.column = 0
        self.is_cursor_hidden = False
        self.clipboard: list[str] = []
        self.styles: set[str] = set()
        self._rest = ""

    @property
    def visible(self) -> list[str]:
        return [line.rstrip() for line in self.lines[-self.rows :]]

    @property
    def text(self) -> str:
        return "\n".join(line.rstrip() for line in self.lines)

    def feed(self, data: str) -> None:
        data = self._rest + data
        end = data.rfind("\x1b") if re.search("\x1b[^a-zA-Z\x07]*$", data) else len(data)
        data, self._rest = data[:end], data[end:]
        for values, letter, osc, control, text in _TOKEN.findall(data):
            if letter:
                self._escape(values, letter)
            elif osc:
                self.clipboard.append(osc)
            elif control == "\r":
                self.column = 0
            elif control == "\n":
                self._go_down()
            else:
                self._write(text)

    def _go_down(self) -> None:
        self.row, self.column = self.row + 1, 0
        if self.row == len(self.lines):
            self.lines.append("")

    def _write(self, text: str) -> None:
        for char in text:
            if self.column == self.columns:
                self._go_down()
            line = self.lines[self.row].ljust(self.column)
            self.lines[self.row] = line[: self.column] + char + line[self.column + 1 :]
            self.column += 1

    def _escape(self, values: str, letter: str) -> None:
        match letter:
            case "A":
                top = max(len(self.lines) - self.rows, 0)
                assert self.row - int(values or 1) >= top, "moved above the screen"
                self.row -= int(values or 1)
            case "K":
                self.lines[self.row] = self.lines[self.row][: self.column]
            case "H":
                self.row, self.column = (int(part) - 1 for part in values.split(";"))
                self.lines += [""] * (self.row + 1 - len(self.lines))
            case "J" if values == "2":
                self.lines = [""] * len(self.lines)
            case "J":
                self.lines[self.row] = self.lines[self.row][: self.column]
                del self.lines[self.row + 1 :]
            case "h" | "l" if values == "?25":
                self.is_cursor_hidden = letter == "l"
            case "m":
                self.styles.add(values)
            case "h" | "l":
                assert values in ("?2026", "?1049")
            case _:
                raise AssertionError(f"unknown sequence {values}{letter}")


class Seat:
    """A running program, its terminal, and the keys that are pressed."""

    def __init__(self, words: list[str], environ: Mapping[str, str], columns: int, rows: int) -> None:
        import fcntl
        import pty
        import termios

        self.screen = Screen(columns, rows)
        self.fd, other = pty.openpty()
        fcntl.ioctl(other, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        self.initial = termios.tcgetattr(other)
        self._other = other
        inherited = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "LINES")}
        self.process = subprocess.Popen(
            [sys.executable, "-m", "turnlog", *words],
            env={**inherited, "TERM": "xterm", **environ},
            stdin=other, stdout=other, stderr=other, start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
        )  # fmt: skip

    def wait_for(self, fits: Callable[[Screen], bool], seconds: float = 60) -> None:
        """Read what the program writes until the screen fits."""
        deadline = time.monotonic() + seconds
        while not fits(self.screen):
            has_time = time.monotonic() < deadline and self.process.poll() is None
            assert self.read(0.1) or has_time, "\n".join(self.screen.visible)

    def read(self, seconds: float) -> bool:
        ready, _, _ = select.select([self.fd], [], [], seconds)
        if not ready:
            return False
        try:
            self.screen.feed(os.read(self.fd, 65536).decode("utf-8", "replace"))
        except OSError:
            return False
        return True

    def press(self, keys: str) -> None:
        os.write(self.fd, keys.encode())

    def resize(self, columns: int, rows: int) -> None:
        import fcntl
        import termios

        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def end(self, number: int = signal.SIGINT) -> int:
        """Send a signal, and return the exit status."""
        self.process.send_signal(number)
        return self.wait()

    def wait(self) -> int:
        while self.process.poll() is None:
            self.read(0.05)
        while self.read(0.05):
            pass
        return self.process.returncode

    @property
    def is_restored(self) -> bool:
        """Whether the terminal is as it was before."""
        import termios

        return not self.screen.is_cursor_hidden and termios.tcgetattr(self._other) == self.initial

    def __enter__(self) -> Seat:
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        os.close(self.fd)
        os.close(self._other)


@contextmanager
def open_seat(words: list[str], columns: int = 100, rows: int = 30, **environ: str) -> Iterator[Seat]:
    with Seat(words, environ, columns, rows) as seat:
        yield seat


class WrittenSession:
    """A session that a test writes, with a client that has it open."""

    def __init__(self, machine: Machine, name: str = SESSION, cwd: str = "/home/dana/webshop") -> None:
        self.build = build_now()
        self.cwd = cwd
        self.name = name
        self.build.prompt("Fix the cart", cwd=cwd)
        self._written = 0
        self.path = machine.add(name, b"")
        self._register(machine.folder / "sessions")
        self.write()

    def _register(self, folder: Path) -> None:
        """Register this process as the client, so that the session does not end while a slow machine starts."""
        folder.mkdir(exist_ok=True)
        client = {"pid": os.getpid(), "sessionId": self.name, **read_process_identity(os.getpid())}
        (folder / f"{os.getpid()}-{self.name[:2]}.json").write_text(json.dumps(client))

    def write(self) -> None:
        """Write what was added."""
        append(self.path, encode_lines(self.build.lines[self._written :]).replace(SESSION.encode(), self.name.encode()))
        self._written = len(self.build.lines)

    def say(self, text: str) -> None:
        """Write an answer."""
        self.build.answer(text, cwd=self.cwd, stop=None, uuid=f"{self.name[:2]}-{text[:20]}")
        self.write()
