"""Decoding single lines: what the real client reads of a line is an entry, what it cannot read is marked or a scrap."""

from __future__ import annotations

import io
import json
from contextlib import suppress
from typing import Any, NoReturn

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.entries.strategies import BOM, assert_tiles, damaged_files, damaged_lines, values, write_pairs
from turnlog.entries.entry import (
    FLAW_DESCRIPTIONS,
    SCRAP_DESCRIPTIONS,
    BlockHead,
    CacheWrites,
    Entry,
    EntryOrScrap,
    InnerType,
    LineUsage,
    MessageHead,
)
from turnlog.entries.line_decoder import (
    MAX_JSON_DEPTH,
    TOO_DEEP_TEXT,
    decode_body,
    decode_patiently,
    fit_struct,
    is_plainly_encoded,
    prune_deep_json,
    salvage_line,
)
from turnlog.entries.reader import Transcript

U2 = b'{"parentUuid":"a1","type":"user","uuid":"u2","sessionId":"s","message":{"role":"user","content":"u2 text"}}'
A2 = b'{"parentUuid":"u2","type":"assistant","uuid":"a2","sessionId":"s","message":{"id":"m","content":[]}}'
BEFORE = b'{"parentUuid":null,"type":"user","uuid":"u1","sessionId":"s"}\n'


def replace_text(text: bytes) -> bytes:
    return U2.replace(b"u2 text", text)


def add_value(value: bytes) -> bytes:
    return U2[:-1] + b',"x":' + value + b"}"


def nest_lists(levels: int) -> bytes:
    return b"[" * levels + b"]" * levels


