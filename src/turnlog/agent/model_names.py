"""Model names and their aliases, each of which stands for the newest model in a family."""

from __future__ import annotations

import re
from collections.abc import Mapping

from turnlog.session.usage.prices import find_price, load_price_table

MODEL_FAMILIES = ("opus", "sonnet", "haiku")
DEFAULT_FAMILY = "sonnet"
SMALL_FAMILY = "haiku"
_NUMBERED_MODEL_PATTERN = re.compile(r"claude-([a-z]+)-(\d+)(?:-(\d{1,2}))?")
_DEFAULT_MAX_OUTPUT_TOKENS = 32_000
_MIN_THINKING_TOKENS = 1024
"""The smallest thinking budget that the API accepts."""


def load_model_aliases(environ: Mapping[str, str]) -> dict[str, str]:
    """Return model names by alias; the environment may override them (`ANTHROPIC_DEFAULT_OPUS_MODEL`)."""
    newest: dict[str, tuple[tuple[int, int], str]] = {}
    for name in load_price_table().models:
        if match := _NUMBERED_MODEL_PATTERN.fullmatch(name):
            version = int(match[2]), int(match[3] or 0)
            newest[match[1]] = max(newest.get(match[1], ((0, 0), "")), (version, name))
    overrides = {family: environ.get(f"ANTHROPIC_DEFAULT_{family.upper()}_MODEL") for family in MODEL_FAMILIES}
    return {
        family: overrides[family] or newest[family][1]
        for family in MODEL_FAMILIES
        if overrides[family] or family in newest
    }


def choose_model(names: tuple[str | None, ...], aliases: Mapping[str, str]) -> str:
    """Return the first name that is set, with aliases resolved."""
    name = next((name for name in names if name and name != "default"), DEFAULT_FAMILY)
    return aliases.get(name, name)


def choose_small_model(environ: Mapping[str, str], aliases: Mapping[str, str]) -> str:
    """Return the model that is used for side tasks."""
    return environ.get("ANTHROPIC_SMALL_FAST_MODEL") or aliases.get(SMALL_FAMILY, SMALL_FAMILY)


def get_max_output_tokens(name: str, environ: Mapping[str, str]) -> int:
    """Return the maximum length of an answer in tokens."""
    price = find_price(name)
    limit = _read_number(environ, "CLAUDE_CODE_MAX_OUTPUT_TOKENS") or _DEFAULT_MAX_OUTPUT_TOKENS
    return min(limit, price.max_output) if price and price.max_output else limit


def build_thinking_setting(max_output_tokens: int, environ: Mapping[str, str]) -> dict[str, object] | None:
    """Return the request's thinking setting (`MAX_THINKING_TOKENS`), or None to let the model decide."""
    wanted = _read_number(environ, "MAX_THINKING_TOKENS")
    budget = min(max(wanted, _MIN_THINKING_TOKENS), max_output_tokens - 1) if wanted else 0
    return {"type": "enabled", "budget_tokens": budget} if budget >= _MIN_THINKING_TOKENS else None


def _read_number(environ: Mapping[str, str], name: str) -> int:
    value = environ.get(name, "")
    return int(value) if value.isascii() and value.isdecimal() and len(value) < 10 else 0
