"""Titles of sessions: what is taken from the answer of a model."""

from __future__ import annotations

import pytest

from turnlog.agent.console.session_title import extract_title


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ("Price test failure", "Price test failure"),
        ('  "Price  test"\n\nmore', "Price test"),
        ('{"title": "Price test"}', "Price test"),
        ('{"title": null}', ""),
        ("{broken", ""),
        ("[1]", "[1]"),
        ("", ""),
        ("**Bold**", "Bold"),
        ("x" * 200, "x" * 79 + "…"),
    ],
)
def test_a_title_is_one_short_line(answer: str, expected: str) -> None:
    assert extract_title(answer) == expected
