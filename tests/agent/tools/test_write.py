"""Write makes a file or replaces one that the model knows."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.agent.tools.room import Room
from turnlog.agent.tools.call_result import ToolError
from turnlog.agent.tools.text_file import load_text_file, store_text_file

posix = pytest.mark.skipif(sys.platform == "win32", reason="needs modes and links")


@pytest.fixture
def room(tmp_path: Path) -> Room:
    return Room(tmp_path / "demo")


def test_a_new_file_is_made_with_its_folders(room: Room) -> None:
    told = room.put("deep/er/a.txt", "x\n")
    assert str(told.content).startswith(f"File created successfully at: {room.folder}/deep/er/a.txt")
    assert told.structured["type"] == "create"
    assert (room.folder / "deep/er/a.txt").read_bytes() == b"x\n"


def test_a_file_that_was_not_read_is_not_written_over(room: Room) -> None:
    room.write("a.txt", "old")
    assert "has not been read yet" in str(room.put("a.txt", "new").content)
    assert (room.folder / "a.txt").read_text() == "old"


def test_a_file_that_changed_since_it_was_read_is_not_written_over(room: Room) -> None:
    room.write("a.txt", "old")
    room.read("a.txt")
    room.write("a.txt", "theirs")
    assert "modified since read" in str(room.put("a.txt", "new").content)
    assert (room.folder / "a.txt").read_text() == "theirs"


def test_a_file_that_was_read_is_replaced_and_the_change_is_recorded(room: Room) -> None:
    room.write("a.txt", "one\ntwo\n")
    room.read("a.txt")
    told = room.put("a.txt", "one\n2\n")
    assert told.structured["structuredPatch"][0]["lines"] == [" one", "-two", "+2"]
    assert told.structured["originalFile"] == "one\ntwo\n"
    assert not room.put("a.txt", "three\n").is_error


def test_a_file_that_is_no_utf_8_is_not_written_over(room: Room) -> None:
    room.write("a.txt", b"caf\xe9")
    room.read("a.txt")
    assert "not valid UTF-8" in str(room.put("a.txt", "new").content)
    assert (room.folder / "a.txt").read_bytes() == b"caf\xe9"


def test_encoding_and_byte_order_mark_stay(room: Room) -> None:
    for name, encoding in [("a.txt", "utf-8"), ("b.txt", "utf-16-le")]:
        room.write(name, "\ufeffold".encode(encoding))
        room.read(name)
        room.put(name, "né")
        assert (room.folder / name).read_bytes() == "\ufeffné".encode(encoding)


def test_spaces_at_the_ends_of_lines_are_dropped_but_not_in_markdown(room: Room) -> None:
    room.put("a.py", "a  \n\tb\t\n")
    assert (room.folder / "a.py").read_text() == "a\n\tb\n"
    room.put("a.md", "a  \nb")
    assert (room.folder / "a.md").read_text() == "a  \nb"


def test_a_folder_is_refused(room: Room) -> None:
    assert "is a directory, not a file" in str(room.put(".", "x").content)


def test_half_a_character_is_written_as_a_replacement(room: Room) -> None:
    room.put("a.txt", "x\ud83dy \U0001f600")
    assert (room.folder / "a.txt").read_text(encoding="utf-8") == "x\ufffdy \U0001f600"


def test_a_place_that_can_not_be_written_is_told(room: Room) -> None:
    room.write("a.txt", "x")
    told = room.put("a.txt/b", "x")
    assert told.is_error
    assert "ENOTDIR" in str(told.content) or "EEXIST" in str(told.content)


@posix
def test_links_are_followed_and_modes_are_kept(room: Room) -> None:
    real = room.write("real.sh", "old")
    real.chmod(0o750)
    (room.folder / "link.sh").symlink_to("real.sh")
    room.read("link.sh")
    room.put("link.sh", "new")
    assert (room.folder / "link.sh").is_symlink()
    assert (real.read_text(), real.stat().st_mode & 0o777) == ("new", 0o750)


@posix
def test_a_new_file_has_the_mode_that_new_files_have(room: Room) -> None:
    plain = room.write("plain.txt", "x")
    room.put("new.txt", "x")
    assert (room.folder / "new.txt").stat().st_mode == plain.stat().st_mode


def test_a_file_that_changes_in_the_last_moment_is_left_alone(room: Room) -> None:
    path = room.write("a.txt", "old")
    before = load_text_file(path)
    room.write("a.txt", "theirs, in the meantime")
    with pytest.raises(ToolError, match="unexpectedly modified"):
        store_text_file(path, "new", before)
    with pytest.raises(ToolError, match="unexpectedly modified"):
        store_text_file(path, "new", None)
    assert path.read_text() == "theirs, in the meantime"
    assert [one.name for one in room.folder.iterdir()] == ["a.txt"]
