"""Edit replaces a string that stands in a file once, and touches nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.agent.tools.room import Room
from turnlog.agent.tools.text_file import TextSplice, decode_text_file


@pytest.fixture
def room(tmp_path: Path) -> Room:
    return Room(tmp_path / "demo")


def write_seen_file(room: Room, content: str | bytes, name: str = "a.txt") -> Path:
    path = room.write(name, content)
    room.read(name)
    return path


def test_a_string_gives_way_to_another(room: Room) -> None:
    path = write_seen_file(room, "one\ntwo\nthree\n")
    told = room.edit("a.txt", "two", "2")
    assert path.read_text() == "one\n2\nthree\n"
    assert str(told.content).startswith(f"The file {path} has been updated successfully. (file state is current")
    assert told.structured["structuredPatch"][0]["lines"] == [" one", "-two", "+2", " three"]
    assert told.structured["replaceAll"] is False


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("nope", "x", "String to replace not found in file.\nString: nope"),
        ("a", "x", "Found 2 matches of the string to replace, but replace_all is false."),
        ("x", "x", "No changes to make: old_string and new_string are exactly the same."),
        ("", "x", "Cannot create new file - file already exists."),
    ],
)
def test_what_can_not_be_replaced_is_told(room: Room, old: str, new: str, told: str) -> None:
    path = write_seen_file(room, "a\na\n")
    result = room.edit("a.txt", old, new)
    assert result.is_error
    assert str(result.content).startswith(f"<tool_use_error>{told}")
    assert path.read_text() == "a\na\n"


def test_all_of_them_are_replaced_if_that_is_wanted(room: Room) -> None:
    path = write_seen_file(room, "a\na\nb")
    told = room.edit("a.txt", "a", "$1\\1", replace_all=True)
    assert path.read_text() == "$1\\1\n$1\\1\nb"
    assert "All occurrences were successfully replaced." in str(told.content)


def test_a_file_must_be_read_first(room: Room) -> None:
    room.write("a.txt", "one")
    assert "has not been read yet" in str(room.edit("a.txt", "one", "two").content)


def test_a_missing_file_is_told_or_made_if_nothing_is_to_be_replaced(room: Room) -> None:
    assert "File does not exist." in str(room.edit("b/a.txt", "x", "y").content)
    told = room.edit("b/a.txt", "", "new\n")
    assert (room.folder / "b/a.txt").read_text() == "new\n"
    assert told.structured["structuredPatch"] == [
        {"oldStart": 1, "oldLines": 0, "newStart": 1, "newLines": 1, "lines": ["+new"]}
    ]
    assert not room.edit("b/a.txt", "new", "newer").is_error


def test_an_empty_file_can_be_filled(room: Room) -> None:
    path = room.write("a.txt", "")
    assert not room.edit("a.txt", "", "new\n").is_error
    assert path.read_text() == "new\n"


def test_a_file_that_changed_since_is_edited_only_where_the_string_still_stands(room: Room) -> None:
    path = write_seen_file(room, "one\n")
    room.write("a.txt", "one\ntheirs\n")
    told = room.edit("a.txt", "one", "1")
    assert path.read_text() == "1\ntheirs\n"
    assert "had been modified on disk" in str(told.content)
    assert told.structured["staleRecovered"]
    room.write("a.txt", "other\n")
    assert "modified since read" in str(room.edit("a.txt", "1", "x").content)
    assert path.read_text() == "other\n"


def test_a_file_of_which_a_part_was_read_can_be_edited(room: Room) -> None:
    path = room.write("a.txt", "1\n2\n3\n")
    room.call("Read", file_path="a.txt", limit=1)
    told = room.edit("a.txt", "3", "x")
    assert told.structured["contentNotInModelContext"]
    assert "no need to Read" not in str(told.content)
    assert path.read_text() == "1\n2\nx\n"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (b"a\r\nb\r\nc\r\n", b"a\r\nB\r\nD\r\nc\r\n"),
        (b"a\nb\nc\n", b"a\nB\nD\nc\n"),
        (b"a\r\nb\nc\n", b"a\r\nB\nD\nc\n"),
        (b"a\r\nb\nc\r\n", b"a\r\nB\r\nD\r\nc\r\n"),
        ("\ufeffa\r\nb\r\nc".encode(), "\ufeffa\r\nB\r\nD\r\nc".encode()),
        ("\ufeffa\nb\nc".encode("utf-16-le"), "\ufeffa\nB\nD\nc".encode("utf-16-le")),
    ],
)
def test_encoding_byte_order_mark_and_line_ends_stay(room: Room, before: bytes, after: bytes) -> None:
    path = write_seen_file(room, before)
    assert not room.edit("a.txt", "b\nc", "B\nD\nc").is_error
    assert path.read_bytes() == after


def test_a_file_that_is_no_utf_8_is_not_edited(room: Room) -> None:
    for content in (b"caf\xe9 x", b"\0 x"):
        path = write_seen_file(room, content)
        told = room.edit("a.txt", "x", "y")
        assert "nothing was written" in str(told.content)
        assert path.read_bytes() == content


def test_straight_quotes_find_curly_ones_and_become_curly(room: Room) -> None:
    path = write_seen_file(room, "say “hello” ‘x’ don’t\n")
    room.edit("a.txt", 'say "hello"', 'say "bye" ("you")')
    room.edit("a.txt", "don't", "won't")
    assert path.read_text() == "say “bye” (“you”) ‘x’ won’t\n"


def test_lines_that_are_taken_out_leave_no_empty_line(room: Room) -> None:
    path = write_seen_file(room, "a\nb\nc\n")
    room.edit("a.txt", "b", "")
    assert path.read_text() == "a\nc\n"


def test_spaces_at_the_ends_of_lines_are_dropped_but_not_in_markdown(room: Room) -> None:
    path = write_seen_file(room, "a\n")
    room.edit("a.txt", "a", "b  \nc ")
    assert path.read_text() == "b\nc\n"
    path = write_seen_file(room, "a\n", "a.md")
    room.edit("a.md", "a", "b  \nc ")
    assert path.read_text() == "b  \nc \n"


def test_notebooks_and_folders_are_refused(room: Room) -> None:
    room.write("n.ipynb", "{}")
    assert "Use the NotebookEdit" in str(room.edit("n.ipynb", "a", "b").content)
    assert "EISDIR" in str(room.edit(".", "a", "b").content)


pieces = st.lists(st.sampled_from(["a", "b", "\n", "\r\n", "\r", "é"]), max_size=30)


@given(pieces, st.data())
def test_what_is_not_replaced_keeps_every_byte(parts: list[str], data: st.DataObject) -> None:
    file = decode_text_file(Path("a"), Path().stat(), "".join(parts).encode())
    start = data.draw(st.integers(0, len(file.text)))
    end = data.draw(st.integers(start, len(file.text)))
    made = file.apply_splices([TextSplice(start, end, "X")])
    head, _, tail = made.partition("X")
    assert file.written.startswith(head)
    assert file.written.endswith(tail)
    assert head.replace("\r\n", "\n") == file.text[:start]
    assert tail.replace("\r\n", "\n") == file.text[end:]
