"""Every form of a token is found, drawn at random from its own expression."""

from __future__ import annotations

import random
from re import _constants as ops  # type: ignore[attr-defined]
from re import _parser as parser  # type: ignore[attr-defined]
from typing import Any

import pytest

from turnlog.redact.redactor import Redactor
from turnlog.redact.token_forms import TOKEN_FORMS, TokenForm

_SPECIAL = {"discord", "jwt"}
"""Their tokens hold base64 of something, which chance does not give; `planted` has them."""


def draw(expression: str, source: random.Random) -> str:
    """Draw a text that an expression fits."""
    return _draw(parser.parse(expression), source)


def _draw(tree: Any, source: random.Random) -> str:
    return "".join(_piece(op, argument, source) for op, argument in tree)


def _piece(op: Any, argument: Any, source: random.Random) -> str:
    if op is ops.LITERAL:
        return chr(argument)
    if op is ops.IN:
        return source.choice([letter for part in argument for letter in _letters(*part)])
    if op in (ops.MAX_REPEAT, ops.POSSESSIVE_REPEAT):
        least, most, inner = argument
        count = source.randint(least, max(least, min(most, least + 30)))
        return "".join(_draw(inner, source) for _ in range(count))
    if op is ops.SUBPATTERN:
        return _draw(argument[3], source)
    if op is ops.BRANCH:
        return _draw(source.choice(argument[1]), source)
    assert op in (ops.ASSERT, ops.ASSERT_NOT), op
    return ""


def _letters(op: Any, argument: Any) -> list[str]:
    if op is ops.RANGE:
        return [*map(chr, range(argument[0], argument[1] + 1))]
    if op is ops.CATEGORY:
        return (
            [*"0123456789"] if argument is ops.CATEGORY_DIGIT else [*"abcdefghijklmnopqrstuvwxyzABCDEFGHIJ0123456789_"]
        )
    return [chr(argument)]


@pytest.mark.parametrize("form", TOKEN_FORMS, ids=lambda form: f"{form.name} {form.start}")
def test_a_token_of_each_form_is_found_and_named(form: TokenForm) -> None:
    if form.name in _SPECIAL:
        pytest.skip("it holds base64 of something")
    source = random.Random(form.start)
    found = 0
    for _ in range(20):
        start, rest = draw(form.start, source), draw(form.rest, source)
        redacted = Redactor().redact_text(f"I used {start}{rest} there")
        found += rest not in redacted and start + rest not in redacted
    assert found >= (10 if form.dashed else 15), "chance may draw dashes everywhere, or a word"
