"""Decodes one line: quickly if it is well-formed, leniently if not. Never raises, whatever the bytes are.

The real client reads a line as UTF-8 (invalid bytes become U+FFFD), uses the first JSON value in it and ignores the
rest of the line. Python's decoders are stricter in some ways, so a line that the fast decoder rejects is decoded again
in the client's way.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import cache
from typing import Any, NamedTuple, NoReturn, TypeVar, get_args

import msgspec
from msgspec import Struct

from turnlog.entries.entry import READER_FIELD_NAMES, Body, Entry, EntryOrScrap, Scrap

MAX_JSON_DEPTH = 256
"""The maximum nesting depth; deeper values are cut off."""
TOO_DEEP_TEXT = "[nested too deep to decode]"
DECODE_ERRORS = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)
CONVERSION_ERRORS = (msgspec.ValidationError, UnicodeEncodeError)
"""The errors that converting a value can raise; the latter occurs for half a surrogate pair in a key or in place of a
number.
"""
BOM = b"\xef\xbb\xbf"
_JSON_SPACE = b" \t\r\n"
# A cut-off string is a token too: otherwise the search would start again at each of its escaped quotes.
_JSON_TOKEN = re.compile(rb'"(?:[^"\\]++|\\.)*+"?|[\[\]{}]', re.S)
_DEPTH_STEPS = {ord("["): 1, ord("{"): 1, ord("]"): -1, ord("}"): -1}
SPEAKER_TYPES = ("user", "assistant")
_FIRST_KEY = re.compile(rb'\{"(?:parentUuid|type|uuid|sessionId|isSidechain|leafUuid|messageId|logicalParentUuid)"\s*:')
_MAX_OBJECT_ATTEMPTS = 64

decode_entry = msgspec.json.Decoder(Entry).decode
_decode_any = msgspec.json.Decoder().decode


class DecodedValue(NamedTuple):
    """A JSON value and the flaw in its text."""

    value: Any
    flaw: str | None


def decode_body(raw: bytes) -> Body:
    """Decode the whole object from the bytes of an entry."""
    try:
        value = _decode_any(raw)
    except DECODE_ERRORS:
        found = decode_patiently(raw)
        value = found.value if found else None
    return (complete_body(value) or value) if isinstance(value, dict) else {}


def is_plainly_encoded(raw: bytes, body: object) -> bool:
    """Return whether a line is its decoded value, encoded again: it repeats no key and has no other flaw."""
    try:
        return raw == msgspec.json.encode(body) + b"\n"
    except UnicodeEncodeError:
        return False


def complete_body(body: Body) -> Body | None:
    """Add the client's own fields to a row in the short form that some tools write; return None for any other row.

    Such tools omit the `type` of answers, write `content` next to `type` without a `message`, or put the `timestamp` in
    the message.
    """
    kind, message = body.get("type"), body.get("message")
    if isinstance(message, dict):
        added = {}
        if kind is None and message.get("role") in SPEAKER_TYPES:
            added["type"] = message["role"]
        if body.get("timestamp") is None and isinstance(message.get("timestamp"), str):
            added["timestamp"] = message["timestamp"]
        return {**body, **added} if added else None
    content = body.get("content")
    if kind in SPEAKER_TYPES and message is None and isinstance(content, str | list):
        return {**body, "message": {"role": kind, "content": content}}
    return None


def may_be_terse(kind: str | None, message: object, timestamp: str | None) -> bool:
    """Return whether a row lacks a field that every prompt and answer from the client has; called for every row."""
    return (message is None) == (kind in SPEAKER_TYPES) or (timestamp is None and message is not None)


def complete_entry(entry: Entry, raw: bytes) -> Entry:
    """Return the entry that the bytes of a terse row represent, or the same entry if the row is not terse."""
    if entry.message is not None and b'"timestamp"' not in raw and (entry.type is not None or b'"role"' not in raw):
        return entry  # without decoding a line that may be huge
    completed = _build_entry(DecodedValue(decode_body(raw), None), entry.offset, entry.size)
    added = (completed.type, completed.timestamp, completed.message is None)
    if added == (entry.type, entry.timestamp, entry.message is None):
        return entry
    completed.index, completed.parent = entry.index, entry.parent
    # With a type and a message, the client can read it; only its time was in another place.
    if entry.type is None or entry.message is None:
        completed.flaw = "terse"
    return completed


def decode_first_object(line: bytes) -> Body | None:
    """Decode the JSON object at the start of a line, ignoring the rest; return None if there is none."""
    try:
        value = _decode_any(line)
    except DECODE_ERRORS:
        try:
            value, _ = _LENIENT_DECODER.raw_decode(line.lstrip(BOM + _JSON_SPACE + b"\0").decode("utf-8", "replace"))
        except (ValueError, RecursionError):
            return None
    return value if isinstance(value, dict) else None


def decode_patiently(text: bytes) -> DecodedValue | None:
    """Decode a JSON value as the real client does; return None if that fails."""
    try:
        return DecodedValue(_decode_any(text), None)
    except RecursionError:
        return _decode_pruned(text)
    except UnicodeDecodeError:
        found = decode_patiently(text.decode("utf-8", "replace").encode())
        return found and DecodedValue(found.value, found.flaw or "utf-8")
    except msgspec.ValidationError:
        return _decode_leniently(text, "number")
    except msgspec.DecodeError:
        return _decode_leniently(text, "surrogate") if b"\\u" in text else None


def _decode_leniently(text: bytes, flaw: str) -> DecodedValue | None:
    """Decode a value with numbers or surrogates that only the standard library's decoder accepts."""
    try:
        return DecodedValue(_LENIENT_DECODER.decode(text.decode("utf-8", "replace")), flaw)
    except RecursionError:
        return _decode_pruned(text)
    except ValueError:
        return None


