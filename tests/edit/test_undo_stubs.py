"""A move is undone although a client went on writing in the old place, and nothing is lost."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.edit.furnished import picture
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
def moved(tmp_path: Path, request: pytest.FixtureRequest) -> Moved:
    found = Moved(tmp_path)
    if request.param:
        found.client.add(NEW, THREE)
        found.before = picture(found.client.folder)
    found.move(merge=request.param)
    return found


def test_what_a_client_wrote_in_the_old_place_follows_the_original(moved: Moved) -> None:
    moved.write(f"{ONE}.jsonl", STUB)
    assert moved.take_back().state == STATE_UNDONE
    assert moved.read(f"{ONE}.jsonl") == TEXT + STUB
    after = picture(moved.client.folder)
    changed = {name for name in {*after, *moved.before} if after.get(name) != moved.before.get(name)}
    assert changed == {f"projects/{make_slug(OLD)}/{ONE}.jsonl"}
    with pytest.raises(NotFound):
        moved.take_back()


def test_a_new_session_and_new_outputs_in_the_old_place_stay_there(moved: Moved) -> None:
    moved.write(f"{THREE}.jsonl", row("x", None))
    moved.write(f"{ONE}/tool-results/t2.txt", b"new")
    moved.take_back()
    assert moved.read(f"{THREE}.jsonl") == row("x", None)
    assert moved.read(f"{ONE}/tool-results/t2.txt") == b"new"
    assert moved.read(f"{ONE}/tool-results/t1.txt") == b"old"


def test_another_session_of_the_same_id_is_set_aside_by_force_only(moved: Moved) -> None:
    moved.write(f"{ONE}.jsonl", row("x", None))
    between = picture(moved.client.folder)
    with pytest.raises(Changed, match="modified after the change, so nothing was undone; --force"):
        moved.take_back()
    assert picture(moved.client.folder) == between
    done = moved.take_back(force=True)
    assert picture(moved.client.folder) == moved.before
    (aside,) = (path for path in (done.folder / "aside").rglob("*") if path.is_file())
    assert aside.read_bytes() == row("x", None)


def test_what_the_client_wrote_beside_a_stub_is_set_aside_unasked(moved: Moved) -> None:
    moved.write(f"{ONE}.jsonl", STUB)
    moved.write(f"{ONE}/tool-results/t1.txt", b"new")
    done = moved.take_back()
    assert moved.read(f"{ONE}/tool-results/t1.txt") == b"old"
    (aside,) = (path for path in (done.folder / "aside").rglob("*") if path.is_file())
    assert aside.read_bytes() == b"new"


def test_an_empty_folder_in_the_old_place_is_in_nobodys_way(moved: Moved) -> None:
    (moved.client.folder / "projects" / make_slug(OLD) / ONE / "subagents").mkdir(parents=True)
    moved.take_back()
    assert moved.read(f"{ONE}.jsonl") == TEXT


@pytest.mark.parametrize("stage", ["set aside", "taken back", "marked"])
def test_an_undo_that_was_stopped_is_finished_with_all_that_was_written(moved: Moved, stage: str) -> None:
    moved.write(f"{ONE}.jsonl", STUB)
    assert moved.record is not None
    set_stubs_aside(moved.record, find_stubs(moved.record))
    if stage != "set aside":
        moved.undo._take_back_items(moved.record)
    if stage == "marked":
        moved.undo.mark_state(moved.record.folder, STATE_UNDONE)
    assert moved.take_back(force=True).state == STATE_UNDONE
    assert moved.read(f"{ONE}.jsonl") == TEXT + STUB


def test_a_client_that_writes_again_after_a_stopped_undo_loses_nothing(moved: Moved) -> None:
    moved.write(f"{ONE}.jsonl", STUB)
    assert moved.record is not None
    set_stubs_aside(moved.record, find_stubs(moved.record))
    moved.write(f"{ONE}.jsonl", row("e", "d"))
    moved.take_back(force=True)
    files = [path.read_bytes() for path in moved.record.folder.rglob("aside/**/*") if path.is_file()]
    assert STUB in moved.read(f"{ONE}.jsonl")
    assert row("e", "d") in (moved.read(f"{ONE}.jsonl")[-len(row("e", "d")) :], *files)


def test_a_link_in_the_old_place_is_not_followed(moved: Moved, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "secret").write_text("mine")
    moved.write(f"{THREE}.jsonl", row("x", None))
    link = moved.client.folder / "projects" / make_slug(OLD) / "link"
    link.symlink_to(tmp_path / "elsewhere")
    moved.take_back()
    assert link.is_symlink()
    assert (tmp_path / "elsewhere" / "secret").read_text() == "mine"
