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

from turnlog.entries.entry import Body, Entry, Item, Scrap

DEPTH = 256
"""How deep values are decoded; what lies deeper is cut off."""
TOO_DEEP = "[nested too deep to decode]"
FAILURES = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)
NO_FIT = (msgspec.ValidationError, UnicodeEncodeError)
"""What converting a value raises; the latter for half a surrogate pair in a key or in place of a number."""
BOM = b"\xef\xbb\xbf"
_SPACE = b" \t\r\n"
# A string that is cut off is a token too: else the search would begin anew at each of its escaped quotes.
_TOKEN = re.compile(rb'"(?:[^"\\]++|\\.)*+"?|[\[\]{}]', re.S)
_STEPS = {ord("["): 1, ord("{"): 1, ord("]"): -1, ord("}"): -1}
_SPOKEN = ("user", "assistant")
_FIRST_KEY = re.compile(rb'\{"(?:parentUuid|type|uuid|sessionId|isSidechain|leafUuid|messageId|logicalParentUuid)"\s*:')
_ATTEMPTS = 64

quick = msgspec.json.Decoder(Entry).decode
_any = msgspec.json.Decoder().decode


class Decoded(NamedTuple):
    """A JSON value and what was wrong with its text."""

    value: Any
    flaw: str | None


def body(raw: bytes) -> Body:
    """The whole object that the bytes of an entry hold."""
    try:
        value = _any(raw)
    except FAILURES:
        found = patient(raw)
        value = found.value if found else None
    return (complete(value) or value) if isinstance(value, dict) else {}


def complete(found: Body) -> Body | None:
    """A row in the short form of some tools, with the fields of the client's own; None for any other row.

    They leave out the `type` of answers, keep `content` beside `type` without a `message`, and put the `timestamp` into
    the message.
    """
    kind, message = found.get("type"), found.get("message")
    if isinstance(message, dict):
        added = {}
        if kind is None and message.get("role") in _SPOKEN:
            added["type"] = message["role"]
        if found.get("timestamp") is None and isinstance(message.get("timestamp"), str):
            added["timestamp"] = message["timestamp"]
        return {**found, **added} if added else None
    content = found.get("content")
    if kind in _SPOKEN and message is None and isinstance(content, str | list):
        return {**found, "message": {"role": kind, "content": content}}
    return None


def may_be_terse(kind: str | None, message: object, timestamp: str | None) -> bool:
    """Whether a row lacks what every prompt and answer of the client has; asked for every row of a file."""
    return (message is None) == (kind in _SPOKEN) or (timestamp is None and message is not None)


def complete_entry(entry: Entry, raw: bytes) -> Entry:
    """The entry that the bytes of a terse row stand for; the same entry where they are none."""
    if entry.message is not None and b'"timestamp"' not in raw and (entry.type is not None or b'"role"' not in raw):
        return entry  # without decoding a line that may be huge
    kept = _entry(Decoded(body(raw), None), entry.offset, entry.size)
    if (kept.type, kept.timestamp, kept.message is None) == (entry.type, entry.timestamp, entry.message is None):
        return entry
    kept.index, kept.parent = entry.index, entry.parent
    # With a type and a message, the client reads it; only its time was in another place.
    if entry.type is None or entry.message is None:
        kept.flaw = "terse"
    return kept


def first_object(line: bytes) -> Body | None:
    """The JSON object at the start of a line, whatever follows it; None if there is none."""
    try:
        value = _any(line)
    except FAILURES:
        try:
            value, _ = _JSON.raw_decode(line.lstrip(BOM + _SPACE + b"\0").decode("utf-8", "replace"))
        except (ValueError, RecursionError):
            return None
    return value if isinstance(value, dict) else None


def patient(text: bytes) -> Decoded | None:
    """The JSON value of a text read as the real client reads it, or None."""
    try:
        return Decoded(_any(text), None)
    except RecursionError:
        return _shallow(text)
    except UnicodeDecodeError:
        found = patient(text.decode("utf-8", "replace").encode())
        return found and Decoded(found.value, found.flaw or "utf-8")
    except msgspec.ValidationError:
        return _lenient(text, "number")
    except msgspec.DecodeError:
        return _lenient(text, "surrogate") if b"\\u" in text else None


