"""OTLP: encodes spans as ExportTraceServiceRequest bytes, in requests of limited size.

The encoding depends only on the spans and turnlog's version, so a request that is sent again is identical. The field
numbers are in opentelemetry/proto/trace/v1/trace.proto.
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
from turnlog.trace.spans.span import AttributeValue, Span, SpanKind
from turnlog.trace.wire.batch import SpanBatch
from turnlog.trace.wire.protobuf import (
    CHUNK,
    FIXED64,
    VARINT,
    encode_chunk,
    encode_tag,
    encode_varint,
    encode_wire_text,
    iter_wire_fields,
)

MAX_REQUEST_BYTES = 1_000_000
"""The maximum size of a request before compression; a larger span is sent alone."""

_GZIP_WINDOW_BITS = 31  # zlib itself writes the gzip header, without a time
_MIN_INT64, _MAX_INT64 = -(1 << 63), (1 << 63) - 1
_INTERNAL_KIND, _CLIENT_KIND = 1, 3
_MAX_CACHED_TEXT_BYTES = 100
_SPAN_KINDS: dict[SpanKind, int] = {"agent": _INTERNAL_KIND, "tool": _INTERNAL_KIND, "generation": _CLIENT_KIND}

_TAG_ONE, _TAG_TWO = encode_tag(1), encode_tag(2)
_TRACE_ID_TAG, _SPAN_ID_TAG, _PARENT_ID_TAG, _NAME_TAG, _ATTRIBUTE_TAG, _STATUS_TAG = (
    encode_tag(number) for number in (1, 2, 4, 5, 9, 15)
)
_KIND_TAG, _START_TAG, _END_TAG = encode_tag(6, VARINT), encode_tag(7, FIXED64), encode_tag(8, FIXED64)
_BOOL_TAG, _INT_TAG, _FLOAT_TAG, _ARRAY_TAG = (
    encode_tag(2, VARINT),
    encode_tag(3, VARINT),
    encode_tag(4, FIXED64),
    encode_tag(5, CHUNK),
)
_STATUS_MESSAGE_TAG, _STATUS_ERROR_CODE = encode_tag(2), encode_tag(3, VARINT) + b"\x02"


def encode_request(spans: Iterable[Span], version: str = __version__) -> bytes:
    """Encode spans as an uncompressed request."""
    return _join_request((part for _, part in _encode_spans(spans)), *_encode_resource_and_scope(version))


def compress_body(body: bytes, *, small: bool = True) -> bytes:
    """Compress a request, always to the same bytes; unless `small` is set, only wrap it in the gzip format."""
    return zlib.compress(body, 1 if small else 0, _GZIP_WINDOW_BITS)


def decompress_body(body: bytes) -> bytes:
    return zlib.decompress(body, _GZIP_WINDOW_BITS)


def build_span_batches(
    spans: Iterable[Span], largest: int = MAX_REQUEST_BYTES, version: str = __version__, *, small: bool = True
) -> list[SpanBatch]:
    """Encode spans as requests with one trace each; if a span is given twice, the first version is used."""
    unique: dict[bytes, Span] = {}
    for span in spans:
        unique.setdefault(span.id, span)
    frame = _encode_resource_and_scope(version)
    room = largest - sum(map(len, frame)) - 16
    return [
        SpanBatch(trace, tuple(ids), compress_body(_join_request(parts, *frame), small=small))
        for trace, members in groupby(unique.values(), key=lambda span: span.trace)
        for ids, parts in _split_portions(members, room)
    ]


def _split_portions(spans: Iterable[Span], room: int) -> Iterator[tuple[list[bytes], list[bytes]]]:
    """Yield ids and encoded spans that fit into one request."""
    ids: list[bytes] = []
    parts: list[bytes] = []
    used = 0
    for span, part in _encode_spans(spans):
        if parts and used + len(part) > room:
            yield ids, parts
            ids, parts, used = [], [], 0
        ids.append(span.id)
        parts.append(part)
        used += len(part)
    yield ids, parts


def _encode_spans(spans: Iterable[Span]) -> Iterator[tuple[Span, bytes]]:
    """Yield spans with their bytes; the shared attributes of a trace are encoded once."""
    shared, head = None, b""
    for span in spans:
        if span.shared is not shared:
            shared, head = span.shared, b"".join(_encode_attributes(_ATTRIBUTE_TAG, span.shared.items()))
        yield span, _encode_span(span, head)


def halve_batch(batch: SpanBatch) -> tuple[SpanBatch, SpanBatch] | None:
    """Split a batch into two of similar size; return None if it contains one span."""
    if len(batch.spans) < 2:
        return None
    resource, scope, parts = _split_request(decompress_body(batch.body))
    half, used, at = sum(map(len, parts)) / 2, len(parts[0]), 1
    while used + len(parts[at]) / 2 < half:  # this is never true for the last span
        used += len(parts[at])
        at += 1
    one, two = (compress_body(_join_request(some, resource, scope)) for some in (parts[:at], parts[at:]))
    return SpanBatch(batch.trace, batch.spans[:at], one), SpanBatch(batch.trace, batch.spans[at:], two)


def _split_request(body: bytes) -> tuple[bytes, bytes, list[bytes]]:
    """Split a request that was encoded here into its frame and its spans."""
    ((_, whole),) = _list_chunks(body)
    (_, resource), (_, spans) = _list_chunks(whole)
    (_, scope), *parts = _list_chunks(spans)
    return (
        encode_chunk(_TAG_ONE, resource),
        encode_chunk(_TAG_ONE, scope),
        [encode_chunk(_TAG_TWO, part) for _, part in parts],
    )


def _list_chunks(message: bytes) -> list[tuple[int, bytes]]:
    return [(number, value) for number, value in iter_wire_fields(message) if isinstance(value, bytes)]


def to_readable_spans(spans: Iterable[Span]) -> list[dict[str, Any]]:
    """Convert spans to a readable form, with ids in hexadecimal and times as dates."""
    return [
        {
            "trace": span.trace.hex(),
            "span": span.id.hex(),
            "parent": span.parent.hex() if span.parent else None,
            "kind": span.kind,
            "name": _to_readable_value(span.name),
            "start": _format_date(span.start),
            "end": _format_date(span.end),
            "error": None if span.error is None else _to_readable_value(span.error),
            "attributes": {
                _to_readable_value(key): _to_readable_value(value) for key, value in span.attributes.items()
            },
        }
        for span in spans
    ]


def _to_readable_value(value: AttributeValue) -> Any:
    if isinstance(value, str):
        return encode_wire_text(value).decode()
    if isinstance(value, bool | float):
        return value
    return _clamp_int64(value) if isinstance(value, int) else [_to_readable_value(item) for item in value]


def _format_date(time: int) -> str:
    seconds, rest = divmod(_clamp_time(time), 1_000_000_000)
    try:
        return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%dT%H:%M:%S}.{rest:09}Z"
    except (ValueError, OverflowError, OSError):
        return str(time)


@lru_cache(maxsize=4)
def _encode_resource_and_scope(version: str) -> tuple[bytes, bytes]:
    """Encode the resource and the scope that the spans of a request belong to."""
    resource = {
        "service.name": "claude-code",
        "telemetry.sdk.name": "turnlog",
        "telemetry.sdk.language": "python",
        "telemetry.sdk.version": version,
    }
    pairs = b"".join(_encode_attributes(_TAG_ONE, resource.items()))
    return encode_chunk(_TAG_ONE, pairs), encode_chunk(
        _TAG_ONE, encode_chunk(_TAG_ONE, b"turnlog") + encode_chunk(_TAG_TWO, encode_wire_text(version))
    )


def _join_request(parts: Iterable[bytes], resource: bytes, scope: bytes) -> bytes:
    spans = [scope, *parts]
    size = sum(map(len, spans))
    head = [resource, _TAG_TWO, encode_varint(size)]
    return b"".join((_TAG_ONE, encode_varint(sum(map(len, head)) + size), *head, *spans))


def _encode_span(span: Span, head: bytes) -> bytes:
    """Encode a span with its tag within the scope."""
    parts = [encode_chunk(_TRACE_ID_TAG, span.trace), encode_chunk(_SPAN_ID_TAG, span.id)]
    if span.parent:
        parts.append(encode_chunk(_PARENT_ID_TAG, span.parent))
    parts += (encode_chunk(_NAME_TAG, encode_wire_text(span.name)), _KIND_TAG, encode_varint(_SPAN_KINDS[span.kind]))
    parts += (
        _START_TAG,
        struct.pack("<Q", _clamp_time(span.start)),
        _END_TAG,
        struct.pack("<Q", _clamp_time(span.end)),
    )
    parts.append(head)
    parts += _encode_attributes(_ATTRIBUTE_TAG, islice(span.attributes.items(), len(span.shared), None))
    if span.error is not None:
        parts.append(
            encode_chunk(
                _STATUS_TAG, encode_chunk(_STATUS_MESSAGE_TAG, encode_wire_text(span.error)) + _STATUS_ERROR_CODE
            )
        )
    return b"".join((_TAG_TWO, encode_varint(sum(map(len, parts))), *parts))


def _encode_attributes(before: bytes, items: Iterable[tuple[str, AttributeValue]]) -> list[bytes]:
    """Encode attributes in pieces, to be joined once, because most of the data is long text."""
    pieces: list[bytes] = []
    for key, value in items:
        if isinstance(value, str):
            content = encode_wire_text(value)
            size = len(content)
            pieces += (
                (_cached_text_prefix if size < _MAX_CACHED_TEXT_BYTES else _encode_text_prefix)(before, key, size),
                content,
            )
        else:
            content = _encode_value(value)
            pieces += _cached_value_prefix(before, key, len(content)), content
    return pieces


def _encode_text_prefix(before: bytes, key: str, size: int) -> bytes:
    """Encode the bytes that precede text of a given size in an attribute."""
    inner = encode_varint(size)
    return _encode_value_prefix(before, key, 1 + len(inner) + size) + _TAG_ONE + inner


def _encode_value_prefix(before: bytes, key: str, size: int) -> bytes:
    name, inner = _encode_key(key), encode_varint(size)
    return b"".join((before, encode_varint(len(name) + len(inner) + size), name, inner))


_cached_text_prefix = lru_cache(maxsize=1 << 12)(_encode_text_prefix)
_cached_value_prefix = lru_cache(maxsize=1 << 12)(_encode_value_prefix)


@lru_cache(maxsize=1 << 10)
def _encode_key(key: str) -> bytes:
    """Encode the name of an attribute, and the tag of its value."""
    return encode_chunk(_TAG_ONE, encode_wire_text(key)) + _TAG_TWO


def _encode_value(value: AttributeValue) -> bytes:
    if isinstance(value, str):
        return encode_chunk(_TAG_ONE, encode_wire_text(value))
    if isinstance(value, bool):
        return _BOOL_TAG + encode_varint(value)
    if isinstance(value, int):
        return _INT_TAG + encode_varint(_clamp_int64(value) & 0xFFFF_FFFF_FFFF_FFFF)
    if isinstance(value, float):
        return _FLOAT_TAG + struct.pack("<d", value)
    return encode_chunk(_ARRAY_TAG, b"".join(encode_chunk(_TAG_ONE, _encode_value(item)) for item in value))


def _clamp_int64(number: int) -> int:
    """Limit a number to 64 bits, because a transcript may contain larger ones."""
    return min(max(number, _MIN_INT64), _MAX_INT64)


def _clamp_time(time: int) -> int:
    return min(max(time, 0), _MAX_INT64)
