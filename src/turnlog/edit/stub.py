"""Stubs: files that a client wrote to the old path of a session that was moved or deleted while it was open.

The client keeps the conversation in memory and only appends. The new file therefore starts in the middle: its first
entry continues one that is only in the original. The original followed by the stub makes up the whole session.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from turnlog.entries.entry import Entry
from turnlog.entries.file_ends import open_regular_file
from turnlog.entries.reader import Transcript
from turnlog.errors import TurnlogError

_BLOCK_BYTES = 1 << 20


def is_continuation(stub: Path, original: Path) -> bool:
    """Return whether a file continues another, which must contain every parent that is missing from the first."""
    if not (_is_plain_file(stub) and _is_plain_file(original) and stub.suffix == original.suffix == ".jsonl"):
        return False
    try:
        files = [Transcript.open(path) for path in (stub, original)]
    except (TurnlogError, OSError):
        return False
    try:
        return _continues_transcript(*files)
    finally:
        for file in files:
            file.close()


def _continues_transcript(stub: Transcript, original: Transcript) -> bool:
    entries = [entry for entry in stub.entries if not entry.is_lost]
    linked = [entry for entry in entries if entry.uuid]
    if (
        not entries
        or not all(entry.type for entry in entries)
        or any(entry.uuid in original.by_uuid for entry in linked)
    ):
        return False
    outside = [entry.parent_uuid for entry in linked if entry.parent_uuid and entry.parent_uuid not in stub.by_uuid]
    begins_inside = not linked or _find_first_entry(linked).parent_uuid in original.by_uuid
    return begins_inside and all(parent in original.by_uuid for parent in outside)


def _find_first_entry(linked: list[Entry]) -> Entry:
    """Return the first entry in conversation order; a client may write an answer before its prompt."""
    known = {entry.uuid for entry in linked}
    return next((entry for entry in linked if entry.parent_uuid not in known), linked[0])


def begins_with_file(path: Path, original: Path) -> bool:
    """Return whether a file starts with the whole content of another."""
    if not (_is_plain_file(path) and _is_plain_file(original)) or path.stat().st_size < original.stat().st_size:
        return False
    with path.open("rb") as one, original.open("rb") as other:
        while block := other.read(_BLOCK_BYTES):
            if one.read(len(block)) != block:
                return False
    return True


def join_stub_lines(original: Path, stub: bytes) -> Iterator[bytes]:
    """Yield the bytes of the original, then those of the stub, starting on a new line."""
    fd, _ = open_regular_file(original)
    last = b""
    with os.fdopen(fd, "rb") as file:
        while block := file.read(_BLOCK_BYTES):
            yield block
            last = block
    if last and not last.endswith(b"\n"):
        yield b"\n"
    yield stub


def _is_plain_file(path: Path) -> bool:
    return path.is_file() and not path.is_symlink()
