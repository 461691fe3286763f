"""Grep finds lines, with ripgrep and without it alike."""

from __future__ import annotations

import os
import shutil
import sys
import threading
from pathlib import Path

import pytest

from tests.agent.tools.room import Room
from turnlog.agent.tools.call_result import ToolError
from turnlog.agent.tools.ripgrep import find_search_program, run_ripgrep
from turnlog.model.failures import RequestCancelled

posix = pytest.mark.skipif(sys.platform == "win32", reason="needs links and names with colons")
pytestmark = posix
WAYS = [
    pytest.param("rg", marks=pytest.mark.skipif(shutil.which("rg") is None, reason="ripgrep is not installed")),
    "own",
]
FILES = {
    ".git/HEAD": "hit\n",
    ".gitignore": "ignored.py\nbuild/\n*.log\n!keep.log\n",
    "a.py": 'import os\nprint("hello")\n# hit one\n\n\n\n\n\ndef f():\n    return 1 # hit two hit\n',
    "sub/b.py": "hello hit\nx\ny\nz\nHello\n",
    "sub/.ignore": "secret.txt\n",
    "sub/secret.txt": "hit\n",
    "sub/deep/c.txt": "hit\n",
    "ignored.py": "hit\n",
    "build/o.py": "hit\n",
    "one.log": "hit\n",
    "keep.log": "hit\n",
    ".hidden.py": "hit\n",
    "colon:1-2-x.txt": "hit\n",
    "long.txt": "hit " + "x" * 900 + "\nshort\n",
    "crlf.txt": "a\r\nhit\r\n",
    "wide.txt": "é hit 中\n",
    "bin.dat": "hit\0\n",
    "main.rs": "hit\n",
}


def make_room(folder: Path, way: str = "own") -> Room:
    room = Room(folder, os.environ if way == "rg" else {**os.environ, "PATH": str(folder)})
    for at, (name, text) in enumerate(FILES.items()):
        os.utime(room.write(name, text), (1_700_000_000 + at, 1_700_000_000 + at))
    (room.folder / "link.py").symlink_to("a.py")
    return room


@pytest.fixture(params=WAYS)
def room(request: pytest.FixtureRequest, tmp_path: Path) -> Room:
    return make_room(tmp_path / "demo", request.param)


def grep_lines(room: Room, pattern: str = "hit", **more: object) -> list[str]:
    """What Grep says, line by line; `_A` stands for `-A`."""
    named = {key.replace("_", "-", 1) if key[0] == "_" else key: value for key, value in more.items()}
    return str(room.call("Grep", pattern=pattern, **named).content).split("\n")


def test_files_come_with_the_newest_first(room: Room) -> None:
    names = "main.rs wide.txt crlf.txt long.txt colon:1-2-x.txt .hidden.py keep.log sub/deep/c.txt sub/b.py a.py"
    assert grep_lines(room) == ["Found 10 files", *names.split()]


def test_lines_come_in_the_order_of_names(room: Room) -> None:
    assert grep_lines(room, output_mode="content") == [
        ".hidden.py:1:hit",
        "a.py:3:# hit one",
        "a.py:10:    return 1 # hit two hit",
        "colon:1-2-x.txt:1:hit",
        "crlf.txt:2:hit",
        "keep.log:1:hit",
        "long.txt:1:[Omitted long matching line]",
        "main.rs:1:hit",
        "sub/b.py:1:hello hit",
        "sub/deep/c.txt:1:hit",
        "wide.txt:1:é hit 中",
    ]


def test_lines_are_counted(room: Room) -> None:
    assert grep_lines(room, path="a.py", output_mode="count") == [
        "a.py:2",
        "",
        "Found 2 total occurrences across 1 file.",
    ]
    assert grep_lines(room, output_mode="count")[-1] == "Found 11 total occurrences across 10 files."


