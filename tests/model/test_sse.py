"""Server-sent events: the same from whatever pieces the bytes come in."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnlog.model import sse
from turnlog.model.failures import AnswerBrokenOff
from turnlog.model.sse import ServerEvent, read_server_events, split_stream_lines

STREAM = (
    "\ufeffevent: a\ndata: 1\r\ndata:2\n\n: note\rdata: x\r\rid: 3\n\nevent: b\n\ndata: ä漢\n\ndata: open\n".encode()
)
WHOLE = [ServerEvent("a", "1\n2"), ServerEvent("message", "x"), ServerEvent("message", "ä漢")]


@given(st.lists(st.integers(0, len(STREAM))))
def test_cuts_anywhere_change_nothing(cuts: list[int]) -> None:
    places = [0, *sorted(cuts), len(STREAM)]
    assert list(read_server_events(STREAM[a:b] for a, b in pairwise(places))) == WHOLE


@given(st.lists(st.binary()))
def test_no_bytes_are_too_strange(chunks: list[bytes]) -> None:
    assert all(isinstance(item.data, str) for item in read_server_events(chunks))


def test_a_line_without_an_end_is_not_given() -> None:
    assert list(split_stream_lines([b"a\nb", b"c\n", b"rest"])) == [b"a", b"bc"]


def test_what_never_ends_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sse, "MAX_EVENT_BYTES", 100)
    for chunk in (b"x" * 30, b"data: y\n" * 5):
        with pytest.raises(AnswerBrokenOff):
            list(read_server_events([chunk] * 5))
