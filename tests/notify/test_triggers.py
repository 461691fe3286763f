"""Which states are reported: each once, none lost, whatever the order in which they come."""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnlog.notify.triggers import (
    HOLD_SECONDS,
    Alert,
    AlertRules,
    SessionSnapshot,
    TriggerMachine,
    decode_records,
    encode_record,
)

COLUMNS = {
    "answering": "working",
    "running": "working",
    "waiting": "needs",
    "permission": "needs",
    "error": "needs",
    "finished": "idle",
    "interrupted": "idle",
}
ALL = AlertRules(work_seconds=60.0, context_percent=80, session_cost=5.0)


def snapshot(state: str, since: str | None = "t1", **more: object) -> SessionSnapshot:
    facts = {"column": COLUMNS[state], "words": f"{state} {since}", **more}
    return SessionSnapshot("/s.jsonl", "s", "A title", "/code", state=state, since=since, **facts)  # type: ignore[arg-type]


def restart(machine: TriggerMachine, rules: AlertRules = ALL) -> TriggerMachine:
    """The machine after the program was started again: it knows what was stored."""
    stored = [(path, encode_record(record)) for path, record in machine.records.items()]
    return TriggerMachine(rules, decode_records(stored))


def kinds(alerts: list[Alert]) -> list[str]:
    return [alert.kind for alert in alerts]


def test_an_inferred_state_is_reported_after_it_has_held_for_two_seconds() -> None:
    machine = TriggerMachine(ALL)
    assert machine.check_session(snapshot("permission"), 0.0) == []
    assert machine.check_session(snapshot("permission"), 1.9) == []
    assert kinds(machine.check_session(snapshot("permission"), 2.0)) == ["needs"]


def test_a_sure_state_is_reported_at_once() -> None:
    assert kinds(TriggerMachine(ALL).check_session(snapshot("waiting", is_sure=True), 0.0)) == ["needs"]


def test_a_state_that_passes_is_not_reported() -> None:
    machine = TriggerMachine(ALL)
    machine.check_session(snapshot("permission"), 0.0)
    machine.check_session(snapshot("running"), 1.0)
    assert machine.check_session(snapshot("permission", "t2"), 2.5) == []


def test_a_state_is_reported_once_however_long_it_holds() -> None:
    machine = TriggerMachine(ALL)
    found = [alert for second in range(100) for alert in machine.check_session(snapshot("error"), float(second))]
    assert kinds(found) == ["failed"]


def test_a_state_that_was_left_is_reported_again() -> None:
    machine = TriggerMachine(ALL)
    machine.check_session(snapshot("waiting", "t1", is_sure=True), 0.0)
    machine.check_session(snapshot("answering", "t2"), 1.0)
    assert kinds(machine.check_session(snapshot("waiting", "t3", is_sure=True), 1.5)) == ["needs"]


def test_a_clock_that_is_set_back_does_not_hold_a_report_back() -> None:
    machine = TriggerMachine(ALL)
    machine.check_session(snapshot("permission"), 1000.0)
    machine.check_session(snapshot("permission"), 10.0)
    assert kinds(machine.check_session(snapshot("permission"), 12.0)) == ["needs"]


def test_a_second_question_without_a_pause_is_reported() -> None:
    machine = TriggerMachine(ALL)
    machine.check_session(snapshot("waiting", "t1", is_sure=True), 0.0)
    assert kinds(machine.check_session(snapshot("waiting", "t2", is_sure=True), 0.5)) == ["needs"]


def test_the_same_question_in_other_words_is_not_reported_again() -> None:
    machine = TriggerMachine(ALL)
    machine.check_session(snapshot("permission", words="may be waiting"), 0.0)
    machine.check_session(snapshot("permission", words="may be waiting"), 2.0)
    assert machine.check_session(snapshot("waiting", words="waiting for you", is_sure=True), 3.0) == []


def test_an_inferred_state_that_flickers_is_reported_once() -> None:
    """The same call, judged in turn to be running and to wait."""
    machine = TriggerMachine(ALL)
    found = []
    for number in range(20):
        state = "permission" if number % 2 else "running"
        for part in range(5):
            found += machine.check_session(snapshot(state, "t1"), number * 5.0 + part)
    assert kinds(found) == ["needs"]


def test_a_restart_repeats_nothing() -> None:
    machine = TriggerMachine(ALL)
    machine.check_session(snapshot("waiting", is_sure=True), 0.0)
    machine = restart(machine)
    assert machine.check_session(snapshot("waiting", is_sure=True), 500.0) == []
    assert machine.check_session(snapshot("waiting", is_sure=True), 510.0) == []


