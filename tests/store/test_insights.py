"""Where time and work went, out of the index."""

from __future__ import annotations

from datetime import date
from typing import Any

import pytest

from tests.session.build import Build
from tests.store.index_build import ONE, TWO, Desk, main
from turnlog.store.insight.insights import (
    count_messages_by_hour,
    list_busiest_files,
    list_longest_turns,
    list_slowest_calls,
)
from turnlog.store.store import Store
from turnlog.store.usage.time_zones import TimeZone
from turnlog.store.usage.usage_reports import UsageRequest

USAGE = {"input_tokens": 10, "output_tokens": 10}
UTC = UsageRequest(zone=TimeZone("UTC"))


def work() -> Build:
    """Two turns: a long one with a slow call and a short one; a question that waits for a person for hours."""
    build = Build(step=1)
    build.prompt("Look around")
    for call, name, seconds in (("c1", "Read", 40), ("c2", "Edit", 5), ("c3", "AskUserQuestion", 9000)):
        build.call(call, name, {"file_path": "/home/dana/webshop/cart.py"}, usage=USAGE)
        build.wait(seconds)
        build.result(call, "x", error=name == "Edit")
    build.answer("Done.", usage=USAGE)
    build.wait(3600)
    build.prompt("Thanks")
    build.answer("You are welcome.", usage=USAGE)
    return build


@pytest.fixture
def store(desk: Desk) -> Any:
    desk.write(main(ONE), work().data())
    desk.write(main(TWO, "-home-eve"), work().data().replace(b'"c1"', b'"d1"').replace(b"webshop", b"library"))
    with Store.open(desk.data) as found:
        found.refresh([desk.config])
        yield found


def test_slow_calls_come_slowest_first_without_those_that_ask_a_person(store: Store) -> None:
    found = list_slowest_calls(store.db, UTC)
    assert [(item.tool, round(item.seconds)) for item in found] == [("Read", 41), ("Read", 41), ("Edit", 6)]
    assert all(item.offset is not None for item in found)


def test_a_call_that_two_files_hold_counts_once(store: Store) -> None:
    assert [item.tool for item in list_slowest_calls(store.db, UTC)].count("Edit") == 1


def test_a_long_turn_ends_before_the_next_prompt(store: Store) -> None:
    found = list_longest_turns(store.db, UTC)
    assert {item.seconds for item in found} == {9052, 1}
    assert all(item.offset == 0 for item in found if item.seconds == 9052)


def test_busy_files_tell_reads_from_changes(store: Store) -> None:
    found = {item.path: item for item in list_busiest_files(store.db, UTC)}
    cart = found["/home/dana/webshop/cart.py"]
    assert (cart.calls, cart.reads, cart.changes, cart.failed, cart.sessions) == (2, 1, 1, 1, 1)


def test_messages_are_counted_by_hour_of_the_week_in_a_zone(store: Store) -> None:
    here, there = (
        count_messages_by_hour(store.db, UTC),
        count_messages_by_hour(store.db, UTC._replace(zone=TimeZone("+02:00"))),
    )
    total = sum(map(sum, here))
    assert total == sum(map(sum, there)) > 0
    flat, moved = ([value for row in table for value in row] for table in (here, there))
    assert moved == flat[-2:] + flat[:-2]


def test_a_project_and_days_bound_what_is_told(store: Store) -> None:
    library = UTC._replace(project="library")
    assert [item.path for item in list_busiest_files(store.db, library)] == ["/home/dana/library/cart.py"]
    assert {item.session for item in list_slowest_calls(store.db, library)} == {
        item.session for item in list_longest_turns(store.db, library)
    }
    before = UTC._replace(until=date(2000, 1, 1))
    assert (
        list_slowest_calls(store.db, before),
        list_longest_turns(store.db, before),
        list_busiest_files(store.db, before),
    ) == ([], [], [])
    assert sum(map(sum, count_messages_by_hour(store.db, before))) == 0
    since = UTC._replace(since=date(2000, 1, 1))
    assert len(list_slowest_calls(store.db, since)) == 3
