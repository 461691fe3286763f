"""Passes the texts of a protobuf message through a function that keeps their length.

The wire format does not say which fields are texts. A field that can be read as a message is searched as one and as a
text: in a run of bytes, the length before a text can be a letter or a digit and hide where a token starts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

_MAX_DEPTH = 12
_FIXED_SIZES = {1: 8, 5: 4}


class _Span(NamedTuple):
    start: int
    end: int


def mask_texts(message: bytes, mask: Callable[[bytes], bytes]) -> bytes:
    """Return a message of the same length with its texts masked."""
    data = bytearray(message)
    _mask_fields(data, _Span(0, len(data)), mask, 0)
    return mask(bytes(data))


def _mask_fields(data: bytearray, span: _Span, mask: Callable[[bytes], bytes], depth: int) -> None:
    try:
        fields = [*_iterate_fields(data, span)]
    except ValueError:
        return
    for field in fields:
        if depth < _MAX_DEPTH:
            _mask_fields(data, field, mask, depth + 1)
        data[field.start : field.end] = mask(bytes(data[field.start : field.end]))


def _iterate_fields(data: bytearray, span: _Span) -> Iterator[_Span]:
    """Yield the fields that have a length; raise `ValueError` if the bytes are no message."""
    at = span.start
    while at < span.end:
        tag, at = _read_number(data, at, span.end)
        kind = tag & 7
        if kind == 0:
            _, at = _read_number(data, at, span.end)
        elif kind == 2:
            size, at = _read_number(data, at, span.end)
            yield _Span(at, at + size)
            at += size
        elif kind in _FIXED_SIZES:
            at += _FIXED_SIZES[kind]
        else:
            raise ValueError(f"unknown kind of field {kind}")
        if at > span.end:
            raise ValueError("a field is longer than its message")


def _read_number(data: bytearray, at: int, end: int) -> tuple[int, int]:
    value = shift = 0
    while at < end and shift < 64:
        byte = data[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return value, at
    raise ValueError("the message ends inside a number")