def _decode_pruned(text: bytes) -> DecodedValue | None:
    shallow = prune_deep_json(text)
    found = decode_patiently(shallow) if shallow != text else None
    return found and DecodedValue(found.value, "deep")


def _refuse_constant(constant: str) -> NoReturn:
    raise ValueError(constant)


def _parse_number(digits: str) -> int | float:
    return int(digits) if len(digits) < 400 else float(digits)


_LENIENT_DECODER = json.JSONDecoder(parse_constant=_refuse_constant, parse_int=_parse_number)


def prune_deep_json(text: bytes) -> bytes:
    """Replace everything nested deeper than MAX_JSON_DEPTH in JSON text with a marker."""
    parts, depth, start = [], 0, 0
    for token in _JSON_TOKEN.finditer(text):
        step = _DEPTH_STEPS.get(text[token.start()], 0)
        depth += step
        if step > 0 and depth == MAX_JSON_DEPTH:
            parts += [text[start : token.start()], b'"%s"' % TOO_DEEP_TEXT.encode()]
        elif step < 0 and depth == MAX_JSON_DEPTH - 1:
            start = token.end()
    return b"".join(parts) + (text[start:] if depth < MAX_JSON_DEPTH else b"")


def salvage_line(line: bytes, offset: int) -> Iterator[EntryOrScrap]:
    """Yield the entries and scraps that make up a line that the fast decoder rejected."""
    if offset == 0 and line.startswith(BOM):
        yield Scrap(0, len(BOM), "bom", "a byte order mark")
        line, offset = line[len(BOM) :], len(BOM)
        if not line:
            return
    found = decode_patiently(line)
    if found is None:
        yield from _split_line(line, offset)
    elif isinstance(found.value, dict):
        is_spread = found.flaw is None and b"\n" in line.rstrip(_JSON_SPACE)
        yield _build_entry(found._replace(flaw="spread") if is_spread else found, offset, len(line))
    else:
        yield Scrap(offset, len(line), "value", f"a JSON {_name_json_type(found.value)}, not an object")


def _split_line(line: bytes, offset: int) -> Iterator[EntryOrScrap]:
    text = line.strip(_JSON_SPACE + b"\0")
    if not text:
        padding = line.count(0)
        kind, reason = ("padding", f"{padding} NUL bytes") if padding else ("blank", "an empty line")
        yield Scrap(offset, len(line), kind, reason)
    elif text.startswith((b"//", b"#")):
        yield Scrap(offset, len(line), "comment", "a comment line")
    else:
        yield from _split_glued_line(line, offset)


def _split_glued_line(line: bytes, offset: int) -> Iterator[EntryOrScrap]:
    """Yield the pieces of a line that contains more than one item or something broken."""
    chars = line.decode("latin-1")  # one character per byte: only structure and ASCII matter for the ends
    position = 0
    while position < len(line):
        start, end = _find_next_object(line, chars, position)
        if start > position:
            yield _build_rubbish_scrap(line, offset, position, start)
        if end > start:
            flaw = "followed" if start == 0 else "behind"
            yield _build_entry(DecodedValue(decode_body(line[start:end]), flaw), offset + start, end - start)
        position = end


def _find_next_object(line: bytes, chars: str, position: int) -> tuple[int, int]:
    """Return where the next entry on a line starts and ends; if there is none, return the line's end twice."""
    if position == 0 and line.lstrip(_JSON_SPACE).startswith(b"{"):
        end = _find_object_end(chars, len(line) - len(line.lstrip(_JSON_SPACE)), line)
        if end is not None:
            return 0, end
    for match, _ in zip(_FIRST_KEY.finditer(line, position), range(_MAX_OBJECT_ATTEMPTS), strict=False):
        end = _find_object_end(chars, match.start())
        if end is not None and chars[end : end + 1] not in tuple(',}]":') and _is_entry(line[match.start() : end]):
            return match.start(), end
    return len(line), len(line)


