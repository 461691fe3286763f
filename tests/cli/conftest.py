"""What the tests of the commands share: the program in this process, and a machine with sessions."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from turnlog.cli.program import run_program


@dataclass(frozen=True)
class Done:
    """How a run of the program ended."""

    status: int
    raw: bytes
    err: str

    @property
    def out(self) -> str:
        return self.raw.decode("utf-8", "surrogateescape")

    @property
    def lines(self) -> list[str]:
        return self.out.splitlines()

    @property
    def json(self) -> Any:
        return json.loads(self.raw)


Turnlog = Callable[..., Done]


@pytest.fixture
def turnlog(capsysbinary: pytest.CaptureFixture[bytes]) -> Turnlog:
    """Run `turnlog` with the given words in this process."""

    def do(*words: str | Path) -> Done:
        capsysbinary.readouterr()
        status = run_program([str(word) for word in words])
        out, err = capsysbinary.readouterr()
        return Done(status, out, err.decode())

    return do


class Machine:
    """A config folder with the sessions that a test puts into it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def add(self, name: str, data: bytes, *, slug: str = "-home-dana", mtime: float | None = None) -> Path:
        path = self.folder / "projects" / slug / f"{name}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        if mtime is not None:
            os.utime(path, (mtime, mtime))
        return path


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    """A machine whose only config folder is empty."""
    folder = tmp_path / "claude"
    (folder / "projects").mkdir(parents=True)
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(folder))
    return Machine(folder)


HOSTILE = "a\x1b[2J\x1b]0;owned\x07\x9b31m\u202egnp\u2066\u200b\u2028b\U000e0041\ufe01\x7f\rc\ud800"
"""Escapes, a bell, C1 controls, bidi overrides, invisible characters, a carriage return, half a surrogate pair."""


def harmful(text: str) -> set[str]:
    """The characters of an output that a terminal would act on or not show."""
    return {char for char in text if char != "\n" and not char.isprintable()} | (set(text) & {"\ufe01"})
