"""An index and its shards that do not belong together: after a power cut, or when somebody copied files."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.store.index_build import ONE, TWO, Desk, content, main, recorded_lines
from turnlog.store.index import refresh, shard_workers
from turnlog.store.index.coverage import needs_filling, read_coverage
from turnlog.store.index.refresh import fill_index, ignore_progress
from turnlog.store.index.shard_repair import note_shard_progress
from turnlog.store.index.shards import get_shard_path, list_attached_shards
from turnlog.store.index.upkeep import list_index_faults
from turnlog.store.index_file_name import DEFAULT_INDEX_NAME

INDEX_STEM = DEFAULT_INDEX_NAME.removesuffix(".db")


@pytest.fixture
def many(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> Desk:
    """A machine with two sessions, whose rest goes to one shard each."""
    monkeypatch.setattr(refresh, "MAX_WHOLE_BYTES", -1)
    monkeypatch.setattr(shard_workers, "MIN_SHARD_BYTES", -1)
    monkeypatch.setattr(shard_workers, "count_shard_workers", lambda: 2)
    lines = recorded_lines()
    for number, name in enumerate((ONE, TWO)):
        desk.write(main(name), b"".join(lines[number * 150 : number * 150 + 150]))
    desk.settle()
    return desk


def find_shard(desk: Desk, number: int) -> Path:
    return get_shard_path(desk.data / DEFAULT_INDEX_NAME, number)


def copy_databases(desk: Desk, folder: Path, *names: str) -> None:
    """Copy databases with everything that is in their logs."""
    with desk.open() as store:
        store.db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    for name in names:
        shutil.copyfile(desk.data / name, folder / name)


def bring_back(desk: Desk, folder: Path, *names: str) -> None:
    for name in names:
        for ending in ("-wal", "-shm"):
            (desk.data / f"{name}{ending}").unlink(missing_ok=True)
        shutil.copyfile(folder / name, desk.data / name)


def assert_whole(desk: Desk, folder: Path) -> None:
    with desk.open() as store, pytest.MonkeyPatch.context() as patch:
        patch.setattr(refresh, "MAX_WHOLE_BYTES", 1 << 30)
        assert read_coverage(store.db).left == 0
        assert list(list_index_faults(store.db)) == []
        assert content(store.db) == desk.scratch(folder)


def test_a_shard_is_not_mistaken_for_another(many: Desk, tmp_path: Path) -> None:
    many.refresh()
    copy_databases(many, tmp_path, f"{INDEX_STEM}.shard1")
    (tmp_path / f"{INDEX_STEM}.shard1").rename(tmp_path / f"{INDEX_STEM}.shard2")
    bring_back(many, tmp_path, f"{INDEX_STEM}.shard2")
    told: list[str] = []
    with many.open(told.append) as store:
        assert list_attached_shards(store.db) == [1]
        assert needs_filling(store.db)
    assert [f"{INDEX_STEM}.shard2: missing or damaged" in line for line in told] == [True]
    many.refresh()
    assert_whole(many, tmp_path / "scratch")


def test_a_shard_of_another_index_is_not_used(many: Desk, tmp_path: Path) -> None:
    many.refresh()
    other = Desk(tmp_path / "other")
    other.write(main(), b"".join(recorded_lines()[:200]))
    other.refresh()
    copy_databases(other, tmp_path, f"{INDEX_STEM}.shard1")
    bring_back(many, tmp_path, f"{INDEX_STEM}.shard1")
    with many.open() as store:
        assert list_attached_shards(store.db) == [2]
    many.refresh()
    assert_whole(many, tmp_path / "scratch")


@pytest.mark.parametrize("is_small", [True, False])
def test_an_index_that_is_older_than_its_shards_reads_the_difference_again(
    many: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_small: bool
) -> None:
    many.refresh()
    copy_databases(many, tmp_path, DEFAULT_INDEX_NAME)
    many.append(main(TWO), b"".join(recorded_lines()[310:330]))
    many.refresh()
    bring_back(many, tmp_path, DEFAULT_INDEX_NAME)
    with many.open() as store:
        assert any("files that differ from the index: 1;" in fault for fault in list_index_faults(store.db))
    if is_small:
        monkeypatch.setattr(refresh, "MAX_WHOLE_BYTES", 1 << 30)
    many.refresh()
    many.refresh()
    assert_whole(many, tmp_path / "scratch")


def test_shards_that_are_older_than_their_index_are_filled_again(many: Desk, tmp_path: Path) -> None:
    many.refresh()
    copy_databases(many, tmp_path, f"{INDEX_STEM}.shard1", f"{INDEX_STEM}.shard2")
    many.append(main(ONE), b"".join(recorded_lines()[300:350]))
    many.refresh()
    bring_back(many, tmp_path, f"{INDEX_STEM}.shard1", f"{INDEX_STEM}.shard2")
    with many.open() as store:
        assert any("files that differ from the index" in fault for fault in list_index_faults(store.db))
    many.refresh()
    assert_whole(many, tmp_path / "scratch")


def test_shards_of_an_index_that_was_deleted_by_hand_are_deleted(many: Desk, tmp_path: Path) -> None:
    many.refresh()
    for path in many.data.glob(f"{DEFAULT_INDEX_NAME}*"):
        path.unlink()
    shutil.copyfile(find_shard(many, 1), find_shard(many, 7))
    many.refresh()
    assert not find_shard(many, 7).exists()
    assert_whole(many, tmp_path / "scratch")


def test_what_could_not_be_read_is_read_when_everything_is_asked_for(many: Desk, tmp_path: Path) -> None:
    session = many.config / main(TWO)
    with many.open() as store:
        store.refresh([many.config], is_whole=False)
        session.rename(tmp_path / "away")
        fill_index(store.db, ignore_progress)
        assert not needs_filling(store.db)
        (tmp_path / "away").rename(session)
        asked = iter(range(1000))
        fill_index(store.db, ignore_progress, lambda: next(asked) >= 1, includes_failed=True)
        note_shard_progress(store.db)
        assert needs_filling(store.db)
        fill_index(store.db, ignore_progress)
    assert_whole(many, tmp_path / "scratch")
