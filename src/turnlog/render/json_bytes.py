"""Encodes values as JSON in UTF-8 for programs, whatever a transcript contains.

Everything that a program reads from us passes through here. Session files don't: they keep their bytes.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from math import isfinite
from typing import Any

import msgspec

from turnlog.render.json_line_breaks import escape_line_breaks


def to_json_bytes(value: Any) -> bytes:
    """Encode a value as JSON on one line; lone surrogates are escaped, huge integers kept, infinities become null."""
    try:
        return escape_line_breaks(msgspec.json.encode(value))
    except (UnicodeEncodeError, OverflowError, msgspec.MsgspecError):
        return json.dumps(to_plain_value(value), separators=(",", ":")).encode()


def to_plain_value(value: Any) -> Any:
    """Convert a value to the dicts, lists, strings and numbers of its JSON."""
    return _replace_infinite(msgspec.to_builtins(value, builtin_types=(int,)))


def _replace_infinite(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _replace_infinite(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_replace_infinite(inner) for inner in value]
    return None if isinstance(value, float) and not isfinite(value) else value


def iter_json_list(items: Iterable[Any]) -> Iterator[bytes]:
    """Encode a JSON list item by item."""
    yield b"["
    for number, item in enumerate(items):
        yield (b",\n" if number else b"\n") + to_json_bytes(item)
    yield b"\n]"
