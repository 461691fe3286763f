"""The history of what was typed: one session's lines out of it, and back."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnlog.entries.history import rejoin_history, split_history

ME, OTHER = "11111111-2222-4333-8444-555555555555", "99999999-2222-4333-8444-555555555555"


def build_history_line(session: str, text: str = "hi") -> bytes:
    return json.dumps({"display": text, "sessionId": session}).encode() + b"\n"


def test_only_the_lines_of_the_session_are_taken() -> None:
    data = (
        build_history_line(ME)
        + build_history_line(OTHER, f"about {ME}")
        + b"no json\n"
        + build_history_line(ME, "again")
    )
    split = split_history(data, ME)
    assert split.kept == build_history_line(OTHER, f"about {ME}") + b"no json\n"
    assert (split.taken, split.lines) == (build_history_line(ME) + build_history_line(ME, "again"), 2)


@pytest.mark.parametrize("added", [b"", build_history_line(OTHER, "later")])
def test_lines_come_back_to_where_they_were(added: bytes) -> None:
    old = build_history_line(OTHER) + build_history_line(ME) + build_history_line(OTHER, "2")
    assert rejoin_history(old, split_history(old, ME).kept + added, ME) == old + added


def test_lines_that_were_never_taken_do_not_come_twice() -> None:
    old = build_history_line(ME) + build_history_line(OTHER)
    assert rejoin_history(old, old + build_history_line(OTHER, "3"), ME) == old + build_history_line(OTHER, "3")
    assert rejoin_history(old, build_history_line(OTHER, "0") + old, ME) == build_history_line(OTHER, "0") + old


def test_lines_go_to_the_end_of_a_history_that_was_written_anew() -> None:
    old = build_history_line(OTHER) + build_history_line(ME)
    assert rejoin_history(old, b"other", ME) == b"other\n" + build_history_line(ME)


lines = st.lists(
    st.sampled_from(
        [build_history_line(ME, "a"), build_history_line(ME, "b"), build_history_line(OTHER), b"\n", b"{}\n"]
    ),
    max_size=8,
)


@given(lines, st.booleans())
def test_taking_out_and_bringing_back_changes_nothing(parts: list[bytes], ended: bool) -> None:
    old = b"".join(parts)
    old = old if ended else old.rstrip(b"\n")
    assert rejoin_history(old, split_history(old, ME).kept, ME) == old
