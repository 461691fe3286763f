"""Code in colour."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.render.walk import Walk
from turnlog.render.highlight import MAX_HIGHLIGHT_CHARS, Highlighter, is_known_language
from turnlog.render.html_escape import normalise_line_ends

PLENTY = 10 * MAX_HIGHLIGHT_CHARS


@pytest.mark.parametrize("language", ["python", "py", "Python", "src/cart.py", "C:\\shop\\cart.py", ".py", "x.PY"])
def test_a_language_is_known_by_its_name_or_by_a_files(language: str) -> None:
    assert '<span class="tok-keyword">def ' in Highlighter(PLENTY).highlight_code("def f(): pass", language)


@pytest.mark.parametrize("language", ["", "text", "no-such-language", "<script>", "\0", "x" * 10_000, "*", "../.."])
def test_an_unknown_language_is_plain(language: str) -> None:
    assert not is_known_language(language)
    assert Highlighter(PLENTY).highlight_code("def <f>", language) == "def &lt;f&gt;"


def test_texts_that_are_too_long_or_of_one_endless_line_are_plain() -> None:
    assert "<span" not in Highlighter(PLENTY).highlight_code("x = 1\n" * MAX_HIGHLIGHT_CHARS, "python")
    assert "<span" not in Highlighter(PLENTY).highlight_code("x = 1;" * 2_000, "python")


def test_colours_end_with_the_budget() -> None:
    highlighter = Highlighter(25)
    assert "<span" in highlighter.highlight_code("x = 'a string'", "python")
    assert "<span" not in highlighter.highlight_code("y = 'a string'", "python")


def test_lines_begin_and_end_with_their_own_colours() -> None:
    lines = Highlighter(PLENTY).highlight_lines('"""one\ntwo"""\nx', "python")
    assert [[piece.text for piece in line] for line in lines][:2] == [['"""one'], ['two"""']]
    assert {piece.kind for line in lines[:2] for piece in line} == {"tok-string"}


@settings(max_examples=60, deadline=None)
@given(st.text(max_size=200), st.sampled_from(["python", "bash", "html", "json", "markdown", "rust", "diff", "yaml"]))
def test_no_character_is_lost(text: str, language: str) -> None:
    lines = Highlighter(PLENTY).highlight_lines(text, language)
    assert "\n".join("".join(piece.text for piece in line) for line in lines) == normalise_line_ends(text)
    assert Walk(str(Highlighter(PLENTY).highlight_code(text, language))).faults == []
