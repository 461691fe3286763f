"""Writing a version of a file: only to the named place, and never over anything without keeping it."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from turnlog.edit.restore_file import write_restored_file
from turnlog.errors import UsageError


def test_a_file_is_written_to_the_named_place(tmp_path: Path) -> None:
    done = write_restored_file(tmp_path / "a.py", b"one\r\n")
    assert (tmp_path / "a.py").read_bytes() == b"one\r\n"
    assert (done.place, done.kept) == (tmp_path / "a.py", None)
    assert [path.name for path in tmp_path.iterdir()] == ["a.py"]


def test_a_file_that_is_there_is_not_touched_without_force(tmp_path: Path) -> None:
    place = tmp_path / "a.py"
    place.write_bytes(b"mine")
    with pytest.raises(UsageError, match="--force replaces it and keeps a copy"):
        write_restored_file(place, b"new")
    assert place.read_bytes() == b"mine"


def test_with_force_what_was_there_is_kept_each_time(tmp_path: Path) -> None:
    place = tmp_path / "a.py"
    place.write_bytes(b"first")
    place.chmod(0o640)
    write_restored_file(place, b"second", force=True)
    done = write_restored_file(place, b"third", force=True)
    assert place.read_bytes() == b"third"
    assert (tmp_path / "a.py.before-restore").read_bytes() == b"first"
    assert done.kept == tmp_path / "a.py.before-restore-1"
    assert done.kept.read_bytes() == b"second"
    if os.name != "nt":
        assert stat.S_IMODE(place.stat().st_mode) == 0o640


def test_force_without_anything_there_keeps_nothing(tmp_path: Path) -> None:
    assert write_restored_file(tmp_path / "a", b"x", force=True).kept is None


def test_a_folder_is_no_place_for_a_file(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="a folder, not a file"):
        write_restored_file(tmp_path, b"x", force=True)


def test_folders_are_not_made(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="create it first"):
        write_restored_file(tmp_path / "no" / "a", b"x")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(os.name == "nt", reason="no such files there")
def test_what_is_no_plain_file_is_left_alone(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(UsageError, match="not a regular file"):
        write_restored_file(tmp_path / "pipe", b"x", force=True)


@pytest.mark.skipif(os.name == "nt", reason="links need rights there")
def test_a_link_leads_to_the_file_that_is_written(tmp_path: Path) -> None:
    (tmp_path / "real").write_bytes(b"old")
    (tmp_path / "link").symlink_to(tmp_path / "real")
    done = write_restored_file(tmp_path / "link", b"new", force=True)
    assert (tmp_path / "real").read_bytes() == b"new"
    assert (tmp_path / "link").is_symlink()
    assert done.kept == tmp_path / "real.before-restore"


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="whoever may do everything can't be kept out")
def test_a_place_that_cannot_be_written_keeps_its_file(tmp_path: Path) -> None:
    place = tmp_path / "a"
    place.write_bytes(b"old")
    tmp_path.chmod(0o500)
    try:
        with pytest.raises(OSError, match="denied"):
            write_restored_file(place, b"new", force=True)
        assert place.read_bytes() == b"old"
    finally:
        tmp_path.chmod(0o700)
