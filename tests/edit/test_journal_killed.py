"""A kill during work on several files loses nothing: afterwards all of the work is done, or none of it."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from tests.edit.kill_sweep import USERS

ROOT = Path(__file__).resolve().parents[2]
MEMORY = Path("/dev/shm")
LEAST_STEPS = {"change": 15, "undo": 15, "delete": 30, "undelete": 30, "unpack": 60}
pytestmark = [pytest.mark.slow, pytest.mark.skipif(sys.platform == "win32", reason="processes are killed with SIGKILL")]


def sweep(user: str, base: Path, away: Path, stride: int) -> int:
    words = [sys.executable, "-m", "tests.edit.kill_sweep", user, str(base), str(away), str(stride)]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return int(done.stdout)


@pytest.mark.parametrize("user", USERS)
def test_killed_before_any_step_nothing_is_lost(user: str) -> None:
    memory = MEMORY if os.access(MEMORY, os.W_OK) else None  # thousands of files are flushed
    with tempfile.TemporaryDirectory(dir=memory) as base:
        assert sweep(user, Path(base) / "c", Path(base) / "d", 1) > LEAST_STEPS[user]


@pytest.mark.parametrize(("user", "stride"), [("change", 2), ("undo", 2), ("delete", 3), ("undelete", 3)])
def test_killed_before_any_step_between_two_file_systems_nothing_is_lost(
    tmp_path: Path, user: str, stride: int
) -> None:
    if not MEMORY.is_dir() or MEMORY.stat().st_dev == tmp_path.stat().st_dev:
        pytest.skip("there is no second file system")
    with tempfile.TemporaryDirectory(dir=MEMORY) as away:
        assert sweep(user, tmp_path, Path(away), stride) > LEAST_STEPS[user]
