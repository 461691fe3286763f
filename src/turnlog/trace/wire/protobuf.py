"""The part of Protobuf's wire format that OTLP needs; messages are written by joining bytes and read field by field.

A message is a sequence of fields, each a tag (its number and type) and a value. Importing a library for this would take
longer than encoding a whole session.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

VARINT, FIXED64, CHUNK, FIXED32 = 0, 1, 2, 5
_FIXED_BYTES = {FIXED64: 8, FIXED32: 4}


@lru_cache(maxsize=1 << 16)
def encode_varint(number: int) -> bytes:
    """Encode a non-negative number in as few bytes as possible."""
    encoded = bytearray()
    while number > 0x7F:
        encoded.append(number & 0x7F | 0x80)
        number >>= 7
    encoded.append(number)
    return bytes(encoded)


def encode_tag(field: int, wire: int = CHUNK) -> bytes:
    """Encode the tag that precedes a value."""
    return encode_varint(field << 3 | wire)


def encode_chunk(before: bytes, content: bytes) -> bytes:
    """Encode a field that contains text or a message, after its tag."""
    return b"".join((before, encode_varint(len(content)), content))


def encode_wire_text(value: str) -> bytes:
    """Encode text.

    Lone surrogates, which UTF-8 can't represent, become U+FFFD. NUL becomes its symbol, because a backend that stores
    text in PostgreSQL would always reject the whole request.
    """
    if "\0" in value:
        value = value.replace("\0", "\u2400")
    try:
        return value.encode()
    except UnicodeEncodeError:
        return value.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace").encode()


def iter_wire_fields(message: bytes) -> Iterator[tuple[int, int | bytes]]:
    """Yield the fields of a message with their numbers; raise ValueError if it is malformed."""
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
            raise ValueError("the message ends within a field")
        yield key >> 3, message[at : at + size]
        at += size


def _read_varint(message: bytes, at: int) -> tuple[int, int]:
    number = shift = 0
    for place in range(at, min(at + 10, len(message))):
        number |= (message[place] & 0x7F) << shift
        shift += 7
        if message[place] < 0x80:
            return number, place + 1
    raise ValueError("the message ends within a number")
