"""Work for a child process: started with what to do, heard while it works, ended with the server."""

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
    """What a child is to do: bring the index up to date, or make timelines."""

    config_dirs: list[str]
    data_dir: str
    index: str
    refreshes: bool
    timelines: list[str]

    @classmethod
    def from_machine(cls, place: Machine, *, refreshes: bool = False, timelines: Sequence[Path] = ()) -> Errand:
        """An errand for a place."""
        folders = [str(folder) for folder in place.config_dirs]
        return cls(folders, str(place.data_dir), str(place.index), refreshes, [str(path) for path in timelines])


class ErrandProgress(Struct, frozen=True):
    """How far it is, or why it could not be done."""

    phase: str
    done: int = 0
    total: int = 0
    failure: str = ""


class ErrandProcess:
    """A child process on an errand."""

    def __init__(self, errand: Errand) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", "turnlog.web.background.errand_runner"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=os.name == "posix",  # Ctrl-C is for us; the child is told in our way
        )
        self._is_stopped = False
        assert self._process.stdin is not None
        self._process.stdin.write(msgspec.json.encode(errand) + b"\n")
        self._process.stdin.flush()

    def read_progress(self) -> Iterator[ErrandProgress]:
        """How far it is, as it says so; raises what it failed of."""
        failure = ""
        with self._process as process:
            assert process.stdout is not None
            for line in process.stdout:
                told = msgspec.json.decode(line, type=ErrandProgress)
                failure = told.failure or failure
                yield told
        if (failure or process.returncode) and not self._is_stopped:
            raise TurnlogError(failure or f"the index: the process that reads ended with {process.returncode}")

    def stop(self) -> None:
        """Let it end at the next good place: it does when its standard input ends, as when we are gone."""
        self._is_stopped = True
        if self._process.stdin is not None and not self._process.stdin.closed:
            self._process.stdin.close()
