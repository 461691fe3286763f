"""Answers keep to their size, and their pages together are the whole."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnlog.errors import UsageError
from turnlog.mcp.pages import MIN_ANSWER_TOKENS, count_tokens, cut_page, parse_cursor, to_lazy_texts

ITEMS = st.lists(st.text(st.sampled_from("ab \nä日🙂"), min_size=1, max_size=3000), min_size=1, max_size=12)


@given(ITEMS, st.integers(MIN_ANSWER_TOKENS, 1000))
def test_all_pages_together_are_all_items(items: list[str], tokens: int) -> None:
    cursor: str | None = None
    parts: list[str] = []
    for _ in range(1000):
        page = cut_page(to_lazy_texts(items), cursor, tokens)
        assert count_tokens(page.text) <= tokens
        assert page.text
        parts.append(page.text)
        cursor = page.cursor
        if cursor is None:
            break
    assert cursor is None
    assert "".join(parts).replace("\n", "") == "".join(items).replace("\n", "")


def test_an_item_is_rendered_only_if_its_page_is_read() -> None:
    rendered: list[int] = []

    def render(number: int) -> str:
        rendered.append(number)
        return "x" * 600

    page = cut_page([lambda number=number: render(number) for number in range(100)], None, 1000)  # type: ignore[misc]
    assert page.cursor
    assert len(rendered) < 10


@pytest.mark.parametrize("cursor", ["x", "-1", "1.x", "1.2.3", "99999999999999", "../1", "7"])
def test_a_cursor_that_no_answer_had_is_refused(cursor: str) -> None:
    with pytest.raises(UsageError, match="cursor"):
        cut_page(to_lazy_texts(["a", "b"]), cursor, 1000)


def test_no_cursor_means_the_start() -> None:
    assert parse_cursor(None) == parse_cursor("") == (0, 0)
