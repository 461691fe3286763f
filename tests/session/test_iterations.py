"""The requests behind one message: which of them are in its sums, what each costs, and what fills the window."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.session.build import Build
from turnlog.entries.entry import CacheWrites, LineUsage, UsageIteration
from turnlog.session.message_usage import (
    compute_message_cost,
    compute_own_cost,
    count_context_tokens,
    list_billed_requests,
)
from turnlog.session.messages import Message
from turnlog.session.session import Session
from turnlog.session.usage.iterations import (
    NO_ITERATIONS,
    Iterations,
    SeparateRequest,
    divide_tokens,
    read_requests,
    split_iterations,
    write_requests,
)
from turnlog.session.usage.prices import PricedTokens

OPUS, FABLE, SONNET = "claude-opus-5", "claude-fable-5", "claude-sonnet-4-5"
MESSAGE = UsageIteration(1, 20, 300, type="message")
ADVICE = UsageIteration(500, 60, type="advisor_message", model=FABLE)


def split(*items: UsageIteration, model: str | None = OPUS) -> Iterations:
    return split_iterations(LineUsage(iterations=list(items)), model)


def build_iteration(given: int, output: int, read: int = 0, kind: str = "message", **fields: Any) -> dict[str, Any]:
    counts = {"input_tokens": given, "output_tokens": output, "cache_read_input_tokens": read}
    return {"type": kind, **counts, **fields}


def build_advised_session(*, model: str = OPUS, advisor: str = FABLE, **usage: Any) -> Session:
    """A message that asked an advisor: two requests of its own, one of the advisor's."""
    build = Build()
    build.prompt()
    own = (build_iteration(1, 10, 110_000), build_iteration(1, 20, 120_000))
    requests = [own[0], build_iteration(5_000, 600, kind="advisor_message", model=advisor), own[1]]
    counts = {"input_tokens": 2, "output_tokens": 30, "cache_read_input_tokens": 230_000, "iterations": requests}
    build.answer("Done.", id="m", model=model, usage=counts | usage)
    return build.session()


def only_message(session: Session) -> Message:
    (message,) = session.messages
    return message


# -- telling requests apart


@pytest.mark.parametrize("items", [(), (MESSAGE,), (UsageIteration(1, 2, type="message", model="claude-opus-5[1m]"),)])
def test_one_request_of_the_messages_own_model_is_the_message(items: tuple[UsageIteration, ...]) -> None:
    assert split(*items) == NO_ITERATIONS


def test_an_advisors_answer_is_separate_and_known_by_its_place() -> None:
    found = split(MESSAGE, ADVICE, MESSAGE)
    assert found.own == (PricedTokens(1, 20, 300), PricedTokens(1, 20, 300))
    assert found.separate == (SeparateRequest(1, "advisor_message", FABLE, PricedTokens(500, 60)),)


def test_a_compaction_is_separate_and_of_the_messages_model() -> None:
    (found,) = split(UsageIteration(900, 30, type="compaction"), MESSAGE).separate
    assert (found.kind, found.model) == ("compaction", OPUS)


def test_a_separate_request_may_stand_alone() -> None:
    assert split(ADVICE) == Iterations((), (SeparateRequest(0, "advisor_message", FABLE, PricedTokens(500, 60)),))


def test_an_attempt_of_another_model_is_billed_if_it_said_something() -> None:
    attempt = UsageIteration(7, 9, type="message", model=FABLE)
    served = UsageIteration(1, 20, type="fallback_message", model=OPUS)
    assert [item.model for item in split(attempt, served).separate] == [FABLE]
    silent = UsageIteration(7, 0, type="message", model=FABLE)
    assert split(silent, served).separate == ()


def test_an_advisor_that_said_nothing_has_read_all_the_same_and_one_without_counts_is_left_out() -> None:
    assert split(MESSAGE, UsageIteration(500, 0, type="advisor_message", model=FABLE)).separate
    assert not split(MESSAGE, UsageIteration(type="advisor_message", model=FABLE)).separate


def test_a_model_that_is_not_known_to_differ_is_the_messages_own() -> None:
    assert split(UsageIteration(1, 2, type="message", model=FABLE), MESSAGE, model=None).separate == ()


