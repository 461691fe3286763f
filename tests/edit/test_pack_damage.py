"""A damaged package is found out, wherever the damage is, before anything is written."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from turnlog.edit.package.pack import pack_sessions
from turnlog.edit.package.package_reader import Package
from turnlog.edit.package.unpack import unpack_package
from turnlog.errors import TurnlogError, Unreadable


@pytest.fixture
def package(session: Path, tmp_path: Path) -> Path:
    """A package of some kilobytes."""
    (session.with_suffix("") / "tool-results" / "noise").write_bytes(random.Random(1).randbytes(64))
    return pack_sessions([session], tmp_path / "p").path


def is_sound(path: Path) -> bool:
    """Whether a package is found to be whole."""
    try:
        with Package(path) as package:
            package.verify()
    except Unreadable as error:
        return not str(error).startswith(f"{path}: ")
    return True


def test_a_package_that_is_cut_anywhere_is_refused(package: Path) -> None:
    data = package.read_bytes()
    assert is_sound(package)
    for size in (*range(0, len(data) - 80, 2), *range(len(data) - 80, len(data))):
        package.write_bytes(data[:size])
        assert not is_sound(package), size


def test_a_bit_that_flips_anywhere_is_found(package: Path) -> None:
    data = package.read_bytes()
    for at in (*range(0, len(data) - 80, 2), *range(len(data) - 80, len(data))):
        package.write_bytes(data[:at] + bytes([data[at] ^ 1 << at % 8]) + data[at + 1 :])
        assert not is_sound(package), at


def test_bytes_behind_the_end_are_found(package: Path) -> None:
    data = package.read_bytes()
    for more in (b"\0", b"\n", data):
        package.write_bytes(data + more)
        assert not is_sound(package)


def test_nothing_is_written_for_a_damaged_package(package: Path, tmp_path: Path) -> None:
    data = package.read_bytes()
    (tmp_path / "work").mkdir()
    for at in range(0, len(data), 97):
        package.write_bytes(data[:at] + bytes([data[at] ^ 0x55]) + data[at + 1 :])
        with pytest.raises(TurnlogError), Package(package) as damaged:
            unpack_package(damaged, tmp_path / "there", project_folders={"/home/dana/webshop": tmp_path / "work"})
        assert not (tmp_path / "there").exists()
