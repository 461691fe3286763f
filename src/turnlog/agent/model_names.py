"""Model names and their aliases, each of which stands for the newest model in a family."""

from __future__ import annotations

import re
from collections.abc import Mapping

from turnlog.session.usage.prices import find_price, load_price_table, parse_model_name

MODEL_FAMILIES = ("opus", "sonnet", "haiku")
DEFAULT_FAMILY = "sonnet"
SMALL_FAMILY = "haiku"
_NUMBERED_MODEL_PATTERN = re.compile(r"claude-([a-z]+)-(\d+)(?:-(\d{1,2}))?")
_DEFAULT_MAX_OUTPUT_TOKENS = 32_000


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
    limit = _read_number(environ, "CLAUDE_CODE_MAX_OUTPUT_TOKENS") or _get_default_max_output_tokens(name)
    return min(limit, price.max_output) if price and price.max_output else limit


def _get_default_max_output_tokens(name: str) -> int:
    """Return the limit that Claude Code 2.1.325 sends; models that think need more."""
    match = _NUMBERED_MODEL_PATTERN.fullmatch(parse_model_name(name).key)
    version = (int(match[2]), int(match[3] or 0)) if match else (0, 0)
    if version >= (5, 0):
        return 128_000
    return 64_000 if match and match[1] == "opus" and version >= (4, 6) else _DEFAULT_MAX_OUTPUT_TOKENS


def _read_number(environ: Mapping[str, str], name: str) -> int:
    value = environ.get(name, "")
    return int(value) if value.isascii() and value.isdecimal() and len(value) < 10 else 0
