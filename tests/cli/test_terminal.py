"""The terminal: strangers' texts can't act on it, and lines fit into it."""

from __future__ import annotations

import re
import sys
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.cli.conftest import HOSTILE, harmful
from turnlog.cli.terminal import (
    TerminalScreen,
    cut_to_cells,
    detect_screen,
    make_visible,
    measure_width,
    pad_to_cells,
    spell_unstyled_controls,
    take_first_lines,
    to_visible_line,
    to_visible_lines,
)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain", "plain"),
        ("é 漢字 😀", "é 漢字 😀"),
        ("\x1b[31mred", "\\x1b[31mred"),
        ("\x1b]0;title\x07", "\\x1b]0;title\\x07"),
        ("\x9b2J", "\\x9b2J"),
        ("a\x00b\x7fc", "a\\x00b\\x7fc"),
        ("over\rwritten", "over\\rwritten"),
        ("user\u202etxt.exe", "user\\u202etxt.exe"),
        ("\u2066a\u2069", "\\u2066a\\u2069"),
        ("zero\u200bwidth\ufeff", "zero\\u200bwidth\\ufeff"),
        ("tag\U000e0041", "tag\\U000e0041"),
        ("hidden\ufe01\ufe02", "hidden\\ufe01\\ufe02"),
        ("\u3164filler", "\\u3164filler"),
        ("soft\u00adhyphen", "soft\\xadhyphen"),
        ("half\ud800", "half\\ud800"),
        ("private\ue000", "private\\ue000"),
        ("no\u00a0break\u3000", "no break "),
        ("lines\u2028and\n\x85", "lines\\u2028and\\n\\x85"),
        ("Z\u0301\u0301\u0301\u0301\u0301", "Z" + "\\u0301" * 5),
        ("n\u0303", "n\u0303"),
    ],
)
def test_what_a_terminal_would_act_on_or_not_show_is_spelled_out(text: str, shown: str) -> None:
    assert make_visible(text) == shown


@pytest.mark.parametrize("picture", ["⚠️", "👩‍💻", "🏳️‍🌈", "1️⃣", "👍🏽"])
def test_joined_pictures_stay_pictures(picture: str) -> None:
    assert make_visible(f"a {picture} b") == f"a {picture} b"


@pytest.mark.parametrize("text", ["pay\u200dpal", "\u200d", "\ufe0f", "a\ufe0f", "😀\u200d", "\u200d😀", "😀\u200da"])
def test_what_joins_pictures_is_spelled_out_elsewhere(text: str) -> None:
    assert "\u200d" not in make_visible(text)
    assert "\ufe0f" not in make_visible(text)


@given(st.text(alphabet=st.characters(exclude_categories=())))
def test_nothing_unprintable_is_left_of_any_text(text: str) -> None:
    left = {char for char in make_visible(text) if not char.isprintable() and char not in "\u200d"}
    assert left == set()
    assert "\n" not in to_visible_line(text)
    assert not any(unicodedata.category(char) in ("Cc", "Cs") for shown in to_visible_lines(text) for char in shown)


def test_every_single_character_is_harmless() -> None:
    assert harmful("".join(make_visible(chr(code)) for code in range(sys.maxunicode + 1))) == set()


def test_the_lines_of_a_text_lose_colours_and_tabs_and_nothing_else() -> None:
    assert to_visible_lines("\x1b[1;31mFAIL\x1b[0m\r\n\tx  \n\n\x1b[2Jy\n") == ["FAIL", "    x", "", "\\x1b[2Jy"]


def test_a_hostile_text_is_harmless_on_one_line_and_on_many() -> None:
    assert harmful(to_visible_line(HOSTILE)) == harmful("".join(to_visible_lines(HOSTILE))) == set()


@given(st.text(alphabet=st.characters(exclude_categories=())))
def test_the_last_door_lets_only_tabs_and_line_ends_through(text: str) -> None:
    shown = spell_unstyled_controls(text)
    styles = re.sub("\x1b\\[[0-9;]+m", "", shown)
    assert not any(unicodedata.category(char) in ("Cc", "Cs", "Zl", "Zp") for char in styles if char not in "\t\n")


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[1;31mred\x1b[0m", "\x1b[1;31mred\x1b[0m"),
        ("\x1b[5mblink \x1b[8mhidden \x1b[38;5;1mcolour", "\\x1b[5mblink \\x1b[8mhidden \\x1b[38;5;1mcolour"),
        ("\x1b[31", "\\x1b[31"),
        ("a\r\nb\tc\rd", "a\nb\tc\\rd"),
        ("\u202eabc\u2066\u200f\x9b2J\x7f", "\\u202eabc\\u2066\\u200f\\x9b2J\\x7f"),
        ("می\u200cخواهم 👨\u200d👩", "می\u200cخواهم 👨\u200d👩"),
    ],
)
def test_our_own_styles_and_joiners_pass_the_last_door(text: str, shown: str) -> None:
    assert spell_unstyled_controls(text) == shown


def test_the_first_lines_are_cut_and_the_others_counted() -> None:
    assert take_first_lines("1\n22222\n3\n4\n\n", 2, 4) == (["1", "2222…"], 2)
    assert take_first_lines("one", 3, 10) == (["one"], 0)


@pytest.mark.parametrize(
    ("text", "cells"), [("abc", 3), ("漢字", 4), ("e\u0301", 1), ("😀", 2), ("⚠\ufe0f", 1), ("", 0)]
)
def test_a_text_takes_the_cells_that_a_terminal_gives_it(text: str, cells: int) -> None:
    assert measure_width(text) == cells


@given(st.text(alphabet="ab漢é😀 "), st.integers(0, 12))
def test_a_cut_text_fits_and_keeps_its_beginning(text: str, cells: int) -> None:
    short = cut_to_cells(text, cells)
    assert measure_width(short) <= cells
    assert short == text or (not cells and short == "") or text.startswith(short.removesuffix("…"))
    assert measure_width(pad_to_cells(text, cells)) == cells


def test_colours_are_put_on_only_where_they_are_wanted() -> None:
    assert TerminalScreen(color=True).paint("x", "bold", "red") == "\x1b[1;31mx\x1b[0m"
    assert TerminalScreen(color=True).paint("", "red") == ""
    assert TerminalScreen(color=True).paint("x") == "x"
    assert TerminalScreen().paint("x", "red") == "x"


def test_what_is_no_terminal_has_no_width_and_no_colour_unless_asked() -> None:
    assert detect_screen() == TerminalScreen(color=False, width=None)
    assert detect_screen(color=True) == TerminalScreen(color=True, width=None)
    assert TerminalScreen().fit("x" * 500) == "x" * 500
    assert TerminalScreen(width=20).fit("x" * 50, 5) == "x" * 14 + "…"
