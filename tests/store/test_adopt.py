"""Sessions that only the archive still has are in the index all the same."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from turnlog.demo import config_dir
from turnlog.store.archive import Archive
from turnlog.store.archive.archive_run import run_archive
from turnlog.store.index import refresh
from turnlog.store.index.adoption import adopt_from_archive
from turnlog.store.index.file_changes import has_archive_changed
from turnlog.store.index.upkeep import empty_index
from turnlog.store.store import Store


@pytest.fixture
def claude(tmp_path: Path) -> Path:
    """The demo's config folder, archived; then its largest session is deleted with all that belongs to it."""
    folder = tmp_path / "claude"
    shutil.copytree(config_dir(), folder)
    run_archive(Archive(tmp_path / "own"), [folder])
    project = folder / "projects" / "-home-dana-webshop"
    for path in project.glob("22161731*"):
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    return folder


def values(store: Store) -> list[object]:
    tables = ("answer", "call", "text")
    counts = [store.db.execute(f"SELECT count(*) FROM {table}").get for table in tables]
    return [*counts, store.db.execute("SELECT sum(cost), sum(output), sum(messages) FROM spend").fetchall()]


def test_a_session_that_was_deleted_before_it_was_indexed_is_read_from_the_archive(
    tmp_path: Path, claude: Path
) -> None:
    with Store.open(tmp_path / "whole") as store:
        store.refresh([config_dir()])
        whole = values(store)
    with Store.open(tmp_path / "own") as store:
        store.refresh([claude])
        assert values(store) != whole
        archive = Archive(tmp_path / "own")
        assert has_archive_changed(store.db, archive.folder)
        assert adopt_from_archive(store.db, archive, [claude]).files > 1
        assert values(store) == whole
        assert not has_archive_changed(store.db, archive.folder)
        gone = store.db.execute("SELECT DISTINCT kind FROM file WHERE gone IS NOT NULL ORDER BY kind").fetchall()
        assert [kind for (kind,) in gone] == ["agent", "output", "session"]


def test_what_is_in_the_index_is_not_read_again(tmp_path: Path, claude: Path) -> None:
    with Store.open(tmp_path / "own") as store:
        store.refresh([claude])
        adopt_from_archive(store.db, Archive(tmp_path / "own"), [claude])
        assert adopt_from_archive(store.db, Archive(tmp_path / "own"), [claude]).files == 0


def test_an_emptied_index_gets_the_texts_of_deleted_sessions_back(tmp_path: Path, claude: Path) -> None:
    with Store.open(tmp_path / "own") as store:
        store.refresh([claude])
        adopt_from_archive(store.db, Archive(tmp_path / "own"), [claude])
        before = values(store)
        assert empty_index(store.db, [claude]) > 0
        store.refresh([claude])
        assert values(store) != before
        adopt_from_archive(store.db, Archive(tmp_path / "own"), [claude])
        assert values(store) == before


def test_sessions_of_other_config_folders_stay_out(tmp_path: Path, claude: Path) -> None:
    with Store.open(tmp_path / "own") as store:
        assert adopt_from_archive(store.db, Archive(tmp_path / "own"), [tmp_path / "other"]).files == 0


def test_a_session_that_came_back_is_read_from_its_file(tmp_path: Path, claude: Path) -> None:
    with Store.open(tmp_path / "own") as store:
        store.refresh([claude])
        adopt_from_archive(store.db, Archive(tmp_path / "own"), [claude])
        before = values(store)
        shutil.copytree(config_dir(), claude, dirs_exist_ok=True)
        store.refresh([claude])
        assert values(store) == before
        assert store.db.execute("SELECT count(*) FROM file WHERE gone IS NOT NULL").get == 0


def test_what_is_damaged_in_the_archive_is_told_and_the_rest_is_read(tmp_path: Path, claude: Path) -> None:
    archive = Archive(tmp_path / "own")
    (session,) = [item for item in archive.list_sessions() if item.session_id.startswith("22161731")]
    main = session.find_file(session.main)
    assert main is not None
    (blob,) = (archive.folder / "blobs").rglob(f"{main.refs[0].blob}*")
    blob.write_bytes(b"damaged")
    with Store.open(tmp_path / "own") as store:
        store.refresh([claude])
        done = adopt_from_archive(store.db, archive, [claude])
        assert done.files > 0
        assert all("damaged" in reason for reason in done.unread)
        query = "SELECT count(*) FROM file WHERE path LIKE '%22161731%.jsonl' AND kind = 'session'"
        assert (len(done.unread) > 0, store.db.execute(query).get) == (True, 0)


def test_what_was_deleted_before_all_of_it_was_read_comes_from_the_archive(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(refresh, "MAX_WHOLE_BYTES", -1)
    folder, archive = tmp_path / "claude", Archive(tmp_path / "own")
    shutil.copytree(config_dir(), folder)
    run_archive(archive, [folder])
    with Store.open(tmp_path / "whole") as store:
        store.refresh([folder])
        whole = values(store)
    with Store.open(tmp_path / "own") as store:
        store.refresh([folder], is_whole=False)
        adopt_from_archive(store.db, archive, [folder])
        assert values(store)[2] != whole[2]
        shutil.rmtree(folder / "projects" / "-home-dana-webshop")
        store.refresh([folder])
        assert has_archive_changed(store.db, archive.folder)
        assert adopt_from_archive(store.db, archive, [folder]).files > 1
        assert values(store) == whole
