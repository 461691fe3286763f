"""Changes of files as tables."""

from __future__ import annotations

import re

from tests.render.walk import Walk
from turnlog.render.diff_tables import MAX_SHOWN_ROWS, build_diff_tables, find_changed_spans
from turnlog.render.highlight import Highlighter
from turnlog.session.files.patches import Hunk

HUNK = Hunk(10, 10, (" def f():", "-    return a + b", "+    return a + c", "+    # more", " end"))


def rows(html: str) -> list[str]:
    return re.findall(r"<tr.*?</tr>", html)


def cells(row: str) -> list[str]:
    return [Walk(cell).text for cell in re.findall(r"<td.*?</td>", row)]


def test_unified_rows_have_the_numbers_of_both_texts() -> None:
    made = build_diff_tables([HUNK], "x.py", Highlighter(0))
    assert [cells(row) for row in rows(made.unified[0])] == [
        ["10", "10", " def f():"],
        ["11", "", "-    return a + b"],
        ["", "11", "+    return a + c"],
        ["", "12", "+    # more"],
        ["12", "13", " end"],
    ]
    assert (made.added, made.removed) == (2, 1)


def test_side_by_side_what_came_stands_beside_what_went() -> None:
    made = build_diff_tables([HUNK], "x.py", Highlighter(0))
    assert made.split is not None
    assert [cells(row) for row in rows(made.split[0])] == [
        ["10", "def f():", "10", "def f():"],
        ["11", "    return a + b", "11", "    return a + c"],
        ["", "", "12", "    # more"],
        ["12", "end", "13", "end"],
    ]


def test_what_changed_within_a_line_is_marked_in_both() -> None:
    html = build_diff_tables([HUNK], "", Highlighter(0)).unified[0]
    assert re.findall(r'<span class="ch">(.*?)</span>', html) == ["b", "c"]


def test_lines_with_nothing_in_common_are_not_marked() -> None:
    assert find_changed_spans("import os", "a = compute(7) * 3 + z") is None
    assert find_changed_spans("x" * 5_000, "x" * 5_000 + "y") is None


def test_marks_and_colours_stand_together() -> None:
    hunk = Hunk(1, 1, ("-x = 'one two'", "+x = 'one three'"))
    html = build_diff_tables([hunk], "x.py", Highlighter(1_000)).unified[0]
    assert '<span class="ch"><span class="tok-string">three</span></span>' in html
    assert [cells(row)[2] for row in rows(html)] == ["-x = 'one two'", "+x = 'one three'"]


def test_several_hunks_tell_their_places() -> None:
    html = build_diff_tables([HUNK, Hunk(90, 91, ("-a", "+b"))], "", Highlighter(0)).unified[0]
    assert "@@ -90 +91 @@" in html


def test_a_new_file_has_nothing_to_stand_beside() -> None:
    assert build_diff_tables([Hunk(0, 1, ("+a", "+b"))], "", Highlighter(0)).split is None


def test_a_missing_line_end_is_a_remark() -> None:
    html = build_diff_tables([Hunk(1, 1, ("-a", "\\ No newline at end of file", "+b"))], "", Highlighter(0)).unified[0]
    assert '<tr class="remark"><td colspan="3">No newline at end of file</td></tr>' in html


def test_a_long_change_is_folded_and_nothing_is_lost() -> None:
    made = build_diff_tables([Hunk(1, 1, tuple(f"{sign}{n}" for n in range(300) for sign in "-+"))], "", Highlighter(0))
    assert len(rows(made.unified[0])) == MAX_SHOWN_ROWS
    assert len(rows(made.unified[0] + made.unified[1])) == 600
    assert made.rest[0] == 600 - MAX_SHOWN_ROWS


def test_lines_that_hold_line_ends_or_markup_do_no_harm() -> None:
    made = build_diff_tables([Hunk(1, 1, (" <b>\r", "-a\nb", "+</td>\n\n", "+"))], "x.html", Highlighter(1_000))
    assert made.split is not None
    for html in (made.unified[0], made.split[0]):
        assert Walk(f"<table><tbody>{html}</tbody></table>").faults == []


def test_no_hunks_make_no_rows() -> None:
    assert build_diff_tables([], "", Highlighter(0)).unified == ("", "")
