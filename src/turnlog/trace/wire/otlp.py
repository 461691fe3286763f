"""OTLP: spans as the bytes of an ExportTraceServiceRequest, in requests that are not too large.

The encoding depends on nothing but the spans and turnlog's version, so that a request that is sent again is the same
to the byte. See opentelemetry/proto/trace/v1/trace.proto for the numbers of the fields.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from functools import lru_cache
from itertools import groupby, islice
from typing import Any

from turnlog._version import __version__
from turnlog.trace.spans.span import Kind, Span, Value
from turnlog.trace.wire.batch import Batch
from turnlog.trace.wire.protobuf import CHUNK, FIXED64, VARINT, chunk, fields, tag, text, varint

LARGEST = 1_000_000
"""Bytes that a request has at most before it is compressed; a larger span goes alone."""

_GZIP = 31  # a gzip header without a clock's time, which zlib writes by itself
_FIRST, _LAST = -(1 << 63), (1 << 63) - 1
_INTERNAL, _CLIENT = 1, 3
_SHORT = 100
_KINDS: dict[Kind, int] = {"agent": _INTERNAL, "tool": _INTERNAL, "generation": _CLIENT}

_ONE, _TWO = tag(1), tag(2)
_TRACE, _ID, _PARENT, _NAME, _PAIR, _STATUS = (tag(number) for number in (1, 2, 4, 5, 9, 15))
_KIND, _START, _END = tag(6, VARINT), tag(7, FIXED64), tag(8, FIXED64)
_BOOL, _INT, _FLOAT, _ARRAY = tag(2, VARINT), tag(3, VARINT), tag(4, FIXED64), tag(5, CHUNK)
_MESSAGE, _FAILED = tag(2), tag(3, VARINT) + b"\x02"


def request(spans: Iterable[Span], version: str = __version__) -> bytes:
    """The request that brings some spans, not compressed."""
    return _request((part for _, part in _encoded(spans)), *_around(version))


def compressed(body: bytes, *, small: bool = True) -> bytes:
    """A request as it is sent: the same bytes for the same request; not `small`, it is only put into that form."""
    return zlib.compress(body, 1 if small else 0, _GZIP)


def decompressed(body: bytes) -> bytes:
    """A request as it was before it was compressed."""
    return zlib.decompress(body, _GZIP)


def batches(
    spans: Iterable[Span], largest: int = LARGEST, version: str = __version__, *, small: bool = True
) -> list[Batch]:
    """Spans as requests of one trace each; where a span is given twice, its first form counts."""
    unique: dict[bytes, Span] = {}
    for span in spans:
        unique.setdefault(span.id, span)
    around = _around(version)
    room = largest - sum(map(len, around)) - 16
    return [
        Batch(trace, tuple(ids), compressed(_request(parts, *around), small=small))
        for trace, found in groupby(unique.values(), key=lambda span: span.trace)
        for ids, parts in _portions(found, room)
    ]


def _portions(spans: Iterable[Span], room: int) -> Iterator[tuple[list[bytes], list[bytes]]]:
    """Ids and encoded spans that fit into one request."""
    ids: list[bytes] = []
    parts: list[bytes] = []
    used = 0
    for span, part in _encoded(spans):
        if parts and used + len(part) > room:
            yield ids, parts
            ids, parts, used = [], [], 0
        ids.append(span.id)
        parts.append(part)
        used += len(part)
    yield ids, parts


def _encoded(spans: Iterable[Span]) -> Iterator[tuple[Span, bytes]]:
    """Spans with their bytes; what spans of a trace share is encoded once."""
    shared, head = None, b""
    for span in spans:
        if span.shared is not shared:
            shared, head = span.shared, b"".join(_pairs(_PAIR, span.shared.items()))
        yield span, _span(span, head)


def halves(batch: Batch) -> tuple[Batch, Batch] | None:
    """A batch as two of about the same size, or None if it holds one span."""
    if len(batch.spans) < 2:
        return None
    resource, scope, parts = _taken_apart(decompressed(batch.body))
    half, used, at = sum(map(len, parts)) / 2, len(parts[0]), 1
    while used + len(parts[at]) / 2 < half:  # at the last one this never holds
        used += len(parts[at])
        at += 1
    one, two = (compressed(_request(some, resource, scope)) for some in (parts[:at], parts[at:]))
    return Batch(batch.trace, batch.spans[:at], one), Batch(batch.trace, batch.spans[at:], two)


def _taken_apart(body: bytes) -> tuple[bytes, bytes, list[bytes]]:
    """What stands around the spans of a request of ours, and the spans."""
    ((_, whole),) = _chunks(body)
    (_, resource), (_, spans) = _chunks(whole)
    (_, scope), *parts = _chunks(spans)
    return chunk(_ONE, resource), chunk(_ONE, scope), [chunk(_TWO, part) for _, part in parts]


def _chunks(message: bytes) -> list[tuple[int, bytes]]:
    return [(number, value) for number, value in fields(message) if isinstance(value, bytes)]


def readable(spans: Iterable[Span]) -> list[dict[str, Any]]:
    """Spans as values for people: what is sent, with ids in hexadecimal and times as dates."""
    return [
        {
            "trace": span.trace.hex(),
            "span": span.id.hex(),
            "parent": span.parent.hex() if span.parent else None,
            "kind": span.kind,
            "name": _told(span.name),
            "start": _date(span.start),
            "end": _date(span.end),
            "error": None if span.error is None else _told(span.error),
            "attributes": {_told(key): _told(value) for key, value in span.attributes.items()},
        }
        for span in spans
    ]


def _told(value: Value) -> Any:
    if isinstance(value, str):
        return text(value).decode()
    if isinstance(value, bool | float):
        return value
    return _held(value) if isinstance(value, int) else [_told(item) for item in value]


def _date(time: int) -> str:
    seconds, rest = divmod(_moment(time), 1_000_000_000)
    try:
        return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%dT%H:%M:%S}.{rest:09}Z"
    except (ValueError, OverflowError, OSError):
        return str(time)


@lru_cache(maxsize=4)
def _around(version: str) -> tuple[bytes, bytes]:
    """The resource and the scope that the spans of a request belong to."""
    resource = {
        "service.name": "claude-code",
        "telemetry.sdk.name": "turnlog",
        "telemetry.sdk.language": "python",
        "telemetry.sdk.version": version,
    }
    pairs = b"".join(_pairs(_ONE, resource.items()))
    return chunk(_ONE, pairs), chunk(_ONE, chunk(_ONE, b"turnlog") + chunk(_TWO, text(version)))


def _request(parts: Iterable[bytes], resource: bytes, scope: bytes) -> bytes:
    spans = [scope, *parts]
    size = sum(map(len, spans))
    around = [resource, _TWO, varint(size)]
    return b"".join((_ONE, varint(sum(map(len, around)) + size), *around, *spans))


def _span(span: Span, head: bytes) -> bytes:
    """A span, with the tag that it has in its scope."""
    parts = [chunk(_TRACE, span.trace), chunk(_ID, span.id)]
    if span.parent:
        parts.append(chunk(_PARENT, span.parent))
    parts += (chunk(_NAME, text(span.name)), _KIND, varint(_KINDS[span.kind]))
    parts += (_START, struct.pack("<Q", _moment(span.start)), _END, struct.pack("<Q", _moment(span.end)))
    parts.append(head)
    parts += _pairs(_PAIR, islice(span.attributes.items(), len(span.shared), None))
    if span.error is not None:
        parts.append(chunk(_STATUS, chunk(_MESSAGE, text(span.error)) + _FAILED))
    return b"".join((_TWO, varint(sum(map(len, parts))), *parts))


def _pairs(before: bytes, items: Iterable[tuple[str, Value]]) -> list[bytes]:
    """Attributes in pieces, to be joined once: most of what is sent are long texts."""
    found: list[bytes] = []
    for key, value in items:
        if isinstance(value, str):
            content = text(value)
            size = len(content)
            found += (_up_to_text if size < _SHORT else _before_text)(before, key, size), content
        else:
            content = _value(value)
            found += _up_to_value(before, key, len(content)), content
    return found


def _before_text(before: bytes, key: str, size: int) -> bytes:
    """What stands before a text of some bytes in an attribute."""
    inner = varint(size)
    return _before_value(before, key, 1 + len(inner) + size) + _ONE + inner


def _before_value(before: bytes, key: str, size: int) -> bytes:
    name, inner = _key(key), varint(size)
    return b"".join((before, varint(len(name) + len(inner) + size), name, inner))


_up_to_text = lru_cache(maxsize=1 << 12)(_before_text)
_up_to_value = lru_cache(maxsize=1 << 12)(_before_value)


@lru_cache(maxsize=1 << 10)
def _key(key: str) -> bytes:
    """The name of an attribute, and the tag of its value."""
    return chunk(_ONE, text(key)) + _TWO


def _value(value: Value) -> bytes:
    if isinstance(value, str):
        return chunk(_ONE, text(value))
    if isinstance(value, bool):
        return _BOOL + varint(value)
    if isinstance(value, int):
        return _INT + varint(_held(value) & 0xFFFF_FFFF_FFFF_FFFF)
    if isinstance(value, float):
        return _FLOAT + struct.pack("<d", value)
    return chunk(_ARRAY, b"".join(chunk(_ONE, _value(item)) for item in value))


def _held(number: int) -> int:
    """A number as 64 bits can hold it; a transcript may have any."""
    return min(max(number, _FIRST), _LAST)


def _moment(time: int) -> int:
    return min(max(time, 0), _LAST)
