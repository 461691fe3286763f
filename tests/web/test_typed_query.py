"""How a query that somebody is still typing is completed."""

from __future__ import annotations

import pytest

from turnlog.web.search.typed_query import complete_typed_query


@pytest.mark.parametrize(
    ("typed", "completed"),
    [
        ("te", "te*"),
        ("cent round", "cent round*"),
        ("src/app/ma", "src/app/ma*"),
        ("日", "日*"),
        ('"cent rou', '"cent rou"*'),
        ("refund OR disc", "refund OR disc*"),
    ],
)
def test_the_last_word_matches_all_words_that_start_with_it(typed: str, completed: str) -> None:
    assert complete_typed_query(typed) == completed


@pytest.mark.parametrize(
    "typed",
    [
        "",
        "t",
        "te*",
        '"cent rounding"',
        "foo.bar()",
        "cent tool:Bash",
        "cent -roun",
        "cent NOT roun",
        "a OR",
        '"',
        'x "',
    ],
)
def test_a_query_that_does_not_end_with_a_wanted_word_stays_as_it_is(typed: str) -> None:
    assert complete_typed_query(typed).rstrip('"') == typed.rstrip('"')
    assert complete_typed_query(typed).count("*") == typed.count("*")
