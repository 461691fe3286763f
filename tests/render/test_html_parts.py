"""What the writer of HTML is made of: marks for what can't be seen, folds, trees, figures, the style sheet."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.render.walk import Walk
from turnlog.render import html as written
from turnlog.render.figures import format_cost_usd, format_duration, format_thousands
from turnlog.render.html_escape import escape_to_markup, name_hidden_chars
from turnlog.render.text_folds import fold_markdown, fold_text
from turnlog.render.tree import render_tree, to_compact_json

CSS = (Path(written.__file__).with_name("static") / "content.css").read_text("utf-8")


# -- what can't be seen


def test_ascii_and_other_text_show_the_same_characters_as_hidden() -> None:
    for char in map(chr, range(128)):
        alone, beside_letters = escape_to_markup(char), escape_to_markup(f"ä{char}")
        assert beside_letters == f"ä{alone}"
        assert ("hidden-char" in alone) == (not char.isprintable() and char not in "\t\n")
        assert name_hidden_chars(f"ä{char}") == f"ä{name_hidden_chars(char)}"


def test_what_cant_be_seen_is_named() -> None:
    assert (
        escape_to_markup("a\u202eb")
        == 'a<span class="hidden-char" title="U+202E RIGHT-TO-LEFT OVERRIDE">U+202E</span>b'
    )
    assert name_hidden_chars('a\u202e"b') == 'a[U+202E]"b'


def test_a_hidden_text_can_be_read() -> None:
    hidden = "".join(chr(0xE0000 + ord(char)) for char in "obey")
    assert 'title="hidden text: obey, U+E006F TAG' in escape_to_markup(f"x{hidden}")


@pytest.mark.parametrize(
    "text", ["👨\u200d👩\u200d👧", "✔\ufe0f", "1\ufe0f\u20e3", "می\u200cخواهم", "❤\ufe0f\u200d🔥", "é", "a\tb\nc"]
)
def test_emoji_and_scripts_that_need_joiners_are_left_alone(text: str) -> None:
    assert escape_to_markup(text) == text
    assert name_hidden_chars(text) == text


@pytest.mark.parametrize("text", ["a\u200db", "a\ufe0fb", "✔\ufe0f\ufe0f\ufe0f", "a\u200cb"])
def test_the_same_characters_elsewhere_are_marked(text: str) -> None:
    assert "hidden-char" in escape_to_markup(text)


@given(st.text(alphabet=st.characters(), max_size=40))
def test_any_text_is_escaped_and_can_be_encoded(text: str) -> None:
    walk = Walk(f"<p>{escape_to_markup(text)}</p>")
    assert walk.faults == []
    escape_to_markup(text).encode()
    name_hidden_chars(text).encode()


# -- folds


@given(st.text(alphabet="ab\n", max_size=400), st.integers(1, 20), st.integers(1, 60))
def test_a_fold_loses_nothing(text: str, lines: int, characters: int) -> None:
    parts = fold_text(text, lines, characters)
    assert text in (parts.head + parts.rest, f"{parts.head}\n{parts.rest}")
    assert "".join(fold_markdown(text, lines, characters)[:2]) == text


def test_a_small_rest_is_not_folded() -> None:
    assert fold_text("x\n" * 65).rest == ""
    assert fold_text("x\n" * 100).label == "40 more lines"


def test_a_very_long_line_is_folded_within() -> None:
    assert fold_text("x" * 40_000).label == "32 KB more"


def test_a_fence_is_not_torn_apart() -> None:
    parts = fold_markdown("```\n" + "a\n\n" * 50 + "```\n\nend\n\nmore\n", 20, 10_000)
    assert parts.head.count("```") in (0, 2)


# -- trees


def deep(levels: int) -> Any:
    value: Any = "bottom"
    for level in range(levels):
        value = [value] if level % 2 else {"k": value}
    return value


def test_a_value_of_any_depth_is_written() -> None:
    found = render_tree(deep(10_000))
    assert found.count("<details") < 100
    assert Walk(found).faults == []


def test_members_have_names_and_kinds() -> None:
    found = render_tree({"a": 1, "b": [True, None, 2.5], "c": "x", "e": {}, "f": ""})
    assert '<span class="name">a</span> <span class="tok-number">1</span>' in found
    assert '<span class="count">3 items</span>' in found
    assert '<span class="tok-keyword">null</span>' in found


def test_texts_of_several_lines_are_shown_as_such() -> None:
    assert '<pre class="string">one\ntwo</pre>' in render_tree({"a": "one\ntwo"})


def test_a_huge_list_is_cut_with_a_count() -> None:
    found = render_tree(list(range(10_000)))
    assert "9,800 more members" in found
    assert len(found) < 50_000


def test_a_tree_of_very_many_members_is_bounded() -> None:
    assert len(render_tree([[[number] * 50 for number in range(150)] for _ in range(150)])) < 20_000_000


@pytest.mark.parametrize("value", [[10**6_000], float("nan"), float("inf"), -0.0, "\ud800", {"": ""}, [[]], None])
def test_odd_values_do_no_harm(value: Any) -> None:
    found = render_tree({"x": value})
    found.encode()
    assert Walk(found).faults == []


def test_a_value_on_one_line_is_cut_where_wanted() -> None:
    assert to_compact_json({"a": [1, True, None], "b": "x\ny"}, 100) == '{"a": [1, true, null], "b": "x\\ny"}'
    assert to_compact_json([1] * 1_000_000, 10).endswith("…")
    assert len(to_compact_json(deep(50_000), 100)) <= 101


# -- figures


def test_figures_are_short() -> None:
    assert [format_duration(ms) for ms in (None, 87, 1_230, 61_000, 60_000, 3_600_000, 3_660_000)] == [
        "", "87 ms", "1.2 s", "1 min 1 s", "1 min", "1 h", "1 h 1 min",
    ]  # fmt: skip
    assert [format_thousands(number) for number in (None, 999, 12_000, 12_345, 1_500_000)] == [
        "",
        "999",
        "12k",
        "12.3k",
        "1.5M",
    ]
    assert [format_cost_usd(amount) for amount in (None, 0, 0.0001, 0.0123, 12.5)] == [
        "",
        "$0.00",
        "<$0.001",
        "$0.012",
        "$12.50",
    ]


# -- the style sheet


def palette(*, dark: bool) -> dict[str, str]:
    """The colours of the root, light or dark."""
    pairs = re.findall(r"(--[\w-]+): light-dark\((#\w+), (#\w+)\);", CSS)
    return {name: night if dark else day for name, day, night in pairs}


def test_every_colour_has_a_light_and_a_dark_side() -> None:
    plain = re.findall(r"(--[\w-]+): #", CSS)
    assert plain == []
    assert palette(dark=True).keys() >= {name for pair in PAIRS for name in pair}


def luminance(colour: str) -> float:
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


PAIRS = [
    *((name, ground) for name in ("--fg", "--soft", "--muted", "--accent", "--good", "--warn", "--bad")
      for ground in ("--bg", "--panel", "--code-bg", "--sunk", "--hover")),
    *((f"--tok-{name}", ground) for name in "comment keyword string number name type decor error".split()
      for ground in ("--code-bg", "--panel", "--add", "--del", "--bg")),
    *((name, "--accent-soft") for name in ("--fg", "--muted", "--accent")),
    ("--accent-fg", "--accent"), ("--bad", "--bad-soft"), ("--warn", "--warn-soft"), ("--good", "--good-soft"),
    ("--muted", "--add"), ("--muted", "--del"), ("--fg", "--add-mark"), ("--fg", "--del-mark"), ("--fg", "--mark"),
    *((f"--ansi-{light}{name}", "--code-bg") for light in ("", "bright-")
      for name in "black red green yellow blue magenta cyan white".split()),
]  # fmt: skip


@pytest.mark.parametrize("dark", [False, True])
def test_every_text_can_be_read_on_every_ground(dark: bool) -> None:
    colours = palette(dark=dark)
    low = {
        (a, b): round(contrast(colours[a], colours[b]), 2) for a, b in PAIRS if contrast(colours[a], colours[b]) < 4.5
    }
    assert low == {}


def test_the_style_sheet_loads_nothing_from_elsewhere() -> None:
    assert "@import" not in CSS
    assert all(found.startswith('"data:image/svg+xml,') for found in re.findall(r"url\((.*?)\)", CSS))
