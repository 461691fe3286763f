"""How much a model thinks: the fields of a request, by model and choice."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnlog.agent.thinking_choice import EFFORT_LEVELS, ThinkingChoice, build_thinking_fields, choose_thinking
from turnlog.cli.chat import options

ADAPTIVE = {"type": "adaptive", "display": "omitted"}
DISABLED = {"type": "disabled"}
OFF = ThinkingChoice(budget=0)


def budget(tokens: int) -> dict[str, Any]:
    return {"type": "enabled", "budget_tokens": tokens, "display": "omitted"}


# The first rows are what Claude Code 2.1.325 sends (tests/agent/interop/test_thinking.py asks it).
@pytest.mark.parametrize(
    ("model", "choice", "thinking", "effort"),
    [
        ("claude-opus-5-5", ThinkingChoice(), ADAPTIVE, "medium"),
        ("claude-haiku-5-5", OFF, ADAPTIVE, "medium"),
        ("claude-opus-5-5", ThinkingChoice("max", 4000), ADAPTIVE, "max"),
        ("claude-opus-4-8", ThinkingChoice(), ADAPTIVE, "high"),
        ("claude-sonnet-4-6", OFF, DISABLED, "high"),
        ("claude-opus-4-5", ThinkingChoice(), budget(31_999), "high"),
        ("claude-sonnet-4-5", ThinkingChoice("low"), budget(31_999), None),
        ("claude-sonnet-4-5", ThinkingChoice(budget=4000), budget(4000), None),
        ("claude-haiku-4-5", OFF, DISABLED, None),
        ("claude-sonnet-4-5", ThinkingChoice(budget=7), budget(1024), None),
        ("claude-sonnet-4-5", ThinkingChoice(budget=90_000), budget(31_999), None),
        ("claude-3-5-haiku", ThinkingChoice("high"), None, None),
        ("my-own-model", ThinkingChoice(), None, None),
        ("my-own-model", ThinkingChoice(budget=2000), {"type": "enabled", "budget_tokens": 2000}, None),
        ("us.anthropic.claude-sonnet-4-5-20250929-v1:0", ThinkingChoice(budget=2000), budget(2000), None),
    ],
)
def test_each_generation_gets_the_fields_it_understands(
    model: str, choice: ThinkingChoice, thinking: dict[str, Any] | None, effort: str | None
) -> None:
    fields = build_thinking_fields(model, 32_000, choice)
    assert fields.thinking == thinking
    assert fields.extra.get("output_config", {}).get("effort") == effort
    assert ("effort-2025-11-24" in fields.betas) is (effort is not None)


def test_summaries_are_returned_where_they_are_asked_for() -> None:
    fields = build_thinking_fields("claude-opus-5-5", 32_000, ThinkingChoice(is_shown=True))
    assert fields.thinking == {"type": "adaptive", "display": "summarized"}


def test_an_answer_with_no_room_for_thinking_has_none() -> None:
    assert build_thinking_fields("claude-sonnet-4-5", 900, ThinkingChoice()).thinking == DISABLED


@given(
    st.sampled_from(["claude-opus-5-5", "claude-opus-4-5", "claude-sonnet-4-5", "claude-3-7-sonnet", "x"]),
    st.integers(1, 200_000),
    st.none() | st.integers(0, 300_000),
)
def test_a_budget_is_always_one_that_the_api_accepts(model: str, most: int, wanted: int | None) -> None:
    thinking: dict[str, Any] = build_thinking_fields(model, most, ThinkingChoice(budget=wanted)).thinking or {}
    if thinking.get("type") == "enabled":
        assert 1024 <= thinking["budget_tokens"] < most


@pytest.mark.parametrize(
    ("environ", "given_values", "expected"),
    [
        ({}, {}, ThinkingChoice()),
        ({"MAX_THINKING_TOKENS": "0"}, {}, ThinkingChoice(budget=0)),
        ({"MAX_THINKING_TOKENS": "much"}, {}, ThinkingChoice()),
        ({"MAX_THINKING_TOKENS": "5000"}, {"budget": 100}, ThinkingChoice(budget=100)),
        ({}, {"is_enabled_setting": False}, ThinkingChoice(budget=0)),
        ({"MAX_THINKING_TOKENS": "5000"}, {"is_enabled_setting": False}, ThinkingChoice(budget=5000)),
        ({"MAX_THINKING_TOKENS": "0"}, {"is_enabled_setting": False, "is_forced": True}, ThinkingChoice()),
        ({"CLAUDE_CODE_EFFORT_LEVEL": "high"}, {"effort_setting": "low"}, ThinkingChoice("high")),
        ({"CLAUDE_CODE_EFFORT_LEVEL": "high"}, {"effort": "max"}, ThinkingChoice("max")),
        ({"CLAUDE_CODE_EFFORT_LEVEL": "nonsense"}, {"effort_setting": "low"}, ThinkingChoice("low")),
    ],
    ids=str,
)
def test_options_take_precedence_over_the_environment_and_settings(
    environ: dict[str, str], given_values: dict[str, Any], expected: ThinkingChoice
) -> None:
    unset: dict[str, Any] = {"effort": None, "budget": None, "effort_setting": None, "is_enabled_setting": None}
    assert choose_thinking(environ, **{**unset, **given_values}, is_shown=False) == expected


def test_the_command_line_offers_all_levels() -> None:
    assert options.EFFORT_LEVELS == EFFORT_LEVELS
