"""Starts the child process that reads large amounts of data, follows its progress, and stops it with the server."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec
from msgspec import Struct

from turnlog.errors import TurnlogError
from turnlog.web.machine import Machine


class Errand(Struct, frozen=True):
    """A child process's task: refresh the index, or build timelines."""

    config_dirs: list[str]
    data_dir: str
    index: str
    refreshes: bool
    timelines: list[str]
    is_whole: bool = True
    """Whether to index everything now, rather than only the conversations of large changes."""

    @classmethod
    def from_machine(cls, machine: Machine, *, refreshes: bool = False, timelines: Sequence[Path] = ()) -> Errand:
        folders = [str(folder) for folder in machine.config_dirs]
        paths, is_whole = [str(path) for path in timelines], not machine.fills_in_background
        return cls(folders, str(machine.data_dir), str(machine.index), refreshes, paths, is_whole)


class ErrandProgress(Struct, frozen=True):
    """The progress of the child process, or why it failed."""

    phase: str
    done: int = 0
    total: int = 0
    failure: str = ""


class ErrandProcess:
    """A child process that works on an errand."""

    def __init__(self, errand: Errand) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", "turnlog.web.background.errand_runner"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=os.name == "posix",  # Ctrl-C must reach only the server, which stops the child itself
        )
        self._is_stopped = False
        assert self._process.stdin is not None
        self._process.stdin.write(msgspec.json.encode(errand) + b"\n")
        self._process.stdin.flush()

    def read_progress(self) -> Iterator[ErrandProgress]:
        """Yield progress reports as they arrive; raise `TurnlogError` if the child failed."""
        failure = ""
        with self._process as process:
            assert process.stdout is not None
            for line in process.stdout:
                progress = msgspec.json.decode(line, type=ErrandProgress)
                failure = progress.failure or failure
                yield progress
        if (failure or process.returncode) and not self._is_stopped:
            raise TurnlogError(
                failure or f"the process that updates the index ended with exit status {process.returncode}"
            )

    def stop(self) -> None:
        """Ask the child to end at the next safe point, by closing its standard input (as also happens if the server
        dies)."""
        self._is_stopped = True
        if self._process.stdin is not None and not self._process.stdin.closed:
            self._process.stdin.close()
