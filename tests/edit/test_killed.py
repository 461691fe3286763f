"""The program may be killed while it deletes, or run twice at once: nothing is lost."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.edit.furnished_session import furnish, picture
from turnlog.edit.trash.delete import delete_session
from turnlog.edit.trash.trash import Trash

pytestmark = [pytest.mark.slow, pytest.mark.skipif(sys.platform == "win32", reason="processes are killed with SIGKILL")]


def test_the_program_killed_at_any_time_loses_nothing(tmp_path: Path) -> None:
    rng = random.Random(7)
    session = furnish(tmp_path / "claude")
    before = picture(tmp_path / "claude")
    trash = Trash(tmp_path / "data" / "trash")
    env = {**os.environ, "CLAUDE_CONFIG_DIR": str(tmp_path / "claude"), "TURNLOG_HOME": str(tmp_path / "data")}
    program = [sys.executable, "-m", "turnlog", "delete", str(session), "--yes"]
    took = 0.3
    for _ in range(8):
        began = time.monotonic()
        with subprocess.Popen(program, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
            try:
                process.wait(timeout=rng.uniform(took / 2, took))
                took = time.monotonic() - began
            except subprocess.TimeoutExpired:
                process.send_signal(signal.SIGKILL)
        for entry in trash.list_entries().entries:
            assert trash.restore(entry)[:2] == ([], [])
        assert picture(tmp_path / "claude") == before


def test_two_at_once_delete_it_once(tmp_path: Path) -> None:
    session = furnish(tmp_path / "claude")
    before = picture(tmp_path / "claude")
    env = {**os.environ, "CLAUDE_CONFIG_DIR": str(tmp_path / "claude"), "TURNLOG_HOME": str(tmp_path / "data")}
    program = [sys.executable, "-m", "turnlog", "delete", str(session), "--yes"]
    quiet = subprocess.DEVNULL
    running = [subprocess.Popen(program, env=env, stdout=quiet, stderr=quiet) for _ in range(3)]
    assert sorted(process.wait(60) for process in running) == [0, 1, 1]
    trash = Trash(tmp_path / "data" / "trash")
    (entry,) = trash.list_entries().entries
    trash.restore(entry)
    assert picture(tmp_path / "claude") == before


def test_a_deletion_after_an_interrupted_one_takes_all(tmp_path: Path) -> None:
    session, trash = furnish(tmp_path / "claude"), Trash(tmp_path / "trash")
    before = picture(tmp_path / "claude")
    entry = delete_session(session, trash)
    main = entry.manifest.items[-1]
    entry.get_place(main).rename(entry.get_home(main))
    again = delete_session(session, trash)
    assert trash.list_entries().entries == [again]
    assert again.manifest.items == entry.manifest.items
    trash.restore(again)
    assert picture(tmp_path / "claude") == before
