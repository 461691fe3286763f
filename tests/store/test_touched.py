"""Files by path over many sessions, out of the index."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing

import apsw
import pytest

from tests.store.calls import call, sample
from turnlog.store.insight.touched_files import find_touching_sessions, list_indexed_files


@pytest.fixture
def db() -> Iterator[apsw.Connection]:
    """A small index without calls."""
    with closing(sample()) as found:
        found.execute("INSERT INTO name VALUES (4, 'tool', 'Write'), (5, 'tool', 'Edit'), (6, 'tool', 'Grep')")
        yield found


def test_files_are_counted_by_path_with_the_sessions_that_touched_them(db: apsw.Connection) -> None:
    call(db, "a", tool=2, path="/src/a.py", started="2026-01-01T10:00:00.000Z")
    call(db, "b", tool=5, path="/src/a.py", started="2026-01-01T11:00:00.000Z", file=2)
    call(db, "c", tool=4, path="/src/b.py")
    call(db, "d", tool=5, path="/src/b.py", failed=1)
    call(db, "e", tool=5, path="/src/b.py", failed=None, seconds=None, started=None)
    first, second = list_indexed_files(db)
    assert (first.path, first.reads, first.writes, first.edits, first.failures) == ("/src/a.py", 1, 0, 1, 0)
    assert (first.first, first.last) == ("2026-01-01T10:00:00.000Z", "2026-01-01T11:00:00.000Z")
    assert first.sessions == {"first": 1, "second": 1}
    assert (second.writes, second.edits, second.failures, second.sessions) == (1, 0, 2, {"first": 3})


def test_calls_of_other_tools_and_without_a_path_touch_no_file(db: apsw.Connection) -> None:
    call(db, "a", tool=6, path="/src")
    call(db, "b", tool=2)
    assert list_indexed_files(db) == []


def test_a_copied_call_counts_once_for_the_session_that_has_it_first(db: apsw.Connection) -> None:
    call(db, "a", tool=2, path="/a", file=2)
    call(db, "a", tool=2, path="/a", file=1, seconds=None, failed=None)
    (item,) = list_indexed_files(db)
    assert (item.reads, item.failures, item.sessions) == (1, 0, {"first": 1})


def test_only_the_given_sessions_count(db: apsw.Connection) -> None:
    call(db, "a", tool=2, path="/a", file=1)
    call(db, "b", tool=2, path="/b", file=2)
    assert [item.path for item in list_indexed_files(db, [2])] == ["/b"]
    assert list_indexed_files(db, []) == []


@pytest.mark.parametrize("name", ["/home/dana/src/a_b.py", "src/a_b.py", "a_b.py", "./a_b.py", "src\\a_b.py"])
def test_the_sessions_that_touched_a_file_are_found_newest_first(db: apsw.Connection, name: str) -> None:
    call(db, "a", tool=2, path="/home/dana/src/a_b.py", file=3)
    call(db, "b", tool=2, path="/home/dana/src/a_b.py", file=2, started="2026-01-05T10:00:00.000Z")
    call(db, "c", tool=2, path="/home/dana/src/axb.py", file=1, started="2026-01-09T10:00:00.000Z")
    assert [item.path for item in find_touching_sessions(db, name)] == ["/p/second.jsonl", "/p/first.jsonl"]


@pytest.mark.parametrize("name", ["b.py", "%", "", "dana", "a_b"])
def test_a_name_that_is_no_end_of_a_path_finds_no_session(db: apsw.Connection, name: str) -> None:
    call(db, "a", tool=2, path="/home/dana/src/a_b.py")
    assert find_touching_sessions(db, name) == []


def test_windows_paths_are_found_by_their_end(db: apsw.Connection) -> None:
    call(db, "a", tool=2, path="C:\\Users\\dana\\a.py")
    assert [item.path for item in find_touching_sessions(db, "dana/a.py")] == ["/p/first.jsonl"]


def test_a_session_whose_file_is_gone_is_not_found(db: apsw.Connection) -> None:
    call(db, "a", tool=2, path="/a.py")
    db.execute("UPDATE file SET gone = 1")
    assert find_touching_sessions(db, "a.py") == []