# What Claude Code 2.1.325 reads of a file with such a line in its middle, seen by what it sent (docs/interop.md).
CLIENT: dict[str, tuple[bytes, set[str]]] = {
    "two objects": (U2 + A2, {"u2"}),
    "two objects with a space": (U2 + b" " + A2, {"u2"}),
    "three objects": (U2 + A2 + U2.replace(b"u2", b"u3"), {"u2"}),
    "half an object, then a whole one": (b'{"type":"mode","sessionId":"s","mo' + U2, set()),
    "half an object that ends in a string, then a whole one": (A2[:30] + U2, set()),
    "garbage behind": (U2 + b"garbage", {"u2"}),
    "a comma behind": (U2 + b",", {"u2"}),
    "an array of an entry": (b"[" + U2 + b"]", set()),
    "an empty object in front": (b"{}" + U2, set()),
    "an empty array in front": (b"[]" + U2, set()),
    "null in front": (b"null" + U2, set()),
    "NULs in front": (b"\0" * 16 + U2, set()),
    "NULs only": (b"\0" * 16, set()),
    "NULs behind": (U2 + b"\0" * 16, {"u2"}),
    "spaces in front": (b"   " + U2, {"u2"}),
    "a tab in front": (b"\t" + U2, {"u2"}),
    "spaces behind": (U2 + b"   ", {"u2"}),
    "a BOM in front": (BOM + U2, set()),
    "a vertical tab in front": (b"\x0b" + U2, set()),
    "a form feed in front": (b"\x0c" + U2, set()),
    "a no-break space in front": ("\u00a0".encode() + U2, set()),
    "U+2028 in front": ("\u2028".encode() + U2, set()),
    "an escape, and a vertical tab in front": (b"\x0b" + replace_text(rb"\u0041"), set()),
    "an escape, and a no-break space in front": ("\u00a0".encode() + replace_text(rb"\u0041"), set()),
    "U+2028 and U+0085 in a text": (replace_text("u2\u2028text\x85x".encode()), {"u2"}),
    "CR between two": (U2 + b"\r" + A2, {"u2"}),
    "CR LF": (U2 + b"\r", {"u2"}),
    "a tab in a text": (replace_text(b"u2\ttext"), set()),
    "a NUL in a text": (replace_text(b"u2\0text"), set()),
    "DEL and U+0080 in a text": (replace_text(b"u2\x7f\xc2\x80text"), {"u2"}),
    "a comment": (b"// a comment", set()),
    "a comment behind": (U2 + b" // a comment", {"u2"}),
    "a trailing comma": (U2[:-1] + b",}", set()),
    "a value": (b"1", set()),
    "invalid UTF-8": (replace_text(b"u2 \xff text"), {"u2"}),
    "a cut character of three bytes": (replace_text(b"u2 \xe2\x82 text"), {"u2"}),
    "a cut character of four bytes": (replace_text(b"u2 \xf0\x9f\x98 text"), {"u2"}),
    "Latin-1": (replace_text(b"u2 \xe4\xf6 text"), {"u2"}),
    "a surrogate in UTF-8": (replace_text(b"u2 \xed\xa0\x80 text"), {"u2"}),
    "an overlong NUL": (replace_text(b"u2 \xc0\x80 text"), {"u2"}),
    "a lone high surrogate": (replace_text(rb"u2 \ud800 text"), {"u2"}),
    "a lone low surrogate": (replace_text(rb"u2 \udc00 text"), {"u2"}),
    "a surrogate pair": (replace_text(rb"u2 \ud83d\ude00 text"), {"u2"}),
    "an escaped NUL": (replace_text(rb"u2 \u0000 text"), {"u2"}),
    "an invalid byte in front": (b"\xff" + U2, set()),
    "an invalid byte in a key": (U2[:-1] + b',"k\xff":1}', {"u2"}),
    "a lone surrogate in a key": (U2[:-1] + rb',"k\ud800":1}', {"u2"}),
    "an invalid escape": (replace_text(rb"u2 \x text"), set()),
    "an unfinished escape": (replace_text(rb"u2 \u12"), set()),
    "a type written twice, the last counts": (U2[:-1] + b',"type":"zzz"}', {"u2"}),
    "a uuid written twice, the last counts": (U2[:-1] + b',"uuid":"u9"}', {"u9"}),
    "a uuid written twice, the first of another type": (b'{"uuid":{},' + U2[1:], {"u2"}),
    "a message written twice": (U2[:-1] + b',"message":{"content":"second"}}', {"u2"}),
    "__proto__": (add_value(b'{"__proto__":{"uuid":"u9"}}'), {"u2"}),
    "NaN": (add_value(b"NaN"), set()),
    "Infinity": (add_value(b"Infinity"), set()),
    "minus Infinity": (add_value(b"-Infinity"), set()),
    "single quotes": (add_value(b"'a'"), set()),
    "01": (add_value(b"01"), set()),
    "+1": (add_value(b"+1"), set()),
    "5.": (add_value(b"5."), set()),
    ".5": (add_value(b".5"), set()),
    "True": (add_value(b"True"), set()),
    "numbers beyond 64 bits": (add_value(b"[12345678901234567890,123456789012345678901234567890]"), {"u2"}),
    "numbers beyond a double": (add_value(b"[1e400,-1e400,1e-400]"), {"u2"}),
    "5,000 digits": (add_value(b"9" * 5000), {"u2"}),
    "2,000 levels": (add_value(nest_lists(2000)), {"u2"}),
    "100,000 levels": (add_value(nest_lists(100_000)), {"u2"}),
    "100,000 levels behind a lone surrogate": (add_value(rb'["\ud800",%s]' % nest_lists(100_000)), {"u2"}),
    "100,000 levels behind a large number": (add_value(b"[1e400,%s]" % nest_lists(100_000)), {"u2"}),
    "100,000 levels behind invalid UTF-8": (add_value(b'["\xff",%s]' % nest_lists(100_000)), {"u2"}),
    "100,000 levels and another object": (add_value(nest_lists(100_000)) + b" \t" + A2, {"u2"}),
    "100,000 levels and garbage": (add_value(nest_lists(100_000)) + b"garbage", {"u2"}),
    "100,000 levels behind another object": (U2 + add_value(nest_lists(100_000)).replace(b"u2", b"u3"), {"u2"}),
    "100,000 levels that are not closed": (add_value(b"[" * 100_000), set()),
    "100,000 levels, the last not closed": (add_value(nest_lists(100_000))[:-1], set()),
    "100,000 levels, broken behind them": (add_value(nest_lists(100_000))[:-1] + b",}" + A2, set()),
}