def _lenient(text: bytes, flaw: str) -> Decoded | None:
    """A value with numbers or surrogates that only the standard library's decoder takes."""
    try:
        return Decoded(_JSON.decode(text.decode("utf-8", "replace")), flaw)
    except RecursionError:
        return _shallow(text)
    except ValueError:
        return None


def _shallow(text: bytes) -> Decoded | None:
    shallow = pruned(text)
    found = patient(shallow) if shallow != text else None
    return found and Decoded(found.value, "deep")


def _refuse(constant: str) -> NoReturn:
    raise ValueError(constant)


def _number(digits: str) -> int | float:
    return int(digits) if len(digits) < 400 else float(digits)


_JSON = json.JSONDecoder(parse_constant=_refuse, parse_int=_number)


def pruned(text: bytes) -> bytes:
    """A JSON text with everything below DEPTH levels replaced by a marker."""
    kept, depth, start = [], 0, 0
    for token in _TOKEN.finditer(text):
        step = _STEPS.get(text[token.start()], 0)
        depth += step
        if step > 0 and depth == DEPTH:
            kept += [text[start : token.start()], b'"%s"' % TOO_DEEP.encode()]
        elif step < 0 and depth == DEPTH - 1:
            start = token.end()
    return b"".join(kept) + (text[start:] if depth < DEPTH else b"")


def salvage(line: bytes, offset: int) -> Iterator[Item]:
    """The entries and scraps that tile a line which the quick decoder refused."""
    if offset == 0 and line.startswith(BOM):
        yield Scrap(0, len(BOM), "bom", "a byte order mark")
        line, offset = line[len(BOM) :], len(BOM)
        if not line:
            return
    found = patient(line)
    if found is None:
        yield from _pieces(line, offset)
    elif isinstance(found.value, dict):
        yield _entry(found, offset, len(line))
    else:
        yield Scrap(offset, len(line), "value", f"a JSON {_json_type(found.value)}, no object")


def _pieces(line: bytes, offset: int) -> Iterator[Item]:
    text = line.strip(_SPACE + b"\0")
    if not text:
        padding = line.count(0)
        kind, reason = ("padding", f"{padding} NUL bytes") if padding else ("blank", "an empty line")
        yield Scrap(offset, len(line), kind, reason)
    elif text.startswith((b"//", b"#")):
        yield Scrap(offset, len(line), "comment", "a comment line")
    else:
        yield from _glued(line, offset)


def _glued(line: bytes, offset: int) -> Iterator[Item]:
    """The pieces of a line that holds more than one thing, or something broken."""
    chars = line.decode("latin-1")  # one character a byte: only structure and ASCII matter for the ends
    done = 0
    while done < len(line):
        start, end = _next_object(line, chars, done)
        if start > done:
            yield _rubbish(line, offset, done, start)
        if end > start:
            flaw = "followed" if start == 0 else "behind"
            yield _entry(Decoded(body(line[start:end]), flaw), offset + start, end - start)
        done = end


def _next_object(line: bytes, chars: str, done: int) -> tuple[int, int]:
    """Where the next entry on a line begins and ends; at the line's end if there is none."""
    if done == 0 and line.lstrip(_SPACE).startswith(b"{"):
        end = _object_end(chars, len(line) - len(line.lstrip(_SPACE)), line)
        if end is not None:
            return 0, end
    for match, _ in zip(_FIRST_KEY.finditer(line, done), range(_ATTEMPTS), strict=False):
        end = _object_end(chars, match.start())
        if end is not None and chars[end : end + 1] not in tuple(',}]":') and _is_entry(line[match.start() : end]):
            return match.start(), end
    return len(line), len(line)


