"""The piece of a text that is shown."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnlog.store.search.query import parse_query
from turnlog.store.search.snippet import Snippet, TermFinder, build_snippet_around, fold_letters


def snippet(query: str, text: str, width: int = 160) -> Snippet:
    return TermFinder(parse_query(query).terms, width).build_snippet(text)


def list_marked_texts(query: str, text: str, width: int = 160) -> list[str]:
    found = snippet(query, text, width)
    return [found.text[start:end] for start, end in found.ranges]


@pytest.mark.parametrize(
    ("query", "text", "expected"),
    [
        ("user", "getUserName of user_id, users", ["User", "user"]),
        ("getUserName", "get_user_name getUserName getusername", ["get_user_name", "getUserName", "getusername"]),
        ("http", "parseHTTPHeader", ["HTTP"]),
        ("cafe", "das CAFÉ", ["CAFÉ"]),
        ("日本", "今日は日本語", ["日本"]),
        ("foo*", "football xfoo", ["foo"]),
        ('"cent rounding"', "cent\n  rounding, cent-rounding", ["cent rounding", "cent-rounding"]),
        ("foo.bar()", "foo.bar() foo bar", ["foo.bar", "foo bar"]),
        ("a -b", "a b", ["a"]),
    ],
)
def test_matches_are_marked_as_the_index_found_them(query: str, text: str, expected: list[str]) -> None:
    assert list_marked_texts(query, text) == expected


def test_the_window_with_most_of_the_words_is_shown() -> None:
    text = "alpha " + "x " * 300 + "alpha beta " + "y " * 300 + "beta"
    found = snippet("alpha beta", text, 60)
    assert (found.terms, list_marked_texts("alpha beta", text, 60)) == (2, ["alpha", "beta"])
    assert found.text.startswith("… ")
    assert found.text.endswith(" …")
    assert len(found.text) < 90


def test_what_is_there_as_typed_is_told_apart() -> None:
    assert snippet("Cart cent", "cart cent").exact == 1
    assert snippet("Cart cent", "Cart cent").exact == 2


def test_without_a_match_the_beginning_is_shown() -> None:
    assert snippet("zzz", "\n  hello   world\n") == Snippet("hello world")


def test_a_short_text_is_shown_whole_on_one_line() -> None:
    assert snippet("b", " a\n\tb \n") == Snippet("a b", ((2, 3),), 1, 1)


def test_colours_are_left_out() -> None:
    assert snippet("failed", "\x1b[31mfailed\x1b[0m").text.strip() == "failed"


def test_a_match_deep_in_a_long_text_is_found() -> None:
    found = snippet("needle", "hay " * 200_000 + "needle " + "hay " * 1000)
    assert found.terms == 1
    assert "needle" in found.text


def test_a_word_over_the_edge_of_two_pieces_is_found() -> None:
    assert snippet("needle", "x" * 39_997 + " needle ").terms == 1


def test_a_place_in_a_text_is_shown_with_what_is_around_it() -> None:
    text = "x " * 500 + "here" + " y" * 500
    found = build_snippet_around(text, (1000, 1004), 40)
    assert [found.text[start:end] for start, end in found.ranges] == ["here"]
    assert len(found.text) < 80


def test_a_place_as_long_as_the_text_is_cut() -> None:
    assert len(build_snippet_around("x" * 100_000, (0, 100_000), 40).text) < 200


@given(st.text(), st.text(st.sampled_from("ab c日é"), min_size=1, max_size=8))
def test_ranges_lie_in_the_text_one_after_the_other(text: str, query: str) -> None:
    found = snippet(f"a {query}", text)
    places = [place for span in found.ranges for place in span]
    assert places == sorted(places)
    assert all(0 <= place <= len(found.text) for place in places)
    assert "\n" not in found.text


@given(st.text())
def test_folding_keeps_the_length(text: str) -> None:
    assert len(fold_letters(text)) == len(text)


@given(st.text(st.characters() | st.sampled_from("aZ Éİßﬁ\u0301\u0345ΣςΩÅ漢が→")))
def test_a_text_is_folded_letter_by_letter(text: str) -> None:
    assert fold_letters(text) == "".join(map(fold_letters, text))
    assert len(fold_letters(text)) == len(text)
