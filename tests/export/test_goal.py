"""Where exports go: whole or not at all, and never over what is not ours."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnlog.errors import TurnlogError, UsageError
from turnlog.export.destination import (
    FOLDER_MARK,
    build_file_name,
    check_destination,
    measure_export_size,
    open_export_folder,
    write_export_file,
)


@pytest.mark.parametrize(
    ("title", "name"),
    [
        ("Fix cent rounding!", "fix-cent-rounding-bee7dbd3"),
        ("../../etc/passwd", "etc-passwd-bee7dbd3"),
        ("Änderung 汉字", "änderung-汉字-bee7dbd3"),
        ("", "bee7dbd3"),
        ("x" * 300, "x" * 60 + "-bee7dbd3"),
    ],
)
def test_a_file_is_named_by_title_and_id(title: str, name: str) -> None:
    assert build_file_name(title, "bee7dbd3-a71b-48ef-8c53-70ecb3f99f59") == name


@given(st.text(), st.one_of(st.none(), st.text()))
def test_a_name_is_a_name_whatever_the_title(title: str, session_id: str | None) -> None:
    name = build_file_name(title, session_id)
    assert name
    assert not set(name) & set('/\\:*?"<>|.\0\n ')


def test_a_file_that_is_there_stays_without_force(tmp_path: Path) -> None:
    goal = tmp_path / "a.md"
    assert write_export_file(goal, [b"old"]) == 3
    with pytest.raises(UsageError, match="--force"):
        write_export_file(goal, [b"new"])
    assert goal.read_bytes() == b"old"
    write_export_file(goal, [b"n", b"ew"], force=True)
    assert goal.read_bytes() == b"new"


def test_what_breaks_off_leaves_nothing_and_the_old_file_as_it_was(tmp_path: Path) -> None:
    def broken() -> Iterator[bytes]:
        yield b"half"
        raise KeyboardInterrupt

    goal = tmp_path / "a.md"
    with pytest.raises(KeyboardInterrupt):
        write_export_file(goal, broken())
    assert list(tmp_path.iterdir()) == []
    write_export_file(goal, [b"old"])
    with pytest.raises(KeyboardInterrupt):
        write_export_file(goal, broken(), force=True)
    assert [goal.read_bytes()] == [path.read_bytes() for path in tmp_path.iterdir()]


def test_a_folder_appears_when_it_is_whole(tmp_path: Path) -> None:
    goal = tmp_path / "site"
    with open_export_folder(goal) as place:
        (place / "a").write_text("a")
        assert not goal.exists()
    assert {path.name for path in goal.iterdir()} == {"a", FOLDER_MARK}
    assert measure_export_size(goal) > 1


def test_a_folder_that_breaks_off_leaves_nothing(tmp_path: Path) -> None:
    def broken() -> None:
        with open_export_folder(tmp_path / "site") as place:
            (place / "a").write_text("a")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        broken()
    assert list(tmp_path.iterdir()) == []


def test_only_a_folder_that_an_export_made_is_replaced(tmp_path: Path) -> None:
    own, other = tmp_path / "own", tmp_path / "other"
    with open_export_folder(own) as place:
        (place / "old").write_text("x")
    with pytest.raises(UsageError, match="--force"), open_export_folder(own):
        pass
    with open_export_folder(own, force=True) as place:
        (place / "new").write_text("x")
    assert {path.name for path in own.iterdir()} == {"new", FOLDER_MARK}
    other.mkdir()
    (other / "precious").write_text("x")
    with pytest.raises(UsageError, match="not written by turnlog"), open_export_folder(other, force=True):
        pass
    assert (other / "precious").is_file()
    assert {path.name for path in tmp_path.iterdir()} == {"own", "other"}


def test_a_file_is_no_place_for_a_folder_and_the_other_way_round(tmp_path: Path) -> None:
    write_export_file(tmp_path / "file", [b"x"])
    with pytest.raises(UsageError, match="a file, not a folder"), open_export_folder(tmp_path / "file", force=True):
        pass
    with open_export_folder(tmp_path / "folder"):
        pass
    with pytest.raises(UsageError, match="a folder, not a file"):
        write_export_file(tmp_path / "folder", [b"x"], force=True)


def test_a_folder_that_does_not_exist_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no such folder"):
        check_destination(tmp_path / "gone" / "a.md", force=False)


def test_a_disk_that_refuses_is_told_in_one_line(tmp_path: Path) -> None:
    def full() -> Iterator[bytes]:
        yield b"some"
        raise OSError(28, "No space left on device")

    with pytest.raises(TurnlogError, match="No space left on device; nothing was written"):
        write_export_file(tmp_path / "a", full())
