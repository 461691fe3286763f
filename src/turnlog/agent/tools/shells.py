"""The commands of a session, above all those that run in the background.

Each has an id and a file, `<folder>/<id>.output`, that the model may read while it runs. When one in the background
ends, there is a notice for the model, in the words that Claude Code has for it. All are ended with the client.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Literal

from turnlog.agent.tools.command_output import format_byte_size
from turnlog.agent.tools.shell_process import KILL_GRACE_SECONDS, MAX_OUTPUT_BYTES, ShellProcess

ShellStatus = Literal["running", "completed", "failed", "killed"]
_ID_CHARACTERS = "0123456789abcdefghijklmnopqrstuvwxyz"
_NOTICE_TEMPLATE = """<task-notification>
<task-id>{shell.id}</task-id>
<tool-use-id>{shell.call}</tool-use-id>
<output-file>{shell.path}</output-file>
<status>{shell.status}</status>
<summary>Background command "{about}" {end}</summary>
</task-notification>"""


class Shell:
    """One command of the session."""

    def __init__(self, command: str, call: str, description: str, folder: Path) -> None:
        import secrets  # as below: sessions that run no command start without it

        self.id = "b" + "".join(secrets.choice(_ID_CHARACTERS) for _ in range(8))
        self.command = command
        self.call = call
        """The id of the call that started it."""
        self.description = description
        self.path = folder / f"{self.id}.output"
        """What it writes."""
        self.whereabouts = folder / f"{self.id}.cwd"
        """Where it says in which folder it ended."""
        self.shown = 0
        """So many bytes of its output the model has been shown."""
        self.stopped = ""
        """Why it was ended: `model`, `limit`, `client`; empty if it was not."""
        self.process: ShellProcess

    @property
    def status(self) -> ShellStatus:
        """How it stands."""
        if not self.process.ended.is_set():
            return "running"
        if self.stopped or self.process.is_too_large:
            return "killed"
        return "failed" if self.process.exit_code else "completed"

    def stop(self, why: str) -> None:
        """End it, and remember why."""
        if not self.process.ended.is_set():
            self.stopped = self.stopped or why
            self.process.kill()

    def remove_files(self) -> None:
        """Remove what it left on the disk."""
        for path in (self.path, self.whereabouts):
            with contextlib.suppress(OSError):
                path.unlink(missing_ok=True)

    def build_notice(self) -> str:
        """What the model is told of its end."""
        return _NOTICE_TEMPLATE.format(shell=self, about=self.description or self.command, end=self._describe_end())

    def _describe_end(self) -> str:
        if self.process.is_too_large:
            return f"was stopped after it had written {format_byte_size(MAX_OUTPUT_BYTES)}"
        if self.stopped == "limit":
            return "was stopped after reaching its background time limit"
        code = self.process.exit_code
        return f"failed with exit code {code}" if code else "completed (exit code 0)"


class Shells:
    """All commands of a session."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._kept: dict[str, Shell] = {}
        self._limits: list[threading.Timer] = []
        self._notices: list[str] = []
        self._told: set[str] = set()
        self.watch: Callable[[], object] = lambda: None
        """Hears at once that there is a notice; called by another thread."""
        self._lock = threading.Lock()

    def start_shell(
        self, command: str, *, call: str, cwd: Path, environ: Mapping[str, str], description: str = ""
    ) -> Shell:
        """Start a command; unless it is kept, whoever started it waits for it and forgets it."""
        from shlex import quote

        self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        shell = Shell(command, call, description, self.folder)
        shell.path.touch(mode=0o600, exist_ok=False)
        script = f"eval {quote(command)} && pwd -P >| {quote(str(shell.whereabouts))}"
        then = partial(self._queue_end_notice, shell)
        try:
            shell.process = ShellProcess(script, cwd=cwd, environ=environ, output=shell.path, then=then)
        except BaseException:
            shell.remove_files()
            raise
        return shell

    def keep_in_background(self, shell: Shell, limit: float) -> None:
        """Let a command go on in the background, for at most so many seconds."""
        with self._lock:
            self._kept[shell.id] = shell
        timer = threading.Timer(limit, shell.stop, ("limit",))
        timer.daemon = True
        timer.start()
        self._limits.append(timer)
        if shell.process.ended.is_set():
            self._queue_end_notice(shell)

    def find_shell(self, name: str) -> Shell | None:
        """The command of an id, if it was kept."""
        return self._kept.get(name)

    def list_running(self) -> list[Shell]:
        """The commands that run in the background."""
        return [shell for shell in self._kept.values() if shell.status == "running"]

    def take_notices(self) -> list[str]:
        """What the model has not been told yet of commands that ended; each is given once."""
        with self._lock:
            found, self._notices = self._notices, []
            return found

    def list_waiting_notices(self) -> list[str]:
        """The same, and they stay to be given."""
        with self._lock:
            return list(self._notices)

    def close(self) -> None:
        """End all commands; what they wrote stays, for whoever resumes the session."""
        for timer in self._limits:
            timer.cancel()
        going = self.list_running()
        for shell in going:
            shell.stop("client")
        until = time.monotonic() + 2 * KILL_GRACE_SECONDS
        for shell in going:
            shell.process.ended.wait(max(0.0, until - time.monotonic()))

    def _queue_end_notice(self, shell: Shell) -> None:
        with self._lock:
            if shell.id not in self._kept:
                return
            with contextlib.suppress(OSError):
                shell.whereabouts.unlink(missing_ok=True)
            if shell.id not in self._told and shell.stopped not in ("model", "client"):
                self._told.add(shell.id)
                self._notices.append(shell.build_notice())
                self.watch()
