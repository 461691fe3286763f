"""Protobuf's wire format, as much of it as OTLP needs: written by joining bytes, read field by field.

A message is a row of fields, each a tag (its number and how it is written) and a value. Importing a library for that
costs more than encoding a whole session.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

VARINT, FIXED64, CHUNK, FIXED32 = 0, 1, 2, 5
_FIXED_BYTES = {FIXED64: 8, FIXED32: 4}


@lru_cache(maxsize=1 << 16)
def encode_varint(number: int) -> bytes:
    """A number from 0 in as few bytes as it needs."""
    written = bytearray()
    while number > 0x7F:
        written.append(number & 0x7F | 0x80)
        number >>= 7
    written.append(number)
    return bytes(written)


def encode_tag(field: int, wire: int = CHUNK) -> bytes:
    """What stands before a value."""
    return encode_varint(field << 3 | wire)


def encode_chunk(before: bytes, content: bytes) -> bytes:
    """A field with a text or a message in it, after its tag."""
    return b"".join((before, encode_varint(len(content)), content))


def encode_wire_text(value: str) -> bytes:
    """A text as it is sent.

    Half of a surrogate pair, which UTF-8 can't write, becomes U+FFFD, and NUL its picture: a backend that keeps its
    texts in PostgreSQL fails on it, for ever and with the whole request.
    """
    if "\0" in value:
        value = value.replace("\0", "\u2400")
    try:
        return value.encode()
    except UnicodeEncodeError:
        return value.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace").encode()


def iter_wire_fields(message: bytes) -> Iterator[tuple[int, int | bytes]]:
    """The fields of a message, by their numbers; ValueError if it is none."""
    at, end = 0, len(message)
    while at < end:
        key, at = _read_varint(message, at)
        wire = key & 7
        if wire == VARINT:
            value, at = _read_varint(message, at)
            yield key >> 3, value
            continue
        size, at = _read_varint(message, at) if wire == CHUNK else (_FIXED_BYTES.get(wire, end), at)
        if at + size > end:
            raise ValueError("it ends within a field")
        yield key >> 3, message[at : at + size]
        at += size


def _read_varint(message: bytes, at: int) -> tuple[int, int]:
    number = shift = 0
    for place in range(at, min(at + 10, len(message))):
        number |= (message[place] & 0x7F) << shift
        shift += 7
        if message[place] < 0x80:
            return number, place + 1
    raise ValueError("it ends within a number")
