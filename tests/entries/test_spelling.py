"""Names of files as texts."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnlog.entries.path_escapes import escape_path, is_safe_path, unescape_path


@given(
    st.text(alphabet=st.characters(exclude_categories=["Cs"]))
    | st.binary().map(lambda raw: raw.decode("utf-8", "surrogateescape"))
)
def test_any_name_comes_back(path: str) -> None:
    text = escape_path(path)
    assert text.encode().decode() == text
    assert unescape_path(text) == path


@pytest.mark.parametrize("name", ["a", "a/b.txt", "a%25b", "..a/b..", "über/x"])
def test_a_plain_name_is_safe(name: str) -> None:
    assert is_safe_path(name)


@pytest.mark.parametrize("name", ["", "/a", "a//b", "../a", "a/..", "a/./b", "a\0b"])
def test_a_name_that_leads_away_is_not(name: str) -> None:
    assert not is_safe_path(name)
