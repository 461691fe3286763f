"""Whoever kills turnlog while it packs or unpacks leaves everything or nothing, and the next run cleans up."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.edit.furnished_session import MINE, furnish
from turnlog.edit.package.pack import pack_sessions
from turnlog.edit.package.package_reader import Package
from turnlog.edit.package.staging_area import UnpackJournal
from turnlog.edit.package.unpack import unpack_package
from turnlog.errors import Changed, TurnlogError

ROOT = Path(__file__).resolve().parents[2]
posix = pytest.mark.skipif(sys.platform == "win32", reason="processes are killed with SIGKILL")

PACKING = """
import sys
from pathlib import Path
from tests.edit.furnished_session import furnish, picture
from tests.edit.kill_steps import is_killed_at
from turnlog.edit.package.pack import pack_sessions

base = Path(sys.argv[1])
session = furnish(base / "claude")
before = picture(base / "claude")
whole = pack_sessions([session], base / "whole").path.read_bytes()
(base / "out").mkdir()
for step in range(1, 10_000):
    path = base / "out" / "p"
    path.unlink(missing_ok=True)
    ended = is_killed_at(lambda: pack_sessions([session], path), step)
    assert not path.exists() or path.read_bytes() == whole, step
    pack_sessions([session], path, force=True)
    assert path.read_bytes() == whole
    assert sorted(item.name for item in (base / "out").iterdir()) == ["p"], step
    if not ended:
        break
assert picture(base / "claude") == before
print(step)
"""


def sweep(code: str, base: Path) -> str:
    done = subprocess.run(
        [sys.executable, "-c", code, str(base)], cwd=ROOT, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@posix
def test_killed_before_any_step_packing_leaves_a_whole_package_or_none(tmp_path: Path) -> None:
    assert int(sweep(PACKING, tmp_path)) > 5


def publish(config: Path, *places: str) -> None:
    with UnpackJournal(config).stage_files() as staging:
        for place in places:
            staging.add_file(config / place, [b"new"], 0o600, is_last=place.endswith(".jsonl"))
        staging.add_history(b'{"display":"typed"}\n')
        staging.publish_files()


def test_a_file_that_appears_in_the_last_moment_is_not_overwritten_and_all_is_taken_back(tmp_path: Path) -> None:
    for taken in ("a.jsonl", "tasks/x", "b/c.jsonl"):
        config = tmp_path / taken.replace("/", "-")
        (config / taken).parent.mkdir(parents=True)
        (config / "history.jsonl").write_bytes(b"{}\n")
        (config / taken).write_text("theirs")
        before = {path: path.read_bytes() for path in config.rglob("*") if path.is_file()}
        with pytest.raises(Changed, match="created by another process"):
            publish(config, "a.jsonl", "tasks/x", "b/c.jsonl", "todos/deep/y")
        assert {path: path.read_bytes() for path in config.rglob("*") if path.is_file()} == before
        assert not (config / "todos").exists()


def test_what_was_begun_by_nobody_knows_whom_is_told(tmp_path: Path) -> None:
    folder = tmp_path / ".turnlog-unpack-x"
    folder.mkdir()
    (folder / "plan.json").write_text("{")
    with pytest.raises(TurnlogError, match="remove the folder that contains this file"):
        UnpackJournal(tmp_path).settle_unfinished()


@posix
def test_two_at_once_unpack_it_once(tmp_path: Path) -> None:
    path = pack_sessions([furnish(tmp_path / "claude")], tmp_path / "p").path
    (tmp_path / "work").mkdir()
    program = [sys.executable, "-m", "turnlog", "unpack", str(path)]
    program += ["--project", str(tmp_path / "work"), "--config", str(tmp_path / "there")]
    quiet = subprocess.DEVNULL
    running = [subprocess.Popen(program, stdout=quiet, stderr=subprocess.PIPE, env={**os.environ}) for _ in range(3)]
    for process in running:
        _, err = process.communicate(timeout=60)
        assert process.returncode == 0, err
    assert len((tmp_path / "there" / "history.jsonl").read_bytes().splitlines()) == 1
    with Package(path) as package:
        (done,) = unpack_package(package, tmp_path / "there", project_folders={"/home/dana/webshop": tmp_path / "work"})
    assert done.is_here
    assert done.path.name == f"{MINE}.jsonl"