def test_what_was_asked_while_nobody_looked_is_reported_after_a_restart() -> None:
    machine = TriggerMachine(ALL)
    machine.check_session(snapshot("waiting", "t1", words="a plan", is_sure=True), 0.0)
    machine = restart(machine)
    assert machine.check_session(snapshot("waiting", "t2", words="a plan"), 500.0) == []
    assert kinds(machine.check_session(snapshot("waiting", "t2", words="a plan"), 502.0)) == ["needs"]


def test_finishing_is_reported_only_after_enough_work() -> None:
    machine = TriggerMachine(ALL)
    machine.check_session(snapshot("running"), 0.0)
    machine.check_session(snapshot("finished"), 59.0)
    assert machine.check_session(snapshot("finished"), 62.0) == []
    machine.check_session(snapshot("running"), 100.0)
    machine.check_session(snapshot("finished", "t2"), 160.0)
    (alert,) = machine.check_session(snapshot("finished", "t2"), 162.0)
    assert (alert.kind, alert.work_seconds) == ("finished", 60.0)


@pytest.mark.parametrize(("state", "column"), [("ended", "ended"), ("background", "idle")])
def test_a_client_that_exits_or_leaves_commands_running_has_finished(state: str, column: str) -> None:
    machine = TriggerMachine(ALL)
    machine.check_session(snapshot("running"), 0.0)
    after = SessionSnapshot("/s.jsonl", "s", "A title", "/code", column, state, state, "t2", is_sure=True)
    machine.check_session(after, 70.0)
    assert kinds(machine.check_session(after, 72.0)) == ["finished"]
    assert machine.check_session(snapshot("finished", "t3"), 80.0) == []
    assert machine.check_session(snapshot("finished", "t3"), 90.0) == []


def test_sub_agents_in_the_background_are_work() -> None:
    machine = TriggerMachine(ALL)
    machine.check_session(snapshot("running"), 0.0)
    busy = SessionSnapshot("/s.jsonl", "s", "A title", "/code", "working", "background", "a sub-agent is working", "t2")
    machine.check_session(busy, 70.0)
    assert machine.check_session(busy, 80.0) == []


def test_waiting_for_a_person_is_not_work() -> None:
    machine = TriggerMachine(ALL)
    machine.check_session(snapshot("running"), 0.0)
    machine.check_session(snapshot("permission"), 20.0)
    machine.check_session(snapshot("permission"), 300.0)
    machine.check_session(snapshot("running"), 1000.0)
    machine.check_session(snapshot("finished"), 1030.0)
    assert machine.check_session(snapshot("finished"), 1035.0) == []


def test_work_before_and_after_a_permission_counts_together() -> None:
    machine = TriggerMachine(ALL)
    for state, time in (("running", 0), ("permission", 40), ("running", 500), ("finished", 540)):
        machine.check_session(snapshot(state), float(time))
    (alert,) = machine.check_session(snapshot("finished"), 545.0)
    assert alert.work_seconds == 80.0


def test_a_flicker_at_the_end_of_a_turn_does_not_lose_its_work() -> None:
    machine = TriggerMachine(ALL)
    for state, time in (("running", 0), ("finished", 90), ("answering", 90.4), ("finished", 91)):
        machine.check_session(snapshot(state), float(time))
    assert kinds(machine.check_session(snapshot("finished"), 93.0)) == ["finished"]


def test_work_continues_to_count_across_a_restart() -> None:
    machine = TriggerMachine(ALL)
    machine.check_session(snapshot("running"), 0.0)
    machine = restart(machine)
    machine.check_session(snapshot("finished"), 70.0)
    assert kinds(machine.check_session(snapshot("finished"), 72.0)) == ["finished"]


def test_work_that_ended_while_nobody_looked_ended_when_the_session_stopped() -> None:
    machine = TriggerMachine(ALL)
    machine.check_session(snapshot("running"), 1_000.0)
    machine = restart(machine)
    machine.check_session(snapshot("finished", "1970-01-01T00:18:20.000Z"), 90_000.0)
    (alert,) = machine.check_session(snapshot("finished", "1970-01-01T00:18:20.000Z"), 90_002.0)
    assert (alert.kind, alert.work_seconds) == ("finished", 100.0)


def test_a_session_that_only_lies_there_is_not_reported() -> None:
    machine = TriggerMachine(ALL)
    idle = snapshot("finished", context=99, window=100)
    assert machine.check_session(idle, 0.0, cost=50.0) + machine.check_session(idle, 10.0, cost=50.0) == []


