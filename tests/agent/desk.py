"""A person's desk: a home, a project, a scripted server, and turnlog in print mode or in a terminal of its own."""

from __future__ import annotations

import contextlib
import json
import os
import re
import select
import signal
import struct
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from tests.agent.display import Display
from tests.agent.waits import Watch, run
from tests.interop.mock_anthropic import MockAnthropic

KEY = "sk-ant-desk-0000000000000000"

_PARTIAL_END = re.compile("(?:\x1b(?:\\[[0-9;?]*)?|\ufffd+)\\Z")
"""The start of a sequence or a character whose rest has not been read yet."""


def call(name: str, **given: Any) -> dict[str, Any]:
    """A block that calls a tool."""
    return {"type": "tool_use", "name": name, "input": given}


def says(text: str) -> dict[str, Any]:
    """A block of text."""
    return {"type": "text", "text": text}


def reply(*blocks: dict[str, Any], **more: Any) -> dict[str, Any]:
    """An answer of the scripted server."""
    return {"content": list(blocks), **more}


def script(*replies: Any, **more: Any) -> dict[str, Any]:
    """A scenario with one conversation."""
    return {"conversations": [{"kind": "main", "replies": list(replies), **more}]}


class Desk:
    """Where turnlog is run as a person runs it."""

    def __init__(self, base: Path, mock: MockAnthropic) -> None:
        self.base = base.resolve()
        self.mock = mock
        self.home, self.cwd = self.base / "home", self.base / "project"
        self.config = self.home / ".claude"
        for folder in (self.config, self.cwd):
            folder.mkdir(parents=True, exist_ok=True)

    @property
    def environ(self) -> dict[str, str]:
        kept = {
            name: os.environ[name] for name in ("PATH", "PYTHONPATH", "COVERAGE_PROCESS_START") if name in os.environ
        }
        return {
            **kept,
            "HOME": str(self.home),
            "LANG": "C.UTF-8",
            "TERM": "xterm",
            "SHELL": "/bin/sh",
            "TURNLOG_HOME": str(self.base / "data"),
            "ANTHROPIC_BASE_URL": self.mock.url,
            "ANTHROPIC_API_KEY": KEY,
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "DISABLE_AUTOUPDATER": "1",  # else the real client asks npm for its latest version
        }

    def trust(self) -> None:
        """Say that the project is trusted."""
        state = {"projects": {str(self.cwd): {"hasTrustDialogAccepted": True}}}
        (self.home / ".claude.json").write_text(json.dumps(state))

    def turnlog(
        self, *words: str, stdin: str | None = None, environ: Mapping[str, str] | None = None
    ) -> subprocess.CompletedProcess[str]:
        """Run turnlog without a terminal."""
        return run(
            [sys.executable, "-m", "turnlog", *words],
            stdin,
            stdin=subprocess.DEVNULL,
            cwd=self.cwd,
            env={**self.environ, **(environ or {})},
            encoding="utf-8",
            errors="surrogateescape",
        )

    @contextlib.contextmanager
    def terminal(self, *words: str, columns: int = 100, rows: int = 24, **environ: str) -> Iterator[Terminal]:
        """Run `turnlog chat` in a terminal."""
        found = Terminal(
            [sys.executable, "-m", "turnlog", "chat", *words], self.cwd, {**self.environ, **environ}, (rows, columns)
        )
        try:
            yield found
        finally:
            found.close()

    @property
    def requests(self) -> list[dict[str, Any]]:
        """The requests of the conversation."""
        return [request["body"] for request in self.mock.requests if request["path"].startswith("/v1/messages")]

    @property
    def session(self) -> list[dict[str, Any]]:
        """The lines of the only session."""
        (path,) = self.config.glob("projects/*/*.jsonl")
        return [json.loads(line) for line in path.read_bytes().splitlines()]


class Terminal:
    """A program in a terminal."""

    def __init__(self, words: list[str], cwd: Path, environ: Mapping[str, str], size: tuple[int, int]) -> None:
        import fcntl
        import pty
        import termios

        self.raw = b""
        self._seen = 0
        self._display = Display(is_strict=False)
        self._displayed = 0
        """How much of the text is on the display."""
        self._fd, other = pty.openpty()
        fcntl.ioctl(other, termios.TIOCSWINSZ, struct.pack("HHHH", *size, 0, 0))
        self._process = subprocess.Popen(
            words, cwd=cwd, env=dict(environ), stdin=other, stdout=other, stderr=other, start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
        )  # fmt: skip
        os.close(other)

    @property
    def text(self) -> str:
        """All that was written to it."""
        return self.raw.decode("utf-8", "replace")

    @property
    def screen_text(self) -> str:
        """What it shows, with all that has scrolled away."""
        return "\n".join(Display(self.text, is_strict=False).lines)

    def send(self, text: str) -> None:
        """Press keys."""
        self.send_raw(text.encode())

    def send_raw(self, data: bytes) -> None:
        """Send bytes, which need not be characters."""
        os.write(self._fd, data)

    def expect(self, text: str) -> str:
        """Wait until something is written or on the screen, behind what was waited for before; what came until then."""
        watch = Watch(self._process.pid)
        start = self._seen
        while (end := self._find_end(text)) is None:
            missing = f"{text!r} was not written; behind what was: {self.text[start:]!r}"
            if not self._read(0.1):
                raise AssertionError(missing)
            watch.check(missing)
        self._seen = end
        return self.text[start:end]

    def _find_end(self, text: str) -> int | None:
        """Find a text in what was written, or on the screen, where the parts of a growing line come together."""
        whole = self.text
        at = whole.find(text, self._seen)
        limit = len(_PARTIAL_END.sub("", whole)) if at < 0 else at + len(text)
        for end in self._display.steps(whole[:limit], max(self._seen, self._displayed)):
            self._displayed = end
            if whole[end - 1] == text[-1] and self._display.before_cursor.endswith(text):
                return end
        return None if at < 0 else limit

    def press(self, key: str, text: str) -> None:
        """Press a key until something is written: the line editor does not hear a signal at every moment.

        It is pressed again only when the program has come to rest without a word.
        """
        watch = Watch(self._process.pid)
        while self.text.find(text, self._seen) < 0:
            self.send(key)
            rests = 0
            while self.text.find(text, self._seen) < 0 and rests < 10 and self._read(0.1):
                rests = 0 if watch.is_working() else rests + 1
            watch.check(f"{text!r} was not written")
        self.expect(text)

    def wait_for_rest(self) -> None:
        """Wait until the program has read what was sent: a signal makes the terminal forget what is still unread."""
        watch, rests = Watch(self._process.pid), 0
        while rests < 5 and self._read(0.1):
            rests = 0 if watch.is_working() else rests + 1
            watch.check("it does not come to rest")

    def wait_for_end(self) -> int:
        """Wait for the end of the program; its exit status."""
        watch = Watch(self._process.pid)
        while self._read(0.1):
            watch.check("it does not end")
        return self._process.wait()

    def hang_up(self) -> None:
        """Tell the program that the terminal is closed."""
        self._process.send_signal(signal.SIGHUP)

    def close(self) -> None:
        """End the program, if it has not ended."""
        if self._process.poll() is None:
            self._process.kill()
        self._process.wait()
        os.close(self._fd)

    def _read(self, seconds: float) -> bool:
        """Read what comes; False at the end."""
        if not select.select([self._fd], [], [], seconds)[0]:
            return True
        try:
            data = os.read(self._fd, 65536)
        except OSError:
            return False
        self.raw += data
        return bool(data)
