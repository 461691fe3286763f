"""Runs a hook's command: one object on standard input, text or JSON on standard output.

The streams are files, so a hook can write any amount without filling memory, and a process that a hook leaves behind
keeps nothing waiting. A hook that exceeds its limit is killed together with its children.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import IO, NamedTuple

from turnlog.agent.hooks.hook_definitions import HookDefinition
from turnlog.model.cancel import Cancel

MAX_OUTPUT_BYTES = 4 << 20
"""How much of a hook's output is read."""
KILL_GRACE_SECONDS = 1.0


class HookOutput(NamedTuple):
    """What came of a hook."""

    stdout: str = ""
    stderr: str = ""
    exit_code: int = 0
    milliseconds: int = 0
    is_timed_out: bool = False


def run_hook_command(
    hook: HookDefinition, given: bytes, cwd: Path, environ: Mapping[str, str], seconds: float, cancel: Cancel
) -> HookOutput:
    """Run a hook and wait for it; raise RequestCancelled if the person ends the turn first."""
    began, timed_out = time.monotonic(), threading.Event()
    with contextlib.ExitStack() as opened:
        stdin, stdout, stderr = (opened.enter_context(tempfile.TemporaryFile()) for _ in range(3))
        stdin.write(given)
        stdin.seek(0)
        try:
            process = _start_hook(hook, cwd, environ, (stdin, stdout, stderr))
        except (OSError, ValueError) as error:
            return HookOutput(stderr=str(error), exit_code=127)

        def stop() -> None:
            timed_out.set()
            _kill_group(process)

        timer = threading.Timer(seconds, stop)
        timer.daemon = True
        timer.start()
        try:
            with cancel.on_cancel(lambda: _kill_group(process)):
                code = process.wait()
        except BaseException:
            _kill_group(process)
            raise
        finally:
            timer.cancel()
        cancel.check()
        milliseconds = round((time.monotonic() - began) * 1000)
        return HookOutput(_read_start(stdout), _read_start(stderr), code, milliseconds, timed_out.is_set())


def start_hook_in_background(hook: HookDefinition, given: bytes, cwd: Path, environ: Mapping[str, str]) -> None:
    """Start a hook that nobody waits for."""
    with (
        tempfile.TemporaryFile() as stdin,
        contextlib.suppress(OSError, ValueError),
        Path(os.devnull).open("r+b") as null,
    ):
        stdin.write(given)
        stdin.seek(0)
        process = _start_hook(hook, cwd, environ, (stdin, null, null))
        threading.Thread(target=process.wait, daemon=True, name="hook").start()


def _start_hook(
    hook: HookDefinition, cwd: Path, environ: Mapping[str, str], streams: tuple[IO[bytes], IO[bytes], IO[bytes]]
) -> subprocess.Popen[bytes]:
    is_program = hook.args is not None
    words: list[str] | str = [hook.command, *(hook.args or ())] if is_program else hook.command
    if not is_program and hook.shell == "bash":
        words, is_program = ["bash", "-c", hook.command], True
    return subprocess.Popen(
        words,
        shell=not is_program,  # the person's own settings say what to run
        cwd=cwd,
        env=dict(environ),
        stdin=streams[0],
        stdout=streams[1],
        stderr=streams[2],
        start_new_session=os.name == "posix",
    )


def _kill_group(process: subprocess.Popen[bytes]) -> None:
    if os.name != "posix":
        process.kill()
        return
    with contextlib.suppress(ProcessLookupError, PermissionError):
        if process.returncode is None:
            os.killpg(process.pid, signal.SIGKILL)


def _read_start(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read(MAX_OUTPUT_BYTES).decode("utf-8", "replace")
