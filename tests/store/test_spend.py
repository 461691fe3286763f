"""The table `spend`: every message once, paid by whoever has it first."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.store.ledger import OPUS, Ledger
from turnlog.session.clock import to_epoch_seconds
from turnlog.session.usage.prices import load_price_table
from turnlog.store.index import price_mark
from turnlog.store.index.spend_table import UNKNOWN_HOUR, StaleSpend, find_stale_spend
from turnlog.store.usage.groupings import build_usage_report
from turnlog.store.usage.time_zones import TimeZone
from turnlog.store.usage.usage_reports import UsageRequest
from turnlog.store.usage.usage_sums import SpendFilter, sum_spend

EARLY, LATE = "2026-11-03T10:00:00.000Z", "2026-11-03T12:30:00.000Z"


def test_the_file_that_has_a_message_first_pays_the_largest_of_the_numbers() -> None:
    ledger = Ledger()
    ledger.answer("m", ledger.file("a"), LATE, output_tokens=50, input_tokens=2)
    ledger.answer("m", ledger.file("b"), EARLY, output_tokens=40, input_tokens=3)
    ledger.renew()
    assert {name: (found.messages, found.output, found.input) for name, found in ledger.spend().items()} == {
        "b": (1, 50, 3)
    }


def test_of_files_that_have_it_at_the_same_time_the_fork_pays_last_and_then_the_path_decides() -> None:
    ledger = Ledger()
    for name, fields in (("a", {"forked_from": "c"}), ("c", {}), ("b", {"forked_from": "c"})):
        ledger.answer("m", ledger.file(name, **fields))
    for name in ("y", "x"):
        ledger.answer("n", ledger.file(name))
    ledger.renew()
    assert ledger.spend().keys() == {"c", "x"}


def test_an_echo_pays_only_where_there_is_nothing_else() -> None:
    ledger = Ledger()
    ledger.answer("m", ledger.file("a"), EARLY, sidechain=2)
    ledger.answer("m", ledger.file("b"), LATE, sidechain=1)
    ledger.answer("n", ledger.file("c"), EARLY, sidechain=2)
    ledger.renew()
    assert ledger.spend().keys() == {"b", "c"}


def test_a_message_without_a_time_is_paid_where_it_has_one() -> None:
    ledger = Ledger()
    ledger.answer("m", ledger.file("a"), "")
    ledger.answer("m", ledger.file("b"), LATE)
    ledger.renew()
    assert ledger.spend().keys() == {"b"}


def test_files_that_are_gone_still_count() -> None:
    ledger = Ledger()
    ledger.answer("m", ledger.file("a", gone=1), output_tokens=7)
    ledger.renew()
    assert ledger.spend()["a"].output == 7


def test_the_file_of_a_sub_agent_is_paid_by_its_session() -> None:
    ledger = Ledger()
    ledger.answer("m", ledger.file("a"), output_tokens=7)
    ledger.answer("n", ledger.file("a/agent", "a", kind="agent"), output_tokens=5, sidechain=1)
    ledger.renew()
    assert ledger.spend()["a"].output == 12


def test_cost_is_exact_and_what_the_cache_saved_counts_the_dearer_writes() -> None:
    ledger = Ledger()
    counts: dict[str, Any] = {
        "input_tokens": 12,
        "output_tokens": 1850,
        "cache_read_input_tokens": 96_400,
        "web_searches": 2,
    }
    writes: dict[str, Any] = {"cache_creation_input_tokens": 3310, "cache_creation_1h": 2310}
    ledger.answer("m", ledger.file("a"), **counts, **writes)
    ledger.renew()
    found = ledger.spend()["a"]
    assert found.cost == 137_610_000_000 + 6_250_000_000  # the example of docs/prices.md, and a thousand for 5 minutes
    assert (found.cache_write_5m, found.cache_write_1h) == (1000, 2310)
    plain = (96_400 + 3310) * 5_000_000
    assert found.saved == plain - (96_400 * 500_000 + 1000 * 6_250_000 + 2310 * 10_000_000)
    assert found.unpriced == 0


def test_costs_beyond_what_sqlite_can_store_are_limited() -> None:
    ledger = Ledger()
    made_up: dict[str, Any] = {"output_tokens": 10**15, "cache_read_input_tokens": 10**15}
    for number, name in enumerate("abc"):
        ledger.answer(f"m{number}", ledger.file(name), **made_up)
        ledger.answer(f"n{number}", ledger.file(f"{name}/agent", name, kind="agent"), **made_up)
    ledger.renew()
    found = ledger.spend()
    assert {usage.output for usage in found.values()} == {2 * 10**15}
    assert {usage.cost for usage in found.values()} == {1 << 62}
    whole = sum_spend(ledger.db, SpendFilter())
    assert (whole.output, whole.cost) == (6 * 10**15, (1 << 63) - 1)
    assert build_usage_report(ledger.db, UsageRequest("daily", zone=TimeZone("UTC"))).total.cost > 0


def test_tokens_without_a_known_price_are_unpriced_and_never_free() -> None:
    ledger = Ledger()
    file = ledger.file("a")
    ledger.answer("m", file, model="claude-opus-5000", input_tokens=1, output_tokens=2, cache_read_input_tokens=3)
    ledger.answer("n", file, model=None, cache_creation_input_tokens=4)
    ledger.answer("o", file, model="claude-sonnet-4-5", output_tokens=100, terms="fast||")
    ledger.answer("p", file, output_tokens=10)
    ledger.renew()
    found = ledger.spend()["a"]
    assert (found.unpriced, found.cost) == (110, 10 * 25_000_000)


@pytest.mark.parametrize(
    ("terms", "tenths"), [(None, 10), ("fast||", 20), ("|batch|", 5), ("||us", 11), ("|priority|", 10), ("?", 10)]
)
def test_the_terms_of_a_request_change_its_price(terms: str | None, tenths: int) -> None:
    ledger = Ledger()
    ledger.answer("m", ledger.file("a"), output_tokens=1000, terms=terms)
    ledger.renew()
    assert ledger.spend()["a"].cost == 2_500_000_000 * tenths


def test_a_long_prompt_has_its_own_price_and_is_one_row_with_the_others() -> None:
    ledger = Ledger()
    file = ledger.file("a")
    ledger.answer("m", file, model="claude-sonnet-4-5", input_tokens=200_001, output_tokens=10)
    ledger.answer("n", file, "2026-11-03T10:30:00.000Z", model="claude-sonnet-4-5", input_tokens=200_000)
    ledger.renew()
    ((*_,),) = ledger.rows()
    found = ledger.spend()["a"]
    assert found.cost == 200_001 * 6_000_000 + 10 * 22_500_000 + 200_000 * 3_000_000
    assert (found.messages, found.first, found.last) == (2, 1_793_700_000, 1_793_701_800)


def test_each_request_of_a_message_has_the_tier_of_its_own_prompt() -> None:
    ledger = Ledger()
    requests = "200001,1,0,0,0;150000,2,0,0,0"
    ledger.answer(
        "m", ledger.file("a"), model="claude-sonnet-4-5", input_tokens=350_001, output_tokens=3, requests=requests
    )
    ledger.renew()
    found = ledger.spend()["a"]
    assert found.cost == 200_001 * 6_000_000 + 22_500_000 + 150_000 * 3_000_000 + 2 * 15_000_000
    assert (found.messages, found.input, found.output, found.final) == (1, 350_001, 3, 1)


def test_a_tier_that_was_given_up_holds_for_requests_before_that_day() -> None:
    ledger = Ledger()
    for name, time in (("a", "2026-03-12T10:00:00.000Z"), ("b", "2026-03-14T10:00:00.000Z")):
        ledger.answer(name, ledger.file(name), time, model="claude-sonnet-4-6", input_tokens=300_000)
    ledger.renew()
    assert [ledger.spend()[name].cost for name in "ab"] == [300_000 * 6_000_000, 300_000 * 3_000_000]


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({}, "final"),
        ({"stopped": False}, "partial"),
        ({"stopped": False, "sidechain": 1}, "placeholder"),
        ({"stopped": False, "version": "2.1.29"}, "placeholder"),
        ({"stopped": False, "version": "2.0.76", "output_tokens": 9}, "final"),
        ({"lowest": -1}, "missing"),
    ],
)
def test_messages_are_counted_by_quality(fields: dict[str, Any], expected: str) -> None:
    ledger = Ledger()
    ledger.answer("m", ledger.file("a"), **fields)
    ledger.renew()
    found = ledger.spend()["a"]
    counts = {name: getattr(found, name) for name in ("final", "partial", "placeholder", "missing")}
    assert counts == {name: int(name == expected) for name in counts}


def test_only_messages_without_a_final_count_are_estimated_and_only_upwards() -> None:
    ledger = Ledger()
    file = ledger.file("a")
    ledger.answer("m", file, output_tokens=1, letters=1000)
    ledger.answer("n", file, output_tokens=1, lowest=1, letters=1000, stopped=False)
    ledger.answer("o", file, output_tokens=900, lowest=900, letters=1000, stopped=False)
    ledger.renew()
    found = ledger.spend()["a"]
    assert (found.estimate, found.output) == (399, 902)


@pytest.mark.parametrize(
    ("time", "hour"),
    [
        ("2026-11-03T10:59:59.999Z", 498_250),
        ("2026-11-03T11:00:00.000Z", 498_251),
        ("2026-11-03T12:30:00+01:30", 498_251),
        ("Tue, 03 Nov 2026 11:00:00 GMT", 498_251),
        ("now", -1),
        ("2460000.5", -1),
        ("2026-11-33T10:00:00.000Z", -1),
        ("1969-12-31T10:00:00.000Z", -1),
        ("", -1),
    ],
)
def test_a_message_belongs_to_the_hour_in_which_it_ended_whatever_form_its_time_has(time: str, hour: int) -> None:
    ledger = Ledger()
    ledger.answer("m", ledger.file("a"), "2026-11-03T08:00:00.000Z", last=time)
    ledger.renew()
    assert [row[0] for row in ledger.rows()] == [hour]


def test_the_sessions_that_a_message_touches_are_all_that_have_a_copy() -> None:
    ledger = Ledger()
    for name in "abc":
        ledger.file(name)
    ledger.answer("m'\"\u2028", 1)
    ledger.answer("m'\"\u2028", 2)
    ledger.answer("n", 3)
    found = find_stale_spend(ledger.db, ["m'\"\u2028", "unknown"])
    assert found.sessions == {ledger.session("a"), ledger.session("b")}
    assert find_stale_spend(ledger.db, []) == StaleSpend()


@pytest.mark.parametrize(
    ("times", "since"),
    [
        (["2026-11-03T10:59:00.000Z", "2026-11-03T11:00:00.000Z"], "2026-11-03T10:00:00.000Z"),
        (["2026-11-03T10:59:00.000Z", ""], None),
        (["2026-11-03T10:59:00.000Z", "2026-19-39T10:59:00.000Z"], None),
        (["yesterday"], None),
    ],
)
def test_rows_are_stale_from_the_first_hour_of_a_message_on(times: list[str], since: str | None) -> None:
    ledger = Ledger()
    file = ledger.file("a")
    for number, time in enumerate(times):
        ledger.answer(f"m{number}", file, time, last="2026-11-05T10:00:00.000Z")
    found = find_stale_spend(ledger.db, [f"m{number}" for number in range(len(times))])
    assert found.since == (UNKNOWN_HOUR if since is None else to_epoch_seconds(since) // 3600)


def test_hours_before_the_stale_ones_are_not_looked_at() -> None:
    ledger = Ledger()
    file = ledger.file("a")
    ledger.answer("m", file, EARLY, output_tokens=1)
    ledger.answer("n", file, LATE, output_tokens=2)
    ledger.answer("o", file, EARLY, last="3 Nov 2026 23:00:00 GMT", output_tokens=4)
    ledger.renew()
    ledger.db.execute("UPDATE answer SET output = output * 10")
    ledger.renew(["a"], to_epoch_seconds(LATE) // 3600)
    assert ledger.spend()["a"].output == 1 + 20 + 40, "what is not written as usual may be of any hour"


answers = st.lists(
    st.tuples(
        st.sampled_from("klmn"),
        st.integers(1, 4),
        st.sampled_from([EARLY, LATE, "", "2026-11-04T10:00:00.000Z"]),
        st.integers(0, 9),
        st.sampled_from([OPUS, "claude-haiku-4-5", "other"]),
    ),
    unique_by=lambda row: row[:2],
    max_size=12,
)


def fill_ledger(rows: list[tuple[str, int, str, int, str]]) -> Ledger:
    ledger = Ledger()
    for name in ("a", "b", "c"):
        ledger.file(name)
    ledger.file("a/agent", "a", kind="agent")
    for key, file, time, output, model in rows:
        ledger.answer(key, file, time, output_tokens=output, model=model)
    return ledger


@given(answers, answers)
def test_renewing_what_a_change_touches_gives_what_renewing_all_gives(
    before: list[tuple[str, int, str, int, str]], after: list[tuple[str, int, str, int, str]]
) -> None:
    ledger = fill_ledger(before)
    ledger.renew()
    first = find_stale_spend(ledger.db, {row[0] for row in before})
    ledger.db.execute("DELETE FROM answer")
    for key, file, time, output, model in after:
        ledger.answer(key, file, time, output_tokens=output, model=model)
    second = find_stale_spend(ledger.db, {row[0] for row in after})
    if hours := [stale.since for stale in (first, second) if stale.since is not None]:
        sessions = first.sessions | second.sessions
        ledger.renew([name for name in "abc" if ledger.session(name) in sessions], min(hours))
    whole = fill_ledger(after)
    whole.renew()
    assert sorted(map(str, ledger.spend().items())) == sorted(map(str, whole.spend().items()))


@given(answers)
def test_every_message_is_paid_once(rows: list[tuple[str, int, str, int, str]]) -> None:
    ledger = fill_ledger(rows)
    ledger.renew()
    assert sum(found.messages for found in ledger.spend().values()) == len({row[0] for row in rows})
    most = {key: max(row[3] for row in rows if row[0] == key) for key, *_ in rows}
    assert sum(found.output for found in ledger.spend().values()) == sum(most.values())


def test_other_prices_renew_all_sessions() -> None:
    ledger = Ledger()
    ledger.answer("m", ledger.file("a"), output_tokens=7)
    ledger.file("b")
    assert not price_mark.is_spend_current(ledger.db)
    assert price_mark.read_price_date(ledger.db) is None
    ledger.renew(["b"])  # nothing was ever added up, so all is
    assert ledger.spend().keys() == {"a"}
    assert price_mark.is_spend_current(ledger.db)
    assert price_mark.read_price_date(ledger.db) == load_price_table().date
    ledger.db.execute("UPDATE fact SET value = 'old' WHERE name = 'price_stamp'")
    assert price_mark.is_spend_current(ledger.db)  # the file has other bytes, the prices are the same
    ledger.db.execute("UPDATE fact SET value = 'old' WHERE name = 'prices'")
    assert not price_mark.is_spend_current(ledger.db)
    ledger.answer("n", 1, output_tokens=5)
    ledger.renew(["b"])
    assert ledger.spend()["a"].output == 12
