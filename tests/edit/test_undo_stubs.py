"""A move is undone although a client went on writing in the old place, and nothing is lost."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.edit.furnished_session import picture
from tests.edit.test_move import NEW, OLD, ONE, THREE, TWO, Client
from tests.edit.test_stub import row
from turnlog.edit.move.move import move_project
from turnlog.edit.undo.record import STATE_UNDONE, UndoRecord
from turnlog.edit.undo.stubs import find_stubs, set_stubs_aside
from turnlog.edit.undo.undo import Undo
from turnlog.entries.slug import make_slug
from turnlog.errors import Changed, NotFound

TEXT = row("a", None, cwd=OLD) + row("b", "a", cwd=OLD)
STUB = row("c", "b", cwd=OLD) + row("d", "c", cwd=OLD)


class Moved:
    """A project that was moved, and then written to in its old place."""

    def __init__(self, base: Path) -> None:
        self.client = Client(base / "claude")
        self.undo = Undo(base / "undo")
        for own in (ONE, TWO):
            self.client.add(OLD, own, text=TEXT.decode())
        self.client.write(f"projects/{make_slug(OLD)}/{ONE}/tool-results/t1.txt", "old")
        self.before = picture(self.client.folder)
        self.record: UndoRecord | None = None

    def move(self, *, merge: bool) -> None:
        self.record = move_project(self.client.plan(), self.undo, merge=merge).record

    def write(self, place: str, data: bytes) -> Path:
        return self.client.write(f"projects/{make_slug(OLD)}/{place}", data.decode())

    def take_back(self, **options: bool) -> UndoRecord:
        assert self.record is not None
        return self.undo.undo_record(self.record, **options)

    def read(self, place: str) -> bytes:
        return (self.client.folder / "projects" / make_slug(OLD) / place).read_bytes()


@pytest.fixture(params=[False, True], ids=["whole folder", "merged"])
def moved_session(tmp_path: Path, request: pytest.FixtureRequest) -> Moved:
    found = Moved(tmp_path)
    if request.param:
        found.client.add(NEW, THREE)
        found.before = picture(found.client.folder)
    found.move(merge=request.param)
    return found


def test_what_a_client_wrote_in_the_old_place_follows_the_original(moved_session: Moved) -> None:
    moved_session.write(f"{ONE}.jsonl", STUB)
    assert moved_session.take_back().state == STATE_UNDONE
    assert moved_session.read(f"{ONE}.jsonl") == TEXT + STUB
    after = picture(moved_session.client.folder)
    changed = {name for name in {*after, *moved_session.before} if after.get(name) != moved_session.before.get(name)}
    assert changed == {f"projects/{make_slug(OLD)}/{ONE}.jsonl"}
    with pytest.raises(NotFound):
        moved_session.take_back()


def test_a_new_session_and_new_outputs_in_the_old_place_stay_there(moved_session: Moved) -> None:
    moved_session.write(f"{THREE}.jsonl", row("x", None))
    moved_session.write(f"{ONE}/tool-results/t2.txt", b"new")
    moved_session.take_back()
    assert moved_session.read(f"{THREE}.jsonl") == row("x", None)
    assert moved_session.read(f"{ONE}/tool-results/t2.txt") == b"new"
    assert moved_session.read(f"{ONE}/tool-results/t1.txt") == b"old"


def test_another_session_of_the_same_id_is_set_aside_by_force_only(moved_session: Moved) -> None:
    moved_session.write(f"{ONE}.jsonl", row("x", None))
    between = picture(moved_session.client.folder)
    with pytest.raises(Changed, match="modified after the change, so nothing was undone; --force"):
        moved_session.take_back()
    assert picture(moved_session.client.folder) == between
    done = moved_session.take_back(force=True)
    assert picture(moved_session.client.folder) == moved_session.before
    (aside,) = (path for path in (done.folder / "aside").rglob("*") if path.is_file())
    assert aside.read_bytes() == row("x", None)


def test_what_the_client_wrote_beside_a_stub_is_set_aside_unasked(moved_session: Moved) -> None:
    moved_session.write(f"{ONE}.jsonl", STUB)
    moved_session.write(f"{ONE}/tool-results/t1.txt", b"new")
    done = moved_session.take_back()
    assert moved_session.read(f"{ONE}/tool-results/t1.txt") == b"old"
    (aside,) = (path for path in (done.folder / "aside").rglob("*") if path.is_file())
    assert aside.read_bytes() == b"new"


def test_an_empty_folder_in_the_old_place_is_in_nobodys_way(moved_session: Moved) -> None:
    (moved_session.client.folder / "projects" / make_slug(OLD) / ONE / "subagents").mkdir(parents=True)
    moved_session.take_back()
    assert moved_session.read(f"{ONE}.jsonl") == TEXT


@pytest.mark.parametrize("stage", ["set aside", "taken back", "marked"])
def test_an_undo_that_was_stopped_is_finished_with_all_that_was_written(moved_session: Moved, stage: str) -> None:
    moved_session.write(f"{ONE}.jsonl", STUB)
    assert moved_session.record is not None
    set_stubs_aside(moved_session.record, find_stubs(moved_session.record))
    if stage != "set aside":
        moved_session.undo._take_back_items(moved_session.record)
    if stage == "marked":
        moved_session.undo.mark_state(moved_session.record.folder, STATE_UNDONE)
    assert moved_session.take_back(force=True).state == STATE_UNDONE
    assert moved_session.read(f"{ONE}.jsonl") == TEXT + STUB


def test_a_client_that_writes_again_after_a_stopped_undo_loses_nothing(moved_session: Moved) -> None:
    moved_session.write(f"{ONE}.jsonl", STUB)
    assert moved_session.record is not None
    set_stubs_aside(moved_session.record, find_stubs(moved_session.record))
    moved_session.write(f"{ONE}.jsonl", row("e", "d"))
    moved_session.take_back(force=True)
    files = [path.read_bytes() for path in moved_session.record.folder.rglob("aside/**/*") if path.is_file()]
    assert STUB in moved_session.read(f"{ONE}.jsonl")
    assert row("e", "d") in (moved_session.read(f"{ONE}.jsonl")[-len(row("e", "d")) :], *files)


def test_a_link_in_the_old_place_is_not_followed(moved_session: Moved, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "secret").write_text("mine")
    moved_session.write(f"{THREE}.jsonl", row("x", None))
    link = moved_session.client.folder / "projects" / make_slug(OLD) / "link"
    link.symlink_to(tmp_path / "elsewhere")
    moved_session.take_back()
    assert link.is_symlink()
    assert (tmp_path / "elsewhere" / "secret").read_text() == "mine"