def _object_end(chars: str, start: int, line: bytes = b"") -> int | None:
    """Where an object ends, with the white space behind it; one that is too deep to decode only given the line."""
    try:
        _, end = _JSON.raw_decode(chars, start)
    except RecursionError:
        end = _deep_end(line, start)
    except ValueError:
        return None
    while end and chars[end : end + 1] in (" ", "\t", "\r", "\n"):
        end += 1
    return end or None


def _deep_end(line: bytes, start: int) -> int:
    """Where an object that is too deep to decode ends; 0 if it is broken."""
    depth = 0
    for token in _TOKEN.finditer(line, start):
        depth += _STEPS.get(line[token.start()], 0)
        if depth == 0:
            return token.end() if patient(line[start : token.end()]) else 0
    return 0


def _is_entry(text: bytes) -> bool:
    found = body(text)
    return isinstance(found.get("type"), str) and not found.keys().isdisjoint(("sessionId", "uuid", "messageId"))


def _rubbish(line: bytes, offset: int, start: int, end: int) -> Scrap:
    rubbish = line[start:end]
    if not rubbish.strip(b"\0" + _SPACE):
        return Scrap(offset + start, end - start, "padding", f"{rubbish.count(0)} NUL bytes")
    if start == 0 and end == len(line):
        return _broken(line, offset)
    where = "in front of an entry" if start == 0 else "behind an entry"
    return Scrap(offset + start, end - start, "broken", f"rubbish {where} on the same line")


def _broken(line: bytes, offset: int) -> Scrap:
    if not line.endswith(b"\n"):
        return Scrap(offset, len(line), "torn", "the last line is cut off or still being written")
    reason = "not valid JSON"
    try:
        _any(line)
    except FAILURES as error:
        reason = str(error).splitlines()[0]
    return Scrap(offset, len(line), "broken", reason)


def _json_type(value: object) -> str:
    if value is None or isinstance(value, bool):
        return "null" if value is None else "boolean"
    if isinstance(value, int | float):
        return "number"
    return "string" if isinstance(value, str) else "array"


def _entry(found: Decoded, offset: int, size: int) -> Entry:
    flaw, value = found.flaw, complete(found.value) or found.value
    try:
        entry = msgspec.convert(value, Entry)
    except NO_FIT:
        entry, flaw = fit(Entry, value), flaw or "types"
    is_terse = value is not found.value and None in (found.value.get("type"), found.value.get("message"))
    if is_terse and flaw != "behind":
        flaw = "terse"
    entry.offset, entry.size, entry.flaw, entry.kind = offset, size, flaw, None
    return entry


S = TypeVar("S", bound=Struct)


def fit(cls: type[S], found: Body) -> S:
    """A struct of those fields of an object that have the expected type."""
    kept = {}
    for field in _fields(cls):
        value = _fitting(found.get(field.encode_name), field.name, field.type)
        if value is not None:
            kept[field.name] = value
    return cls(**kept)


_fields = cache(msgspec.structs.fields)  # which evaluates the annotations every time


@cache
def _struct(wanted: Any) -> type[Struct] | None:
    """The struct in a type such as `Usage | None` or `str | list[Block] | None`."""
    if isinstance(wanted, type) and issubclass(wanted, Struct):
        return wanted
    return next(filter(None, map(_struct, get_args(wanted))), None)


_LISTS = ("content", "iterations")
"""The fields that hold several structs."""


def _fitting(value: Any, name: str, wanted: Any) -> Any:
    nested = _struct(wanted)
    if nested and isinstance(value, list):
        return [fit(nested, item) for item in value if isinstance(item, dict)] if name in _LISTS else None
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if name in ("uuid", "parent_uuid") and isinstance(value, int | float):
        # The client compares whatever stands there: numbers never equal strings, and 0 and false are no parent.
        return f"#{value}" if value else None
    if name == "is_sidechain" and value is not None:
        return bool(value) or isinstance(value, list | dict)  # what JavaScript takes for true
    if nested and not isinstance(value, str):
        return fit(nested, value) if isinstance(value, dict) and name not in _LISTS else None
    try:
        return msgspec.convert(value, wanted)
    except NO_FIT:
        return None
