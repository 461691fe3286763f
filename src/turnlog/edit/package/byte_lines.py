"""Lines out of bytes that come in pieces, with memory for the longest line."""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator


def split_byte_lines(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """Cut bytes into lines, each with its line end; the last may have none."""
    rest: list[bytes] = []
    for piece in pieces:
        found = io.BytesIO(piece).readlines()
        if rest and found:
            rest.append(found.pop(0))
            if rest[-1].endswith(b"\n"):
                yield b"".join(rest)
                rest.clear()
        if found and not found[-1].endswith(b"\n"):
            rest.append(found.pop())
        yield from found
    if rest:
        yield b"".join(rest)
