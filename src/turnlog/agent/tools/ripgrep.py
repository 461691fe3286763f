"""Runs ripgrep or, if it is not installed, our substitute with the same options."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import IO

from turnlog.agent.key_shield import build_child_environment
from turnlog.agent.tools.call_result import ToolError
from turnlog.agent.tools.seen_files import word_system_errors
from turnlog.agent.tools.tool import CallContext

SEARCH_TIMEOUT_SECONDS = 20.0
_MAX_OUTPUT_BYTES = 20 * 1024 * 1024
"""The maximum amount of output to read."""


def run_ripgrep(
    arguments: Sequence[str], folder: Path, context: CallContext, seconds: float = SEARCH_TIMEOUT_SECONDS
) -> str:
    """Run a search in a folder and return its output; the search can be cancelled and has a time limit."""
    with tempfile.TemporaryFile() as errors:
        process = _start_search(
            [*find_search_program(context.environ.get("PATH")), *arguments], folder, context, errors
        )
        timer = threading.Timer(seconds, process.kill)
        try:
            with process, context.cancel.on_cancel(process.kill):
                timer.start()
                output = process.stdout.read(_MAX_OUTPUT_BYTES + 1) if process.stdout else b""
                if len(output) > _MAX_OUTPUT_BYTES:
                    process.kill()
                    output = output[: output.rfind(b"\n") + 1]
                status = process.wait()
        finally:
            is_late = timer.finished.is_set()
            timer.cancel()
            process.kill()
        context.cancel.check()
        if is_late:
            problem = f"The search took longer than {seconds:g} seconds and was stopped."
            raise ToolError(f"{problem} Try a more specific path or pattern.")
        errors.seek(0)
        if status == 2 and not output:
            _check_errors(errors.read(10_000).decode("utf-8", "replace"))
    return output.decode("utf-8", "replace")


def _start_search(
    command: Sequence[str], folder: Path, context: CallContext, errors: IO[bytes]
) -> subprocess.Popen[bytes]:
    environ = {**build_child_environment(context.environ), "LC_ALL": "C.UTF-8"}
    with word_system_errors("spawn", folder):
        return subprocess.Popen(
            command, cwd=folder, env=environ, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=errors
        )


def find_search_program(path: str | None) -> list[str]:
    """Return the command for a search: ripgrep if it is on the path, otherwise our substitute."""
    installed = shutil.which("rg", path=path)
    if installed:
        return [installed, "--no-config"]
    # Isolated, because the modules next to it must not shadow those of the standard library.
    return [sys.executable, "-I", str(Path(__file__).with_name("python_grep.py"))]


def _check_errors(errors: str) -> None:
    """Raise if ripgrep rejected the search; ignore unreadable files."""
    lines = [line for line in errors.splitlines() if not line.endswith(")") or "(os error " not in line]
    if lines:
        message = "\n".join(lines).strip().removeprefix("rg: ")
        raise ToolError(
            f"Search failed — ripgrep rejected the pattern, glob, or file type without searching:\nrg: {message}"
        )


def sort_by_age(names: Iterable[str], folder: Path, context: CallContext, *, newest_first: bool = False) -> list[str]:
    """Return the files that may be shown, sorted by modification time and then by name."""
    sign = -1 if newest_first else 1
    readable = (name for name in names if name and not context.is_unreadable(folder / name))
    return sorted(readable, key=lambda name: (sign * _get_change_time(folder / name), name))


def _get_change_time(path: Path) -> int:
    try:
        return path.stat().st_mtime_ns
    except OSError:
        return 0


def to_cwd_relative_path(path: str, place: Path) -> str:
    """Return a path for the model, relative to the current folder if the path is inside it."""
    full = Path(os.path.normpath(place / path))
    return str(full.relative_to(place)) if full.is_relative_to(place) else str(full)
