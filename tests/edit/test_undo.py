"""Changes are made as a whole or not at all, and can be taken back byte for byte."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tests.edit.furnished_session import LONG_AGO, picture
from turnlog.edit.undo.record import STATE_BEGUN, STATE_DONE, STATE_UNDONE
from turnlog.edit.undo.undo import (
    AppendChange,
    CreateChange,
    RemoveChange,
    RenameChange,
    RewriteChange,
    Undo,
    UndoRecord,
)
from turnlog.entries.atomic_file import read_whole_file
from turnlog.errors import Busy, Changed, NotFound, TurnlogError, Unreadable

MINE = "0ddf00d1-2222-4333-8444-5555cafe5555"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A projects folder with a few files of different modes and times."""
    folder = tmp_path / "claude" / "projects"
    texts = {"a.jsonl": "one\n", "b.txt": "bee\n", "inner/c.jsonl": "sea\n", "log.jsonl": "{}\n"}
    for number, (name, text) in enumerate(texts.items()):
        path = folder / "-p" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(0o640 if number % 2 else 0o600)
        os.utime(path, ns=(LONG_AGO * 10**9 + number, LONG_AGO * 10**9 + number))
    return folder


@pytest.fixture
def undo(tmp_path: Path) -> Undo:
    """A folder for what was changed."""
    return Undo(tmp_path / "data" / "undo")


def text(*lines: str) -> Iterator[bytes]:
    return iter(line.encode() for line in lines)


def build_all_changes(root: Path) -> list[RewriteChange | RemoveChange | CreateChange | AppendChange | RenameChange]:
    """One change of each kind, the last of which renames the folder of the others."""
    folder = root / "-p"
    return [
        RewriteChange(folder / "a.jsonl", lambda: text("two\n", "more\n"), root),
        RewriteChange(folder / "inner" / "c.jsonl", lambda: text("see\n"), root),
        RemoveChange(folder / "b.txt", root),
        CreateChange(folder / "new" / "deep" / "d.jsonl", lambda: text("dee\n"), root),
        AppendChange(folder / "log.jsonl", b'{"x":1}\n', root),
        RenameChange(folder, root / "-q" / "r", root),
    ]


def carry_out_all(undo: Undo, root: Path) -> UndoRecord:
    return undo.carry_out("move", "everything", build_all_changes(root))


def test_all_changes_are_made_and_mode_and_times_kept(undo: Undo, root: Path) -> None:
    before = (root / "-p" / "a.jsonl").stat()
    record = carry_out_all(undo, root)
    folder = root / "-q" / "r"
    assert (folder / "a.jsonl").read_bytes() == b"two\nmore\n"
    after = (folder / "a.jsonl").stat()
    assert (after.st_mode, after.st_mtime_ns) == (before.st_mode, before.st_mtime_ns)
    assert (folder / "inner" / "c.jsonl").read_bytes() == b"see\n"
    assert (folder / "new" / "deep" / "d.jsonl").read_bytes() == b"dee\n"
    assert (folder / "log.jsonl").read_bytes() == b'{}\n{"x":1}\n'
    assert not (folder / "b.txt").exists()
    assert not (root / "-p").exists()
    assert (record.state, record.verb, record.words) == (STATE_DONE, "move", "everything")
    assert not list(root.rglob(".turnlog*"))


def test_undo_brings_every_byte_mode_and_time_back(undo: Undo, root: Path) -> None:
    before = picture(root)
    undone = undo.undo_record(carry_out_all(undo, root))
    assert picture(root) == before
    assert undone.state == STATE_UNDONE
    assert [record.state for record in undo.list_records()] == [STATE_UNDONE]


def test_what_was_undone_is_kept_until_it_is_pruned(undo: Undo, root: Path) -> None:
    record = undo.undo_record(carry_out_all(undo, root))
    assert record.get_undone_path(0).read_bytes() == b"two\nmore\n"
    assert record.get_undone_path(3).read_bytes() == b"dee\n"
    assert record.get_undone_path(4).read_bytes() == b'{"x":1}\n'
    with pytest.raises(NotFound, match="already undone"):
        undo.undo_record(record)
    assert undo.prune(timedelta(days=1)) == []
    assert [gone.name for gone in undo.prune(timedelta(days=1), datetime.now(UTC) + timedelta(days=2))] == [record.name]
    assert not record.folder.exists()
    with pytest.raises(NotFound, match="no longer exists"):
        undo.undo_record(record)


