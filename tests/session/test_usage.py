"""Tokens and cost of many messages."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.session.build import Build, find_recording
from turnlog.session.message_usage import compute_message_cost, sum_context_tokens, sum_usage
from turnlog.session.session import Session
from turnlog.session.usage.prices import PricedTokens


def build() -> Build:
    made = Build()
    made.answer("a", id="m1", usage={"input_tokens": 10, "output_tokens": 20, "cache_read_input_tokens": 30})
    made.answer("b", id="m2", model="somebody/else", usage={"input_tokens": 1, "output_tokens": 2})
    made.answer("c", id="m3")
    made.answer("d", id="m4", model="<synthetic>", usage={"input_tokens": 0, "output_tokens": 0})
    return made


def test_a_message_counts_once_though_it_is_given_twice() -> None:
    messages = build().session().messages
    assert sum_usage([*messages, *messages]) == sum_usage(messages)


def test_tokens_are_added_up_over_the_messages() -> None:
    found = build().session().usage
    assert (found.input_tokens, found.output_tokens, found.cache_read_input_tokens) == (11, 22, 30)


def test_cache_writes_are_the_sum_of_both_lifetimes() -> None:
    made = Build()
    split = {"ephemeral_5m_input_tokens": 5, "ephemeral_1h_input_tokens": 7}
    made.answer("a", usage={"cache_creation_input_tokens": 12, "cache_creation": split})
    found = made.session().usage
    assert (found.cache_creation_input_tokens, found.cache_creation_5m, found.cache_creation_1h) == (12, 5, 7)


def test_tokens_of_an_unknown_model_are_unpriced_and_cost_nothing_by_themselves() -> None:
    found = build().session().usage
    assert found.unpriced_tokens == 3
    alone = sum_usage(build().session().messages[1:2])
    assert (alone.cost_usd, alone.unpriced_tokens) == (0, 3)


def test_what_has_a_price_costs_something() -> None:
    assert build().session().usage.cost_usd == pytest.approx(10 * 5e-6 + 20 * 25e-6 + 30 * 0.5e-6)


def test_synthetic_messages_are_not_counted() -> None:
    assert build().session().usage.quality == {"final": 2, "partial": 0, "placeholder": 0, "missing": 1}


def test_a_message_without_usage_costs_nothing() -> None:
    assert compute_message_cost(build().session().messages[2]).pico == 0


def test_the_context_is_all_that_a_request_held() -> None:
    assert sum_context_tokens(PricedTokens(1, 99, 2, 3, 4, 99)) == 10


@pytest.mark.parametrize("version", ["1.0.128", "2.0.76", "2.1.29", "2.1.45", "2.1.325"])
def test_a_sessions_usage_holds_that_of_its_sub_agents(version: str, open_session: Callable[[Path], Session]) -> None:
    session = open_session(find_recording(f"{version}/agents"))
    own = sum_usage(session.messages)
    assert session.agents
    assert session.usage.output_tokens > own.output_tokens
    assert sum(session.usage.quality.values()) > sum(own.quality.values())


def test_the_filling_of_the_window_is_told_for_each_message_that_states_its_usage() -> None:
    first, second = build().session().context
    assert (first.message, first.tokens) == ("m1", 40)
    assert first.window is not None
    assert first.window >= 200_000
    assert (second.message, second.tokens, second.window) == ("m2", 1, None)
    assert first.time == "2026-01-01T10:01:00.000Z"
