"""How much a model thinks: the fields of a request that Claude Code 2.1.325 sends for each generation of models.

    generation        thinking                                effort
    5 and newer       adaptive; it can't be turned off        medium by default
    4.6 to 4.9        adaptive, unless it is turned off       high by default
    Opus 4.5          a budget, unless it is turned off       high by default
    3.7 to 4.5        a budget, unless it is turned off       none
    others            none                                    only if it is set

`MAX_THINKING_TOKENS`, `--max-thinking-tokens` and the setting `alwaysThinkingEnabled` set the budget or turn thinking
off. `--effort`, `CLAUDE_CODE_EFFORT_LEVEL` and the setting `effortLevel` set the effort. For a name that only a gateway
knows, Claude Code sends adaptive thinking; turnlog sends none, because not every server accepts it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from turnlog.session.usage.prices import parse_model_name

EFFORT_LEVELS = ("low", "medium", "high", "xhigh", "max")
EFFORT_BETA = "effort-2025-11-24"
INTERLEAVED_THINKING_BETA = "interleaved-thinking-2025-05-14"
"""The beta that lets a model think between tool calls."""
_CONTEXT_MANAGEMENT_BETA = "context-management-2025-06-27"
_KEEP_THINKING: Mapping[str, Any] = {"edits": [{"type": "clear_thinking_20251015", "keep": "all"}]}
"""Makes the server keep the thinking of earlier turns, so that the prompt cache stays valid."""
_MIN_THINKING_TOKENS = 1024
"""The smallest budget that the API accepts."""
_VERSION_PATTERN = re.compile(r"claude-([a-z]+)-(\d+)(?:-(\d{1,2}))?")


class ThinkingChoice(NamedTuple):
    """What the person chose; None means the default for the model."""

    effort: str | None = None
    budget: int | None = None
    """The maximum number of thinking tokens in an answer; 0 turns thinking off."""
    is_shown: bool = False
    """Whether the server returns summaries of the thinking; otherwise, it returns only signatures."""


class ThinkingFields(NamedTuple):
    """The part of a request that is about thinking."""

    thinking: dict[str, Any] | None = None
    extra: Mapping[str, Any] = {}
    """Further fields of the body."""
    betas: tuple[str, ...] = ()


def build_thinking_fields(model: str, max_output_tokens: int, choice: ThinkingChoice) -> ThinkingFields:
    """Return the fields for a request to a model."""
    family, version = _parse_generation(model)
    thinking = _build_thinking(version, max_output_tokens, choice)
    effort = choice.effort or _get_default_effort(family, version)
    extra: dict[str, Any] = {}
    betas: list[str] = []
    if thinking is not None and thinking["type"] != "disabled":
        extra["context_management"] = _KEEP_THINKING
        betas += [INTERLEAVED_THINKING_BETA, _CONTEXT_MANAGEMENT_BETA]
    if effort and _knows_effort(family, version):
        extra["output_config"] = {"effort": effort}
        betas.append(EFFORT_BETA)
    return ThinkingFields(thinking, extra, tuple(betas))


def _parse_generation(model: str) -> tuple[str, tuple[int, int] | None]:
    """Return the family and version of a model; the version is None if the name has none."""
    match = _VERSION_PATTERN.fullmatch(parse_model_name(model).key)
    return (match[1], (int(match[2]), int(match[3] or 0))) if match else ("", None)


def _build_thinking(
    version: tuple[int, int] | None, max_output_tokens: int, choice: ThinkingChoice
) -> dict[str, Any] | None:
    if version is None or version < (3, 7):
        budget = _limit_budget(choice.budget or 0, max_output_tokens)
        return {"type": "enabled", "budget_tokens": budget} if budget else None
    display = "summarized" if choice.is_shown else "omitted"
    if choice.budget == 0 and version < (5, 0):
        return {"type": "disabled"}
    if version >= (4, 6):
        return {"type": "adaptive", "display": display}
    budget = _limit_budget(choice.budget or max_output_tokens, max_output_tokens)
    return {"type": "enabled", "budget_tokens": budget, "display": display} if budget else {"type": "disabled"}


def _limit_budget(wanted: int, max_output_tokens: int) -> int:
    """Return a budget that the API accepts, or 0 if there is no room for one."""
    budget = min(max(wanted, _MIN_THINKING_TOKENS), max_output_tokens - 1) if wanted else 0
    return budget if budget >= _MIN_THINKING_TOKENS else 0


def _get_default_effort(family: str, version: tuple[int, int] | None) -> str | None:
    if not _knows_effort(family, version):
        return None
    return "medium" if version is None or version >= (5, 0) else "high"


def _knows_effort(family: str, version: tuple[int, int] | None) -> bool:
    return version is not None and (version >= (4, 6) or (family == "opus" and version == (4, 5)))


def knows_effort(model: str) -> bool:
    """Return whether a model accepts an effort."""
    return _knows_effort(*_parse_generation(model))


def choose_thinking(
    environ: Mapping[str, str],
    *,
    effort: str | None,
    budget: int | None,
    effort_setting: str | None,
    is_enabled_setting: bool | None,
    is_shown: bool,
    is_forced: bool = False,
) -> ThinkingChoice:
    """Combine options, the environment and settings; the options take precedence, then the environment.

    With `is_forced`, neither the environment nor the settings limit the thinking.
    """
    named = (effort, environ.get("CLAUDE_CODE_EFFORT_LEVEL"), effort_setting)
    variable = environ.get("MAX_THINKING_TOKENS", "")
    if is_forced:
        variable, is_enabled_setting = "", None
    if budget is None and variable.isascii() and variable.isdecimal() and len(variable) < 10:
        budget = int(variable)
    if budget is None and is_enabled_setting is False:
        budget = 0
    return ThinkingChoice(next((one for one in named if one in EFFORT_LEVELS), None), budget, is_shown)