def test_a_failure_takes_everything_back(undo: Undo, root: Path) -> None:
    before = picture(root)
    for bad in (
        CreateChange(root / "-p" / "a.jsonl", lambda: text("x"), root),
        RenameChange(root / "-p", root / "-p" / "inner", root),
        RemoveChange(root / "-p" / "missing", root),
        RewriteChange(root / "-p" / "missing", lambda: text("x"), root),
        RewriteChange(root / "-p" / "inner", lambda: text("x"), root),
    ):
        with pytest.raises(TurnlogError, match="nothing was changed"):
            undo.carry_out("x", "x", [*build_all_changes(root)[:5], bad])
        assert picture(root) == before
        assert undo.list_records() == []


def test_a_content_that_can_not_be_made_changes_nothing(undo: Undo, root: Path) -> None:
    before = picture(root)

    def broken() -> Iterator[bytes]:
        yield b"half"
        raise ValueError("no more")

    with pytest.raises(ValueError, match="no more"):
        undo.carry_out("x", "x", [*build_all_changes(root)[:5], RewriteChange(root / "-p" / "log.jsonl", broken, root)])
    assert picture(root) == before


def test_a_failure_behind_the_first_rename_takes_that_back(undo: Undo, root: Path) -> None:
    before = picture(root)
    folder = root / "-p"

    def late() -> Iterator[bytes]:
        yield b"x"
        (folder / "b.txt").write_text("somebody wrote")  # when everything is planned

    changes = [*build_all_changes(root)[:3], CreateChange(folder / "d", late, root)]
    with pytest.raises(Changed, match="modified in the meantime"):
        undo.carry_out("x", "x", changes)
    after = picture(root)
    assert (folder / "b.txt").read_text() == "somebody wrote"
    assert {name: seen for name, seen in after.items() if name != "-p/b.txt"} == {
        name: seen for name, seen in before.items() if name != "-p/b.txt"
    }
    assert undo.list_records() == []


def test_a_file_that_is_not_the_expected_one_is_refused(undo: Undo, root: Path) -> None:
    path = root / "-p" / "a.jsonl"
    checkpoint = read_whole_file(path).checkpoint
    with path.open("ab") as file:
        file.write(b"grown\n")
    with pytest.raises(Changed, match="in the meantime, so nothing was changed"):
        undo.carry_out("x", "x", [RewriteChange(path, lambda: text("x"), root, checkpoint)])
    undo.carry_out("x", "x", [RewriteChange(path, lambda: text("x"), root, read_whole_file(path).checkpoint)])
    assert path.read_bytes() == b"x"


def test_a_file_that_was_written_since_is_not_overwritten(undo: Undo, root: Path) -> None:
    path = root / "-p" / "a.jsonl"
    record = undo.carry_out("strip", "x", [RewriteChange(path, lambda: text("two\n"), root)])
    with path.open("ab") as file:
        file.write(b"resumed\n")
    with pytest.raises(
        Changed, match="modified after the change, so nothing was undone; --force restores the original"
    ):
        undo.undo_record(record)
    assert path.read_bytes() == b"two\nresumed\n"
    assert undo.undo_record(record, force=True).get_undone_path(0).read_bytes() == b"two\nresumed\n"
    assert path.read_bytes() == b"one\n"
    assert path.stat().st_mtime_ns == LONG_AGO * 10**9


def test_by_force_a_file_that_is_gone_comes_back(undo: Undo, root: Path) -> None:
    path = root / "-p" / "a.jsonl"
    record = undo.carry_out("strip", "x", [RewriteChange(path, lambda: text("two\n"), root)])
    path.unlink()
    with pytest.raises(Changed, match="no longer present"):
        undo.undo_record(record)
    undo.undo_record(record, force=True)
    assert path.read_bytes() == b"one\n"


def test_what_stands_again_in_a_place_is_only_set_aside_by_force(undo: Undo, root: Path) -> None:
    path = root / "-p" / "b.txt"
    record = undo.carry_out("x", "x", [RemoveChange(path, root)])
    path.write_text("other")
    with pytest.raises(Changed, match="present again, with different content"):
        undo.undo_record(record)
    undone = undo.undo_record(record, force=True)
    assert (path.read_text(), undone.get_undone_path(0).read_text()) == ("bee\n", "other")


