"""What of a file the session shows."""

from __future__ import annotations

from typing import Any

import pytest

from tests.session.touch_calls import text
from turnlog.session.calls import CallDetail
from turnlog.session.files.shown_lines import ShownLines, parse_read_call, parse_shown_file


def read(structured: Any = None, result: Any = None, given: Any = None) -> ShownLines | None:
    return parse_read_call(CallDetail(given, result, structured, "answered", None, None))


def test_a_file_that_was_shown_from_its_first_line_to_its_last_is_known_whole() -> None:
    found = read(text())
    assert found == ShownLines("a\nb\n", 1, 3, True)
    assert found.last == 3


@pytest.mark.parametrize(
    "result",
    [text(start=2, count=2), text(count=2), text(total=None), text(truncatedByTokenCap=True), text(count=True)],
)
def test_a_file_of_which_some_lines_were_shown_is_not_known_whole(result: Any) -> None:
    found = read(result)
    assert found is not None
    assert not found.is_whole


def test_an_attachment_that_says_it_was_cut_is_not_whole() -> None:
    found = parse_shown_file(text(), truncated=True)
    assert found is not None
    assert not found.is_whole


@pytest.mark.parametrize("result", [{"type": "image", "file": {}}, {"type": "text"}, text(content=5), {}])
def test_what_is_no_text_shows_nothing(result: Any) -> None:
    assert read(result) is None


@pytest.mark.parametrize("sign", ["→", "\t"])
def test_numbered_lines_are_read_where_nothing_better_is_recorded(sign: str) -> None:
    lines = (
        f"     1{sign}one\n     2{sign}\ttwo\n     3{sign}\n\n<system-reminder>\n4{sign}not a line\n</system-reminder>"
    )
    assert read(result=[{"type": "text", "text": lines}]) == ShownLines("one\n\ttwo\n", 1, None, True)


@pytest.mark.parametrize(
    ("lines", "given"),
    [
        ("1\tone", {"file_path": "/a", "limit": 1}),
        ("7\tone", {"file_path": "/a"}),
        ("\n".join(f"{number}\tx" for number in range(1, 2001)), {}),
        ("1\t" + "x" * 2000, {}),
    ],
)
def test_numbered_lines_that_may_not_be_all_are_a_part(lines: str, given: Any) -> None:
    found = read(result=lines, given=given)
    assert found is not None
    assert not found.is_whole


@pytest.mark.parametrize("result", ["", "File is empty", None, "x\n1\tlate"])
def test_a_result_without_numbered_lines_shows_nothing(result: Any) -> None:
    assert read(result=result) is None
