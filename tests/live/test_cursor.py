"""Cursors: short, safe in an address, and None for whatever is no cursor."""

from __future__ import annotations

import re
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from turnlog.entries.tail import read_tail
from turnlog.live.cursor import (
    MAX_CURSOR_CHARS,
    MAX_CURSOR_FILES,
    Cursor,
    CursorSpot,
    decode_cursor,
    encode_cursor,
    find_checkpoint,
    hash_stream_name,
    to_cursor_spot,
)
from turnlog.live.follower import build_cursor_text

SPOTS = st.dictionaries(
    st.binary(min_size=6, max_size=6),
    st.builds(CursorSpot, st.integers(0, 1 << 62), st.binary(min_size=6, max_size=6)),
    max_size=MAX_CURSOR_FILES,
)


@given(SPOTS, st.integers(0, 1 << 62))
def test_what_is_written_is_read_again(spots: dict[bytes, CursorSpot], watermark: int) -> None:
    text = encode_cursor(Cursor(spots, watermark))
    assert re.fullmatch(r"[\w-]+", text, re.ASCII)
    assert decode_cursor(text) == Cursor(spots, watermark)


@given(st.text() | st.from_regex(r"[\w-]{1,200}", fullmatch=True))
def test_any_other_text_is_no_cursor(text: str) -> None:
    assert decode_cursor(text) is None


@given(SPOTS, st.data())
def test_a_cursor_that_was_tampered_with_is_none(spots: dict[bytes, CursorSpot], data: st.DataObject) -> None:
    text = encode_cursor(Cursor(spots))
    place = data.draw(st.integers(0, len(text) - 1))
    other = data.draw(st.sampled_from("AZaz09-_").filter(lambda sign: sign != text[place]))
    changed = text[:place] + other + text[place + 1 :]
    assert decode_cursor(changed) in (None, Cursor(spots))  # the last sign has bits that say nothing
    assert decode_cursor(text[:place]) is None


def test_a_cursor_of_very_many_files_is_bounded_and_names_those_that_were_written_last(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"x" * 5000 + b"\n")
    at = read_tail(path).checkpoint._replace(offset=1 << 60)
    names = ["", *(f"agent-{number}" for number in range(1000))]
    text = build_cursor_text(path, dict.fromkeys(names, at), {name: 1e9 + number for number, name in enumerate(names)})
    assert len(text) <= MAX_CURSOR_CHARS
    found = decode_cursor(text)
    assert found is not None
    assert len(found.spots) == MAX_CURSOR_FILES
    assert found.watermark > 0
    assert hash_stream_name("a", "") in found.spots
    assert hash_stream_name("a", "agent-999") in found.spots
    assert hash_stream_name("a", "agent-1") not in found.spots


def test_a_spot_is_known_again_while_its_file_only_grows(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"one\ntwo\n")
    tail = read_tail(path)
    spot = to_cursor_spot(tail.checkpoint)
    with path.open("ab") as file:
        file.write(b"three\n")
    found = find_checkpoint(path, spot)
    assert found is not None
    assert read_tail(path, found).data == b"three\n"


def test_a_spot_in_a_file_that_was_replaced_cut_or_deleted_is_not_known(tmp_path: Path) -> None:
    path, other = tmp_path / "a", tmp_path / "b"
    path.write_bytes(b"one\ntwo\n")
    spot = to_cursor_spot(read_tail(path).checkpoint)
    other.write_bytes(b"one\ntwo\n")
    other.replace(path)
    assert find_checkpoint(path, spot) is None
    spot = to_cursor_spot(read_tail(path).checkpoint)
    path.write_bytes(b"one\n")
    assert find_checkpoint(path, spot) is None
    path.write_bytes(b"ONE\ntwo\n")
    assert find_checkpoint(path, spot) is None
    path.unlink()
    assert find_checkpoint(path, spot) is None


def test_at_the_beginning_of_a_file_there_is_nothing_to_know(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"half")
    at = read_tail(path).checkpoint
    assert find_checkpoint(tmp_path / "none", to_cursor_spot(at)) is not None
