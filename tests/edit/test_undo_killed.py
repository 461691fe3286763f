"""A file that grows while it is changed, and a full disk, lose nothing."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from turnlog.edit.undo import change
from turnlog.edit.undo.undo import RewriteChange, Undo
from turnlog.errors import Changed, TurnlogError

pytestmark = pytest.mark.slow


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
    change._restore_content(path, old, late, len(b"new\n"))
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
