"""The client's own totals, beside what the messages add up to."""

from __future__ import annotations

from typing import Any

import pytest

from tests.session.build import Build, genuine
from turnlog.render.client_totals import describe_client_totals
from turnlog.session.client_totals import ClientTotals, ModelTotals

MODEL = "claude-opus-5-5"
USAGE = {"input_tokens": 100, "output_tokens": 10, "cache_read_input_tokens": 1000, "cache_creation_input_tokens": 50}


def build_session(**fields: Any) -> Build:
    build = Build()
    build.prompt("hello", **fields)
    build.answer("hi", model=MODEL, usage=USAGE, **fields)
    return build


def add_totals(build: Build, model: str = MODEL, **counts: Any) -> None:
    usage = {"inputTokens": 100, "outputTokens": 10, "cacheReadInputTokens": 1000, "cacheCreationInputTokens": 50}
    cost = build.session().usage.cost_usd
    build.note("cost-state", totalCostUSD=1, modelUsage={model: {**usage, "costUSD": cost, **counts}})


def get_totals(build: Build) -> ClientTotals:
    totals = build.session().client_totals
    assert totals is not None
    return totals


def test_totals_that_equal_the_messages_confirm_them() -> None:
    build = build_session()
    add_totals(build, f"{MODEL}[1m]")
    assert get_totals(build).agreement == "equal"
    assert get_totals(build).is_confirmed
    assert [*describe_client_totals(get_totals(build))] == []


def test_a_request_without_a_message_is_the_difference() -> None:
    build = build_session()
    add_totals(build, inputTokens=5100, outputTokens=110)
    build.lines[-1]["modelUsage"]["claude-haiku-4-5-20251001"] = {"inputTokens": 7, "outputTokens": 3, "costUSD": 0.01}
    found = get_totals(build)
    assert (found.agreement, found.whole.counts) == ("more", (5107, 113, 1000, 50, 0))
    assert found.rest[MODEL].counts == (5000, 100, 0, 0, 0)
    assert found.rest["claude-haiku-4-5"] == ModelTotals(7, 3, 0, 0, 0, 0.01)
    assert [line.split(":")[0] for line in describe_client_totals(found)] == [
        "Requests without a message",
        "Requests without a message",
        "Client's own total",
    ]


def test_only_the_last_totals_count_and_only_for_the_messages_before_them() -> None:
    build = build_session()
    add_totals(build, inputTokens=1)
    add_totals(build, inputTokens=200)
    build.answer("later", model=MODEL, usage=USAGE)
    found = get_totals(build)
    assert (found.agreement, found.rest[MODEL].input, found.later_messages) == ("more", 100, 1)
    assert [*describe_client_totals(found)][-1].endswith("(without the last 1 message)")


def test_later_messages_leave_equal_totals_unconfirmed() -> None:
    build = build_session()
    add_totals(build)
    build.answer("later", model=MODEL, usage=USAGE)
    assert (get_totals(build).agreement, get_totals(build).is_confirmed) == ("equal", False)


@pytest.mark.parametrize("fields", [{"forkedFrom": {"sessionId": "x"}}, {"requestSessionId": "x"}])
def test_what_a_fork_carried_over_is_recognised(fields: dict[str, Any]) -> None:
    build = build_session(**fields)
    add_totals(build, inputTokens=5100)
    assert get_totals(build).agreement == "carried_over"
    assert next(describe_client_totals(get_totals(build))).startswith("Carried over by the fork")


def test_totals_that_began_anew_explain_nothing() -> None:
    build = build_session()
    add_totals(build, outputTokens=9, inputTokens=5100)
    found = get_totals(build)
    assert (found.agreement, found.rest) == ("less", {})
    assert len([*describe_client_totals(found)]) == 1


def test_messages_of_a_model_that_the_totals_do_not_have_are_not_covered() -> None:
    build = build_session()
    build.note("cost-state", modelUsage={})
    assert get_totals(build).agreement == "less"


def test_a_synthetic_answer_and_a_repeated_message_count_for_nothing() -> None:
    build = build_session()
    build.answer("again", id=build.lines[1]["message"]["id"], model=MODEL, usage=USAGE)
    build.answer("No response requested.", model="<synthetic>")
    add_totals(build)
    assert get_totals(build).is_confirmed


@pytest.mark.parametrize(
    "usage",
    [None, [], {MODEL: 5}, {MODEL: {"inputTokens": -1}}, {MODEL: {"outputTokens": "9"}}, {MODEL: {"inputTokens": True}}]
    + [{MODEL: {"costUSD": cost}} for cost in ("1", -1, True, 1e400)],
)
def test_totals_that_no_client_writes_are_ignored(usage: object) -> None:
    build = build_session()
    build.note("cost-state", modelUsage=usage)
    assert build.session().client_totals is None


def test_a_session_without_totals_has_none() -> None:
    assert build_session().session().client_totals is None
    assert [*describe_client_totals(None)] == []


def test_recorded_compactions_are_requests_without_a_message() -> None:
    totals = genuine("2.1.325/compact").client_totals
    assert totals is not None
    assert (totals.agreement, totals.whole.counts[:2]) == ("more", (28984, 1224))
    assert totals.rest[MODEL].counts == (14069, 123, 0, 0, 0)
    plain = genuine("2.1.325/plain").client_totals
    assert plain is not None
    assert plain.is_confirmed
