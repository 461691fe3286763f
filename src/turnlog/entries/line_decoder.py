"""Decoding one line: quickly when it is as it should be, patiently when it is not. Never raises on any bytes.

The real client reads a line as UTF-8 (bad bytes become U+FFFD), takes the first JSON value on it and ignores what
follows on the same line. Python's decoders are stricter in places, so what the quick decoder refuses is tried again in
that way.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import cache
from typing import Any, NamedTuple, NoReturn, TypeVar, get_args

import msgspec
from msgspec import Struct

from turnlog.entries.entry import Body, Entry, EntryOrScrap, Scrap

MAX_JSON_DEPTH = 256
"""How deep values are decoded; what lies deeper is cut off."""
TOO_DEEP_TEXT = "[nested too deep to decode]"
DECODE_ERRORS = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)
CONVERSION_ERRORS = (msgspec.ValidationError, UnicodeEncodeError)
"""What converting a value raises; the latter for half a surrogate pair in a key or in place of a number."""
BOM = b"\xef\xbb\xbf"
_JSON_SPACE = b" \t\r\n"
# A string that is cut off is a token too: else the search would begin anew at each of its escaped quotes.
_JSON_TOKEN = re.compile(rb'"(?:[^"\\]++|\\.)*+"?|[\[\]{}]', re.S)
_DEPTH_STEPS = {ord("["): 1, ord("{"): 1, ord("]"): -1, ord("}"): -1}
_SPEAKER_TYPES = ("user", "assistant")
_FIRST_KEY = re.compile(rb'\{"(?:parentUuid|type|uuid|sessionId|isSidechain|leafUuid|messageId|logicalParentUuid)"\s*:')
_MAX_OBJECT_ATTEMPTS = 64

decode_entry = msgspec.json.Decoder(Entry).decode
_decode_any = msgspec.json.Decoder().decode


class DecodedValue(NamedTuple):
    """A JSON value and what was wrong with its text."""

    value: Any
    flaw: str | None


def decode_body(raw: bytes) -> Body:
    """The whole object that the bytes of an entry hold."""
    try:
        value = _decode_any(raw)
    except DECODE_ERRORS:
        found = decode_patiently(raw)
        value = found.value if found else None
    return (complete_body(value) or value) if isinstance(value, dict) else {}


def complete_body(found: Body) -> Body | None:
    """A row in the short form of some tools, with the fields of the client's own; None for any other row.

    They leave out the `type` of answers, keep `content` beside `type` without a `message`, and put the `timestamp` into
    the message.
    """
    kind, message = found.get("type"), found.get("message")
    if isinstance(message, dict):
        added = {}
        if kind is None and message.get("role") in _SPEAKER_TYPES:
            added["type"] = message["role"]
        if found.get("timestamp") is None and isinstance(message.get("timestamp"), str):
            added["timestamp"] = message["timestamp"]
        return {**found, **added} if added else None
    content = found.get("content")
    if kind in _SPEAKER_TYPES and message is None and isinstance(content, str | list):
        return {**found, "message": {"role": kind, "content": content}}
    return None


def may_be_terse(kind: str | None, message: object, timestamp: str | None) -> bool:
    """Whether a row lacks what every prompt and answer of the client has; asked for every row of a file."""
    return (message is None) == (kind in _SPEAKER_TYPES) or (timestamp is None and message is not None)


def complete_entry(entry: Entry, raw: bytes) -> Entry:
    """The entry that the bytes of a terse row stand for; the same entry where they are none."""
    if entry.message is not None and b'"timestamp"' not in raw and (entry.type is not None or b'"role"' not in raw):
        return entry  # without decoding a line that may be huge
    kept = _build_entry(DecodedValue(decode_body(raw), None), entry.offset, entry.size)
    if (kept.type, kept.timestamp, kept.message is None) == (entry.type, entry.timestamp, entry.message is None):
        return entry
    kept.index, kept.parent = entry.index, entry.parent
    # With a type and a message, the client reads it; only its time was in another place.
    if entry.type is None or entry.message is None:
        kept.flaw = "terse"
    return kept


def decode_first_object(line: bytes) -> Body | None:
    """The JSON object at the start of a line, whatever follows it; None if there is none."""
    try:
        value = _decode_any(line)
    except DECODE_ERRORS:
        try:
            value, _ = _LENIENT_DECODER.raw_decode(line.lstrip(BOM + _JSON_SPACE + b"\0").decode("utf-8", "replace"))
        except (ValueError, RecursionError):
            return None
    return value if isinstance(value, dict) else None


def decode_patiently(text: bytes) -> DecodedValue | None:
    """The JSON value of a text read as the real client reads it, or None."""
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
    """A value with numbers or surrogates that only the standard library's decoder takes."""
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
    """A JSON text with everything below DEPTH levels replaced by a marker."""
    kept, depth, start = [], 0, 0
    for token in _JSON_TOKEN.finditer(text):
        step = _DEPTH_STEPS.get(text[token.start()], 0)
        depth += step
        if step > 0 and depth == MAX_JSON_DEPTH:
            kept += [text[start : token.start()], b'"%s"' % TOO_DEEP_TEXT.encode()]
        elif step < 0 and depth == MAX_JSON_DEPTH - 1:
            start = token.end()
    return b"".join(kept) + (text[start:] if depth < MAX_JSON_DEPTH else b"")


