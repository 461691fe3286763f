"""Which model is asked: by its name, or by a short one that stands for the newest of a family."""

from __future__ import annotations

import re
from collections.abc import Mapping

from turnlog.session.prices import lookup, table

FAMILIES = ("opus", "sonnet", "haiku")
USUAL = "sonnet"
SMALL = "haiku"
_NUMBERED = re.compile(r"claude-([a-z]+)-(\d+)(?:-(\d{1,2}))?")
_MOST_TOKENS = 32_000


def aliases(environ: Mapping[str, str]) -> dict[str, str]:
    """Models by their short names; the environment may name others (`ANTHROPIC_DEFAULT_OPUS_MODEL`)."""
    found: dict[str, tuple[tuple[int, int], str]] = {}
    for name in table().models:
        if match := _NUMBERED.fullmatch(name):
            version = int(match[2]), int(match[3] or 0)
            found[match[1]] = max(found.get(match[1], ((0, 0), "")), (version, name))
    named = {family: environ.get(f"ANTHROPIC_DEFAULT_{family.upper()}_MODEL") for family in FAMILIES}
    return {family: named[family] or found[family][1] for family in FAMILIES if named[family] or family in found}


def chosen(wishes: tuple[str | None, ...], known: Mapping[str, str]) -> str:
    """The model that the first of some wishes names."""
    wish = next((wish for wish in wishes if wish and wish != "default"), USUAL)
    return known.get(wish, wish)


def small(environ: Mapping[str, str], known: Mapping[str, str]) -> str:
    """The model for side work."""
    return environ.get("ANTHROPIC_SMALL_FAST_MODEL") or known.get(SMALL, SMALL)


def most_tokens(name: str, environ: Mapping[str, str]) -> int:
    """How long one answer may be."""
    wish = environ.get("CLAUDE_CODE_MAX_OUTPUT_TOKENS", "")
    if wish.isdecimal() and int(wish) > 0:
        return int(wish)
    price = lookup(name)
    return min(_MOST_TOKENS, price.max_output) if price and price.max_output else _MOST_TOKENS
