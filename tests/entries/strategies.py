"""Session files to try reading on: lines as clients write them, then damaged; and what must hold of any file."""

from __future__ import annotations

import io
import json
from itertools import pairwise
from typing import Any

import msgspec
from hypothesis import strategies as st

from turnlog.entries.entry import Entry, EntryOrScrap
from turnlog.entries.reader import BytesSource, Transcript, scan_lines

BOM = b"\xef\xbb\xbf"
UUIDS = [f"{number:08x}-0000-4000-8000-000000000000" for number in range(6)]
TYPES = ["user", "assistant", "system", "attachment", "progress", "summary", "last-prompt", "file-history-snapshot"]
KEYS = [
    "type",
    "uuid",
    "parentUuid",
    "message",
    "content",
    "usage",
    "id",
    "attachment",
    "data",
    "isSidechain",
    "x",
    "\udc00",
]

LITERALS = [
    b"null",
    b"true",
    b"false",
    b"0",
    b"-0",
    b"7",
    b"33.0",
    b"1.5e3",
    b"1e400",
    b"-1e-400",
    b"12345678901234567890123",
    b"[]",
    b"{}",
]
STRINGS = [
    b'""',
    b'"abc"',
    b'"\\ud800"',
    b'"\\udc00x"',
    b'"\\ud83d\\ude00"',
    b'"\\ud800\\u0041"',
    b'"\\u0000"',
    b'"\xff"',
    b'"\xe2\x82"',
    b'"\xed\xa0\x80"',
    b'"\x7f\xc2\x80"',
    '"ä\u2028😀"'.encode(),
    b'"\\\\\\"{\\"type\\":\\"user\\"}"',
]
NO_JSON = [
    b"NaN",
    b"-Infinity",
    b"01",
    b"+1",
    b"5.",
    b".5",
    b"True",
    b"'a'",
    b"[1,]",
    b'{"a":1,}',
    b'"\\x"',
    b'"\t"',
    b'"\0"',
    b'"open',
    b"",
]
JUNK = [
    b"\0",
    b"\0" * 40,
    BOM,
    b"\x0b",
    b"\x0c",
    b"\xc2\xa0",
    b"\xff",
    b"\xe2\x80\xa8",
    b" ",
    b"\t",
    b"\r",
    b",",
    b"}",
    b"{",
    b'"',
    b"[",
    b"null",
    b"{}",
    b"[]",
    b"// c",
    b"#",
    b"\\u0041",
    b"xyz",
]
LINE_ENDS = [b"\n", b"\n", b"\n", b"\r\n", b"\n\n", b"\r", b" \n", b""]

texts = st.sampled_from(STRINGS) | st.text(max_size=6).map(lambda text: json.dumps(text).encode())
digits = st.sampled_from([19, 20, 309, 399, 400, 4300, 4301, 5000]).map(lambda count: b"9" * count)
scalars = st.sampled_from(LITERALS) | texts | digits | st.integers().map(lambda number: b"%d" % number)


def write_pairs(pairs: list[tuple[str, bytes]]) -> bytes:
    """The text of an object of these keys and values, as often as they are given."""
    return b"{%s}" % b",".join(b"%s:%s" % (json.dumps(key).encode(), value) for key, value in pairs)


def _array(values: list[bytes]) -> bytes:
    return b"[%s]" % b",".join(values)


def _nest_value(value: bytes, levels: int) -> bytes:
    return b"[" * levels + value + b"]" * levels


values = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner, max_size=3).map(_array)
        | st.lists(st.tuples(st.sampled_from(KEYS), inner), max_size=3).map(write_pairs)
    ),
    max_leaves=8,
)
deep = st.builds(_nest_value, scalars, st.sampled_from([200, 255, 256, 257, 1100, 3000]))
odd = values | deep | st.sampled_from(NO_JSON)

uuids = st.sampled_from(UUIDS).map(lambda uuid: b'"%s"' % uuid.encode())
counts = st.integers(0, 2000).map(lambda number: b"%d" % number)
usages = st.lists(
    st.tuples(st.sampled_from(["input_tokens", "output_tokens", "cache_read_input_tokens"]), counts | odd), max_size=3
)
blocks = st.one_of(
    values,
    texts.map(lambda text: b'{"type":"text","text":%s}' % text),
    uuids.map(lambda uuid: b'{"type":"tool_use","id":%s,"name":"Bash","input":{}}' % uuid),
    uuids.map(lambda uuid: b'{"type":"tool_result","tool_use_id":%s,"content":"x"}' % uuid),
)
messages = st.lists(
    st.one_of(
        st.tuples(st.just("id"), uuids),
        st.tuples(st.just("model"), st.just(b'"claude-opus-4"')),
        st.tuples(st.just("content"), st.lists(blocks, max_size=3).map(_array) | texts),
        st.tuples(st.just("usage"), usages.map(write_pairs)),
        st.tuples(st.sampled_from(["id", "content", "usage", "stop_reason"]), odd),
    ),
    max_size=5,
).map(write_pairs)
FIELDS = {
    "parentUuid": uuids | st.just(b"null"),
    "isSidechain": st.sampled_from([b"true", b"false"]),
    "type": st.sampled_from(TYPES).map(lambda name: b'"%s"' % name.encode()),
    "subtype": st.sampled_from([b'"compact_boundary"', b'"turn_duration"']),
    "uuid": uuids,
    "sessionId": uuids,
    "timestamp": st.sampled_from([b'"2026-01-01T10:00:00.000Z"', b'"yesterday"', b"1767261600000"]),
    "message": messages,
    "attachment": st.just(b'{"type":"file"}') | values,
    "data": st.just(b'{"type":"hook_progress"}') | values,
    "leafUuid": uuids,
    "@offset": values,
}


