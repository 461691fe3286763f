"""How far a reader has followed a session, as one short string: the id of a server-sent event.

For each followed file, a cursor records how much was delivered, and a fingerprint of the file's inode and both ends of
the delivered part. It therefore remains valid after the server restarts, and reveals whether a file was replaced or
truncated. It never reveals a name, a path or content.

    version · watermark · (name, offset, fingerprint)… · checksum          base64url

It includes only the latest `MAX_CURSOR_FILES` files; if there are more, the watermark is the time of the oldest
included file. A string that isn't a cursor, or belongs to a different session, is treated as None, and following
starts again.
"""

from __future__ import annotations

import base64
import binascii
import os
from collections.abc import Mapping
from hashlib import blake2b
from pathlib import Path
from typing import NamedTuple

from turnlog.entries.file_ends import open_regular_file
from turnlog.entries.tail import Checkpoint, make_checkpoint

MAX_CURSOR_FILES = 96
MAX_CURSOR_CHARS = 3200
"""The maximum length of a cursor."""
_CURSOR_VERSION = 1
_NAME_HASH_BYTES, _FINGERPRINT_BYTES, _CHECKSUM_BYTES = 6, 6, 4


class CursorSpot(NamedTuple):
    """How far one file was delivered."""

    offset: int
    print: bytes


class Cursor(NamedTuple):
    """How far the files of a session were delivered."""

    spots: Mapping[bytes, CursorSpot]
    """The spots, by the hash of a file's name."""
    watermark: int = 0
    """In nanoseconds: other files that were not written since then are delivered completely; 0 if all files are
    included.
    """


def hash_stream_name(session: str, stream: str) -> bytes:
    """Return the hash that identifies a session's file in a cursor."""
    return _hash_bytes(f"{session}\0{stream}".encode("utf-8", "surrogatepass"), _NAME_HASH_BYTES)


def to_cursor_spot(checkpoint: Checkpoint) -> CursorSpot:
    known = f"{checkpoint.inode} {checkpoint.head_hash} {checkpoint.tail_hash}" if checkpoint.offset else ""
    return CursorSpot(checkpoint.offset, _hash_bytes(known.encode(), _FINGERPRINT_BYTES))


def find_checkpoint(path: Path, spot: CursorSpot) -> Checkpoint | None:
    """Find the checkpoint of a file at a spot; return None if the file no longer contains what was delivered."""
    if spot.offset == 0:
        return Checkpoint()
    try:
        fd, status = open_regular_file(path)
    except OSError:
        return None
    try:
        checkpoint = make_checkpoint(fd, spot.offset) if status.st_size >= spot.offset else None
    finally:
        os.close(fd)
    return checkpoint if checkpoint is not None and to_cursor_spot(checkpoint) == spot else None


def encode_cursor(cursor: Cursor) -> str:
    data = bytearray([_CURSOR_VERSION])
    _write_varint(data, cursor.watermark)
    for name, spot in cursor.spots.items():
        data += name
        _write_varint(data, spot.offset)
        data += spot.print
    data += _hash_bytes(bytes(data), _CHECKSUM_BYTES)
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def decode_cursor(text: str) -> Cursor | None:
    """Decode a cursor; return None if the string is not a cursor."""
    data = _decode_base64(text)
    if (
        data is None
        or data[0] != _CURSOR_VERSION
        or _hash_bytes(data[:-_CHECKSUM_BYTES], _CHECKSUM_BYTES) != data[-_CHECKSUM_BYTES:]
    ):
        return None
    data = data[:-_CHECKSUM_BYTES]
    try:
        watermark, at = _read_varint(data, 1)
        spots: dict[bytes, CursorSpot] = {}
        while at < len(data):
            name = data[at : at + _NAME_HASH_BYTES]
            offset, at = _read_varint(data, at + _NAME_HASH_BYTES)
            spots[name] = CursorSpot(offset, data[at : at + _FINGERPRINT_BYTES])
            at += _FINGERPRINT_BYTES
    except IndexError:
        return None
    return Cursor(spots, watermark) if at == len(data) and len(spots) <= MAX_CURSOR_FILES else None


def _decode_base64(text: str) -> bytes | None:
    if len(text) > MAX_CURSOR_CHARS or not text.isascii():
        return None
    try:
        data = base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
    except (binascii.Error, ValueError):
        return None
    return data if len(data) > _CHECKSUM_BYTES else None


def _write_varint(data: bytearray, number: int) -> None:
    while number > 0x7F:
        data.append(number & 0x7F | 0x80)
        number >>= 7
    data.append(number)


def _read_varint(data: bytes, at: int) -> tuple[int, int]:
    number = 0
    for place in range(10):
        byte = data[at + place]
        number |= (byte & 0x7F) << 7 * place
        if byte < 0x80:
            return number, at + place + 1
    raise IndexError


def _hash_bytes(data: bytes, size: int) -> bytes:
    return blake2b(data, digest_size=size).digest()
