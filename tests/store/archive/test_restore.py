"""Restoring: byte for byte, to the right place, over nothing that matters."""

from __future__ import annotations

import os
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import msgspec
import pytest

from tests.store.archive.place import OLD, ONE, SLUG, Place, main, tree
from turnlog.errors import Changed, NotFound, TurnlogError, Unreadable
from turnlog.store.archive.restore import find_generation, resolve_restore_path, restore_generation

OUTPUT = f"projects/{SLUG}/{ONE}/tool-results/b.txt"
posix = pytest.mark.skipif(os.name == "nt", reason="needs POSIX")


def test_a_deleted_session_comes_back_with_all_that_belongs_to_it(place: Place) -> None:
    place.session(b"a\n")
    place.write(OUTPUT, b"large", mode=0o644)
    before = tree(place.config)
    place.run()
    for path in before:
        (place.config / path).unlink()
    done = place.restore(place.config)
    assert tree(place.config) == before
    assert [item.what for item in done] == ["written", "written"]
    assert done[-1].path.name == f"{ONE}.jsonl", "the session's own file comes last"


def test_restored_files_are_young_so_that_the_client_keeps_them(place: Place, tmp_path: Path) -> None:
    place.session()
    place.run()
    (young,) = place.restore(tmp_path / "young")
    (old,) = place.restore(tmp_path / "old", keep_times=True)
    assert abs(young.path.stat().st_mtime - time.time()) < 60
    assert old.path.stat().st_mtime == pytest.approx(OLD)


def test_the_old_time_is_not_forgotten_when_a_restored_session_is_archived_again(place: Place, tmp_path: Path) -> None:
    place.session()
    place.run()
    (place.config / main()).unlink()
    place.restore(place.config)
    place.run()
    (old,) = place.restore(tmp_path / "old", keep_times=True)
    assert old.path.stat().st_mtime == pytest.approx(OLD)


def test_files_that_are_there_already_are_left_and_made_young(place: Place) -> None:
    path = place.session()
    place.run()
    assert [item.what for item in place.restore(place.config)] == ["same"]
    assert abs(path.stat().st_mtime - time.time()) < 60
    os.utime(path, (OLD, OLD))
    place.restore(place.config, keep_times=True)
    assert path.stat().st_mtime == pytest.approx(OLD)


def test_a_file_that_differs_is_not_touched_and_nothing_else_is_written(place: Place) -> None:
    path = place.session(b"archived\n")
    other = place.write(OUTPUT)
    place.run()
    other.unlink()
    path.write_bytes(b"archived\nand more\n")
    with pytest.raises(Changed, match="--force"):
        place.restore(place.config)
    assert path.read_bytes() == b"archived\nand more\n"
    assert not other.exists()


def test_force_replaces_a_file_and_keeps_a_copy_outside_of_the_clients_folders(place: Place) -> None:
    path = place.session(b"archived\n")
    place.run()
    path.write_bytes(b"newer\n")
    (done,) = place.restore(place.config, force=True)
    assert path.read_bytes() == b"archived\n"
    assert done.copy
    assert done.copy.read_bytes() == b"newer\n"
    assert done.copy.is_relative_to(place.data)


def test_vanished_files_come_back_unless_they_are_not_wanted(place: Place, tmp_path: Path) -> None:
    place.session()
    path = place.write(OUTPUT)
    place.run()
    path.unlink()
    place.run()
    place.restore(tmp_path / "all")
    place.restore(tmp_path / "present", with_gone=False)
    assert {*tree(tmp_path / "all")} - {*tree(tmp_path / "present")} == {OUTPUT}


def test_a_generation_is_named_by_its_number_or_by_a_time(place: Place) -> None:
    place.session(b"first\n")
    place.run()
    between = datetime.now(UTC)
    place.session(b"second\n")
    place.run()
    archive = place.archive
    session = archive.find_session(ONE)
    assert [find_generation(archive, session, at).generation for at in (1, 2, None, between)] == [1, 2, 2, 1]
    assert find_generation(archive, session, between + timedelta(days=1)).generation == 2
    with pytest.raises(NotFound, match="generation 3; it contains generations 1, 2"):
        find_generation(archive, session, 3)
    with pytest.raises(NotFound, match="no generation from before"):
        find_generation(archive, session, between - timedelta(days=1))


@pytest.mark.parametrize("path", ["../x", "/etc/x", "a/../../x", "a//b", "", ".", "a/\0b", "a/./b"])
def test_a_path_that_leads_out_of_the_folder_is_refused_before_anything_is_written(
    place: Place, tmp_path: Path, path: str
) -> None:
    place.session()
    place.run()
    session = place.archive.find_session(ONE)
    (file,) = session.files
    tricky = msgspec.structs.replace(session, files=(file, msgspec.structs.replace(file, path=path)))
    back = tmp_path / "deep" / "back"
    with pytest.raises(TurnlogError, match="outside "):
        restore_generation(place.archive, tricky, back)
    assert not back.exists()


@posix
@pytest.mark.parametrize("link", ["projects", f"projects/{SLUG}", main()])
def test_nothing_is_written_through_a_link(place: Place, tmp_path: Path, link: str) -> None:
    place.session()
    place.run()
    outside = tmp_path / "outside"
    outside.mkdir()
    back = tmp_path / "back"
    (back / link).parent.mkdir(parents=True)
    (back / link).symlink_to(outside)
    with pytest.raises(TurnlogError, match="a symbolic link"):
        place.restore(back)
    assert list(outside.iterdir()) == []


def test_escapes_in_a_path_name_no_other_folder(tmp_path: Path) -> None:
    assert resolve_restore_path(tmp_path, "a%2F..%2Fb%25").parent == tmp_path


def test_a_damaged_blob_is_told_and_leaves_no_file(place: Place, tmp_path: Path) -> None:
    place.session(b"x" * 30_000)
    place.run()
    (name,) = place.archive.blobs.list_names()
    place.archive.blobs.get_path(name).write_bytes(b"damaged")
    with pytest.raises(Unreadable, match="damaged"):
        place.restore(tmp_path / "back")
    assert tree(tmp_path / "back") == {}


def test_a_folder_in_the_way_is_told(place: Place, tmp_path: Path) -> None:
    place.session()
    place.run()
    (tmp_path / "back" / main()).mkdir(parents=True)
    with pytest.raises(Unreadable, match="a file can't be restored to this path"):
        place.restore(tmp_path / "back")
