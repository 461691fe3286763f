"""The commands that a session runs, especially those in the background.

Each has an id and a file, `<folder>/<id>.output`, which the model may read while the command is running. When a
background command ends, the model receives a notice in Claude Code's words. All commands are stopped when the client
exits.
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
from turnlog.agent.tools.notices import NoticeQueue, TaskNotice, build_notice_text
from turnlog.agent.tools.shell_process import KILL_GRACE_SECONDS, MAX_OUTPUT_BYTES, ShellProcess
from turnlog.agent.tools.task_events import TaskEnded, TaskStarted

ShellStatus = Literal["running", "completed", "failed", "killed"]
_ID_CHARACTERS = "0123456789abcdefghijklmnopqrstuvwxyz"


class Shell:
    """A command that the session runs."""

    def __init__(self, command: str, call: str, description: str, folder: Path, *, is_of_agent: bool) -> None:
        import secrets  # imported late, as below: many sessions run no command

        self.id = "b" + "".join(secrets.choice(_ID_CHARACTERS) for _ in range(8))
        self.command = command
        self.call = call
        """The id of the call that started it."""
        self.description = description
        self.path = folder / f"{self.id}.output"
        """The file that contains the output."""
        self.cwd_path = folder / f"{self.id}.cwd"
        """The file in which the command records its last folder."""
        self.is_of_agent = is_of_agent
        """Whether a sub-agent runs it."""
        self.shown = 0
        """The number of bytes that the model has seen."""
        self.stopped = ""
        """Why the command was stopped: `model`, `limit`, `client` or, as the client exits, `exit`; or empty."""
        self.is_moved = False
        """Whether the person or the program moved it to the background while a call waited for it."""
        self.awaited = threading.Event()
        """Set when the command has ended or was moved, so that no call has to wait any longer."""
        self.process: ShellProcess

    @property
    def status(self) -> ShellStatus:
        if not self.process.ended.is_set():
            return "running"
        if self.stopped or self.process.is_too_large:
            return "killed"
        return "failed" if self.process.exit_code else "completed"

    def stop(self, reason: str) -> None:
        """Stop the command and record the reason."""
        if not self.process.ended.is_set():
            self.stopped = self.stopped or reason
            self.process.kill()

    def remove_files(self) -> None:
        for path in (self.path, self.cwd_path):
            with contextlib.suppress(OSError):
                path.unlink(missing_ok=True)

    def build_notice(self) -> str:
        """Return the notice that informs the model that the command has ended."""
        return build_notice_text(self.id, self.call, self.path, self.status, self.describe_end())

    def describe_end(self) -> str:
        """Say how the command ended."""
        about = self.description or self.command
        if self.stopped == "client":
            return f'Task "{about}" was stopped by the user or by the app connected to this session'
        return f'Background command "{about}" {self._describe_exit()}'

    def _describe_exit(self) -> str:
        if self.process.is_too_large:
            return f"was stopped after it had written {format_byte_size(MAX_OUTPUT_BYTES)}"
        if self.stopped == "limit":
            return "was stopped after reaching its background time limit"
        code = self.process.exit_code
        return f"failed with exit code {code}" if code else "completed (exit code 0)"


class Shells:
    def __init__(self, folder: Path, notices: NoticeQueue) -> None:
        self.folder = folder
        self.notices = notices
        self._background: dict[str, Shell] = {}
        self._foreground: dict[str, Shell] = {}
        """The commands that a call waits for."""
        self._limits: list[threading.Timer] = []
        self._notified: set[str] = set()
        self._settled: set[str] = set()
        """The commands about whose end everyone has heard."""
        self.tell: Callable[[TaskStarted | TaskEnded], object] = lambda _: None
        """Receives the start and the end of each background command."""
        self._lock = threading.Lock()
        self.environment_file: Path | None = None
        """A script that sets variables for every command, written by hooks at the start of the session."""

    def start_shell(
        self,
        command: str,
        *,
        call: str,
        cwd: Path,
        environ: Mapping[str, str],
        description: str = "",
        is_of_agent: bool = False,
    ) -> Shell:
        """Start a command; the caller either waits for it or calls `keep_in_background`."""
        from shlex import quote

        self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        shell = Shell(command, call, description, self.folder, is_of_agent=is_of_agent)
        shell.path.touch(mode=0o600, exist_ok=False)
        load = f". {quote(str(self.environment_file))}\n" if self.environment_file else ""
        script = f"{load}eval {quote(command)} && pwd -P >| {quote(str(shell.cwd_path))}"
        then = partial(self._finish_shell, shell)
        try:
            with self._lock:  # so that it can be moved to the background from the moment it runs
                shell.process = ShellProcess(script, cwd=cwd, environ=environ, output=shell.path, then=then)
                self._foreground[shell.id] = shell
        except BaseException:
            shell.remove_files()
            raise
        return shell

    def move_to_background(self, call: str | None) -> bool:
        """Move the command of a call to the background, or all that the session itself waits for.

        Return whether there was any."""
        with self._lock:
            found = [
                shell
                for shell in self._foreground.values()
                if not (shell.process.ended.is_set() or shell.is_moved)
                and (shell.call == call if call is not None else not shell.is_of_agent)
            ]
            for shell in found:
                shell.is_moved = True
                shell.awaited.set()
        return bool(found)

    def keep_in_background(self, shell: Shell, limit: float) -> None:
        """Let a command continue in the background for at most `limit` seconds."""
        with self._lock:
            self._foreground.pop(shell.id, None)
            self._background[shell.id] = shell
        self.tell(TaskStarted(shell.id, shell.call, shell.description or shell.command, "local_bash"))
        timer = threading.Timer(limit, shell.stop, ("limit",))
        timer.daemon = True
        timer.start()
        self._limits.append(timer)
        if shell.process.ended.is_set():
            self._queue_end_notice(shell)

    def find_shell(self, name: str) -> Shell | None:
        return self._background.get(name)

    def list_running(self) -> list[Shell]:
        return [shell for shell in self._background.values() if shell.status == "running"]

    def is_settled(self) -> bool:
        """Return whether no background command runs and every notice has been queued."""
        with self._lock:
            return self._settled.issuperset(self._background)

    def close(self) -> None:
        """Stop all commands; keep their output for a resumed session."""
        for timer in self._limits:
            timer.cancel()
        running = self.list_running()
        for shell in running:
            shell.stop("exit")
        until = time.monotonic() + 2 * KILL_GRACE_SECONDS
        for shell in running:
            shell.process.ended.wait(max(0.0, until - time.monotonic()))

    def _finish_shell(self, shell: Shell) -> None:
        with self._lock:
            self._foreground.pop(shell.id, None)
        shell.awaited.set()
        self._queue_end_notice(shell)

    def _queue_end_notice(self, shell: Shell) -> None:
        with self._lock:
            if shell.id not in self._background or shell.id in self._notified:
                return
            self._notified.add(shell.id)
            with contextlib.suppress(OSError):
                shell.cwd_path.unlink(missing_ok=True)
        if shell.stopped != "exit":
            self.tell(TaskEnded(shell.id, shell.call, shell.status, shell.describe_end(), str(shell.path)))
            if shell.stopped != "model":
                self.notices.add(TaskNotice(shell.id, shell.build_notice(), is_urgent=shell.stopped != "client"))
        with self._lock:
            self._settled.add(shell.id)
