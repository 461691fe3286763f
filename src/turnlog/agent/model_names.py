"""Which model is asked: by its name, or by a short one that stands for the newest of a family."""

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
"""The API takes no less."""


def load_model_aliases(environ: Mapping[str, str]) -> dict[str, str]:
    """Models by their short names; the environment may name others (`ANTHROPIC_DEFAULT_OPUS_MODEL`)."""
    found: dict[str, tuple[tuple[int, int], str]] = {}
    for name in load_price_table().models:
        if match := _NUMBERED_MODEL_PATTERN.fullmatch(name):
            version = int(match[2]), int(match[3] or 0)
            found[match[1]] = max(found.get(match[1], ((0, 0), "")), (version, name))
    named = {family: environ.get(f"ANTHROPIC_DEFAULT_{family.upper()}_MODEL") for family in MODEL_FAMILIES}
    return {family: named[family] or found[family][1] for family in MODEL_FAMILIES if named[family] or family in found}


def choose_model(wishes: tuple[str | None, ...], known: Mapping[str, str]) -> str:
    """The model that the first of some wishes names."""
    wish = next((wish for wish in wishes if wish and wish != "default"), DEFAULT_FAMILY)
    return known.get(wish, wish)


def choose_small_model(environ: Mapping[str, str], known: Mapping[str, str]) -> str:
    """The model for side work."""
    return environ.get("ANTHROPIC_SMALL_FAST_MODEL") or known.get(SMALL_FAMILY, SMALL_FAMILY)


def get_max_output_tokens(name: str, environ: Mapping[str, str]) -> int:
    """How long one answer may be."""
    price = find_price(name)
    wish = _read_number(environ, "CLAUDE_CODE_MAX_OUTPUT_TOKENS") or _DEFAULT_MAX_OUTPUT_TOKENS
    return min(wish, price.max_output) if price and price.max_output else wish


def build_thinking_setting(most: int, environ: Mapping[str, str]) -> dict[str, object] | None:
    """How long a model may think (`MAX_THINKING_TOKENS`) before an answer of so many tokens; None: as it likes."""
    wish = _read_number(environ, "MAX_THINKING_TOKENS")
    budget = min(max(wish, _MIN_THINKING_TOKENS), most - 1) if wish else 0
    return {"type": "enabled", "budget_tokens": budget} if budget >= _MIN_THINKING_TOKENS else None


def _read_number(environ: Mapping[str, str], name: str) -> int:
    wish = environ.get(name, "")
    return int(wish) if wish.isascii() and wish.isdecimal() and len(wish) < 10 else 0
