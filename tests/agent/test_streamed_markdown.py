"""A model's Markdown on its way to the terminal: rows that are complete never change."""

from __future__ import annotations

import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.cli.conftest import HOSTILE, harmful
from turnlog.render.streamed_markdown import StreamedMarkdown
from turnlog.render.terminal import TerminalScreen, measure_width

STYLE = re.compile("\x1b\\[([0-9;]*)m")


def render(text: str, cells: int | None = 40, *, color: bool = True, step: int = 1) -> list[str]:
    """The rows of a text that comes in pieces."""
    markdown = StreamedMarkdown(lambda: TerminalScreen(color, cells))
    rows = [row for at in range(0, len(text), step) for row in markdown.add_text(text[at : at + step])]
    return [*rows, *markdown.end_text()]


def mark(rows: list[str]) -> list[str]:
    """Rows with their styles spelled out."""
    return [STYLE.sub(lambda style: "⟩" if style[1] == "0" else f"⟨{style[1]} ", row) for row in rows]


def plain(rows: list[str]) -> list[str]:
    """Rows without their styles."""
    return [STYLE.sub("", row) for row in rows]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a **b** c", "a ⟨1 b⟩ c"),
        ("a *b* __c__", "a ⟨3 b⟩ ⟨1 c⟩"),
        ("***x*** ~~y~~", "⟨1;3 x⟩ ⟨9 y⟩"),
        ("**a `b` c**", "⟨1 a⟩ ⟨1;36 b⟩⟨1  c⟩"),
        ("`` a`b ``", "⟨36 a`b⟩"),
        ("[docs](https://x.org)", "⟨4 docs⟩⟨2  (https://x.org)⟩"),
        ("[https://x.org](https://x.org) <https://y.org>", "⟨4 https://x.org⟩ ⟨4 https://y.org⟩"),
        ("\\*a\\* 2**10 and 3**4", "*a* 2**10 and 3**4"),
        ("snake_case_name a * b * c 2*3*4", "snake_case_name a * b * c 2*3*4"),
        ("**open and `open", "**open and `open"),
        ("# Title", "⟨1;4 Title⟩"),
        ("### Part `x`", "⟨1 Part⟩ ⟨1;36 x⟩"),
        ("- [x] done", "• ☑ done"),
        ("12. twelve", "12. twelve"),
        ("> so", "⟨2 │ ⟩⟨3 so⟩"),
        ("---", f"⟨2 {'─' * 39}⟩"),
    ],
)
def test_marks_become_styles(text: str, expected: str) -> None:
    assert mark(render(text)) == [expected]


def test_items_and_quotes_go_on_below_their_text() -> None:
    text = "- the first of them is longer than a line\n  1. so is this one, which stands below"
    text += "\n> and so is this, which is quoted"
    assert plain(render(text, 30)) == [
        "• the first of them is longer",
        "  than a line",
        "  1. so is this one, which",
        "     stands below",
        "│ and so is this, which is",
        "│ quoted",
    ]


def test_code_keeps_its_lines_however_long() -> None:
    text = f"```py\nif x:\n\treturn {'x' * 60}\n\n# **no** heading\n```\nafter"
    assert plain(render(text)) == ["  if x:", f"      return {'x' * 60}", "  ", "  # **no** heading", "after"]
    assert mark(render("```diff\n-a\n+b\n c\n```")) == ["  ⟨31 -a⟩", "  ⟨32 +b⟩", "  ⟨36  c⟩"]


TABLE = "| Name | Size |\n|---|--:|\n| `a.py` | 1 |\n| **b** \\| c | 1000 |\n"


def test_a_table_is_aligned() -> None:
    assert plain(render(f"{TABLE}\nafter")) == [
        "Name  │ Size",
        "──────┼─────",
        "a.py  │    1",
        "b | c │ 1000",
        "",
        "after",
    ]


