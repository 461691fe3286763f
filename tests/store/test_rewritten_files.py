"""A file that is rewritten without a trace in its size and its time of modification is read again all the same."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.session.build import SESSION, Build
from turnlog.entries.file_stamp import to_file_stamp
from turnlog.store.store import Store
from turnlog.store.timelines.kept_timeline import TimelineFileState

pytestmark = pytest.mark.skipif(os.name == "nt", reason="Windows doesn't tell when a file was changed")


def encode_session(word: str) -> bytes:
    """A session whose ends don't depend on the word in its middle."""
    build = Build()
    build.prompt("x" * 6000, uuid="first")
    build.prompt(f"The word is {word}.", uuid="middle")
    build.prompt("y" * 6000, uuid="last")
    return build.data()


def rewrite_in_place(path: Path, data: bytes) -> None:
    path.write_bytes(data)


def replace_by_another(path: Path, data: bytes) -> None:
    other = path.with_suffix(".new")
    other.write_bytes(data)
    other.replace(path)


def find_word(store: Store, word: str) -> int:
    return int(store.db.execute("SELECT count(*) FROM said WHERE said MATCH ?", (word,)).get)


@pytest.mark.parametrize("change", [rewrite_in_place, replace_by_another])
def test_an_index_reads_a_file_again_whose_time_was_set_back(
    tmp_path: Path, change: Callable[[Path, bytes], None]
) -> None:
    config = tmp_path / "claude"
    path = config / "projects" / "-home-dana" / f"{SESSION}.jsonl"
    path.parent.mkdir(parents=True)
    path.write_bytes(encode_session("apple"))
    written = 10**18
    os.utime(path, ns=(written, written))
    with Store.open(tmp_path / "data") as store:
        store.refresh([config])
        assert (find_word(store, "apple"), find_word(store, "grape")) == (1, 0)
        size = path.stat().st_size
        change(path, encode_session("grape"))
        os.utime(path, ns=(written, written))
        assert (path.stat().st_size, path.stat().st_mtime_ns) == (size, written)
        store.refresh([config])
        assert (find_word(store, "apple"), find_word(store, "grape")) == (0, 1)
        assert store.refresh([config]).files == 0  # it is not read for ever


def test_a_file_that_nobody_touched_is_not_read_again(tmp_path: Path) -> None:
    config = tmp_path / "claude"
    path = config / "projects" / "-home-dana" / f"{SESSION}.jsonl"
    path.parent.mkdir(parents=True)
    path.write_bytes(encode_session("apple"))
    os.utime(path, ns=(10**18, 10**18))
    with Store.open(tmp_path / "data") as store:
        assert store.refresh([config]).files == 1
        assert store.refresh([config]).files == 0
        os.link(path, tmp_path / "backup")  # its content may have changed, as far as the system tells
        assert store.refresh([config]).files == 1
        assert store.refresh([config]).files == 0


def test_a_stored_timeline_is_not_used_for_a_rewritten_file(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_bytes(b"apple")
    os.utime(path, ns=(10**18, 10**18))
    state, stamp = TimelineFileState.from_path(path), to_file_stamp(path.stat())
    assert state.is_unchanged()
    path.write_bytes(b"grape")
    os.utime(path, ns=(10**18, 10**18))
    assert not state.is_unchanged()
    assert to_file_stamp(path.stat()) != stamp
