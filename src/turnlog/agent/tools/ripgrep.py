"""Running ripgrep: the one that is installed, else our stand-in for it, which takes the same words."""

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
"""Bytes of output that are taken."""


def run_ripgrep(words: Sequence[str], folder: Path, scene: CallContext, seconds: float = SEARCH_TIMEOUT_SECONDS) -> str:
    """Run it in a folder, and give what it printed; it can be cancelled, and does not run for ever."""
    with tempfile.TemporaryFile() as errors:
        process = _start_search([*find_search_program(scene.environ.get("PATH")), *words], folder, scene, errors)
        timer = threading.Timer(seconds, process.kill)
        try:
            with process, scene.cancel.on_cancel(process.kill):
                timer.start()
                out = process.stdout.read(_MAX_OUTPUT_BYTES + 1) if process.stdout else b""
                if len(out) > _MAX_OUTPUT_BYTES:
                    process.kill()
                    out = out[: out.rfind(b"\n") + 1]
                status = process.wait()
        finally:
            is_late = timer.finished.is_set()
            timer.cancel()
            process.kill()
        scene.cancel.check()
        if is_late:
            told = f"The search took longer than {seconds:g} seconds and was stopped."
            raise ToolError(f"{told} Try a more specific path or pattern.")
        errors.seek(0)
        if status == 2 and not out:
            _check_complaints(errors.read(10_000).decode("utf-8", "replace"))
    return out.decode("utf-8", "replace")


def _start_search(
    command: Sequence[str], folder: Path, scene: CallContext, errors: IO[bytes]
) -> subprocess.Popen[bytes]:
    environ = {**build_child_environment(scene.environ), "LC_ALL": "C.UTF-8"}
    with word_system_errors("spawn", folder):
        return subprocess.Popen(
            command, cwd=folder, env=environ, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=errors
        )


def find_search_program(path: str | None) -> list[str]:
    """The words that start a search: ripgrep on the path, else our own."""
    installed = shutil.which("rg", path=path)
    if installed:
        return [installed, "--no-config"]
    # Isolated, because the modules beside it must not stand in for those of the standard library.
    return [sys.executable, "-I", str(Path(__file__).with_name("python_grep.py"))]


def _check_complaints(complaints: str) -> None:
    """Raise if the search was refused; files that can't be read are no refusal."""
    lines = [line for line in complaints.splitlines() if not line.endswith(")") or "(os error " not in line]
    if lines:
        told = "\n".join(lines).strip().removeprefix("rg: ")
        raise ToolError(
            f"Search failed — ripgrep rejected the pattern, glob, or file type without searching:\nrg: {told}"
        )


def sort_by_age(names: Iterable[str], folder: Path, scene: CallContext, *, newest_first: bool = False) -> list[str]:
    """The files that may be shown, by the time of their last change; those of one time by their names."""
    sign = -1 if newest_first else 1
    shown = (name for name in names if name and not scene.is_unreadable(folder / name))
    return sorted(shown, key=lambda name: (sign * _get_change_time(folder / name), name))


def _get_change_time(path: Path) -> int:
    try:
        return path.stat().st_mtime_ns
    except OSError:
        return 0


def to_cwd_relative_path(path: str, place: Path) -> str:
    """A path as the model is told of it: from the current folder, if it lies in it."""
    full = Path(os.path.normpath(place / path))
    return str(full.relative_to(place)) if full.is_relative_to(place) else str(full)
