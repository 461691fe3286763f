"""Moving a file: whole in one of two places at any time, and never over another."""

from __future__ import annotations

import hashlib
import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from turnlog.edit.journal.file_steps import copy_file, move_file, put_kept_file
from turnlog.errors import Changed, TurnlogError

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="links and file systems are those of POSIX")


@pytest.fixture
def far(tmp_path: Path) -> Iterator[Path]:
    """A folder on another file system."""
    memory = Path("/dev/shm")
    if not memory.is_dir() or memory.stat().st_dev == tmp_path.stat().st_dev:
        pytest.skip("there is no second file system")
    folder = memory / f"turnlog-moving-{os.getpid()}"
    folder.mkdir()
    yield folder
    shutil.rmtree(folder)


def test_a_file_keeps_content_mode_and_time(tmp_path: Path, far: Path) -> None:
    source = tmp_path / "a"
    source.write_bytes(b"x" * 3_000_000)
    source.chmod(0o640)
    os.utime(source, ns=(1, 1_700_000_000_123_456_789))
    move_file(source, tmp_path / "b")
    move_file(tmp_path / "b", far / "c")
    status = (far / "c").stat()
    assert (status.st_mode & 0o777, status.st_mtime_ns, status.st_size) == (0o640, 1_700_000_000_123_456_789, 3_000_000)
    assert list(tmp_path.iterdir()) == []
    assert [path.name for path in far.iterdir()] == ["c"]


def test_a_link_stays_a_link_wherever_it_leads(tmp_path: Path, far: Path) -> None:
    (tmp_path / "a").symlink_to("nowhere")
    move_file(tmp_path / "a", tmp_path / "b")
    move_file(tmp_path / "b", far / "c")
    assert os.fspath((far / "c").readlink()) == "nowhere"
    assert list(tmp_path.iterdir()) == []


def test_nothing_is_overwritten_here_or_there(tmp_path: Path, far: Path) -> None:
    (tmp_path / "a").write_text("mine")
    for goal in (tmp_path / "b", far / "b"):
        goal.write_text("yours")
        with pytest.raises(FileExistsError):
            move_file(tmp_path / "a", goal)
        assert goal.read_text() == "yours"
    assert (tmp_path / "a").read_text() == "mine"


def test_an_unfinished_copy_is_replaced_also_under_the_name_that_an_older_turnlog_gave_it(
    tmp_path: Path, far: Path
) -> None:
    (tmp_path / "a").write_text("whole")
    for name in (hashlib.sha256(b"b").hexdigest()[:16], "b"):
        (far / f"{name}.turnlog-part").write_text("hal")
    move_file(tmp_path / "a", far / "b")
    assert [(path.name, path.read_text()) for path in far.iterdir()] == [("b", "whole")]


def test_a_file_that_changes_while_it_is_copied_stays(tmp_path: Path, far: Path) -> None:
    source = tmp_path / "a"
    source.write_text("old")
    before = source.lstat()
    source.write_text("newer")
    with pytest.raises(Changed, match="modified while being copied"):
        copy_file(source, far / "b", before)
    assert source.read_text() == "newer"
    assert list(far.iterdir()) == []


def test_what_is_neither_file_nor_link_is_moved_within_a_file_system_only(tmp_path: Path, far: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(TurnlogError, match="neither a file nor a link"):
        move_file(tmp_path / "pipe", far / "pipe")
    move_file(tmp_path / "pipe", tmp_path / "b")
    assert (tmp_path / "b").is_fifo()


def test_a_kept_file_with_the_longest_possible_name_comes_back_from_another_file_system(
    tmp_path: Path, far: Path
) -> None:
    place = tmp_path / ("é" * 127)
    (far / "0").write_text("original")
    place.write_text("new")
    put_kept_file(far / "0", place)
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [(place.name, "original")]
    assert list(far.iterdir()) == []
