"""Indexes of other versions in the same data folder: taken over, left alone, or removed when nobody uses them."""

from __future__ import annotations

import os
import time
from pathlib import Path

import apsw
import pytest

from tests.store.index_build import Desk, build_prompts, main
from turnlog.store.index.shards import get_shard_path
from turnlog.store.index_file_name import DEFAULT_INDEX_NAME, INDEX_VERSION
from turnlog.store.store import Store


@pytest.fixture
def old_index(desk: Desk) -> Path:
    """An index as versions of turnlog wrote it whose index had no version in its name."""
    desk.write(main(), build_prompts("before"))
    desk.refresh()
    old = desk.data / "index.db"
    (desk.data / DEFAULT_INDEX_NAME).rename(old)
    return old


def build_index(path: Path, version: int, days: float = 0) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    db = apsw.Connection(str(path))
    db.execute("CREATE TABLE x (y)")
    db.pragma("user_version", version)
    db.close()
    os.utime(path, (time.time() - days * 86400,) * 2)
    return path


def test_an_index_without_a_version_in_its_name_is_taken_over(desk: Desk, old_index: Path) -> None:
    """It may have what no file has any more: the sessions that were deleted."""
    shard = get_shard_path(old_index, 1)
    shard.write_bytes(b"")
    with Store.open(desk.data) as store:
        assert store.path.name == DEFAULT_INDEX_NAME
        assert store.db.execute("SELECT count(*) FROM said WHERE said MATCH 'before'").get == 1
    assert not old_index.exists()
    assert not shard.exists()


def test_an_index_that_another_version_uses_stays_as_it_is(desk: Desk) -> None:
    others = {
        build_index(desk.data / "index.db", INDEX_VERSION - 1),
        build_index(desk.data / f"index-v{INDEX_VERSION + 1}.db", INDEX_VERSION + 1, 900),
        build_index(desk.data / f"index-v{INDEX_VERSION - 1}.db", INDEX_VERSION - 1),
    }
    before = {path: path.read_bytes() for path in others}
    told: list[str] = []
    for _ in range(2):
        with Store.open(desk.data, told.append):
            pass
    assert told == []
    assert {path: path.read_bytes() for path in others} == before


def test_an_index_of_an_earlier_version_that_nobody_uses_is_removed(desk: Desk) -> None:
    unused = build_index(desk.data / f"index-v{INDEX_VERSION - 1}.db", INDEX_VERSION - 1, 900)
    get_shard_path(unused, 3).write_bytes(b"")
    with Store.open(desk.data):
        pass
    assert not unused.exists()
    assert not get_shard_path(unused, 3).exists()


def test_a_file_that_is_no_index_is_not_taken_over(desk: Desk) -> None:
    desk.data.mkdir(parents=True)
    (desk.data / "index.db").write_bytes(b"no database" * 1000)
    with Store.open(desk.data) as store:
        assert store.path.name == DEFAULT_INDEX_NAME
    assert (desk.data / "index.db").read_bytes().startswith(b"no database")


def test_an_index_that_is_locked_is_not_taken_over(desk: Desk, old_index: Path) -> None:
    from turnlog.store.file_lock import try_lock_file

    with try_lock_file(old_index.with_suffix(".lock")) as is_ours, Store.open(desk.data):
        assert is_ours
        assert old_index.exists()
