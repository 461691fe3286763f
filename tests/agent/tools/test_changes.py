"""What the model is told of files that it wrote and somebody else changed."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.agent.tools.room import Room
from turnlog.agent.tools.file_changes import MAX_SHOWN_LINES, describe_file_changes

NUMBERS = "".join(f"{number}\n" for number in range(1, 61))


@pytest.fixture
def room(tmp_path: Path) -> Room:
    room = Room(tmp_path / "demo")
    room.put("a.txt", NUMBERS)
    return room


def list_change_texts(room: Room) -> list[str]:
    """The lines that are shown, change by change."""
    return [text.split("(shown with line numbers):\n")[1] for text in describe_file_changes(room.scene.files)]


def number_lines(first: int, last: int, **other: str) -> list[str]:
    return [f"{at}\t{other.get(f'at_{at}', at)}" for at in range(first, last + 1)]


def test_a_file_that_nobody_else_changed_is_not_told_of(room: Room) -> None:
    room.edit("a.txt", "30\n", "thirty\n")
    assert list_change_texts(room) == []


def test_a_change_is_shown_with_the_lines_around_it(room: Room) -> None:
    room.write("a.txt", NUMBERS.replace("30\n", "thirty\n"))
    (text,) = describe_file_changes(room.scene.files)
    assert text.startswith(f"Note: {room.folder}/a.txt changed on disk since you last read it.")
    assert text.split(":\n")[1].split("\n") == number_lines(22, 38, at_30="thirty")


def test_between_changes_that_are_far_apart_lines_are_left_out(room: Room) -> None:
    room.write("a.txt", NUMBERS.replace("10\n", "ten\n").replace("50\n", ""))
    (text,) = list_change_texts(room)
    first, second = text.split("\n...\n")
    assert first.split("\n") == number_lines(2, 18, at_10="ten")
    assert second.split("\n")[7:9] == ["49\t49", "50\t51"]


def test_a_change_is_told_once_and_the_file_is_known_from_then_on(room: Room) -> None:
    room.write("a.txt", NUMBERS.replace("30\n", "thirty\n"))
    assert len(list_change_texts(room)) == 1
    assert list_change_texts(room) == []
    assert "no need to Read it back" in str(room.edit("a.txt", "thirty", "XXX").content)


def test_of_a_long_change_the_beginning_is_shown_and_the_file_is_not_known_whole(room: Room) -> None:
    room.write("a.txt", "".join(f"line {number}\n" for number in range(3000)))
    (text,) = list_change_texts(room)
    assert len(text.split("\n")) == MAX_SHOWN_LINES + 2
    assert text.endswith("\n\n... [2700 lines truncated] ...")
    assert "contentNotInModelContext" in room.edit("a.txt", "line 7\n", "x\n").structured


def test_a_file_that_was_only_read_is_not_told_of(room: Room) -> None:
    room.write("b.txt", "x")
    room.read("b.txt")
    room.write("b.txt", "yy")
    assert list_change_texts(room) == []


def test_a_file_that_was_written_and_then_read_is_told_of(room: Room) -> None:
    room.read("a.txt")
    room.write("a.txt", NUMBERS + "61\n")
    assert len(list_change_texts(room)) == 1


def test_a_file_that_was_touched_emptied_or_removed_is_not_told_of(room: Room) -> None:
    os.utime(room.folder / "a.txt", (1, 1))
    assert list_change_texts(room) == []
    room.write("a.txt", "")
    assert list_change_texts(room) == []
    (room.folder / "a.txt").unlink()
    assert list_change_texts(room) == []
