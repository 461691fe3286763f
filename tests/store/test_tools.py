"""Calls by tool over all sessions, out of the index."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing

import apsw
import pytest

from tests.store.calls import call, sample
from turnlog.store.insight.tool_tallies import tally_tool_calls


@pytest.fixture
def db() -> Iterator[apsw.Connection]:
    """A small index without calls."""
    with closing(sample()) as found:
        yield found


def test_calls_are_counted_by_tool(db: apsw.Connection) -> None:
    call(db, "a", seconds=1)
    call(db, "b", seconds=2, failed=1)
    call(db, "c", seconds=None, failed=None)
    call(db, "d", file=3, tool=2, seconds=0.25)
    bash, read = tally_tool_calls(db)
    assert (bash.name, bash.calls, bash.failed, bash.unanswered, bash.given, bash.got) == ("Bash", 3, 1, 1, 24, 80)
    assert (bash.median, bash.p95, sum(bash.times)) == (1500, 2000, 3000)
    assert (bash.denied, bash.interrupted) == (None, None)
    assert (read.name, read.times) == ("Read", [250])


def test_a_call_that_several_files_hold_counts_once_and_is_answered_if_one_has_the_answer(db: apsw.Connection) -> None:
    call(db, "a", file=2, seconds=None, failed=None)
    call(db, "a", file=1, seconds=3)
    (bash,) = tally_tool_calls(db)
    assert (bash.calls, bash.unanswered, bash.times) == (1, 0, [3000])


def test_only_the_given_sessions_count(db: apsw.Connection) -> None:
    call(db, "a", file=1)
    call(db, "b", file=2)
    call(db, "c", file=3)
    assert [item.calls for item in tally_tool_calls(db, [1])] == [2]
    assert tally_tool_calls(db, []) == []


def test_only_calls_from_a_time_on_count(db: apsw.Connection) -> None:
    call(db, "a")
    call(db, "b", started="2026-03-01T10:00:00.000Z", ended=None)
    assert [item.calls for item in tally_tool_calls(db, None, "2026-02-01T00:00:00.000Z")] == [1]


def test_a_result_whose_call_stands_in_another_file_answers_it(db: apsw.Connection) -> None:
    call(db, "a", seconds=None, failed=None)
    db.execute("INSERT INTO call (id, file, ended, failed, got) VALUES ('a', 2, '2026-01-01T10:00:02.000Z', 0, 5)")
    db.execute("INSERT INTO call (id, file, ended, failed, got) VALUES ('orphan', 2, '2026-01-01', 0, 5)")
    (bash,) = tally_tool_calls(db, None, "2026-01-01")
    assert (bash.calls, bash.unanswered, bash.times) == (1, 0, [2000])


@pytest.mark.parametrize("time", ["now", "yesterday", "", "12:00", None, "9999-99-99", "2026-01-01T09:00:00.000Z"])
def test_times_that_are_none_or_run_backwards_are_left_out(db: apsw.Connection, time: str | None) -> None:
    call(db, "a", ended=time)
    (bash,) = tally_tool_calls(db)
    assert (bash.calls, bash.times) == (1, [])


def test_an_empty_index_has_no_calls(db: apsw.Connection) -> None:
    assert tally_tool_calls(db) == []