@pytest.mark.parametrize("form", CLIENT)
def test_an_entry_is_lost_if_the_client_does_not_read_it(form: str) -> None:
    line, read = CLIENT[form]
    file = Transcript.from_bytes(BEFORE + line + b"\n" + BEFORE.replace(b"u1", b"u9x"))
    assert {entry.uuid for entry in file.entries if entry.uuid and not entry.is_lost} == {"u1", "u9x"} | read
    assert_tiles(file.items, len(BEFORE) * 2 + len(line) + 2)


@pytest.mark.parametrize(("marks", "read"), [(0, {"u2"}), (1, {"u2"}), (2, set())])
def test_the_client_skips_one_byte_order_mark_at_the_start_of_a_file(marks: int, read: set[str]) -> None:
    file = Transcript.from_bytes(BOM * marks + U2 + b"\n")
    assert {entry.uuid for entry in file.entries if not entry.is_lost} == read


def test_the_client_reads_one_object_of_a_file_with_carriage_returns_for_line_ends() -> None:
    file = Transcript.from_bytes(b"\r".join([U2, A2, U2.replace(b"u2", b"u3")]) + b"\r")
    assert [(entry.uuid, entry.is_lost) for entry in file.entries] == [("u2", False), ("a2", True), ("u3", True)]


def test_a_file_in_utf_16_holds_no_entry() -> None:
    assert Transcript.from_bytes((U2 + b"\n").decode().encode("utf-16")).entries == []


# What follows is the client's rule once more, in the words of another decoder.


def _refuse(constant: str) -> NoReturn:
    raise ValueError(constant)


_CLIENT = json.JSONDecoder(parse_constant=_refuse, parse_int=float)


def client_value(line: bytes) -> Any:
    """The first JSON value of a line, or None."""
    try:
        return _CLIENT.raw_decode(line.decode("utf-8", "replace").lstrip(" \t\r\n"))[0]
    except ValueError:
        return None