def test_a_wide_table_wraps_its_cells_and_one_with_too_many_columns_becomes_a_list() -> None:
    text = "| Key | What it does |\n|---|---|\n| a | it does something that takes many words |\n"
    assert plain(render(text, 34)) == [
        "Key │ What it does",
        "────┼────────────────────────────",
        "a   │ it does something that",
        "    │ takes many words",
    ]
    names = [f"column{number}" for number in range(9)]
    wide = f"|{'|'.join(names)}|\n|{'-|' * 9}\n|{'|'.join(names)}|\n"
    assert plain(render(wide, 40)) == [f"{name}: {name}" for name in names]


def test_rows_with_bars_that_are_no_table_are_prose() -> None:
    assert mark(render("| a **b** |\n| c |\nd")) == ["| a ⟨1 b⟩ |", "| c |", "d"]


@pytest.mark.parametrize("text", ["# T\n\n- **a** `b`\n\n```py\nx\n```\n\n> q\n\n---", TABLE.strip()])
def test_without_colours_the_text_keeps_its_marks(text: str) -> None:
    assert "\n".join(render(text, 60, color=False)) == text


def test_what_is_open_is_shown_until_it_is_complete() -> None:
    markdown = StreamedMarkdown(lambda: TerminalScreen(True, 40))
    shown = []
    for part in ("a **b", "c", "** d", "\n| x ", "|\n", "end"):
        markdown.add_text(part)
        shown.append(mark([markdown.open_row])[0])
    assert shown == ["a **b", "a **bc", "a ⟨1 bc⟩ d", "| x ", "| x |", "end"]


def test_scripts_without_blanks_are_broken_between_characters() -> None:
    rows = render("漢字" * 20, 30)
    assert len(rows) == 3
    assert max(map(measure_width, rows)) < 30


PIECES = ["*", "**", "_", "`", "```", "~~", "[", "](", "u)", "a", "b ", "word", "\n", " ", "- ", "1. ", "#", "> ", "|",
          "|-|-|", "\\", "<http://x>", "!", "漢", "\r\n", "[x] ", "***", "\t", "\u200d", "\x1b[2J"]  # fmt: skip


@given(st.lists(st.sampled_from(PIECES), max_size=40).map("".join), st.booleans(), st.integers(1, 7))
def test_the_rows_do_not_depend_on_how_the_text_arrives(text: str, color: bool, step: int) -> None:
    assert render(text, 24, color=color, step=step) == render(text, 24, color=color, step=len(text) or 1)


@given(st.text(alphabet="ab#-|* \n漢1._[]()", max_size=200), st.booleans())
def test_the_open_row_fits_and_no_letter_is_lost(text: str, color: bool) -> None:
    markdown = StreamedMarkdown(lambda: TerminalScreen(color, 30))
    rows = []
    for char in text:
        rows += markdown.add_text(char)
        assert measure_width(STYLE.sub("", markdown.open_row)) < 30
    rows += markdown.end_text()
    assert re.findall("[ab漢]", "".join(plain(rows))) == re.findall("[ab漢]", text)


@pytest.mark.parametrize("frame", ["{}", "**{}**", "`{}`", "[{}]({})", "```\n{}\n```", "| {} |\n|---|\n| {} |", "# {}"])
def test_nothing_in_a_text_can_act_on_the_terminal(frame: str) -> None:
    for step in (1, 1000):
        assert harmful("\n".join(plain(render(frame.replace("{}", HOSTILE), 60, step=step)))) == set()


@pytest.mark.parametrize("piece", ["*a ", "`", "[", "**", "_a", "<h", "~~a", "[a](", "| a "])
def test_marks_that_are_never_closed_cost_no_more_than_others(piece: str) -> None:
    def measure(count: int) -> float:
        start = time.process_time()
        render(piece * count, 80, step=50)
        return time.process_time() - start

    assert measure(8000) < 40 * max(measure(1000), 0.01)
