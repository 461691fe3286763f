"""Differences between texts: made, recorded, applied, written as a patch."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from inline_snapshot import snapshot

from turnlog.session.files.patches import (
    NO_NEWLINE_MARK,
    Hunk,
    apply_hunks,
    compare_texts,
    format_unified_diff,
    read_recorded_hunks,
    split_text_lines,
)

texts = st.lists(st.sampled_from(["a\n", "b\n", "\n", "c\r\n", "\x0c\n", "\u2028\n", "d"]), max_size=30).map("".join)


@given(texts, texts)
def test_the_difference_of_two_texts_leads_from_one_to_the_other(before: str, after: str) -> None:
    assert apply_hunks(before, compare_texts(before, after)) == after


@given(texts)
def test_equal_texts_do_not_differ(text: str) -> None:
    assert compare_texts(text, text) == ()
    assert "".join(split_text_lines(text)) == text


def test_changes_that_are_near_share_a_hunk_and_others_do_not() -> None:
    old = [f"{number}\n" for number in range(40)]
    near = "".join(old).replace("5\n", "five\n", 1).replace("9\n", "nine\n", 1)
    far = "".join(old).replace("5\n", "five\n", 1).replace("30\n", "thirty\n", 1)
    assert [hunk.title for hunk in compare_texts("".join(old), near)] == ["@@ -3,11 +3,11 @@"]
    assert [hunk.title for hunk in compare_texts("".join(old), far)] == ["@@ -3,7 +3,7 @@", "@@ -28,7 +28,7 @@"]


def test_a_very_large_change_is_one_block() -> None:
    before = "".join(f"{number}\n" for number in range(1500))
    after = "".join(f"{number}\n" for number in range(3000, 1500, -1))
    (hunk,) = compare_texts("same\n" + before, "same\n" + after)
    assert (hunk.old_count, hunk.new_count) == (1501, 1501)
    assert apply_hunks("same\n" + before, [hunk]) == "same\n" + after


@pytest.mark.parametrize(
    ("before", "after", "title"),
    [("", "a\n", "@@ -0,0 +1 @@"), ("a\n", "", "@@ -1 +0,0 @@"), ("a\nb\n", "a\nc\n", "@@ -1,2 +1,2 @@")],
)
def test_places_are_counted_as_a_unified_diff_counts_them(before: str, after: str, title: str) -> None:
    (hunk,) = compare_texts(before, after)
    assert hunk.title == title


def test_a_last_line_without_end_is_marked() -> None:
    (hunk,) = compare_texts("a\nb", "a\nc\n")
    assert hunk.lines == (" a", "-b", NO_NEWLINE_MARK, "+c")


def test_what_the_client_recorded_for_a_new_file_is_counted_from_before_its_first_line() -> None:
    patch = [{"oldStart": 1, "oldLines": 0, "newStart": 1, "newLines": 1, "lines": ["+made"]}]
    assert read_recorded_hunks(patch) == (Hunk(0, 1, ("+made",)),)
    gone = [{"oldStart": 1, "oldLines": 1, "newStart": 1, "newLines": 0, "lines": ["-gone"]}]
    assert read_recorded_hunks(gone) == (Hunk(1, 0, ("-gone",)),)


@pytest.mark.parametrize(
    "patch",
    [
        None,
        "x",
        [5],
        [{}],
        [{"lines": "x"}],
        [{"lines": [5]}],
        [{"lines": [""]}],
        [{"lines": ["?"]}],
        [{"lines": [" fine"]}, 5],
        [{"lines": ["+x\n--- /etc/passwd"]}],
    ],
)
def test_what_is_no_patch_is_none(patch: Any) -> None:
    assert read_recorded_hunks(patch) is None


@pytest.mark.parametrize("start", [None, "1", -5, 1 << 70, 1.5])
def test_places_of_any_type_are_no_harm(start: Any) -> None:
    hunks = read_recorded_hunks([{"oldStart": start, "newStart": start, "lines": ["-a", "+b"]}])
    assert hunks is not None
    assert apply_hunks("a\n", hunks) is None


@pytest.mark.parametrize(
    "hunks",
    [
        [Hunk(1, 1, ("-other", "+b"))],
        [Hunk(9, 9, ("-a", "+b"))],
        [Hunk(9, 9, ("+b",))],
        [Hunk(2, 2, ("-b", "+c")), Hunk(1, 1, ("-a", "+c"))],
        [Hunk(2, 2, ("-b", NO_NEWLINE_MARK, "+c"))],
    ],
)
def test_hunks_that_do_not_fit_are_not_applied(hunks: list[Hunk]) -> None:
    assert apply_hunks("a\nb\n", hunks) is None


def test_a_patch_names_the_file_and_its_places() -> None:
    lines = list(format_unified_diff("src/a b.py", compare_texts("x\n", "y\n")))
    assert lines == snapshot(["--- a/src/a b.py\t", "+++ b/src/a b.py\t", "@@ -1 +1 @@", "-x", "+y"])


def test_a_patch_of_a_new_file_begins_with_none() -> None:
    assert next(format_unified_diff("a", compare_texts("", "y\n"), created=True)) == "--- /dev/null"


@pytest.mark.parametrize("path", ["a\nb", 'a"b', "a\\b", "a\x1b[2J", "a\ud800"])
def test_paths_that_could_be_misread_are_quoted(path: str) -> None:
    name = next(format_unified_diff(path, []))
    assert name.startswith('--- "a/a')
    assert name.isascii()
    assert name.isprintable()