@st.composite
def objects(draw: st.DrawFn) -> bytes:
    """An entry: most fields as they should be, some of another type, some written twice."""
    names = draw(st.lists(st.sampled_from([*FIELDS]), min_size=1, max_size=len(FIELDS)))
    pairs = [(name, draw(FIELDS[name])) for name in names]
    if draw(st.integers(0, 3)) == 0:
        pairs.insert(draw(st.integers(0, len(pairs))), (draw(st.sampled_from([*FIELDS, "x"])), draw(odd)))
    return write_pairs(pairs)


@st.composite
def damaged_lines(draw: st.DrawFn) -> bytes:
    """A line: an entry or another value, cut, glued to others, with junk before, in and behind it."""
    line = draw(objects() if draw(st.integers(0, 4)) else values)
    for _ in range(draw(st.sampled_from([0, 0, 0, 1, 1, 2]))):
        place = draw(st.integers(0, len(line)))
        match draw(st.sampled_from(["cut", "glue", "before", "inside", "behind"])):
            case "cut":
                line = line[:place]
            case "glue":
                line += draw(st.sampled_from([b"", b" ", b"\r", b","])) + draw(objects())
            case "before":
                line = draw(st.sampled_from(JUNK)) + line
            case "inside":
                line = line[:place] + draw(st.sampled_from(JUNK)) + line[place:]
            case _:
                line += draw(st.sampled_from(JUNK))
    return line


def _file(start: bytes, lines: list[tuple[bytes, bytes]]) -> bytes:
    return start + b"".join(line + end for line, end in lines)


damaged_files = st.builds(
    _file,
    st.sampled_from([b"", b"", BOM]),
    st.lists(st.tuples(damaged_lines(), st.sampled_from(LINE_ENDS)), max_size=6),
)
files = st.binary(max_size=60) | damaged_files
"""Anything at all, and what once was a session."""
cuts = st.lists(st.integers(0, 4000), max_size=6)


def chunks(data: bytes, places: list[int]) -> list[bytes]:
    """The data cut at these places."""
    ends = [0, *sorted(place % (len(data) + 1) for place in places), len(data)]
    return [data[start:end] for start, end in pairwise(ends)]


def state(file: Transcript) -> dict[str, Any]:
    """All that a transcript has read, for comparing."""
    return {
        "entries": [msgspec.structs.astuple(entry) for entry in file.entries],
        "scraps": file.scraps,
        "by_uuid": file.by_uuid,
        "repeated": file.repeated,
        "complete": file.complete,
    }


def assert_tiles(items: list[EntryOrScrap], size: int) -> None:
    """Each item begins where the one before it ends, and none is empty."""
    place = 0
    for item in items:
        assert item.offset == place
        assert item.size > 0
        place = item.end
    assert place == size


def assert_accounted(data: bytes) -> None:
    """Every byte of a file is part of exactly one entry or scrap, and can be had again."""
    pieces = list(scan_lines(io.BytesIO(data)))
    assert_tiles([item for item, _ in pieces], len(data))
    assert b"".join(raw for _, raw in pieces) == data
    file = Transcript.from_bytes(data)
    assert_tiles(file.items, len(data))
    assert [(item.offset, file.read_raw(item)) for item in file.items] == [(item.offset, raw) for item, raw in pieces]
    assert [entry.index for entry in file.entries] == list(range(len(file.entries)))
    for entry in file.entries:
        assert isinstance(file.read_body(entry), dict)
    assert_found(file)


def assert_found(file: Transcript) -> None:
    """Every uuid is listed where it stands first, and its further places are too."""
    places: dict[str, list[int]] = {}
    for entry in file.entries:
        if entry.uuid is not None:
            places.setdefault(entry.uuid, []).append(entry.index)
    assert file.by_uuid == {uuid: found[0] for uuid, found in places.items()}
    assert file.repeated == {uuid: found[1:] for uuid, found in places.items() if found[1:]}


def assert_grows(data: bytes, places: list[int]) -> None:
    """A file that is read while it grows ends as one that is read whole."""
    source = BytesSource(b"")
    file = Transcript(source)
    for chunk in chunks(data, places):
        source.data += chunk
        assert file.grow() is bool(chunk)
        assert state(file) == state(Transcript.from_bytes(source.data))


def first_of(file: Transcript, kind: str) -> Entry:
    """The first entry of a type."""
    return next(entry for entry in file.entries if entry.type == kind)
