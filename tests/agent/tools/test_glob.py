"""Glob finds files by their names, with ripgrep and without it alike."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.agent.tools.room import Room
from tests.agent.tools.test_grep import WAYS, make_room, posix

pytestmark = posix


@pytest.fixture(params=WAYS)
def room(request: pytest.FixtureRequest, tmp_path: Path) -> Room:
    return make_room(tmp_path / "demo", request.param)


@pytest.mark.parametrize(
    ("pattern", "names"),
    [
        ("*.py", "a.py sub/b.py ignored.py build/o.py .hidden.py"),
        ("**/*.py", "a.py sub/b.py ignored.py build/o.py .hidden.py"),
        ("sub/*", "sub/b.py sub/.ignore sub/secret.txt"),
        ("sub/**", "sub/b.py sub/.ignore sub/secret.txt sub/deep/c.txt"),
        ("*.{rs,log}", "one.log keep.log main.rs"),
        ("[ab].py", "a.py sub/b.py"),
        ("[!a].py", "sub/b.py build/o.py"),
        ("?.py", "a.py sub/b.py build/o.py"),
        ("**/deep/*", "sub/deep/c.txt"),
        (".git/**", ".git/HEAD"),
        ("sub", "No files found"),
        ("./a.py", "No files found"),
        ("../**", "No files found"),
        ("*.none", "No files found"),
    ],
)
def test_patterns_find_files_the_oldest_first(room: Room, pattern: str, names: str) -> None:
    told = str(room.call("Glob", pattern=pattern).content)
    assert told.split("\n") == ([names] if names == "No files found" else names.split())


def test_another_folder_can_be_searched(room: Room) -> None:
    for path in ("sub", str(room.folder / "sub")):
        assert room.call("Glob", pattern="*.py", path=path).content == "sub/b.py"


def test_a_pattern_can_be_an_absolute_path(room: Room) -> None:
    assert room.call("Glob", pattern=f"{room.folder}/sub/**/*.txt").content == "sub/secret.txt\nsub/deep/c.txt"
    assert room.call("Glob", pattern=f"{room.folder}/a.py").content == "a.py"
    assert room.call("Glob", pattern="/a.py").content == "No files found"
    assert room.call("Glob", pattern=f"{room.folder}/nowhere/*").content == "No files found"


def test_files_that_must_not_be_read_are_not_shown(room: Room) -> None:
    room.scene.is_unreadable = lambda path: path.name == "a.py"
    assert room.call("Glob", pattern="[ab].py").content == "sub/b.py"
    assert room.call("Glob", pattern=f"{room.folder}/a.py").content == "No files found"


def test_a_folder_that_is_none_is_told(room: Room) -> None:
    here = f"Note: your current working directory is {room.folder}."
    assert room.call("Glob", pattern="*", path="nope").content == f"Directory does not exist: nope. {here}"
    assert room.call("Glob", pattern="*", path="a.py").content == "Path is not a directory: a.py"


def test_a_pattern_that_is_none_is_told(room: Room) -> None:
    assert room.call("Glob", pattern="[a").is_error


def test_no_more_than_a_hundred_are_listed(room: Room) -> None:
    for at in range(150):
        os.utime(room.write(f"many/{at:03}.zz", ""), (1_600_000_000 + at, 1_600_000_000 + at))
    told = room.call("Glob", pattern="*.zz")
    lines = str(told.content).split("\n")
    assert lines[:2] == ["many/000.zz", "many/001.zz"]
    assert len(lines) == 101
    assert lines[-1].startswith("(Showing 100 of 150 matching files; 50 more are not listed.")
    record = {key: value for key, value in told.structured.items() if key not in ("filenames", "durationMs")}
    assert record == {"numFiles": 100, "truncated": True, "totalMatches": 150, "countIsComplete": True}
