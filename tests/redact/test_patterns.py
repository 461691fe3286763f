"""A user's own patterns: what they find, and why some are refused."""

from __future__ import annotations

import pytest

from turnlog.errors import UsageError
from turnlog.redact.redactor import Redactor
from turnlog.redact.rules import SecretRules
from turnlog.redact.user_patterns import MAX_PIECE_CHARS, UserPattern, parse_user_patterns


def test_a_pattern_has_its_own_marks() -> None:
    redactor = Redactor(SecretRules(patterns=parse_user_patterns(["ticket=ACME-[0-9]+", "host=(?i)db[0-9]+\\.corp"])))
    assert redactor.redact_text("ACME-12 and acme-12 on DB7.corp") == "[secret:ticket:1] and acme-12 on [secret:host:1]"


def test_a_group_called_secret_is_what_goes() -> None:
    redactor = Redactor(SecretRules(patterns=[UserPattern("pin", r"pin (?P<secret>[0-9]{4})\b")]))
    assert redactor.redact_text("pin 1234, pin 12345") == "pin [secret:pin:1], pin 12345"


def test_a_pattern_is_found_in_long_lines() -> None:
    redactor = Redactor(SecretRules(patterns=[UserPattern("ticket", "ACME-[0-9]+")]))
    text = "x" * (MAX_PIECE_CHARS - 3) + " ACME-1234 " + "y" * MAX_PIECE_CHARS + " ACME-1234"
    assert redactor.redact_text(text) == text.replace("ACME-1234", "[secret:ticket:1]")


@pytest.mark.parametrize(
    "expression",
    [
        "(a+)+$",
        "(a*)*b",
        "(?:a|aa)+$",
        "([a-z]+,)*x",
        r"(\w+\s?)*x",
        r"(a)\1+b",
        ".*.*.*.*x",
        "(x+x+)+y",
        "(?:(?:a{1,99}))*b",
    ],
)
def test_an_expression_that_may_take_for_ever_is_refused(expression: str) -> None:
    with pytest.raises(UsageError, match="can take forever"):
        UserPattern("x", expression)


@pytest.mark.parametrize(
    "expression", ["a+b+", r"\b[A-Z]{2}[0-9]{4,8}\b", "(?:ab|cd)ef*", r"(?>a+)+b", r"(?:\w++ )++x", "(?=a)b?c"]
)
def test_an_expression_that_can_not_is_taken(expression: str) -> None:
    assert UserPattern("x", expression).names == ("x",)


@pytest.mark.parametrize(
    ("word", "reason"),
    [
        ("x=(", "not a valid regular expression"),
        ("x=a*", "an empty string"),
        ("x=" + "a" * 501, "longer than 500"),
        ("no expression", "NAME=EXPRESSION"),
        ("Big Name=a", "lowercase letters"),
        ("=a", "lowercase letters"),
    ],
)
def test_a_wrong_pattern_is_refused_with_its_reason(word: str, reason: str) -> None:
    with pytest.raises(UsageError, match=reason):
        parse_user_patterns([word])


def test_an_unknown_rule_is_refused_with_the_names_there_are() -> None:
    with pytest.raises(UsageError, match=r"unknown rule 'gihub'; choose from .*github"):
        SecretRules(without=["gihub"])
