"""A shell command and its children, as one process group that writes to one file.

Both streams share one pipe, which preserves the order of the output; a thread copies it into the file, so a command can
write more than fits in memory. (The command does not write to the file directly, because a script that writes to
`/dev/stderr` would truncate it.) The command ends when its shell ends; anything that the shell left running in the
background keeps writing to the file and is not waited for.
"""

from __future__ import annotations

import contextlib
import os
import signal
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from turnlog.agent.tools.call_result import ToolError

if TYPE_CHECKING:
    import subprocess

MAX_OUTPUT_BYTES = 1 << 30
"""A command that writes more is stopped before the disk is full."""
KILL_GRACE_SECONDS = 1.0
"""How long a command may take to exit before it is killed."""
_CHUNK_BYTES = 1 << 16
_MAX_FINAL_READS = 16
_POLL_SECONDS = 0.05


class ShellProcess:
    """A running or finished command."""

    def __init__(
        self,
        script: str,
        *,
        cwd: Path,
        environ: Mapping[str, str],
        output: Path,
        then: Callable[[], None] = lambda: None,
    ) -> None:
        self.began = time.monotonic()
        self.ended = threading.Event()
        """Set when the shell has exited and all its output is in the file."""
        self.bytes = 0
        self.lines = 0
        self.is_too_large = False
        self._then = then
        self._lock = threading.Lock()
        self._is_killed = False
        with contextlib.ExitStack() as opened:
            file = opened.enter_context(output.open("ab", buffering=0))
            pipe, write_end = os.pipe()
            opened.callback(os.close, pipe)
            try:
                self._process = _start_process(script, cwd, environ, write_end)
            finally:
                os.close(write_end)
            self._opened = opened.pop_all()
        threading.Thread(target=self._copy_output, args=(pipe, file.write), daemon=True, name="command").start()

    @property
    def exit_code(self) -> int | None:
        """The exit status by shell convention (128 + n for signal n), or None while the command is running."""
        code = self._process.returncode
        return 128 - code if code is not None and code < 0 else code

    @property
    def seconds(self) -> float:
        """The time since the start, in seconds."""
        return time.monotonic() - self.began

    def kill(self) -> None:
        """Terminate the whole group, and kill it if it does not exit in time."""
        with self._lock:
            if self._is_killed or self._process.returncode is not None:
                return
            self._is_killed = True
            self._send_signal(signal.SIGTERM)
        timer = threading.Timer(KILL_GRACE_SECONDS, self._kill_group)
        timer.daemon = True
        timer.start()

    def _kill_group(self) -> None:
        with self._lock:
            if self._process.returncode is None:
                self._send_signal(signal.SIGKILL)

    def _send_signal(self, number: int) -> None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, number)

    def _has_exited(self) -> bool:
        with self._lock:
            if self._process.returncode is None and self._process.poll() is not None and self._is_killed:
                self._send_signal(signal.SIGKILL)  # the rest of the group, which still has this number
            return self._process.returncode is not None

    def _copy_output(self, pipe: int, write: Callable[[bytes], object]) -> None:
        import selectors  # imported late, as below: many sessions run no command

        with self._opened, selectors.DefaultSelector() as selector:
            selector.register(pipe, selectors.EVENT_READ)
            is_open = True
            while is_open and not self._has_exited():
                is_open = not selector.select(_POLL_SECONDS) or self._copy_chunk(pipe, write)
            self._wait_for_exit()
            for _ in range(_MAX_FINAL_READS):
                if not (is_open and selector.select(0)):
                    break
                is_open = self._copy_chunk(pipe, write)
            self.ended.set()
            self._then()
            while is_open:
                is_open = self._copy_chunk(pipe, write)

    def _wait_for_exit(self) -> None:
        pause = _POLL_SECONDS / 64
        while not self._has_exited():
            time.sleep(pause)
            pause = min(2 * pause, _POLL_SECONDS)

    def _copy_chunk(self, pipe: int, write: Callable[[bytes], object]) -> bool:
        chunk = os.read(pipe, _CHUNK_BYTES)
        if self.bytes + len(chunk) <= MAX_OUTPUT_BYTES:
            with contextlib.suppress(OSError):  # a full disk must not leave the command waiting for a reader
                write(chunk)
        elif not self.is_too_large:
            self.is_too_large = True
            self.kill()
        self.bytes += len(chunk)  # after the write, so that a reader that counts bytes also finds them
        self.lines += chunk.count(b"\n")
        is_left_behind = self.is_too_large and self._process.returncode is not None
        return bool(chunk) and not is_left_behind  # later writers find the pipe closed


def _start_process(script: str, cwd: Path, environ: Mapping[str, str], write_end: int) -> subprocess.Popen[bytes]:
    import subprocess

    try:
        return subprocess.Popen(
            [_find_bash(environ), "-c", script],
            cwd=cwd,
            env=dict(environ),
            stdin=subprocess.DEVNULL,
            stdout=write_end,
            stderr=write_end,
            start_new_session=True,
        )
    except (OSError, ValueError) as error:
        raise ToolError(f"The command could not be started: {error}") from None


def _find_bash(environ: Mapping[str, str]) -> str:
    if os.name != "posix":
        raise ToolError("Bash is not available on this system. To run commands, start turnlog inside WSL.")
    import shutil

    bash = "/bin/bash" if os.access("/bin/bash", os.X_OK) else shutil.which("bash", path=environ.get("PATH"))
    if bash is None:
        raise ToolError("Bash is not installed on this machine, so commands can't run.")
    return bash