def salvage_line(line: bytes, offset: int) -> Iterator[EntryOrScrap]:
    """The entries and scraps that tile a line which the quick decoder refused."""
    if offset == 0 and line.startswith(BOM):
        yield Scrap(0, len(BOM), "bom", "a byte order mark")
        line, offset = line[len(BOM) :], len(BOM)
        if not line:
            return
    found = decode_patiently(line)
    if found is None:
        yield from _split_line(line, offset)
    elif isinstance(found.value, dict):
        yield _build_entry(found, offset, len(line))
    else:
        yield Scrap(offset, len(line), "value", f"a JSON {_name_json_type(found.value)}, no object")


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
    """The pieces of a line that holds more than one thing, or something broken."""
    chars = line.decode("latin-1")  # one character a byte: only structure and ASCII matter for the ends
    done = 0
    while done < len(line):
        start, end = _find_next_object(line, chars, done)
        if start > done:
            yield _build_rubbish_scrap(line, offset, done, start)
        if end > start:
            flaw = "followed" if start == 0 else "behind"
            yield _build_entry(DecodedValue(decode_body(line[start:end]), flaw), offset + start, end - start)
        done = end


def _find_next_object(line: bytes, chars: str, done: int) -> tuple[int, int]:
    """Where the next entry on a line begins and ends; at the line's end if there is none."""
    if done == 0 and line.lstrip(_JSON_SPACE).startswith(b"{"):
        end = _find_object_end(chars, len(line) - len(line.lstrip(_JSON_SPACE)), line)
        if end is not None:
            return 0, end
    for match, _ in zip(_FIRST_KEY.finditer(line, done), range(_MAX_OBJECT_ATTEMPTS), strict=False):
        end = _find_object_end(chars, match.start())
        if end is not None and chars[end : end + 1] not in tuple(',}]":') and _is_entry(line[match.start() : end]):
            return match.start(), end
    return len(line), len(line)


def _find_object_end(chars: str, start: int, line: bytes = b"") -> int | None:
    """Where an object ends, with the white space behind it; one that is too deep to decode only given the line."""
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
    """Where an object that is too deep to decode ends; 0 if it is broken."""
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
    where = "in front of an entry" if start == 0 else "behind an entry"
    return Scrap(offset + start, end - start, "broken", f"rubbish {where} on the same line")


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
    try:
        entry = msgspec.convert(value, Entry)
    except CONVERSION_ERRORS:
        entry, flaw = fit_struct(Entry, value), flaw or "types"
    is_terse = value is not found.value and None in (found.value.get("type"), found.value.get("message"))
    if is_terse and flaw != "behind":
        flaw = "terse"
    entry.offset, entry.size, entry.flaw, entry.kind = offset, size, flaw, None
    return entry


S = TypeVar("S", bound=Struct)


def fit_struct(cls: type[S], found: Body) -> S:
    """A struct of those fields of an object that have the expected type."""
    kept = {}
    for field in _list_struct_fields(cls):
        value = _fit_value(found.get(field.encode_name), field.name, field.type)
        if value is not None:
            kept[field.name] = value
    return cls(**kept)


_list_struct_fields = cache(msgspec.structs.fields)  # which evaluates the annotations every time


@cache
def _find_struct_type(wanted: Any) -> type[Struct] | None:
    """The struct in a type such as `Usage | None` or `str | list[Block] | None`."""
    if isinstance(wanted, type) and issubclass(wanted, Struct):
        return wanted
    return next(filter(None, map(_find_struct_type, get_args(wanted))), None)


_STRUCT_LIST_FIELDS = ("content", "iterations")
"""The fields that hold several structs."""


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
        # The client compares whatever stands there: numbers never equal strings, and 0 and false are no parent.
        return f"#{value}" if value else None
    if name == "is_sidechain" and value is not None:
        return bool(value) or isinstance(value, list | dict)  # what JavaScript takes for true
    if nested and not isinstance(value, str):
        return fit_struct(nested, value) if isinstance(value, dict) and name not in _STRUCT_LIST_FIELDS else None
    try:
        return msgspec.convert(value, wanted)
    except CONVERSION_ERRORS:
        return None
