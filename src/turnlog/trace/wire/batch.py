"""A batch: spans of one trace, encoded for one request."""

from __future__ import annotations

from typing import NamedTuple


class SpanBatch(NamedTuple):
    """The content of one request."""

    trace: bytes
    spans: tuple[bytes, ...]
    """The ids of its spans, without duplicates."""
    body: bytes
    """The request as it is sent: OTLP protobuf, compressed. The same spans always give the same bytes."""
