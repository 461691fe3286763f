"""Whoever kills turnlog amid a change or amid its undoing, or fills the disk, has lost nothing."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from turnlog.edit.undo import change_step
from turnlog.edit.undo.undo import RewriteChange, Undo
from turnlog.errors import Changed, TurnlogError

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]
needs_kill = pytest.mark.skipif(sys.platform == "win32", reason="processes are killed with SIGKILL")

SWEEP = """
import os, sys
from pathlib import Path
from tests.edit.furnished import LONG_AGO, picture
from tests.edit.killed import killed
from turnlog.edit.undo.undo import AppendChange, CreateChange, RemoveChange, RenameChange, RewriteChange, Undo

def made(root):
    folder = root / "-p"
    for number, name in enumerate(["a.jsonl", "b.txt", "inner/c.jsonl", "log.jsonl"]):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name * 100)
        path.chmod(0o640 if number % 2 else 0o600)
        os.utime(path, ns=(LONG_AGO * 10**9 + number, LONG_AGO * 10**9 + number))
    (folder / "empty").mkdir()
    return [
        RewriteChange(folder / "a.jsonl", lambda: [b"two"], root),
        RewriteChange(folder / "inner" / "c.jsonl", lambda: [b"see"], root),
        RemoveChange(folder / "b.txt", root),
        RemoveChange(folder / "empty", root),
        CreateChange(folder / "new" / "d.jsonl", lambda: [b"dee"], root),
        AppendChange(folder / "log.jsonl", b'{"x":1}\\n', root),
        RenameChange(folder / "a.jsonl", folder / "e.jsonl", root),
        RenameChange(folder, root / "-q" / "r", root),
    ]

base, away, verb = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3]
for step in range(1, 10_000, int(sys.argv[4])):
    root, undo = base / f"{step}" / "projects", Undo(away / f"{step}")
    changes = made(root)
    before = picture(root)
    if verb == "change":
        died = killed(lambda: undo.carry_out("x", "x", changes), step)
    else:
        record = undo.carry_out("x", "x", changes)
        died = killed(lambda: undo.undo_record(record), step)
    if step % 2:  # the next change takes back what was begun
        undo.settle_interrupted()
    for record in undo.list_records():
        if record.state != "undone":
            undo.undo_record(record)
    after = picture(root)
    assert after == before, (step, before.items() ^ after.items())
    assert all(record.state == "undone" for record in undo.list_records())
    if not died:
        break
print(step)
"""


def sweep(base: Path, away: Path, verb: str, stride: int = 1) -> int:
    words = [sys.executable, "-c", SWEEP, str(base), str(away), verb, str(stride)]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return int(done.stdout)


@needs_kill
@pytest.mark.parametrize("verb", ["change", "undo"])
def test_killed_before_any_step_nothing_is_lost(tmp_path: Path, verb: str) -> None:
    assert sweep(tmp_path / "c", tmp_path / "u", verb) > 15


@needs_kill
@pytest.mark.parametrize("verb", ["change", "undo"])
def test_killed_before_any_step_between_two_file_systems_nothing_is_lost(tmp_path: Path, verb: str) -> None:
    memory = Path("/dev/shm")
    if not memory.is_dir() or memory.stat().st_dev == tmp_path.stat().st_dev:
        pytest.skip("there is no second file system")
    away = memory / f"turnlog-test-undo-{os.getpid()}-{verb}"
    try:
        assert sweep(tmp_path / "c", away, verb, 2) > 15
    finally:
        shutil.rmtree(away, ignore_errors=True)


APPENDER = """
import sys, time
end, number = time.monotonic() + 2, 0
while time.monotonic() < end:
    with open(sys.argv[1], "ab", buffering=0) as file:
        file.write(b"%d\\n" % number)
    number += 1
    time.sleep(0.01)
print(number)
"""


def test_nothing_is_lost_that_somebody_appends_meanwhile(tmp_path: Path) -> None:
    path, undo = tmp_path / "projects" / "a.jsonl", Undo(tmp_path / "undo")
    path.parent.mkdir()
    path.touch()
    with subprocess.Popen([sys.executable, "-c", APPENDER, str(path)], stdout=subprocess.PIPE, text=True) as process:
        while process.poll() is None:
            with contextlib.suppress(Changed):
                undo.carry_out("x", "x", [RewriteChange(path, lambda: [path.read_bytes()], path.parent)])
        assert process.stdout is not None
        written = int(process.stdout.read())
    assert path.read_text().split() == [str(number) for number in range(written)]
    assert all(record.state == "done" for record in undo.list_records())


def test_what_was_added_to_either_content_in_the_last_moment_is_carried_over(tmp_path: Path) -> None:
    path, old, late = tmp_path / "a", tmp_path / "old", tmp_path / "late"
    path.write_bytes(b"new\nadded to the new\n")
    old.write_bytes(b"old\nadded to the old\n")
    change_step._go_back(path, old, late, len(b"new\n"))
    assert path.read_bytes() == b"old\nadded to the old\nadded to the new\n"
    assert [file.name for file in tmp_path.iterdir()] == ["a"]


@pytest.fixture
def small(tmp_path: Path) -> Iterator[Path]:
    """A disk of one megabyte."""
    if sys.platform != "linux" or os.geteuid() != 0:
        pytest.skip("needs a tmpfs")
    folder = tmp_path / "small"
    folder.mkdir()
    words = ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(folder)]
    if subprocess.run(words, capture_output=True).returncode:
        pytest.skip("needs a tmpfs")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("full", ["projects", "undo"])
def test_a_full_disk_changes_nothing(tmp_path: Path, small: Path, full: str) -> None:
    root = (small if full == "projects" else tmp_path) / "projects"
    undo = Undo((small if full == "undo" else tmp_path) / "undo")
    root.mkdir()
    for name in ("a", "b"):
        (root / name).write_bytes(name.encode() * 400_000)
    before = contents(root)
    if full == "undo":
        (small / "ballast").write_bytes(b"x" * 700_000)
    changes = [RewriteChange(root / name, lambda: [b"new" * 50_000] * 2, root) for name in ("a", "b")]
    with pytest.raises(TurnlogError, match="the disk is full; nothing was changed"):
        undo.carry_out("x", "x", changes)
    assert contents(root) == before
    assert undo.list_records() == []


def test_on_a_full_disk_a_change_can_be_undone(small: Path) -> None:
    root, undo = small / "projects", Undo(small / "undo")
    root.mkdir()
    (root / "a").write_bytes(b"a" * 300_000)
    record = undo.carry_out("x", "x", [RewriteChange(root / "a", lambda: [b"b" * 200_000], root)])
    with pytest.raises(OSError), (small / "ballast").open("wb", buffering=0) as file:  # noqa: PT011, PT012
        while True:
            file.write(b"x" * 4096)
    undo.undo_record(record)
    assert (root / "a").read_bytes() == b"a" * 300_000
