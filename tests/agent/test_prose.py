"""A model's text on its way to the terminal: where lines end, and what is told apart."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnlog.render.prose import ProseWrapper
from turnlog.render.terminal import TerminalScreen, measure_width


def render_prose(text: str, cells: int | None = 30, *, color: bool = False, step: int = 1) -> str:
    """What is written of a text that comes in pieces."""
    prose = ProseWrapper(lambda: TerminalScreen(color, cells))
    return "".join(prose.add_text(text[at : at + step]) for at in range(0, len(text), step)) + prose.end_line()


def test_words_are_not_torn() -> None:
    assert render_prose("The discount is rounded twice, and so the sum is wrong.").split("\n") == [
        "The discount is rounded",
        "twice, and so the sum is",
        "wrong.",
    ]


def test_items_go_on_below_their_text() -> None:
    text = "- the first of them is longer than a line\n  1. so is this one, which stands below"
    assert render_prose(text).split("\n") == [
        "- the first of them is longer",
        "  than a line",
        "  1. so is this one, which",
        "     stands below",
    ]


@pytest.mark.parametrize(
    "text", ["x" * 100, "```\nlet x = f(a, b, c, d, e, f, g, h)\n```", "| a | b | c | d | e | f | g | h |"]
)
def test_long_words_code_and_tables_are_left_to_the_terminal(text: str) -> None:
    assert render_prose(text) == text


def test_scripts_without_blanks_are_broken_between_characters() -> None:
    told = render_prose("漢字" * 20).split("\n")
    assert len(told) == 3
    assert max(map(measure_width, told)) < 30


def test_headings_and_code_are_told_apart() -> None:
    told = render_prose("## So\n```py\n# no heading\n```\n# so", color=True).split("\n")
    assert [line[:4] for line in told] == ["\x1b[1m", "\x1b[2m", "\x1b[36", "\x1b[2m", "\x1b[1m"]


def test_another_text_does_not_begin_in_the_code_of_the_one_before() -> None:
    prose = ProseWrapper(lambda: TerminalScreen(True, 30))
    prose.add_text("```\ncode\n")
    prose.begin_text()
    assert prose.add_text("plain text ") == "plain text"


def test_what_stands_in_code_is_written_as_it_comes() -> None:
    prose = ProseWrapper(lambda: TerminalScreen(False, 30))
    assert [prose.add_text(part) for part in ("```\n", "ab", "c", "\n`", "``\n")] == ["```\n", "ab", "c", "\n", "```\n"]


@given(st.text(alphabet="ab`#-| \n漢1.", max_size=200), st.integers(20, 60), st.integers(1, 7))
def test_nothing_is_lost_but_blanks_at_the_end_of_a_line(text: str, cells: int, step: int) -> None:
    told = render_prose(text, cells, step=step)
    assert told.replace("\n", "").replace(" ", "") == text.replace("\n", "").replace(" ", "")
    assert told.count("\n") >= text.count("\n")
    assert render_prose(text, None, step=step).split("\n") == [line.rstrip(" ") for line in text.split("\n")]