def doubles(value: Any) -> Any:
    """A value as JavaScript has it: all numbers are doubles."""
    if isinstance(value, dict):
        return {key: doubles(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [doubles(inner) for inner in value]
    if isinstance(value, int) and not isinstance(value, bool):
        return float(str(value))
    return value


@given(data=damaged_files)
@example(data=BOM + U2 + b"\r\n" + b"\0" + A2)
@example(data=rb'{"\udc00":1,"isMeta":"\ud800","message":{"usage":{"input_tokens":"\ud800"}}}')
def test_the_client_reads_the_first_value_of_each_line_and_so_do_we(data: bytes) -> None:
    file = Transcript.from_bytes(data)
    place = len(BOM) if data.startswith(BOM) else 0
    for line in io.BytesIO(data[place:]):
        found = [entry for entry in file.entries if place <= entry.offset < place + len(line) and not entry.is_lost]
        place += len(line)
        with suppress(RecursionError):
            value = client_value(line)
            assert len(found) == isinstance(value, dict)
            if found and found[0].flaw != "deep":
                assert doubles(file.read_body(found[0])) == value


@given(line=damaged_lines(), offset=st.integers(0, 5))
def test_the_pieces_of_any_line_tile_it_and_give_known_reasons(line: bytes, offset: int) -> None:
    line = line.replace(b"\n", b"") + b"\n"
    items = list(salvage_line(line, offset))
    assert items[0].offset == offset
    assert_tiles([shift_offset(item, offset) for item in items], len(line))
    for item in items:
        if isinstance(item, Entry):
            assert item.flaw is None or item.flaw in FLAW_DESCRIPTIONS
        else:
            assert item.kind in SCRAP_DESCRIPTIONS
            assert item.reason


def shift_offset(item: EntryOrScrap, offset: int) -> EntryOrScrap:
    if isinstance(item, Entry):
        return Entry(offset=item.offset - offset, size=item.size)
    return item._replace(offset=item.offset - offset)


@given(raw=st.binary(max_size=40) | damaged_lines())
def test_a_body_is_an_object_whatever_the_bytes(raw: bytes) -> None:
    assert isinstance(decode_body(raw), dict)


@pytest.mark.parametrize("raw", [b"", b"[1]", b"null", b"\0", b'{"a":', b"\xff", b"1e400", rb'"\ud800"'])
def test_the_body_of_what_is_no_object_is_empty(raw: bytes) -> None:
    assert decode_body(raw) == {}


def test_bodies_hold_what_the_client_would_see() -> None:
    assert decode_body(rb'{"a":"\ud800","b":1}') == {"a": "\ud800", "b": 1}
    assert decode_body(b'{"a":"\xff","b":"\xe2\x82"}') == {"a": "\ufffd", "b": "\ufffd"}
    assert decode_body(b'{"a":1e400,"b":%s}' % (b"9" * 5000)) == {"a": float("inf"), "b": float("inf")}
    assert decode_body(b'{"a":12345678901234567890123}') == {"a": 12345678901234567890123}
    assert decode_body(b'{"a":1,"a":2}') == {"a": 2}
    assert decode_body(b'{"a":1} {"a":2}') == {}


@pytest.mark.parametrize(
    ("text", "flaw"),
    [
        (b"{}", None),
        (b'{"a":"\xff"}', "utf-8"),
        (rb'{"a":"\ud800"}', "surrogate"),
        (b'{"a":"\xff","b":"\\ud800"}', "surrogate"),
        (rb'{"a":"\ud800","b":"' + b'\xff"}', "surrogate"),
        (b'{"a":1e400}', "number"),
        (b'{"a":%s}' % nest_lists(100_000), "deep"),
        (b'{"a":%s,"b":"\xff"}' % nest_lists(100_000), "deep"),
    ],
)
def test_what_was_wrong_with_a_text_is_told(text: bytes, flaw: str | None) -> None:
    found = decode_patiently(text)
    assert found is not None
    assert found.flaw == flaw


@pytest.mark.parametrize("text", [b"", b"{", b"{}{}", rb'{"a":"\ud800"', b'{"a":1e400', b"[" * 5000, b'{"a":"\xff"'])
def test_what_is_no_json_has_no_value(text: bytes) -> None:
    assert decode_patiently(text) is None


def test_values_below_the_deepest_level_are_replaced_by_a_marker() -> None:
    shallow = b"[" * (MAX_JSON_DEPTH - 1) + b'1,{"a":"]"}' + b"]" * (MAX_JSON_DEPTH - 1)
    assert prune_deep_json(shallow) == shallow.replace(b'{"a":"]"}', b'"%s"' % TOO_DEEP_TEXT.encode())
    assert prune_deep_json(b'{"a":[1,2]}') == b'{"a":[1,2]}'


def test_what_stands_behind_a_deep_value_is_kept() -> None:
    assert decode_body(b'{"a":%s,"b":2}' % nest_lists(100_000))["b"] == 2


@given(value=values)
def test_shallow_values_are_not_touched(value: bytes) -> None:
    assert prune_deep_json(value) == value


def test_a_cut_string_full_of_quotes_is_passed_once() -> None:
    """A search that began anew at each quote would take hours for this."""
    text = b'{"a":' + b"[" * 2000 + b'"' + rb"\"" * 500_000
    assert prune_deep_json(text).startswith(b'{"a":[[')
    assert decode_patiently(text) is None


SCRAP_LINES = [
    (b"\n", "blank", "an empty line"),
    (b" \t\r\n", "blank", "an empty line"),
    (b"\0\0\0\n", "padding", "3 NUL bytes"),
    (b"// x\n", "comment", "a comment line"),
    (b"  # x\n", "comment", "a comment line"),
    (b"null\n", "value", "a JSON null, not an object"),
    (b"true\n", "value", "a JSON boolean, not an object"),
    (b"1\n", "value", "a JSON number, not an object"),
    (b"1e400\n", "value", "a JSON number, not an object"),
    (b'"x"\n', "value", "a JSON string, not an object"),
    (b"[1]\n", "value", "a JSON array, not an object"),
    (b"{\n", "broken", "Input data was truncated"),
    (b'{"a":1\n', "broken", "Input data was truncated"),
    (b"xyz\n", "broken", "JSON is malformed: invalid character (byte 0)"),
    (b'{"a":"\xff\n', "broken", "JSON is malformed: invalid character (byte 7)"),
    (b'{"a":1', "torn", "the last line is cut off or still being written"),
    (b"\xff", "torn", "the last line is cut off or still being written"),
]


@pytest.mark.parametrize(("line", "kind", "reason"), SCRAP_LINES)
def test_what_is_no_entry_is_explained(line: bytes, kind: str, reason: str) -> None:
    (scrap,) = salvage_line(line, 7)
    assert scrap == (7, len(line), kind, reason)


def test_rubbish_beside_entries_says_where_it_stands() -> None:
    found = [
        (item.kind, getattr(item, "reason", item)) for item in salvage_line(b"xx" + U2 + b"yy" + A2 + b"\0\0\n", 0)
    ]
    assert [reason for kind, reason in found if kind] == [
        "invalid bytes before an entry on the same line",
        "invalid bytes after an entry on the same line",
        "2 NUL bytes",
    ]


def test_an_object_inside_a_broken_one_is_no_entry() -> None:
    (scrap,) = salvage_line(b'{"a":' + U2 + b',"b":\n', 0)
    assert isinstance(scrap, tuple)
    assert scrap.kind == "broken"


def test_an_object_behind_rubbish_is_an_entry_only_if_it_looks_like_one() -> None:
    (scrap,) = salvage_line(b'xx{"type":"user"}\n', 0)
    assert isinstance(scrap, tuple)


def test_the_search_for_entries_behind_rubbish_ends() -> None:
    line = b'{"type":[' * 1000 + U2 + b"\n"
    (scrap,) = salvage_line(line, 0)
    assert scrap.size == len(line)


def test_a_byte_order_mark_alone_and_before_a_line() -> None:
    assert [(item.size, item.kind) for item in salvage_line(BOM, 0)] == [(3, "bom")]
    mark, entry = salvage_line(BOM + U2 + b"\n", 0)
    assert (mark.end, entry.offset, entry.end) == (3, 3, len(U2) + 4)
    assert isinstance(entry, Entry)
    assert entry.flaw is None


# Fields of another type than expected.


def entry_of(line: bytes) -> Entry:
    (entry,) = salvage_line(line, 0)
    assert isinstance(entry, Entry)
    return entry


@pytest.mark.parametrize("name", Entry.__struct_encode_fields__)
@given(value=values)
def test_a_field_of_any_type_leaves_the_others_alone(name: str, value: bytes) -> None:
    other = "cwd" if name != "cwd" else "version"
    entry = entry_of(write_pairs([(name, value), (other, b'"here"'), ("subtype", b"[]")]))
    assert getattr(entry, other) == "here"


def test_what_has_another_type_is_left_out() -> None:
    entry = entry_of(
        b'{"type":"assistant","cwd":7,"isMeta":"yes","message":{"id":5,"content":[{"type":"text","id":9},3,{"type":1}],'
        b'"usage":{"input_tokens":"x","output_tokens":5.0,"cache_read_input_tokens":1.5,'
        b'"cache_creation":{"ephemeral_5m_input_tokens":5,"ephemeral_1h_input_tokens":"x"},'
        b'"server_tool_use":[]}},"attachment":[],"data":{"type":7}}'
    )
    assert (entry.type, entry.flaw, entry.cwd, entry.is_meta) == ("assistant", "types", None, None)
    assert (entry.attachment, entry.data) == (None, InnerType())
    assert entry.message == MessageHead(
        content=[BlockHead("text"), BlockHead()],
        usage=LineUsage(output_tokens=5, cache_creation=CacheWrites(ephemeral_5m_input_tokens=5)),
    )


@pytest.mark.parametrize("content", [b"5", b"{}", b"true", b"null"])
def test_content_that_is_neither_text_nor_blocks_is_none(content: bytes) -> None:
    assert entry_of(b'{"uuid":7,"message":{"content":%s}}' % content).message == MessageHead()


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        (b"33", b"33", True),
        (b"33", b"33.0", True),
        (b"33", b'"33"', False),
        (b"true", b"true", True),
        (b"true", b"1", False),
        (b"1.5", b"1.5", True),
        (b"9" * 4300, b"9" * 4300, True),
        (b"{}", b"{}", False),
        (b"[]", b"[]", False),
        (b"0", b"0", False),
        (b"false", b"false", False),
        (b"null", b"null", False),
    ],
)
def test_uuids_of_other_types_link_as_in_the_client(one: bytes, other: bytes, same: bool) -> None:
    above, below = entry_of(b'{"cwd":0,"uuid":%s}' % one), entry_of(b'{"cwd":0,"parentUuid":%s}' % other)
    assert (above.uuid is not None and above.uuid == below.parent_uuid) is same


