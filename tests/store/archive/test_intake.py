"""What is taken of a file that changes under our hands."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from turnlog.errors import Changed
from turnlog.store.archive.blobs import Blobs
from turnlog.store.archive.intake import CutSizes, FileIntake
from turnlog.store.archive.manifest import KeptFile

OLD, NEW = bytes(range(250)) * 4, bytes(reversed(range(250))) * 4


def take_changing_file(path: Path, folder: Path, change: Callable[[int], None]) -> bytes:
    """Take a file that is changed after each block that is read of it; `change` gets the number of the block."""
    blobs, read = Blobs(folder), [0]

    def watch(name: str, data: bytes) -> None:
        read[0] += 1
        change(read[0])

    intake = FileIntake(blobs, watch, CutSizes(blob=100, small=10))
    found = intake.take_file(str(path), "x", None)
    (file,) = intake.close([found.file])
    return content(blobs, file)


def content(blobs: Blobs, file: KeptFile) -> bytes:
    data = b"".join(blobs.get(ref.blob)[ref.start : ref.start + ref.size] for ref in file.refs)
    assert len(data) == file.size
    return data


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "file"
    path.write_bytes(OLD)
    os.utime(path, (10**9, 10**9))
    return path


def test_what_it_grows_by_is_left_to_the_next_time(path: Path, tmp_path: Path) -> None:
    def grow(block: int) -> None:
        with path.open("ab") as file:
            file.write(b"more")

    assert take_changing_file(path, tmp_path / "blobs", grow) == OLD


@pytest.mark.parametrize("size", [0, 1, 100, 150, 999])
def test_a_file_that_is_cut_is_taken_as_it_is_then(path: Path, tmp_path: Path, size: int) -> None:
    assert take_changing_file(path, tmp_path / "blobs", lambda block: os.truncate(path, size)) == OLD[:size]


@pytest.mark.parametrize("at", [1, 5, 10])
def test_a_file_that_is_rewritten_in_place_is_taken_as_it_is_then(path: Path, tmp_path: Path, at: int) -> None:
    def rewrite(block: int) -> None:
        if block == at:
            with path.open("r+b") as file:
                file.write(NEW)

    assert take_changing_file(path, tmp_path / "blobs", rewrite) == NEW


def test_a_file_that_is_replaced_is_taken_as_it_was(path: Path, tmp_path: Path) -> None:
    def replace(block: int) -> None:
        (tmp_path / "other").write_bytes(NEW)
        if os.name != "nt":
            (tmp_path / "other").replace(path)

    assert take_changing_file(path, tmp_path / "blobs", replace) == OLD


def test_a_file_that_is_rewritten_without_end_is_given_up(path: Path, tmp_path: Path) -> None:
    def rewrite(block: int) -> None:
        with path.open("r+b") as file:
            file.write(os.urandom(1000))

    with pytest.raises(Changed, match="the next run will archive it"):
        take_changing_file(path, tmp_path / "blobs", rewrite)
