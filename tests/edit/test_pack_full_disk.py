"""A full disk is one clear error; nothing of a package or a session is left behind."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.edit.furnished_session import furnish
from turnlog.edit.package.pack import pack_sessions
from turnlog.edit.package.package_reader import Package
from turnlog.edit.package.unpack import unpack_package
from turnlog.errors import TurnlogError

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="needs a tmpfs, or limits of POSIX")


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of one megabyte."""
    folder = tmp_path / "disk"
    folder.mkdir()
    done = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", folder], capture_output=True)
    if done.returncode:
        pytest.skip("this user may not mount a disk")
    yield folder
    subprocess.run(["umount", "-l", folder], check=True)


@pytest.fixture
def large(tmp_path: Path) -> Path:
    """A session that does not fit on it."""
    session = furnish(tmp_path / "claude")
    (session.with_suffix("") / "tool-results" / "noise").write_bytes(random.Random(1).randbytes(3_000_000))
    return session


def test_a_package_that_does_not_fit_is_not_made(large: Path, small_disk: Path) -> None:
    with pytest.raises(TurnlogError, match=r"No space left on device; no package was written"):
        pack_sessions([large], small_disk / "p")
    assert list(small_disk.iterdir()) == []


def test_a_package_that_just_does_not_fit_a_second_time_is_not_made(large: Path, small_disk: Path) -> None:
    (large.with_suffix("") / "tool-results" / "noise").write_bytes(random.Random(1).randbytes(700_000))
    with pytest.raises(TurnlogError, match=r"No space left on device; no package was written"):
        pack_sessions([large], small_disk / "p")
    assert list(small_disk.iterdir()) == []


def test_a_session_that_does_not_fit_is_refused_at_once(large: Path, small_disk: Path, tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    with Package(pack_sessions([large], tmp_path / "p").path) as package, pytest.raises(TurnlogError, match="has only"):
        unpack_package(package, small_disk / "there", project_folders={"/home/dana/webshop": tmp_path / "work"})
    assert list(small_disk.iterdir()) == []


UNPACK = """
import resource, sys
resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
from turnlog.cli.program import run_program
sys.exit(run_program(["unpack", *sys.argv[1:]]))
"""


def test_a_disk_that_fills_up_meanwhile_leaves_nothing(large: Path, tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    (tmp_path / "there").mkdir()
    path = pack_sessions([large], tmp_path / "p").path
    words = [str(path), "--project", str(tmp_path / "work"), "--config", str(tmp_path / "there")]
    done = subprocess.run([sys.executable, "-c", UNPACK, *words], capture_output=True, text=True, env={**os.environ})
    assert (done.returncode, done.stdout) == (1, "")
    assert "File too large; nothing was unpacked" in done.stderr
    assert list((tmp_path / "there").iterdir()) == []