@pytest.mark.parametrize("parent", [b"0", b"-0", b"0.0", b"false", b"null", b"[]"])
def test_a_parent_that_javascript_takes_for_false_or_never_equal_is_none(parent: bytes) -> None:
    assert entry_of(b'{"cwd":0,"parentUuid":%s}' % parent).parent_uuid is None


@pytest.mark.parametrize(
    ("value", "sidechain"),
    [
        (b"true", True),
        (b'"false"', True),
        (b"1", True),
        (b"[]", True),
        (b"{}", True),
        (b"0", False),
        (b'""', False),
        (b"false", False),
        (b"null", None),
    ],
)
def test_a_side_chain_is_what_javascript_takes_for_true(value: bytes, sidechain: bool | None) -> None:
    assert entry_of(b'{"cwd":0,"isSidechain":%s}' % value).is_sidechain is sidechain


def test_the_marks_of_the_reader_cannot_be_set_by_a_file() -> None:
    entry = entry_of(b'{"@offset":-5,"@size":-5,"@flaw":"behind","@kind":"x","cwd":0}')
    assert (entry.offset, entry.size, entry.flaw, entry.kind) == (0, 62, "types", None)


@given(found=st.dictionaries(st.text(max_size=3), st.integers()))
def test_an_object_without_known_fields_fits_with_defaults(found: dict[str, Any]) -> None:
    assert fit_struct(LineUsage, found) == LineUsage()


@pytest.mark.parametrize(
    ("raw", "is_plain"),
    [
        (b'{"a":"b","c":[1,2]}\n', True),
        (b'{"a":"b"}', False),  # the last line, without its end
        (b'{"a": "b"}\n', False),
        (b'{"a":"x","a":"b"}\n', False),
        (b'{"a":"\\u0062"}\n', False),
        (b'{"a":"\\ud800"}\n', False),  # half of a pair, which has no encoding
    ],
)
def test_a_plainly_encoded_line_is_its_value_encoded_again(raw: bytes, is_plain: bool) -> None:
    assert is_plainly_encoded(raw, decode_body(raw)) is is_plain
