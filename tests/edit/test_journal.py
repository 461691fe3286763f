"""What all journals have in common: entries come and go whole, and one process at a time uses them."""

from __future__ import annotations

import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.edit.furnished_session import furnish
from turnlog.edit.journal.file_steps import find_free_path
from turnlog.edit.journal.journal import Journal
from turnlog.edit.package.staging_area import UnpackJournal
from turnlog.edit.trash.delete import delete_session
from turnlog.edit.trash.trash import Trash
from turnlog.edit.undo.undo import RewriteChange, Undo
from turnlog.errors import TurnlogError

JOURNALS = [Undo, Trash, UnpackJournal]
DAY = timedelta(days=1)


@pytest.mark.parametrize("kind", [Undo, Trash])
def test_originals_without_a_manifest_are_never_removed(tmp_path: Path, kind: type[Undo | Trash]) -> None:
    journal = kind(tmp_path)
    assert journal.originals_name is not None
    kept = tmp_path / "20260101-000000-x" / journal.originals_name / "0"
    kept.parent.mkdir(parents=True)
    kept.write_text("the only copy")
    journal.settle_unfinished()
    journal.prune(timedelta(), datetime.now(UTC) + DAY)
    assert kept.read_text() == "the only copy"


@pytest.mark.parametrize("kind", JOURNALS)
def test_a_folder_that_is_no_entry_is_left_alone(tmp_path: Path, kind: type[Journal[Any]]) -> None:
    for name in ("set-aside", "projects", ".hidden", ".turnlog-other"):
        (tmp_path / name).mkdir()
    journal = kind(tmp_path)
    journal.settle_unfinished()
    assert journal.list_entries() == ([], [])
    assert {"set-aside", "projects", ".hidden", ".turnlog-other"} <= {path.name for path in tmp_path.iterdir()}


@pytest.mark.parametrize("kind", JOURNALS)
def test_an_entry_that_was_given_no_manifest_goes_again(tmp_path: Path, kind: type[Journal[Any]]) -> None:
    journal = kind(tmp_path)
    with journal.add_entry("1") as folder:
        (folder / "half").write_text("x")
    with pytest.raises(ValueError, match="stop"), journal.add_entry("2"):
        raise ValueError("stop")
    assert list(tmp_path.iterdir()) == []


def test_what_was_interrupted_is_not_pruned(tmp_path: Path) -> None:
    path = tmp_path / "projects" / "a"
    path.parent.mkdir()
    path.write_text("one")
    undo, trash = Undo(tmp_path / "undo"), Trash(tmp_path / "trash")
    record = undo.carry_out("x", "x", [RewriteChange(path, lambda: [b"two"], path.parent)])
    (record.folder / "done").rename(record.folder / "begun")
    entry = delete_session(furnish(tmp_path / "claude"), trash)
    entry.get_place(entry.manifest.files[-1]).unlink()
    later = datetime.now(UTC) + 2 * DAY
    assert undo.prune(DAY, later) == []
    assert trash.prune(DAY, later) == []
    assert record.folder.exists()
    assert entry.folder.exists()


@pytest.mark.parametrize("kind", [Undo, Trash])
def test_pruning_says_what_it_could_not_remove(tmp_path: Path, kind: type[Undo | Trash]) -> None:
    left = tmp_path / f"{kind.removed_prefix}20260101-x"
    left.write_text("a file, which no entry is")
    with pytest.raises(TurnlogError, match=f"{left.name}: not completely removed; remove the rest yourself"):
        kind(tmp_path).prune(DAY)


def test_a_free_path_has_a_number_before_its_suffix(tmp_path: Path) -> None:
    for name in ("a.jsonl", "a-2.jsonl", "20260101-move"):
        (tmp_path / name).touch()
    names = [find_free_path(tmp_path / name).name for name in ("a.jsonl", "20260101-move", "b")]
    assert names == ["a-3.jsonl", "20260101-move-2", "b"]


HOLDER = """
import sys
from pathlib import Path
from turnlog.edit.package.staging_area import UnpackJournal
from turnlog.edit.trash.trash import Trash
from turnlog.edit.undo.undo import Undo
kinds = {kind.__name__: kind for kind in (Undo, Trash, UnpackJournal)}
with kinds[sys.argv[1]](Path(sys.argv[2])).lock_journal():
    print("held", flush=True)
    sys.stdin.read()
    Path(sys.argv[2], "let-go").touch()
"""


@pytest.mark.skipif(sys.platform == "win32", reason="needs flock")
@pytest.mark.parametrize("kind", JOURNALS)
def test_one_process_at_a_time_holds_it_and_may_ask_again(tmp_path: Path, kind: type[Journal[Any]]) -> None:
    words = [sys.executable, "-c", HOLDER, kind.__name__, str(tmp_path)]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdin is not None
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        holder.stdin.close()
        journal = kind(tmp_path)
        with journal.lock_journal(), journal.lock_journal():
            assert (tmp_path / "let-go").exists()
