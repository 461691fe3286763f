"""Whoever kills turnlog while it deletes or restores, at whatever moment, has lost nothing."""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.edit.furnished import furnish, picture
from turnlog.edit.trash.delete import delete_session
from turnlog.edit.trash.trash import Trash

ROOT = Path(__file__).resolve().parents[2]
pytestmark = [pytest.mark.slow, pytest.mark.skipif(sys.platform == "win32", reason="processes are killed with SIGKILL")]

SWEEP = """
import sys
from pathlib import Path
from tests.edit.furnished import furnish, picture
from tests.edit.killed import main
from turnlog.edit.trash.delete import delete_session
from turnlog.edit.trash.trash import Trash

def settled(trash):
    for entry in trash.list_entries().entries:
        assert trash.restore(entry)[:2] == ([], []), entry
    assert trash.list_entries() == ([], [])

base, away, verb = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3]
for step in range(1, 10_000, int(sys.argv[4])):
    config, trash = base / f"{step}", Trash(away / f"{step}")
    session = furnish(config)
    before = picture(config)
    if verb == "restore":
        delete_session(session, trash, history=True)
    ended = main(verb, session, trash.folder, step)
    if verb == "restore" or not ended:
        settled(trash)
    elif step % 2 or not session.exists():
        settled(trash)
    else:  # deleting again goes on from what is there
        delete_session(session, trash, history=True)
        settled(trash)
    after = picture(config)
    before["history.jsonl"] = before["history.jsonl"]._replace(mtime_ns=after["history.jsonl"].mtime_ns)
    assert after == before, (step, before.items() ^ after.items())
    if not ended:
        break
print(step)
"""


def sweep(base: Path, away: Path, verb: str, stride: int = 1) -> int:
    words = [sys.executable, "-c", SWEEP, str(base), str(away), verb, str(stride)]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return int(done.stdout)


@pytest.mark.parametrize("verb", ["delete", "restore"])
def test_killed_before_any_step_nothing_is_lost(tmp_path: Path, verb: str) -> None:
    assert sweep(tmp_path / "c", tmp_path / "t", verb) > 30


@pytest.mark.parametrize("verb", ["delete", "restore"])
def test_killed_before_any_step_between_two_file_systems_nothing_is_lost(tmp_path: Path, verb: str) -> None:
    memory = Path("/dev/shm")
    if not memory.is_dir() or memory.stat().st_dev == tmp_path.stat().st_dev:
        pytest.skip("there is no second file system")
    away = memory / f"turnlog-test-{os.getpid()}-{verb}"
    try:
        assert sweep(tmp_path / "c", away, verb, 3) > 60
    finally:
        shutil.rmtree(away, ignore_errors=True)


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