def test_lines_around_are_shown(room: Room) -> None:
    assert grep_lines(room, "def|Hello", output_mode="content", _A=1, _B=1) == [
        "a.py-8-",
        "a.py:9:def f():",
        "a.py-10-    return 1 # hit two hit",
        "--",
        "sub/b.py-4-z",
        "sub/b.py:5:Hello",
    ]
    assert grep_lines(room, "x", path="colon:1-2-x.txt", output_mode="content") == ["No matches found"]
    assert grep_lines(room, "y", path="sub/b.py", output_mode="content", context=1) == ["2-x", "3:y", "4-z"]
    assert grep_lines(room, "y", path="sub/b.py", output_mode="content", _C=1, _n=False) == ["x", "y", "z"]
    assert grep_lines(room, "short", glob="long.txt", output_mode="content", _B=1) == [
        "long.txt-1-[Omitted long context line]",
        "long.txt:2:short",
    ]


def test_line_numbers_can_be_left_out(room: Room) -> None:
    assert grep_lines(room, path="sub", output_mode="content", _n=False) == ["sub/b.py:hello hit", "sub/deep/c.txt:hit"]


def test_case_can_be_ignored(room: Room) -> None:
    assert grep_lines(room, "HELLO", path="sub", output_mode="content", _i=True) == [
        "sub/b.py:1:hello hit",
        "sub/b.py:5:Hello",
    ]


def test_a_pattern_can_go_over_lines(room: Room) -> None:
    assert grep_lines(room, "hit.*y", path="sub", output_mode="content") == ["No matches found"]
    assert grep_lines(room, "hit.x", path="sub", output_mode="content", multiline=True) == [
        "sub/b.py:1:hello hit",
        "sub/b.py:2:x",
    ]
    assert grep_lines(room, "x\\ny", path="sub", output_mode="count", multiline=True)[0] == "sub/b.py:1"


@pytest.mark.parametrize(
    ("more", "names"),
    [
        ({"glob": "*.py"}, "ignored.py .hidden.py sub/b.py a.py"),
        ({"glob": "*.{rs,log}"}, "main.rs keep.log one.log"),
        ({"glob": "*.rs,*.txt"}, "main.rs wide.txt crlf.txt long.txt colon:1-2-x.txt sub/deep/c.txt sub/secret.txt"),
        ({"glob": "*.rs keep*"}, "main.rs keep.log"),
        ({"glob": "sub/**"}, "sub/deep/c.txt sub/secret.txt sub/b.py"),
        ({"glob": "!*.txt"}, "main.rs .hidden.py keep.log sub/b.py a.py"),
        ({"type": "rust"}, "main.rs"),
        ({"path": "sub"}, "sub/deep/c.txt sub/b.py"),
        ({"path": "ignored.py"}, "ignored.py"),
    ],
)
def test_files_can_be_chosen(room: Room, more: dict[str, str], names: str) -> None:
    assert sorted(grep_lines(room, **more)[1:]) == sorted(names.split())


def test_pages_are_told(room: Room) -> None:
    assert grep_lines(room, head_limit=2) == ["Found 2 files limit: 2", "main.rs", "wide.txt"]
    assert grep_lines(room, head_limit=1, offset=9) == ["Found 1 file offset: 9", "a.py"]
    assert grep_lines(room, offset=99) == ["No entries at this offset. [Showing results with pagination = offset: 99]"]
    more = "[Showing results with pagination = limit: 1]"
    assert grep_lines(room, path="a.py", output_mode="content", head_limit=1) == ["3:# hit one", "", more]
    last = grep_lines(room, path="sub", output_mode="count", head_limit=1)[-1]
    assert last == "Found 2 total occurrences across 2 files. with pagination = limit: 1"


def test_nothing_found_is_told(room: Room) -> None:
    assert grep_lines(room, "zzz") == ["No files found"]
    assert grep_lines(room, "zzz", output_mode="content") == ["No matches found"]
    assert grep_lines(room, "zzz", output_mode="count")[0] == "No matches found"
    assert grep_lines(room, "zzz", offset=3, output_mode="content") == ["No matches found"]


@pytest.mark.parametrize("more", [{"pattern": "("}, {"type": "nope"}, {"glob": "[a"}, {"glob": "{a"}])
def test_what_can_not_be_searched_for_is_told(room: Room, more: dict[str, str]) -> None:
    result = room.call("Grep", **{"pattern": "hit", **more})
    assert result.is_error
    assert str(result.content).startswith("Search failed — ripgrep rejected the pattern")