def test_numbers_that_no_request_can_have_are_no_counts() -> None:
    odd = UsageIteration(10**9, -5, None, 7, CacheWrites(2, 3), "advisor_message", FABLE)
    assert split(odd).separate[0].tokens == PricedTokens(0, 0, 0, 4, 3)


# -- a message of several requests


def test_the_sums_of_a_message_leave_the_advisor_out_and_usage_does_not() -> None:
    session = build_advised_session()
    assert only_message(session).tokens == PricedTokens(2, 30, 230_000)
    usage = session.usage
    assert (usage.input_tokens, usage.output_tokens, usage.cache_read_input_tokens) == (5_002, 630, 230_000)
    assert usage.quality["final"] == 2


def test_each_request_has_the_price_of_its_own_model() -> None:
    message = only_message(build_advised_session())
    own = 2 * 5e-6 + 30 * 25e-6 + 230_000 * 0.5e-6
    assert compute_own_cost(message).usd == pytest.approx(own)
    assert compute_message_cost(message).usd == pytest.approx(own + 5_000 * 10e-6 + 600 * 50e-6)


def test_each_request_has_the_tier_of_its_own_prompt() -> None:
    message = only_message(build_advised_session(model=SONNET))
    assert compute_own_cost(message).usd == pytest.approx(2 * 3e-6 + 30 * 15e-6 + 230_000 * 0.3e-6)


def test_a_message_with_an_advisor_without_a_price_is_unpriced_and_its_own_tokens_are_not() -> None:
    session = build_advised_session(advisor="somebody/else")
    assert compute_message_cost(only_message(session)).pico is None
    assert compute_own_cost(only_message(session)).pico
    assert session.usage.unpriced_tokens == 5_600


def test_the_advisor_is_one_of_the_models() -> None:
    assert build_advised_session().models == [OPUS, FABLE]


def test_an_advisor_does_not_answer_fast_because_the_message_does() -> None:
    kinds = {
        item.kind: item.terms
        for item in list_billed_requests(only_message(build_advised_session(speed="fast", inference_geo="us")))
    }
    assert (kinds["message"].speed, kinds["advisor_message"].speed) == ("fast", None)
    assert kinds["advisor_message"].geo == "us"


def test_the_window_is_filled_by_the_last_request_not_by_their_sum() -> None:
    session = build_advised_session()
    assert count_context_tokens(only_message(session)) == 120_001
    assert [fill.tokens for fill in session.context] == [120_001]


def test_a_last_request_without_a_prompt_leaves_the_sum() -> None:
    requests = [build_iteration(1, 10, 40), build_iteration(0, 20)]
    assert count_context_tokens(only_message(build_advised_session(iterations=requests))) == 230_002


def test_cache_writes_are_split_as_all_requests_together_say() -> None:
    first: dict[str, Any] = {"cache_creation_input_tokens": 100, "cache_creation": {"ephemeral_5m_input_tokens": 100}}
    second: dict[str, Any] = {"cache_creation_input_tokens": 500, "cache_creation": {"ephemeral_1h_input_tokens": 500}}
    requests = [build_iteration(1, 10, **first), build_iteration(1, 20, **second)]
    usage = build_advised_session(iterations=requests, **(first | {"cache_creation_input_tokens": 600})).usage
    assert (usage.cache_creation_5m, usage.cache_creation_1h) == (100, 500)


def test_lines_that_list_more_of_a_request_are_believed() -> None:
    build = Build()
    for output in (1, 60):
        advice = build_iteration(500, output, kind="advisor_message", model=FABLE)
        build.answer("a", id="m", usage=build_iteration(1, 2) | {"iterations": [build_iteration(1, 2), advice]})
    build.answer("b", id="m", usage=build_iteration(1, 2))
    (found,) = only_message(build.session()).separate_requests
    assert found.tokens.output == 60


# -- arithmetic

counts = st.integers(0, 1000)
tokens = st.builds(PricedTokens, counts, counts, counts, counts, counts, web_searches=st.just(0))


@given(tokens, st.lists(tokens, max_size=4))
def test_dividing_a_message_loses_and_adds_nothing(whole: PricedTokens, own: list[PricedTokens]) -> None:
    assert PricedTokens(*map(sum, zip(*divide_tokens(whole, own), strict=True))) == whole


@given(st.lists(tokens, max_size=4))
def test_requests_are_read_as_they_were_written(own: list[PricedTokens]) -> None:
    assert read_requests(write_requests(own)) == own
