"""How far somebody has followed a session, as one short word: the id of a server-sent event.

A cursor names for each followed file how far it was delivered, and by what the delivered part can be known again: a
print of the file's number and of the two ends of that part. So it holds after the server was started again, and it
shows when a file was replaced or cut. It tells nobody anything: no name, no path, no content.

    version · watermark · (name, offset, print)… · check          base64url

At most `MOST` files are named, those that were written last; the watermark then says how old the oldest of them is.
Whatever is no cursor, or none of this session, is None: following starts again.
"""

from __future__ import annotations

import base64
import binascii
import os
from collections.abc import Mapping
from hashlib import blake2b
from pathlib import Path
from typing import NamedTuple

from turnlog.entries.tail import Checkpoint, mark
from turnlog.entries.window import open_regular

MOST = 96
LONGEST = 3200
"""No cursor is longer."""
_VERSION = 1
_NAME, _PRINT, _CHECK = 6, 6, 4


class Spot(NamedTuple):
    """How far one file was delivered."""

    offset: int
    print: bytes


class Cursor(NamedTuple):
    """How far the files of a session were delivered."""

    spots: Mapping[bytes, Spot]
    """By the hash of a file's name."""
    watermark: int = 0
    """Files that are not named and were not written since then are delivered whole (ns); 0: all are named."""


def name_of(session: str, stream: str) -> bytes:
    """The hash by which a cursor names a file of a session."""
    return _hashed(f"{session}\0{stream}".encode("utf-8", "surrogatepass"), _NAME)


def spot_of(checkpoint: Checkpoint) -> Spot:
    """The spot of a checkpoint."""
    known = f"{checkpoint.inode} {checkpoint.head_hash} {checkpoint.tail_hash}" if checkpoint.offset else ""
    return Spot(checkpoint.offset, _hashed(known.encode(), _PRINT))


def checkpoint_at(path: Path, spot: Spot) -> Checkpoint | None:
    """The checkpoint of a file at a spot; None if what stands there is not what was delivered."""
    if spot.offset == 0:
        return Checkpoint()
    try:
        fd, status = open_regular(path)
    except OSError:
        return None
    try:
        found = mark(fd, spot.offset) if status.st_size >= spot.offset else None
    finally:
        os.close(fd)
    return found if found is not None and spot_of(found) == spot else None


def encode(cursor: Cursor) -> str:
    """Write a cursor."""
    data = bytearray([_VERSION])
    _put(data, cursor.watermark)
    for name, spot in cursor.spots.items():
        data += name
        _put(data, spot.offset)
        data += spot.print
    data += _hashed(bytes(data), _CHECK)
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def decode(text: str) -> Cursor | None:
    """Read a cursor; None for anything else."""
    data = _bytes(text)
    if data is None or data[0] != _VERSION or _hashed(data[:-_CHECK], _CHECK) != data[-_CHECK:]:
        return None
    data = data[:-_CHECK]
    try:
        watermark, at = _get(data, 1)
        spots: dict[bytes, Spot] = {}
        while at < len(data):
            name = data[at : at + _NAME]
            offset, at = _get(data, at + _NAME)
            spots[name] = Spot(offset, data[at : at + _PRINT])
            at += _PRINT
    except IndexError:
        return None
    return Cursor(spots, watermark) if at == len(data) and len(spots) <= MOST else None


def _bytes(text: str) -> bytes | None:
    if len(text) > LONGEST or not text.isascii():
        return None
    try:
        data = base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
    except (binascii.Error, ValueError):
        return None
    return data if len(data) > _CHECK else None


def _put(data: bytearray, number: int) -> None:
    while number > 0x7F:
        data.append(number & 0x7F | 0x80)
        number >>= 7
    data.append(number)


def _get(data: bytes, at: int) -> tuple[int, int]:
    number = 0
    for place in range(10):
        byte = data[at + place]
        number |= (byte & 0x7F) << 7 * place
        if byte < 0x80:
            return number, at + place + 1
    raise IndexError


def _hashed(data: bytes, size: int) -> bytes:
    return blake2b(data, digest_size=size).digest()