def test_a_created_file_that_was_written_since_is_only_set_aside_by_force(undo: Undo, root: Path) -> None:
    path = root / "-p" / "d"
    record = undo.carry_out("x", "x", [CreateChange(path, lambda: text("d"), root, 0o644)])
    assert path.stat().st_mode & 0o777 == 0o644
    path.write_text("other")
    with pytest.raises(Changed, match="modified after the change"):
        undo.undo_record(record)
    undone = undo.undo_record(record, force=True)
    assert not path.exists()
    assert undone.get_undone_path(0).read_text() == "other"


def test_not_even_force_brings_back_what_is_gone(undo: Undo, root: Path) -> None:
    record = undo.carry_out("move", "x", [RenameChange(root / "-p", root / "-q", root)])
    (root / "-q").rename(root / "-z")
    with pytest.raises(Changed, match="no longer present"):
        undo.undo_record(record, force=True)


def test_a_later_change_of_the_same_file_is_named(undo: Undo, root: Path) -> None:
    path = root / "-p" / "a.jsonl"
    first = undo.carry_out("strip", "x", [RewriteChange(path, lambda: text("two\n"), root)])
    second = undo.carry_out("redact", "x", [RewriteChange(path, lambda: text("three\n"), root)])
    assert [record.verb for record in undo.list_records()] == ["redact", "strip"]
    with pytest.raises(Changed, match=f"undo {second.name} first"):
        undo.undo_record(first)
    undo.undo_record(second)
    undo.undo_record(first)
    assert path.read_bytes() == b"one\n"


@pytest.mark.parametrize("torn", [b"", b'{"torn'])
def test_what_was_appended_is_cut_off_exactly(undo: Undo, root: Path, torn: bytes) -> None:
    path = root / "-p" / "log.jsonl"
    path.write_bytes(b"{}\n" + torn)
    os.utime(path, ns=(5, 5))
    record = undo.carry_out("rename", "x", [AppendChange(path, b'{"x":1}\n', root)])
    assert path.read_bytes() == b"{}\n" + torn + (b"\n" if torn else b"") + b'{"x":1}\n'
    undo.undo_record(record)
    assert path.read_bytes() == b"{}\n" + torn
    assert path.stat().st_mtime_ns == 5


def test_what_was_appended_stays_when_something_stands_behind_it(undo: Undo, root: Path) -> None:
    path = root / "-p" / "log.jsonl"
    record = undo.carry_out("rename", "x", [AppendChange(path, b'{"x":1}\n', root)])
    with path.open("ab") as file:
        file.write(b"{}\n")
    before = path.read_bytes()
    for force in (False, True):
        with pytest.raises(
            Changed, match="modified after the change, so nothing was undone; use `turnlog rename` again"
        ):
            undo.undo_record(record, force=force)
    assert path.read_bytes() == before


def test_a_torn_line_is_not_mended_where_that_is_not_wanted(undo: Undo, root: Path) -> None:
    path = root / "-p" / "log.jsonl"
    path.write_bytes(b'{"torn')
    with pytest.raises(Changed, match="the last line is still being written"):
        undo.carry_out("rename", "x", [AppendChange(path, b"{}\n", root, mend=False)])
    assert path.read_bytes() == b'{"torn'
    assert undo.list_records() == []


@pytest.mark.skipif(sys.platform == "win32", reason="needs links")
def test_links_never_lead_outside(undo: Undo, root: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "x").write_text("mine")
    (root / "-p" / "link").symlink_to(outside)
    (root / "-p" / "file").symlink_to(outside / "x")
    for change in (
        RewriteChange(root / "-p" / "file", lambda: text("bad"), root),
        CreateChange(root / "-p" / "link" / "y", lambda: text("bad"), root),
        RemoveChange(root / "-p" / "link" / "x", root),
        RenameChange(root / "-p" / "a.jsonl", root / "-p" / "link" / "z", root),
        AppendChange(root / "-p" / "file", b"bad\n", root),
        RemoveChange(root / ".." / ".." / "outside" / "x", root),
    ):
        with pytest.raises(TurnlogError, match="outside "):
            undo.carry_out("x", "x", [change])
    assert [path.name for path in outside.iterdir()] == ["x"]
    assert (outside / "x").read_text() == "mine"


@pytest.mark.skipif(sys.platform == "win32", reason="needs links")
def test_a_link_that_was_planted_since_is_not_followed(undo: Undo, root: Path, tmp_path: Path) -> None:
    record = undo.carry_out("x", "x", [RewriteChange(root / "-p" / "a.jsonl", lambda: text("two\n"), root)])
    (root / "-p").rename(tmp_path / "elsewhere")
    (root / "-p").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(TurnlogError):
        undo.undo_record(record, force=True)
    assert (tmp_path / "elsewhere" / "a.jsonl").read_bytes() == b"two\n"


