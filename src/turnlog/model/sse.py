"""Parses server-sent events from a stream of bytes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from turnlog.model.failures import AnswerBrokenOff

MAX_EVENT_BYTES = 64 << 20
"""The maximum size of an event; a server that sends more does not provide the Messages API."""


class ServerEvent(NamedTuple):
    name: str
    data: str


def read_server_events(chunks: Iterable[bytes]) -> Iterator[ServerEvent]:
    """Yield the events in a stream of bytes; an event that does not end with a blank line is dropped."""
    name, data, size = "", list[str](), 0
    for line in split_stream_lines(chunks):
        size += len(line)
        if size > MAX_EVENT_BYTES:
            raise AnswerBrokenOff(f"an event of the answer is larger than {MAX_EVENT_BYTES >> 20} MB")
        if not line:
            if data:
                yield ServerEvent(name or "message", "\n".join(data))
            name, data, size = "", [], 0
            continue
        field, _, value = line.decode("utf-8", "replace").partition(":")
        value = value.removeprefix(" ")
        if field == "event":
            name = value
        elif field == "data":
            data.append(value)


def split_stream_lines(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """Yield the lines in a stream of bytes without their ends (LF, CRLF or CR); an unfinished line is dropped."""
    rest: list[bytes] = []
    size, after_cr, is_first = 0, False, True
    for chunk in chunks:
        if after_cr and chunk[:1] == b"\n":
            chunk = chunk[1:]
        if not chunk:
            continue
        after_cr = chunk.endswith(b"\r")
        parts = chunk.replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n")
        for part in parts[:-1]:
            line = b"".join([*rest, part])
            yield line.removeprefix(b"\xef\xbb\xbf") if is_first else line
            rest, size, is_first = [], 0, False
        if parts[-1]:
            rest.append(parts[-1])
            size += len(parts[-1])
        if size > MAX_EVENT_BYTES:
            raise AnswerBrokenOff(f"a line of the answer is larger than {MAX_EVENT_BYTES >> 20} MB")
