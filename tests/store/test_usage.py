"""Reports of usage: sums by day, session, project, model, block and tool, with what they leave out."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.store.ledger import Ledger
from turnlog.demo import config_dir
from turnlog.entries.layout import list_session_files
from turnlog.errors import UsageError
from turnlog.session.message_usage import Usage
from turnlog.session.session import Session
from turnlog.store.session_counts import count_sessions
from turnlog.store.usage.groupings import GROUPINGS, build_usage_report
from turnlog.store.usage.memory_tables import build_usage_tables
from turnlog.store.usage.time_zones import DAY_SECONDS, TimeZone, format_day, parse_day, to_day_number
from turnlog.store.usage.tool_usage import sum_tool_usage
from turnlog.store.usage.usage_reports import UsageReport, UsageRequest
from turnlog.store.usage.usage_sums import UsageSum, add_usage_sums

UTC_ZONE = TimeZone("UTC")


def ask(ledger: Ledger, kind: str, zone: str = "UTC", **wishes: Any) -> UsageReport:
    return build_usage_report(ledger.db, UsageRequest(kind, zone=TimeZone(zone), **wishes))


def map_output_tokens(found: UsageReport, label: str) -> dict[Any, int]:
    """Output tokens by label."""
    return {row.labels[label]: row.sum.output for row in found.rows}


def at(*times: str, **fields: Any) -> Ledger:
    """One session with a message at each of some times; the first has one output token, the second two, then four …"""
    ledger = Ledger()
    file = ledger.file("a")
    for number, text in enumerate(times):
        ledger.answer(f"m{number}", file, text, output_tokens=1 << number, **fields)
    ledger.renew()
    return ledger


EVENING = (
    "2026-11-02T23:30:00.000Z",
    "2026-11-03T00:10:00.000Z",
    "2026-11-03T18:20:00.000Z",
    "2026-11-03T18:40:00.000Z",
)


@pytest.mark.parametrize(
    ("zone", "expected"),
    [
        ("UTC", {"2026-11-02": 1, "2026-11-03": 14}),
        ("Europe/Berlin", {"2026-11-03": 15}),
        ("America/Los_Angeles", {"2026-11-02": 3, "2026-11-03": 12}),
        ("Asia/Kolkata", {"2026-11-03": 7, "2026-11-04": 8}),
        ("+05:30", {"2026-11-03": 7, "2026-11-04": 8}),
        ("-0030", {"2026-11-02": 3, "2026-11-03": 12}),
        ("+6", {"2026-11-03": 3, "2026-11-04": 12}),
    ],
)
def test_days_begin_where_somebody_lives_even_within_an_hour(zone: str, expected: dict[str, int]) -> None:
    ledger = at(*EVENING)
    found = ask(ledger, "daily", zone)
    assert map_output_tokens(found, "day") == expected
    assert (found.total.output, found.total.messages) == (15, 4)
    last = date.fromisoformat(max(expected))
    assert ask(ledger, "model", zone, since=last).total.output == expected[max(expected)]
    assert ask(ledger, "session", zone, until=last - timedelta(days=1)).total.output == 15 - expected[max(expected)]


def test_clocks_that_change_within_the_year_are_followed() -> None:
    ledger = at(
        "2026-03-28T22:30:00.000Z", "2026-03-28T23:30:00.000Z", "2026-03-29T21:30:00.000Z", "2026-03-29T22:30:00.000Z"
    )
    expected = {"2026-03-28": 1, "2026-03-29": 6, "2026-03-30": 8}
    assert map_output_tokens(ask(ledger, "daily", "Europe/Berlin"), "day") == expected


@given(
    st.lists(st.integers(1_600_000_000, 1_900_000_000), min_size=1, max_size=6),
    st.sampled_from(["Europe/Berlin", "Asia/Kolkata", "America/Sao_Paulo", "Australia/Lord_Howe", "Asia/Kathmandu"]),
)
def test_days_are_those_of_the_calendar_in_any_zone(seconds: list[int], zone: str) -> None:
    times = [datetime.fromtimestamp(moment, UTC) for moment in seconds]
    ledger = at(*(time.strftime("%Y-%m-%dT%H:%M:%S.000Z") for time in times))
    expected: dict[str, int] = {}
    for number, moment in enumerate(times):
        day = moment.astimezone(ZoneInfo(zone)).date().isoformat()
        expected[day] = expected.get(day, 0) + (1 << number)
    assert map_output_tokens(ask(ledger, "daily", zone), "day") == expected


def test_weeks_begin_on_monday_and_months_on_their_first_day() -> None:
    ledger = at(
        "2026-11-01T10:00:00.000Z", "2026-11-02T10:00:00.000Z", "2026-11-08T10:00:00.000Z", "2026-12-01T10:00:00.000Z"
    )
    assert map_output_tokens(ask(ledger, "weekly"), "week") == {"2026-10-26": 1, "2026-11-02": 6, "2026-11-30": 8}
    assert map_output_tokens(ask(ledger, "monthly"), "month") == {"2026-11": 7, "2026-12": 8}


def test_what_has_no_known_time_stands_at_the_end_and_in_no_span_of_days() -> None:
    ledger = at("", "2026-11-03T10:00:00.000Z")
    assert list(map_output_tokens(ask(ledger, "daily"), "day")) == ["2026-11-03", None]
    assert map_output_tokens(ask(ledger, "monthly"), "month") == {"2026-11": 2, None: 1}
    assert map_output_tokens(ask(ledger, "daily", "Asia/Kolkata"), "day") == {"2026-11-03": 2, None: 1}
    for zone in ("UTC", "Asia/Kolkata"):
        assert ask(ledger, "model", zone, since=date(2000, 1, 1)).total.output == 2
        assert ask(ledger, "model", zone, until=date(2030, 1, 1)).total.output == 2


def test_both_ends_of_a_span_of_days_count() -> None:
    ledger = at(*(f"2026-11-0{day}T00:00:00.000Z" for day in range(1, 6)))
    found = ask(ledger, "daily", since=date(2026, 11, 2), until=date(2026, 11, 4))
    assert map_output_tokens(found, "day") == {"2026-11-02": 2, "2026-11-03": 4, "2026-11-04": 8}
    far = ask(ledger, "daily", "local", since=date.min, until=date.max)
    assert far.total.output == 31


def shop() -> Ledger:
    """Two projects, three sessions, two models, one sub-agent, one session without a file."""
    ledger = Ledger()
    first = ledger.file("a", cwd="/home/dana/shop", custom="Fix it", first_prompt="please")
    agent = ledger.file("a/agent", "a", kind="agent")
    second = ledger.file("b", cwd="/home/dana/shop", first_prompt="help", gone=5)
    third = ledger.file("c", folder="/c/projects/-home-dana-notes")
    ledger.answer("1", first, output_tokens=10)
    ledger.answer("2", agent, output_tokens=20, model="claude-haiku-4-5")
    ledger.answer("3", second, output_tokens=40)
    ledger.answer("4", third, output_tokens=80, model="mystery")
    ledger.renew()
    return ledger


def test_a_session_tells_what_it_used_in_all_also_what_another_one_pays_for() -> None:
    ledger = Ledger()
    first, fork = ledger.file("a", talks=1), ledger.file("b", forked_from="a", talks=1)
    ledger.answer("shared", first, output_tokens=10)
    ledger.answer("shared", fork, output_tokens=9)
    ledger.answer("own", fork, output_tokens=40)
    ledger.answer("alone", ledger.file("c", talks=1), output_tokens=80)
    ledger.renew()
    found = ask(ledger, "session")
    assert map_output_tokens(found, "session_id") == {"a": 10, "b": 40, "c": 80}
    whole = {row.labels["session_id"]: row.whole.output for row in found.rows if row.whole}
    assert whole == {"a": 10, "b": 49, "c": 80}
    (row,) = ask(ledger, "session", since=date(2026, 11, 3), model="opus").rows[:1]
    assert row.whole is not None


def test_a_report_without_filters_counts_all_sessions() -> None:
    ledger = shop()
    ledger.file("silent", talks=1)
    ledger.file("broken", broken=1)
    ledger.file("junk")
    ledger.file("lonely/agent", "lonely", kind="agent")
    found = ask(ledger, "session")
    assert (found.sessions, found.with_usage) == (2, 3)
    assert count_sessions(ledger.db) == (2, 4, 1)
    assert count_sessions(ledger.db, [ledger.session("silent")]).sessions == 1
    filtered = ask(ledger, "session", model="haiku")
    assert (filtered.sessions, filtered.with_usage) == (1, 1)


def test_sessions_include_their_sub_agents_and_the_costliest_comes_first() -> None:
    found = ask(shop(), "session")
    assert map_output_tokens(found, "session_id") == {"b": 40, "a": 30, "c": 80}
    assert list(map_output_tokens(found, "session_id")) == ["b", "a", "c"]
    assert [row.labels["title"] for row in found.rows] == ["help", "Fix it", None]
    assert [row.labels["gone"] for row in found.rows] == [True, False, False]
    assert (found.with_usage, found.gone) == (3, 1)


def test_projects_are_told_by_their_working_folder_else_by_that_of_the_client() -> None:
    found = ask(shop(), "project")
    assert map_output_tokens(found, "project") == {"/home/dana/shop": 70, "/c/projects/-home-dana-notes": 80}
    assert [row.labels["sessions"] for row in found.rows] == [2, 1]


def test_models_without_a_price_are_unpriced() -> None:
    found = ask(shop(), "model")
    assert map_output_tokens(found, "model") == {"claude-opus-5": 50, "claude-haiku-4-5": 20, "mystery": 80}
    assert found.total.unpriced == 80


def test_a_report_can_be_of_one_project_or_one_model() -> None:
    ledger = shop()
    assert ask(ledger, "daily", project="shop").total.output == 70
    assert ask(ledger, "daily", project="/home/dana/shop").total.output == 70
    assert ask(ledger, "daily", model="haiku").total.output == 20
    assert ask(ledger, "daily", model="haiku", project="notes").rows == []
    assert ask(ledger, "session", "Asia/Kolkata", model="opus", since=date(2026, 1, 1)).total.output == 50


@pytest.mark.parametrize("wish", [{"project": "shpo"}, {"model": "claude-opus-4"}])
def test_a_name_that_nothing_has_is_an_error_that_knows_the_closest(wish: dict[str, str]) -> None:
    with pytest.raises(
        UsageError, match=r"no session has this (project|model); closest matches: .*(shop|claude-opus-5)"
    ):
        ask(shop(), "daily", **wish)
    with pytest.raises(UsageError, match=r"no session has this model$"):
        ask(Ledger(), "daily", model="x")


@pytest.mark.parametrize("kind", GROUPINGS)
def test_an_empty_index_has_empty_reports(kind: str) -> None:
    found = ask(Ledger(), kind, since=date(2026, 1, 1), until=date(2026, 2, 1))
    assert (found.rows, found.tools, found.total, found.sessions, found.gone) == ([], (), UsageSum(), 0, 0)


HOURS = ("2026-11-03T08:50:00.000Z", "2026-11-03T12:59:59.000Z", "2026-11-03T13:00:00.000Z", "2026-11-03T20:15:00.000Z")


def starts(found: UsageReport) -> dict[str, int]:
    return {UTC_ZONE.format_time(row.labels["start"]): row.sum.output for row in found.rows}


def test_a_block_begins_at_the_hour_of_its_first_message_and_lasts_five() -> None:
    found = ask(at(*HOURS), "blocks")
    assert starts(found) == {"2026-11-03 08:00": 3, "2026-11-03 13:00": 4, "2026-11-03 20:00": 8}
    assert {row.labels["end"] - row.labels["start"] for row in found.rows} == {5 * 3600}
    assert (found.total.output, found.sessions) == (15, 1)
    assert not any(row.labels["open"] for row in found.rows)


def test_blocks_are_those_of_the_machine_whatever_part_of_them_is_shown() -> None:
    ledger = at("2026-11-03T08:50:00.000Z", "2026-11-03T12:30:00.000Z")
    ledger.answer("other", ledger.file("b"), "2026-11-03T13:30:00.000Z", model="claude-haiku-4-5", output_tokens=64)
    ledger.answer("early", ledger.file("c"), "2026-11-03T05:30:00.000Z", model="claude-haiku-4-5", output_tokens=128)
    ledger.renew()
    assert starts(ask(ledger, "blocks")) == {"2026-11-03 05:00": 129, "2026-11-03 12:00": 66}
    assert starts(ask(ledger, "blocks", model="opus")) == {"2026-11-03 05:00": 1, "2026-11-03 12:00": 2}
    assert ask(ledger, "blocks", model="opus").sessions == 1


def test_blocks_can_be_of_some_days() -> None:
    ledger = at("2026-11-02T22:00:00.000Z", "2026-11-03T01:00:00.000Z", "2026-11-03T09:00:00.000Z")
    day = date(2026, 11, 3)
    assert starts(ask(ledger, "blocks", since=day)) == {"2026-11-03 09:00": 4}
    assert starts(ask(ledger, "blocks", until=day - timedelta(days=1))) == {"2026-11-02 22:00": 3}
    assert len(starts(ask(ledger, "blocks", "Europe/Berlin", until=day - timedelta(days=1)))) == 1


def test_the_open_block_has_a_pace_and_where_it_leads() -> None:
    ledger = at("2026-11-03T08:30:00.000Z", "2026-11-03T09:30:00.000Z", input_tokens=2999)
    now = datetime(2026, 11, 3, 11, 0, tzinfo=UTC).timestamp()
    (row,) = ask(ledger, "blocks", now=now).rows
    pace = row.labels["pace"]
    assert row.labels["open"]
    assert (pace.tokens_per_minute, pace.minutes_left) == (100.0, 120)
    assert pace.projected_tokens == 6001 + 120 * 100 + 2
    cost = (2 * 2999 * 5 + 3 * 25) / 1e6
    assert pace.usd_per_hour == pytest.approx(cost, abs=1e-6)
    assert pace.projected_usd == pytest.approx(cost * 3, abs=1e-6)
    (one,) = ask(at("2026-11-03T08:30:00.000Z"), "blocks", now=now).rows
    assert (one.labels["open"], one.labels["pace"]) == (True, None)


def test_calls_count_once_by_tool_and_an_answer_in_any_copy_is_one() -> None:
    ledger = shop()
    times = {"started": "2026-11-03T10:00:00.000Z"}
    ledger.call("x", 1, given=10, **times)
    ledger.call("x", 3, given=10, got=90, failed=0, **times)
    ledger.call("y", 1, given=5, got=20, failed=1, **times)
    ledger.call("z", 2, "Read", given=1, started="2026-11-05T10:00:00.000Z")
    ledger.db.execute("INSERT INTO call (id, file, got) VALUES ('orphan', 1, 5)")
    found = ask(ledger, "tool")
    assert [row[:6] for row in found.tools] == [("Bash", 2, 1, 0, 15, 110), ("Read", 1, 0, 1, 1, 0)]
    assert [row.tokens for row in found.tools] == [31, 0]
    assert sum_tool_usage(found.tools)[1:] == (3, 1, 1, 16, 110)
    assert found.total.output == 150
    assert [row.tool for row in ask(ledger, "tool", since=date(2026, 11, 5)).tools] == ["Read"]
    assert [row.tool for row in ask(ledger, "tool", until=date(2026, 11, 4)).tools] == ["Bash"]
    assert ask(ledger, "tool", project="notes").tools == ()
    with pytest.raises(UsageError, match="--model can't filter tool calls"):
        ask(ledger, "tool", model="opus")


def test_sums_add_up() -> None:
    one, two = UsageSum(1, 2, cache_write_5m=3, cache_write_1h=4, first=7, last=8), UsageSum(1, 1, output=9)
    assert add_usage_sums([one, two]) == UsageSum(2, 3, 9, cache_write_5m=3, cache_write_1h=4, first=7, last=8)
    assert add_usage_sums([one, two]).tokens == 3 + 9 + 7
    assert add_usage_sums([]) == UsageSum()


def test_all_reports_have_the_same_total() -> None:
    ledger = shop()
    assert len({ask(ledger, kind).total for kind in GROUPINGS}) == 1


# -- time zones


@pytest.fixture
def in_berlin(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    if not hasattr(time, "tzset"):
        pytest.skip("the zone of a process can't be set here")
    monkeypatch.setenv("TZ", "Europe/Berlin")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


@pytest.mark.usefixtures("in_berlin")
def test_without_a_name_the_zone_is_that_of_the_machine() -> None:
    zone, named = TimeZone(), TimeZone("Europe/Berlin")
    assert (zone.name, named.name) == ("local", "Europe/Berlin")
    for day in (date(2026, 3, 29), date(2026, 7, 1), date(2026, 10, 25), date(2026, 12, 24)):
        assert zone.find_day_start(day) == named.find_day_start(day)
        assert zone.to_day(zone.find_day_start(day)) == named.to_day(named.find_day_start(day)) == to_day_number(day)
        assert zone.to_day(zone.find_day_start(day) - 1) == to_day_number(day) - 1
    assert zone.list_stretches(480_000, 500_000) == named.list_stretches(480_000, 500_000)
    assert map_output_tokens(ask(at(*EVENING), "daily", ""), "day") == {"2026-11-03": 15}


def test_stretches_end_where_the_clocks_change() -> None:
    found = TimeZone("Europe/Berlin").list_stretches(490_000, 500_000)
    assert [stretch.offset for stretch in found] == [3600, 7200, 3600]
    changes = [datetime.fromtimestamp(stretch.hour * 3600, UTC).strftime("%m-%d %H") for stretch in found[1:]]
    assert changes == ["03-29 01", "10-25 01"]
    assert len(TimeZone("Europe/Berlin").list_stretches(0, 10**9)) < 300


@pytest.mark.parametrize(
    "name", ["Mars/Olympus", "../etc/passwd", "/etc/passwd", "Europe", "+25:00", "+1:2:3", "-x", "+"]
)
def test_a_zone_that_is_not_known_is_an_error(name: str) -> None:
    with pytest.raises(UsageError, match=r"unknown time zone .*; use a name such as Europe/Berlin"):
        TimeZone(name)


def test_years_that_calendars_do_not_reach_have_no_offset() -> None:
    assert TimeZone("Europe/Berlin").find_offset(10**15) == 0
    assert (
        TimeZone("Asia/Kolkata").find_day_start(date(9999, 12, 31)) == to_day_number(date(9999, 12, 31)) * DAY_SECONDS
    )
    assert format_day(10**7) == "9999-12-31"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2026-11-03", date(2026, 11, 3)),
        ("20261103", date(2026, 11, 3)),
        (" Today ", date(2026, 11, 15)),
        ("yesterday", date(2026, 11, 14)),
        ("30d", date(2026, 10, 16)),
    ],
)
def test_days_are_understood_as_people_write_them(text: str, expected: date) -> None:
    assert parse_day(text, "--since", lambda: date(2026, 11, 15)) == expected


@pytest.mark.parametrize(
    "text", ["", "tomorrow", "2026-02-30", "2026", "03.11.2026", "d", "99999d", "2026-11-03T10:00"]
)
def test_what_is_no_day_is_an_error_that_names_the_option(text: str) -> None:
    with pytest.raises(UsageError, match=r"--since .*not a day; use a value such as"):
        parse_day(text, "--since", lambda: date(2026, 11, 15))


# -- without an index


def usage_of(path: Path) -> Usage:
    with Session.open(path) as session:
        return session.usage


def test_a_scan_of_the_files_gives_the_sums_of_the_demo() -> None:
    db = build_usage_tables([config_dir()])
    found = build_usage_report(db, UsageRequest("session", zone=UTC_ZONE))
    sessions = {item.session_id: usage_of(item.path) for item in list_session_files(config_dir())}
    assert found.total.messages > 100
    for row in found.rows:
        usage = sessions[row.labels["session_id"]]
        if row.labels["session_id"] == "138b775a-e5f3-4eed-ab33-eed3bc0aded2":
            assert row.sum.output < usage.output_tokens  # a fork: what it copied is paid by the original
        else:
            assert (row.sum.output, row.sum.input) == (usage.output_tokens, usage.input_tokens)
            assert row.sum.cost / 1e12 == pytest.approx(usage.cost_usd)
    titles = {row.labels["title"] for row in found.rows}
    assert "Fix cent rounding in the cart" in titles


def test_a_scan_of_no_folders_is_empty(tmp_path: Path) -> None:
    assert build_usage_report(build_usage_tables([tmp_path]), UsageRequest("daily", zone=UTC_ZONE)).total == UsageSum()
