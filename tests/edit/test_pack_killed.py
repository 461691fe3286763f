"""Whoever kills turnlog while it packs or unpacks leaves everything or nothing, and the next run cleans up."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from tests.edit.furnished import MINE, furnish
from turnlog.edit.package.pack import pack_sessions
from turnlog.edit.package.package_reader import Package
from turnlog.edit.package.staging_area import StagingArea, settle_unpacking
from turnlog.edit.package.unpack import unpack_package
from turnlog.errors import Changed, TurnlogError

ROOT = Path(__file__).resolve().parents[2]
posix = pytest.mark.skipif(sys.platform == "win32", reason="processes are killed with SIGKILL")

UNPACKING = """
import sys
from pathlib import Path
from tests.edit.furnished import MINE, OTHER, furnish
from tests.edit.killed import killed
from turnlog.edit.package.pack import pack_sessions
from turnlog.edit.package.package_reader import Package
from turnlog.edit.package.unpack import unpack_package
from turnlog.edit.package.staging_area import settle_unpacking

base = Path(sys.argv[1])
session = furnish(base / "claude")
path = pack_sessions([session, session.with_name(f"{OTHER}.jsonl")], base / "p").path
(base / "work").mkdir()
(base / "other").mkdir()

def put(there, project="work"):
    with Package(path) as package:
        return unpack_package(package, there, given={"/home/dana/webshop": base / project})

def files(there):
    return {p.relative_to(there).as_posix(): p.read_bytes() for p in there.rglob("*") if p.is_file()}

put(base / "whole")
whole = files(base / "whole")
visible = [name for name in whole if name.endswith((f"/{MINE}.jsonl", f"/{OTHER}.jsonl"))]
assert len(visible) == 2
outcomes = set()
for step in range(1, 10_000):
    there = base / f"{step}"
    there.mkdir()
    (there / "settings.json").write_text("{}")
    ended = killed(lambda: put(there), step)
    seen = [name for name in visible if (there / name).exists()]
    if seen:  # what can be seen is whole
        now = files(there)
        assert all(now.get(name) == data for name, data in whole.items() if name not in visible), step
    outcomes.add(len(seen))
    if list(there.glob(".turnlog*/ready")):  # from here on any run finishes the work
        settle_unpacking(there)
        now = files(there)
        assert now.pop("settings.json") == b"{}"
        assert now == whole, (step, whole.keys() ^ now.keys())
        seen = visible
    if step % 2 and not seen:  # the next run may be for another project: nothing of the first is in its way
        put(there, "other")
        now = files(there)
        assert len(now) == len(whole) + 1, (step, now.keys())
    else:
        put(there)
        now = files(there)
        assert now.pop("settings.json") == b"{}"
        assert now == whole, (step, whole.keys() ^ now.keys())
    assert not list(there.glob(".turnlog*")), step
    assert len((there / "history.jsonl").read_bytes().splitlines()) == 3, step
    if not ended:
        break
print(step, sorted(outcomes))
"""

PACKING = """
import sys
from pathlib import Path
from tests.edit.furnished import furnish, picture
from tests.edit.killed import killed
from turnlog.edit.package.pack import pack_sessions

base = Path(sys.argv[1])
session = furnish(base / "claude")
before = picture(base / "claude")
whole = pack_sessions([session], base / "whole").path.read_bytes()
(base / "out").mkdir()
for step in range(1, 10_000):
    path = base / "out" / "p"
    path.unlink(missing_ok=True)
    ended = killed(lambda: pack_sessions([session], path), step)
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
def test_killed_before_any_step_unpacking_leaves_everything_or_nothing() -> None:
    memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None  # thousands of files are flushed
    with tempfile.TemporaryDirectory(dir=memory) as base:
        steps, *outcomes = sweep(UNPACKING, Path(base)).split(maxsplit=1)
    assert int(steps) > 60
    assert outcomes == ["[0, 1, 2]\n"]


@posix
def test_killed_before_any_step_packing_leaves_a_whole_package_or_none(tmp_path: Path) -> None:
    assert int(sweep(PACKING, tmp_path)) > 5


def staged(config: Path, *places: str) -> StagingArea:
    staging = StagingArea(config)
    for place in places:
        staging.add_file(config / place, [b"new"], 0o600, is_last=place.endswith(".jsonl"))
    staging.add_history(b'{"display":"typed"}\n')
    return staging


def test_a_file_that_appears_in_the_last_moment_is_not_overwritten_and_all_is_taken_back(tmp_path: Path) -> None:
    for taken in ("a.jsonl", "tasks/x", "b/c.jsonl"):
        config = tmp_path / taken.replace("/", "-")
        (config / taken).parent.mkdir(parents=True)
        (config / "history.jsonl").write_bytes(b"{}\n")
        (config / taken).write_text("theirs")
        before = {path: path.read_bytes() for path in config.rglob("*") if path.is_file()}
        staging = staged(config, "a.jsonl", "tasks/x", "b/c.jsonl", "todos/deep/y")
        with pytest.raises(Changed, match="appeared"):
            staging.publish_files()
        assert {path: path.read_bytes() for path in config.rglob("*") if path.is_file()} == before
        assert not (config / "todos").exists()


def test_what_was_begun_by_nobody_knows_whom_is_told(tmp_path: Path) -> None:
    folder = tmp_path / ".turnlog-unpack-x"
    folder.mkdir()
    (folder / "plan.json").write_text("{")
    with pytest.raises(TurnlogError, match="remove that folder"):
        settle_unpacking(tmp_path)


def test_a_transcript_whose_place_was_taken_since_a_kill_is_given_up(tmp_path: Path) -> None:
    staging = staged(tmp_path, "a.jsonl", "tasks/x")
    (tmp_path / "a.jsonl").write_text("theirs")
    with pytest.raises(Changed):
        staging.publish_files()
    again = staged(tmp_path, "b.jsonl", "tasks/x")
    (again.folder / "plan.json").write_text(
        '{"items":[[1,"b.jsonl","",true]],"folders":[]}'.replace('[1,"b.jsonl","",true]', _item(1, "b.jsonl"))
    )
    (again.folder / "ready").touch()
    (tmp_path / "b.jsonl").write_text("theirs")
    settle_unpacking(tmp_path)
    assert (tmp_path / "b.jsonl").read_text() == "theirs"
    assert not list(tmp_path.glob(".turnlog*"))


def _item(number: int, place: str) -> str:
    return f'{{"number":{number},"place":"{place}","sha256":"","is_last":true}}'


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
        (done,) = unpack_package(package, tmp_path / "there", given={"/home/dana/webshop": tmp_path / "work"})
    assert done.is_here
    assert done.path.name == f"{MINE}.jsonl"