def test_a_full_context_is_reported_once_and_again_after_it_was_emptied() -> None:
    machine = TriggerMachine(ALL)
    fills = (50, 79, 80, 85, 79, 81, 95, 20, 30, 82)
    found = [
        fill
        for time, fill in enumerate(fills)
        if machine.check_session(snapshot("running", context=fill * 1000, window=100_000), float(time))
    ]
    assert found == [80, 82]


def test_a_session_cost_is_reported_once() -> None:
    machine = TriggerMachine(ALL)
    costs = (None, 4.99, 5.0, 6.0, 12.0)
    alerts = [machine.check_session(snapshot("running"), float(time), cost=cost) for time, cost in enumerate(costs)]
    assert [alert.amount for found in alerts for alert in found] == [5.0]


def test_a_daily_cost_is_reported_once_a_day() -> None:
    machine = TriggerMachine(ALL)
    days = [("mon", 9.0), ("mon", 10.0), ("mon", 11.0), ("tue", 1.0), ("tue", 15.0), ("tue", 16.0)]
    found = [day for day, cost in days if machine.check_day(day, cost, 10.0)]
    assert found == ["mon", "tue"]
    assert restart(machine).check_day("tue", 17.0, 10.0) == []


def test_quiet_hours_postpone_what_still_holds_and_skip_what_passed() -> None:
    machine = TriggerMachine(ALL)
    for time in range(10):
        assert machine.check_session(snapshot("waiting"), float(time), is_quiet=True) == []
    assert kinds(machine.check_session(snapshot("waiting"), 11.0)) == ["needs"]
    machine.check_session(snapshot("running"), 20.0)
    machine.check_session(snapshot("error", "t2"), 30.0, is_quiet=True)
    machine.check_session(snapshot("error", "t2"), 40.0, is_quiet=True)
    assert machine.check_session(snapshot("running", "t3"), 50.0) == []


@pytest.mark.parametrize("kind", ["needs", "failed"])
def test_kinds_that_are_off_are_not_reported(kind: str) -> None:
    machine = TriggerMachine(AlertRules(kinds=frozenset({"finished"})))
    state = snapshot("error" if kind == "failed" else "waiting", is_sure=True)
    assert machine.check_session(state, 0.0) + machine.check_session(state, 9.0) == []


class Stay(NamedTuple):
    """A stay in a state: how long, and whether the program is restarted in it."""

    state: str
    seconds: float
    is_sure: bool
    restarts: bool


STAYS = st.lists(
    st.builds(
        Stay,
        st.sampled_from(sorted(COLUMNS)),
        st.sampled_from([0.3, 0.5, 1.5, 2.5, 6.0, 70.0]),
        st.booleans(),
        st.booleans(),
    ),
    max_size=15,
)


@given(STAYS)
def test_any_sequence_of_states_is_reported_without_loss_or_repeat(stays: list[Stay]) -> None:
    """Every stay of at least the holding time in a state that needs a person is reported, and each at most once."""
    rules = AlertRules(work_seconds=60.0)
    machine = TriggerMachine(rules)
    now = 0.0
    reported: list[tuple[str, str | None]] = []
    merged = [one for one, after in pairwise([*stays, None]) if after is None or one.state != after.state]  # type: ignore[union-attr]
    for number, stay in enumerate(filter(None, merged)):
        session = snapshot(stay.state, f"t{number}", is_sure=stay.is_sure)
        end = now + stay.seconds
        is_restarted = not stay.restarts
        while now <= end:
            alerts = machine.check_session(session, now)
            reported += [(alert.kind, session.since) for alert in alerts]
            if not is_restarted and now > end - stay.seconds / 2:
                machine, is_restarted = restart(machine, rules), True
            now += 0.5
        expected = "failed" if stay.state == "error" else "needs" if COLUMNS[stay.state] == "needs" else None
        # A restart in the middle starts the two seconds anew.
        held = stay.seconds / 2 - 0.5 if stay.restarts else stay.seconds
        if expected and (stay.is_sure or held > HOLD_SECONDS):
            assert (expected, session.since) in reported
    assert len(reported) == len(set(reported))


@given(STAYS)
def test_records_survive_storage_unchanged(stays: list[Stay]) -> None:
    machine = TriggerMachine(ALL)
    for number, stay in enumerate(stays):
        machine.check_session(snapshot(stay.state, f"t{number}", is_sure=stay.is_sure), number * 3.0)
    assert msgspec.to_builtins(restart(machine).records) == msgspec.to_builtins(machine.records)


def test_a_damaged_record_is_left_out() -> None:
    assert decode_records([("/a", b"{"), ("/b", b'{"worked": "x"}')]) == {}
