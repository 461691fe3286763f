"""Read gives lines with their numbers, within limits."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from tests.agent.tools.room import Room
from turnlog.agent.tools.read import MAX_UNLIMITED_BYTES


@pytest.fixture
def room(tmp_path: Path) -> Room:
    return Room(tmp_path / "demo")


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ("one\ntwo\n", "1\tone\n2\ttwo\n3\t"),
        ("x", "1\tx"),
        ("a\r\nb\r\n", "1\ta\n2\tb\n3\t"),
        ("\ufeffhi\n", "1\thi\n2\t"),
        ("a\x0cb\u2028c\rd", "1\ta\x0cb\u2028c\rd"),
    ],
)
def test_lines_have_numbers(room: Room, content: str, told: str) -> None:
    room.write("a.txt", content)
    assert room.read("a.txt") == told


def test_the_record_says_which_lines_were_read(room: Room) -> None:
    room.write("a.txt", "1\n2\n3\n4\n")
    file = room.call("Read", file_path="a.txt", offset=2, limit=2).structured["file"]
    assert file == {"filePath": "a.txt", "content": "2\n3", "numLines": 2, "startLine": 2, "totalLines": 5}


def test_a_text_in_utf_16_is_read(room: Room) -> None:
    room.write("a.txt", "\ufeffhi".encode("utf-16-le"))
    assert room.read("a.txt") == "1\thi"


def test_a_file_without_content_and_an_offset_behind_the_end_are_told(room: Room) -> None:
    room.write("a.txt", "")
    assert "contents are empty" in room.read("a.txt")
    room.write("a.txt", "x\n")
    told = room.call("Read", file_path="a.txt", offset=7)
    assert "shorter than the provided offset (7). The file has 2 lines" in str(told.content)
    assert not told.is_error


def test_bytes_that_are_no_text_are_told(room: Room) -> None:
    room.write("latin.txt", b"caf\xe9\n")
    assert "not valid UTF-8" in room.read("latin.txt")
    room.write("nul.txt", b"a\0")
    assert "has NUL bytes" in room.read("nul.txt")


@pytest.mark.parametrize("name", ["a.zip", "b.PNG", "c.pdf", "d.SO"])
def test_binary_files_are_refused_by_their_names(room: Room, name: str) -> None:
    room.write(name, b"x")
    assert room.call("Read", file_path=name).is_error


def test_a_missing_file_is_told_with_one_that_may_be_meant(room: Room) -> None:
    room.write("main.py", "x")
    assert room.read("main.ts") == (
        f"File does not exist. Note: your current working directory is {room.folder}. Did you mean main.py?"
    )
    assert room.read("nowhere/x.py").endswith(f"directory is {room.folder}.")


def test_a_folder_is_refused(room: Room) -> None:
    assert room.read(".") == f"EISDIR: illegal operation on a directory, read '{room.folder}'"


@pytest.mark.skipif(sys.platform == "win32", reason="needs pipes and devices")
def test_pipes_devices_and_processes_are_refused_without_waiting(room: Room) -> None:
    os.mkfifo(room.folder / "pipe")
    (room.folder / "env").symlink_to(f"/proc/{os.getpid()}/environ")
    for name in ("pipe", "/dev/zero", "/proc/self/environ", "env"):
        told = room.call("Read", file_path=name)
        assert told.is_error
        assert "device or process file" in str(told.content) or not Path("/proc/self").exists()


def test_a_name_that_no_file_can_have_is_refused(room: Room) -> None:
    assert room.call("Read", file_path="a\0b").is_error
    assert room.call("Read", file_path="x" * 5000).is_error


def test_a_large_file_is_refused_but_its_lines_can_be_read(room: Room) -> None:
    room.write("big.txt", "0123456789\n" * 30_000)
    assert "File content (322.3KB) exceeds maximum allowed size (256KB)" in room.read("big.txt")
    part = room.call("Read", file_path="big.txt", offset=10, limit=2)
    assert part.content == "10\t0123456789\n11\t0123456789"
    assert part.structured["file"]["totalLines"] == 30_001
    last = room.call("Read", file_path="big.txt", offset=29_999, limit=9)
    assert last.content == "29999\t0123456789\n30000\t0123456789\n30001\t"


def test_a_large_file_of_one_line_is_not_held_as_a_whole(room: Room) -> None:
    room.write("big.txt", b"x" * (MAX_UNLIMITED_BYTES * 40))
    told = room.call("Read", file_path="big.txt", limit=5)
    assert told.is_error
    assert "exceeds maximum allowed tokens" in str(told.content)


def test_a_long_file_is_given_in_its_first_page(room: Room) -> None:
    room.write("long.txt", "".join(f"word {n} and another\n" for n in range(9000)))
    told = room.call("Read", file_path="long.txt")
    file = told.structured["file"]
    assert file["truncatedByTokenCap"]
    assert file["numLines"] < file["totalLines"] == 9001
    assert f"lines 1-{file['numLines']} of 9001" in str(told.content)
    again = room.call("Read", file_path="long.txt", offset=1, limit=9000)
    assert "exceeds maximum allowed tokens" in str(again.content)


def test_a_page_is_no_whole_file_to_write_over(room: Room) -> None:
    room.write("long.txt", "".join(f"word {n} and another\n" for n in range(9000)))
    room.read("long.txt")
    assert "contentNotInModelContext" in room.edit("long.txt", "word 8999", "x").structured


def test_reading_is_safe_beside_other_calls(room: Room) -> None:
    from tests.agent.tools.room import TOOLS

    safe = {tool.name for tool in TOOLS if tool.is_safe({})}
    assert safe == {"Read", "Glob", "Grep"}
