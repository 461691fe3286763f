"""Other strings in a JSON document, while every other byte stays as it is: blanks, order, numbers, repeated keys.

For the small files beside the transcripts, which people and programs look at, and which may be indented.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

from turnlog.entries.patch import encode_json_line

_JSON_TOKEN_PATTERN = re.compile(rb'"(?:[^"\\]|\\.)*+"|[\[\]{},:]', re.DOTALL)


class JsonString(NamedTuple):
    """A string in a document."""

    value: str
    keys: tuple[str, ...]
    """The keys that lead to it; of a key, those that lead to its object."""
    is_key: bool
    start: int
    end: int


def iterate_json_strings(raw: bytes) -> Iterator[JsonString]:
    """All strings of a document, in their order."""
    frames: list[str | None] = []  # of each open object or list the key that it stands at
    pending: JsonString | None = None
    for token in _JSON_TOKEN_PATTERN.finditer(raw):
        mark = token[0]
        if mark[:1] == b'"':
            keys = tuple(key for key in frames if key is not None)
            pending = JsonString(_decode_token(mark), keys, False, token.start(), token.end())
            continue
        if pending is not None:
            yield pending._replace(is_key=mark == b":")
        if mark == b":" and pending is not None and frames:
            frames[-1] = pending.value
        elif mark == b"," and frames:
            frames[-1] = None
        elif mark in (b"{", b"["):
            frames.append(None)
        elif mark in (b"}", b"]") and frames:
            frames.pop()
        pending = None
    if pending is not None:  # the document is one string
        yield pending


def replace_json_strings(raw: bytes, change: Callable[[JsonString], str]) -> bytes:
    """A document with some strings changed; what is no JSON stays as it is."""
    try:
        json.loads(raw.decode("utf-8", "replace").lstrip("\ufeff"), strict=False)
    except (ValueError, RecursionError):
        return raw
    parts, done = [], 0
    for text in iterate_json_strings(raw):
        new = change(text)
        if new != text.value:
            parts += [raw[done : text.start], encode_json_line(new)]
            done = text.end
    return b"".join([*parts, raw[done:]])


def _decode_token(token: bytes) -> str:
    try:
        return str(json.loads(token.decode("utf-8", "replace"), strict=False))
    except ValueError:
        return ""
