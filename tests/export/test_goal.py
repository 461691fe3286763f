"""Where exports go: whole or not at all, and never over what is not ours."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnlog.errors import TurnlogError, UsageError
from turnlog.export.goal import MARK, file_name, folder, must_be_free, sizes, write


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
    assert file_name(title, "bee7dbd3-a71b-48ef-8c53-70ecb3f99f59") == name


@given(st.text(), st.one_of(st.none(), st.text()))
def test_a_name_is_a_name_whatever_the_title(title: str, session_id: str | None) -> None:
    name = file_name(title, session_id)
    assert name
    assert not set(name) & set('/\\:*?"<>|.\0\n ')


def test_a_file_that_is_there_stays_without_force(tmp_path: Path) -> None:
    goal = tmp_path / "a.md"
    assert write(goal, [b"old"]) == 3
    with pytest.raises(UsageError, match="--force"):
        write(goal, [b"new"])
    assert goal.read_bytes() == b"old"
    write(goal, [b"n", b"ew"], force=True)
    assert goal.read_bytes() == b"new"


def test_what_breaks_off_leaves_nothing_and_the_old_file_as_it_was(tmp_path: Path) -> None:
    def broken() -> Iterator[bytes]:
        yield b"half"
        raise KeyboardInterrupt

    goal = tmp_path / "a.md"
    with pytest.raises(KeyboardInterrupt):
        write(goal, broken())
    assert list(tmp_path.iterdir()) == []
    write(goal, [b"old"])
    with pytest.raises(KeyboardInterrupt):
        write(goal, broken(), force=True)
    assert [goal.read_bytes()] == [path.read_bytes() for path in tmp_path.iterdir()]


def test_a_folder_appears_when_it_is_whole(tmp_path: Path) -> None:
    goal = tmp_path / "site"
    with folder(goal) as place:
        (place / "a").write_text("a")
        assert not goal.exists()
    assert {path.name for path in goal.iterdir()} == {"a", MARK}
    assert sizes(goal) > 1


def test_a_folder_that_breaks_off_leaves_nothing(tmp_path: Path) -> None:
    def broken() -> None:
        with folder(tmp_path / "site") as place:
            (place / "a").write_text("a")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        broken()
    assert list(tmp_path.iterdir()) == []


def test_only_a_folder_that_an_export_made_is_replaced(tmp_path: Path) -> None:
    own, other = tmp_path / "own", tmp_path / "other"
    with folder(own) as place:
        (place / "old").write_text("x")
    with pytest.raises(UsageError, match="--force"), folder(own):
        pass
    with folder(own, force=True) as place:
        (place / "new").write_text("x")
    assert {path.name for path in own.iterdir()} == {"new", MARK}
    other.mkdir()
    (other / "precious").write_text("x")
    with pytest.raises(UsageError, match="did not write"), folder(other, force=True):
        pass
    assert (other / "precious").is_file()
    assert {path.name for path in tmp_path.iterdir()} == {"own", "other"}


def test_a_file_is_no_place_for_a_folder_and_the_other_way_round(tmp_path: Path) -> None:
    write(tmp_path / "file", [b"x"])
    with pytest.raises(UsageError, match="is a file"), folder(tmp_path / "file", force=True):
        pass
    with folder(tmp_path / "folder"):
        pass
    with pytest.raises(UsageError, match="is a folder"):
        write(tmp_path / "folder", [b"x"], force=True)


def test_a_folder_that_does_not_exist_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no such folder"):
        must_be_free(tmp_path / "gone" / "a.md", force=False)


def test_a_disk_that_refuses_is_told_in_one_line(tmp_path: Path) -> None:
    def full() -> Iterator[bytes]:
        yield b"some"
        raise OSError(28, "No space left on device")

    with pytest.raises(TurnlogError, match="No space left on device; nothing was written"):
        write(tmp_path / "a", full())
