"""ANSI escapes as HTML."""

from __future__ import annotations

import pytest

from turnlog.render.ansi import PLAIN_STYLE, render_ansi, strip_ansi


def html(text: str) -> str:
    return str(render_ansi(text)[0])


def test_colours_and_looks_become_classes() -> None:
    assert html("\x1b[1;31mred\x1b[0m plain") == '<span class="ansi-bold fg-red">red</span> plain'
    assert html("\x1b[97;44mx") == '<span class="fg-bright-white bg-blue">x</span>'


def test_looks_end_where_they_are_ended() -> None:
    assert (
        html("\x1b[1;3;4;31ma\x1b[22;23;24;39mb")
        == '<span class="ansi-bold ansi-italic ansi-underline fg-red">a</span>b'
    )


@pytest.mark.parametrize(
    ("parameters", "name"),
    [
        ("38;5;9", "bright-red"),
        ("38;5;196", "red"),
        ("38;5;34", "green"),
        ("38;5;244", "bright-black"),
        ("38;2;0;0;230", "blue"),
        ("38;2;250;250;250", "bright-white"),
        ("38:2:200:0:0", "red"),
    ],
)
def test_many_colours_become_the_nearest_of_sixteen(parameters: str, name: str) -> None:
    assert html(f"\x1b[{parameters}mx") == f'<span class="fg-{name}">x</span>'


def test_a_progress_bar_is_as_a_terminal_leaves_it() -> None:
    assert html("10 %\r50 %\r100 %\ndone") == "100 %\ndone"
    assert html("abc\b\bX") == "aXc"
    assert html("working\x1b[2K\x1b[1Gdone") == "done"
    assert html("abcdef\r\x1b[Kx") == "x"
    assert html("a\x1b[5Gb") == "a   b"


def test_lines_of_windows_are_no_progress_bars() -> None:
    assert html("one\r\ntwo\r\n") == "one\ntwo\n"


@pytest.mark.parametrize(
    "text",
    [
        "\x1b]8;;javascript:alert(1)\x07x\x1b]8;;\x07",
        "\x1b]0;title\x1b\\x",
        "\x1b[?25lx\x1b[2J\x1b[H",
        "\x1bPq#0\x1b\\x",
        "\x1b(Bx",
        "\x9b31;1Hx",
    ],
)
def test_other_escapes_are_taken_out(text: str) -> None:
    assert html(text) == "x"


def test_a_look_goes_on_in_the_next_part() -> None:
    first, style = render_ansi("\x1b[32mone\n")
    assert style != PLAIN_STYLE
    assert render_ansi("two", style) == ('<span class="fg-green">two</span>', style)
    assert first == '<span class="fg-green">one\n</span>'


def test_markup_is_escaped_inside_of_colours() -> None:
    assert html("\x1b[31m<b>&") == '<span class="fg-red">&lt;b&gt;&amp;</span>'


def test_the_words_alone_can_be_had() -> None:
    assert strip_ansi("\x1b[31mred\x1b[0m 1\r2") == "2ed 1"
    assert strip_ansi("nothing to do") == "nothing to do"


def test_a_cursor_far_to_the_right_fills_no_memory() -> None:
    assert len(html("\x1b[999999999Cx\x1b[999999999Gy")) < 2_000