def test_an_original_that_is_no_longer_whole_is_not_put_back(undo: Undo, root: Path) -> None:
    record = undo.carry_out("x", "x", [RewriteChange(root / "-p" / "a.jsonl", lambda: text("two\n"), root)])
    record.get_kept_path(0).write_bytes(b"rotten")
    with pytest.raises(Changed, match=r"the original in .* has changed"):
        undo.undo_record(record, force=True)
    assert (root / "-p" / "a.jsonl").read_bytes() == b"two\n"


@pytest.mark.parametrize(
    ("key", "value"),
    [("version", 2), ("when", "yesterday"), ("when", "2026-01-01"), ("items", 1), ("items", [{"kind": "rewrite"}])],
)
def test_a_record_that_makes_no_sense_is_named_and_harms_nothing(
    undo: Undo, root: Path, key: str, value: object
) -> None:
    record = carry_out_all(undo, root)
    path = record.folder / "record.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), key: value}))
    records, unreadable = undo.list_entries()
    assert records == []
    assert str(path) in unreadable[0]
    with pytest.raises(Unreadable):
        undo.undo_record(record)


@pytest.mark.parametrize("place", ["/etc/passwd", "{root}/../x", "relative"])
def test_a_record_that_names_a_place_outside_is_refused(undo: Undo, root: Path, place: str) -> None:
    record = undo.carry_out("x", "x", [RewriteChange(root / "-p" / "a.jsonl", lambda: text("two\n"), root)])
    path = record.folder / "record.json"
    known = json.loads(path.read_text())
    known["items"][0]["path"] = place.format(root=root)
    path.write_text(json.dumps(known))
    with pytest.raises(Unreadable, match="contains a time or a path"):
        undo.undo_record(record)


def test_an_open_session_is_not_changed_back(undo: Undo, root: Path) -> None:
    path = root / "-p" / f"{MINE}.jsonl"
    path.write_text("one\n")
    record = undo.carry_out("strip", "x", [RewriteChange(path, lambda: text("two\n"), root)])
    (root.parent / "sessions").mkdir()
    (root.parent / "sessions" / "1.json").write_text(json.dumps({"pid": os.getpid(), "sessionId": MINE}))
    for force in (False, True):
        reason = f"it is open in Claude Code, process {os.getpid()}"
        with pytest.raises(Busy, match=f"{MINE}: {reason}; end that process first"):
            undo.undo_record(record, force=force)
    (root.parent / "sessions" / "1.json").unlink()
    undo.undo_record(record)
    assert path.read_text() == "one\n"


def test_a_change_that_was_just_made_can_be_undone_at_once(undo: Undo, root: Path) -> None:
    path = root / "-p" / f"{MINE}.jsonl"
    path.write_text("one\n")
    undo.undo_record(undo.carry_out("tag", "x", [AppendChange(path, b"{}\n", root)]))
    assert path.read_text() == "one\n"


def test_what_a_killed_process_began_is_taken_back_by_the_next_change(undo: Undo, root: Path) -> None:
    before = picture(root)
    record = carry_out_all(undo, root)
    (record.folder / STATE_DONE).rename(record.folder / STATE_BEGUN)
    undo.carry_out("x", "x", [])
    assert picture(root) == before
    assert [other.verb for other in undo.list_records()] == ["x"]


def test_what_a_killed_process_began_waits_for_the_user_when_it_was_written_since(undo: Undo, root: Path) -> None:
    path = root / "-p" / "a.jsonl"
    record = undo.carry_out("strip", "x", [RewriteChange(path, lambda: text("two\n"), root)])
    (record.folder / STATE_DONE).rename(record.folder / STATE_BEGUN)
    path.write_bytes(b"two\nmore\n")
    undo.settle_unfinished()
    assert path.read_bytes() == b"two\nmore\n"
    with pytest.raises(Changed, match="modified after the change"):
        undo.undo_record(record)
    assert undo.undo_record(record, force=True).state == STATE_UNDONE
    assert path.read_bytes() == b"one\n"
    assert record.get_undone_path(0).read_bytes() == b"two\nmore\n"


def test_progress_is_told_step_by_step(undo: Undo, root: Path) -> None:
    told: list[tuple[int, int]] = []
    undo.carry_out("x", "x", build_all_changes(root), progress=lambda done, of: told.append((done, of)))
    assert told == [(number, 12) for number in range(1, 13)]