def test_a_path_that_is_not_there_is_told(room: Room) -> None:
    assert grep_lines(room, path="nope") == [
        f"Path does not exist: nope. Note: your current working directory is {room.folder}."
    ]


def test_a_working_folder_that_is_gone_is_told(room: Room) -> None:
    room.folder.rename(room.folder.with_name("elsewhere"))
    assert grep_lines(room)[0].startswith("Path does not exist: .")


@pytest.mark.skipif(sys.platform == "win32", reason="needs pipes with names")
def test_what_has_no_end_is_not_searched(room: Room) -> None:
    os.mkfifo(room.folder / "pipe")
    assert grep_lines(room, path="pipe") == ["Cannot search pipe: it is a device or a pipe."]
    assert "device" in grep_lines(room, path="/dev/zero")[0]


def test_files_that_must_not_be_read_are_not_shown(room: Room) -> None:
    room.scene.is_unreadable = lambda path: path.name in ("a.py", "main.rs") or "deep" in path.parts
    names = "wide.txt crlf.txt long.txt colon:1-2-x.txt .hidden.py keep.log sub/b.py"
    assert grep_lines(room) == ["Found 7 files", *names.split()]
    assert grep_lines(room, "def|Hello", output_mode="content", _A=1, _B=1) == ["sub/b.py-4-z", "sub/b.py:5:Hello"]
    assert grep_lines(room, "hit", output_mode="content", glob="{keep.log,main.rs,a.py,sub/b.py}", _A=1) == [
        "keep.log:1:hit",
        "--",
        "sub/b.py:1:hello hit",
        "sub/b.py-2-x",
    ]
    assert grep_lines(room, output_mode="count")[-1] == "Found 7 total occurrences across 7 files."
    assert grep_lines(room, type="rust") == ["No files found"]


def test_a_pattern_that_looks_like_an_option_is_a_pattern(room: Room) -> None:
    room.write("dash.txt", "--files -x\n")
    assert grep_lines(room, "--files") == ["Found 1 file", "dash.txt"]


def test_names_outside_of_the_folder_are_given_whole(room: Room, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out/x.txt").write_text("hit")
    assert grep_lines(room, path=str(tmp_path / "out")) == ["Found 1 file", str(tmp_path / "out/x.txt")]


def test_the_record_has_the_shape_of_the_real_client(room: Room) -> None:
    assert room.call("Grep", pattern="hit", path="sub").structured == {
        "mode": "files_with_matches",
        "filenames": ["sub/deep/c.txt", "sub/b.py"],
        "numFiles": 2,
        "totalFiles": 2,
    }
    lines = room.call("Grep", pattern="hit", path="sub", output_mode="content", head_limit=1).structured
    assert lines == {
        "mode": "content",
        "numFiles": 0,
        "filenames": [],
        "content": "sub/b.py:1:hello hit",
        "numLines": 1,
        "totalLines": 2,
        "appliedLimit": 1,
    }


def test_the_stand_in_is_used_where_ripgrep_is_missing(tmp_path: Path) -> None:
    assert find_search_program(str(tmp_path))[0] == sys.executable


def test_a_search_that_takes_too_long_is_stopped(tmp_path: Path) -> None:
    room = make_room(tmp_path / "demo")
    room.write("slow.txt", "a" * 60 + "!\n")
    with pytest.raises(ToolError, match=r"longer than 0\.5 seconds"):
        run_ripgrep(
            ["--with-filename", "--regexp=(a+)+$", "--", str(room.folder)], room.folder, room.scene, seconds=0.5
        )


def test_a_search_can_be_taken_back(tmp_path: Path) -> None:
    room = make_room(tmp_path / "demo")
    room.write("slow.txt", "a" * 60 + "!\n")
    threading.Timer(0.3, room.scene.cancel.set).start()
    with pytest.raises(RequestCancelled):  # and not that it took too long, which would be another error
        room.call("Grep", pattern="(a+)+$")
