"""Replaces the values of some keys in an entry and preserves every other value byte for byte.

Decoding and re-encoding an entry preserves its meaning but not its bytes, since numbers, escapes and repeated keys may
be written differently. This module only splits the line into its top-level values and keeps them as written.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from enum import Enum
from typing import Any, Final

import msgspec

from turnlog.entries.line_decoder import BOM, DECODE_ERRORS


class _RemoveKey(Enum):
    GONE = "remove this key"


REMOVE_KEY: Final = _RemoveKey.GONE
"""Passed in place of a value to remove the key."""

_BLANK_BYTES = b" \t\r\n"
_JSON_TOKEN = re.compile(rb'"(?:[^"\\]|\\.)*+"|[\[\]{},:]', re.DOTALL)

RawValues = dict[str, msgspec.Raw]
"""The values of an object by key, as written."""
_decode_raw_values = msgspec.json.Decoder(RawValues).decode


def encode_json_line(value: object) -> bytes:
    """Encode a value as JSON on one line; half of a surrogate pair is written as an escape."""
    try:
        return msgspec.json.encode(value)
    except UnicodeEncodeError:
        return json.dumps(value, separators=(",", ":")).encode("ascii")


def read_raw_values(raw: bytes) -> RawValues:
    """Read the top-level values of an entry as written; if a key is repeated, its last value counts."""
    try:
        return _decode_raw_values(raw)
    except DECODE_ERRORS:
        return _find_raw_values(raw)


def join_raw_values(parts: RawValues) -> bytes:
    """Join already encoded values into one object."""
    try:
        return msgspec.json.encode(parts)
    except UnicodeEncodeError:  # half of a surrogate pair in a key
        return b"{" + b",".join([encode_json_line(key) + b":" + bytes(value) for key, value in parts.items()]) + b"}"


def patch_entry(raw: bytes, changes: Mapping[str, Any]) -> bytes:
    """Replace some values in an entry; append new keys, and keep the white space around the object."""
    parts = read_raw_values(raw)
    for key, value in changes.items():
        if value is REMOVE_KEY:
            parts.pop(key, None)
        else:
            parts[key] = msgspec.Raw(encode_json_line(value))
    return get_blank_before(raw) + join_raw_values(parts) + get_blank_after(raw)


def get_blank_before(raw: bytes) -> bytes:
    """Return what precedes the object: white space or a byte order mark."""
    return raw[: raw.find(b"{")]


def get_blank_after(raw: bytes) -> bytes:
    """Return what follows the object, which is the end of the line."""
    return raw[len(raw.rstrip(_BLANK_BYTES)) :]


def _find_raw_values(raw: bytes) -> RawValues:
    """Find the values in an undecodable object using only its brackets and commas; find none if it is incomplete.

    Errors inside a value are preserved. If the object itself is malformed, nothing is returned, because the line must
    not be turned into a different one.
    """
    found: RawValues = {}
    depth, key, start = 0, None, 0
    for token in _JSON_TOKEN.finditer(raw):
        mark, at = token[0], token.start()
        if mark in (b"{", b"["):
            depth += 1
            if depth == 1:
                if mark == b"[" or raw[:at].strip(_BLANK_BYTES) not in (b"", BOM):
                    return {}
                start = token.end()
        elif depth == 1 and mark == b":" and key is None:
            key, start = _decode_key(raw[start:at]), token.end()
            if key is None:
                return {}
        elif depth == 1 and mark in (b",", b"}"):
            value = raw[start:at].strip(_BLANK_BYTES)
            if key is None or not value:
                return {}
            found[key] = msgspec.Raw(value)
            key, start = None, token.end()
        if mark in (b"}", b"]"):
            depth -= 1
            if depth == 0:
                return found if mark == b"}" and not raw[token.end() :].strip(_BLANK_BYTES) else {}
    return {}


def _decode_key(raw: bytes) -> str | None:
    try:
        key = json.loads(raw.decode("utf-8", "replace"))
    except ValueError:
        return None
    return key if isinstance(key, str) else None
