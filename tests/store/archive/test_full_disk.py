"""A full disk is one clear error, and nothing that was archived is lost."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import Program
from tests.store.archive.place import ONE, TWO, Place
from turnlog.store.archive import Archive
from turnlog.store.archive.verify import verify_archive

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="needs a tmpfs, or limits of POSIX")
noise = random.Random(3).randbytes


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


def test_a_full_disk_is_told_and_keeps_what_is_archived(place: Place, program: Program, small_disk: Path) -> None:
    place.session(noise(100_000))
    words = {"CLAUDE_CONFIG_DIR": str(place.config), "TURNLOG_HOME": str(small_disk)}
    assert program("archive", "run", **words).returncode == 0
    place.session(noise(3_000_000), name=TWO)
    done = program("archive", "run", **words)
    assert (done.returncode, done.stdout) == (1, "")
    assert len(done.stderr.splitlines()) == 1
    assert "No space left on device, but nothing was lost" in done.stderr
    archive = Archive(small_disk)
    assert archive.list_ids() == {ONE}
    assert verify_archive(archive).is_sound
    assert list(archive.folder.rglob(".tmp-*")) == []
    shutil.rmtree(place.config / "projects")
    place.session(noise(2000), name=TWO)
    assert program("archive", "run", **words).returncode == 0


def test_a_limit_of_the_size_of_files_is_told_too(place: Place) -> None:
    place.session(noise(3_000_000))
    code = (
        "import resource, sys; resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))\n"
        "from turnlog.cli.program import run_program; sys.exit(run_program(['archive', 'run']))"
    )
    env = {**os.environ, "CLAUDE_CONFIG_DIR": str(place.config), "TURNLOG_HOME": str(place.data)}
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, encoding="utf-8")
    assert done.returncode == 1
    assert "File too large" in done.stderr
    assert place.archive.list_sessions() == []
    assert place.run().archived == 1


@pytest.mark.skipif(os.geteuid() == 0, reason="root writes everywhere")
def test_a_read_only_home_is_told(place: Place) -> None:
    place.session()
    place.data.mkdir(mode=0o500)
    with pytest.raises(Exception, match="Permission denied"):
        place.run()


def test_nobody_is_told_to_make_room_on_a_disk_that_is_not_full(
    place: Place, program: Program, small_disk: Path
) -> None:
    subprocess.run(["mount", "-o", "remount,ro", small_disk], check=True)
    done = program("archive", "on", CLAUDE_CONFIG_DIR=str(place.config), TURNLOG_HOME=str(small_disk))
    assert done.returncode == 1
    assert done.stderr.endswith("Read-only file system\n")