def _find_object_end(chars: str, start: int, line: bytes = b"") -> int | None:
    """Return where an object ends, including trailing white space; `line` is needed if it is nested too deeply."""
    try:
        _, end = _LENIENT_DECODER.raw_decode(chars, start)
    except RecursionError:
        end = _find_deep_object_end(line, start)
    except ValueError:
        return None
    while end and chars[end : end + 1] in (" ", "\t", "\r", "\n"):
        end += 1
    return end or None


def _find_deep_object_end(line: bytes, start: int) -> int:
    """Return where an object that is nested too deeply to decode ends, or 0 if it is broken."""
    depth = 0
    for token in _JSON_TOKEN.finditer(line, start):
        depth += _DEPTH_STEPS.get(line[token.start()], 0)
        if depth == 0:
            return token.end() if decode_patiently(line[start : token.end()]) else 0
    return 0


def _is_entry(text: bytes) -> bool:
    found = decode_body(text)
    return isinstance(found.get("type"), str) and not found.keys().isdisjoint(("sessionId", "uuid", "messageId"))


def _build_rubbish_scrap(line: bytes, offset: int, start: int, end: int) -> Scrap:
    rubbish = line[start:end]
    if not rubbish.strip(b"\0" + _JSON_SPACE):
        return Scrap(offset + start, end - start, "padding", f"{rubbish.count(0)} NUL bytes")
    if start == 0 and end == len(line):
        return _build_broken_scrap(line, offset)
    where = "before an entry" if start == 0 else "after an entry"
    return Scrap(offset + start, end - start, "broken", f"invalid bytes {where} on the same line")


def _build_broken_scrap(line: bytes, offset: int) -> Scrap:
    if not line.endswith(b"\n"):
        return Scrap(offset, len(line), "torn", "the last line is cut off or still being written")
    reason = "not valid JSON"
    try:
        _decode_any(line)
    except DECODE_ERRORS as error:
        reason = str(error).splitlines()[0]
    return Scrap(offset, len(line), "broken", reason)


def _name_json_type(value: object) -> str:
    if value is None or isinstance(value, bool):
        return "null" if value is None else "boolean"
    if isinstance(value, int | float):
        return "number"
    return "string" if isinstance(value, str) else "array"


def _build_entry(found: DecodedValue, offset: int, size: int) -> Entry:
    flaw, value = found.flaw, complete_body(found.value) or found.value
    fields = {name: item for name, item in value.items() if name not in READER_FIELD_NAMES}
    try:
        entry = msgspec.convert(fields, Entry)
    except CONVERSION_ERRORS:
        entry, flaw = fit_struct(Entry, fields), flaw or "types"
    is_terse = value is not found.value and None in (found.value.get("type"), found.value.get("message"))
    if is_terse and flaw != "behind":
        flaw = "terse"
    entry.offset, entry.size, entry.flaw = offset, size, flaw
    return entry


S = TypeVar("S", bound=Struct)


def fit_struct(cls: type[S], body: Body) -> S:
    """Build a struct from those fields of an object that have the expected type."""
    values = {}
    for field in _list_struct_fields(cls):
        value = _fit_value(body.get(field.encode_name), field.name, field.type)
        if value is not None:
            values[field.name] = value
    return cls(**values)


_list_struct_fields = cache(msgspec.structs.fields)  # evaluates the annotations on each call


@cache
def _find_struct_type(wanted: Any) -> type[Struct] | None:
    """Find the struct in a type such as `Usage | None` or `str | list[Block] | None`."""
    if isinstance(wanted, type) and issubclass(wanted, Struct):
        return wanted
    return next(filter(None, map(_find_struct_type, get_args(wanted))), None)


_STRUCT_LIST_FIELDS = ("content", "iterations")
"""The fields that contain several structs."""


def _fit_value(value: Any, name: str, wanted: Any) -> Any:
    nested = _find_struct_type(wanted)
    if nested and isinstance(value, list):
        return (
            [fit_struct(nested, item) for item in value if isinstance(item, dict)]
            if name in _STRUCT_LIST_FIELDS
            else None
        )
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if name in ("uuid", "parent_uuid") and isinstance(value, int | float):
        # The client compares values of any type: numbers never equal strings, and 0 and false mean no parent.
        return f"#{value}" if value else None
    if name == "is_sidechain" and value is not None:
        return bool(value) or isinstance(value, list | dict)  # what JavaScript treats as true
    if nested and not isinstance(value, str):
        return fit_struct(nested, value) if isinstance(value, dict) and name not in _STRUCT_LIST_FIELDS else None
    try:
        return msgspec.convert(value, wanted)
    except CONVERSION_ERRORS:
        return None
