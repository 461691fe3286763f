"""A batch: spans of one trace, encoded to be sent in one request."""

from __future__ import annotations

from typing import NamedTuple


class SpanBatch(NamedTuple):
    """What one request brings."""

    trace: bytes
    spans: tuple[bytes, ...]
    """The ids of its spans; no span stands in it twice."""
    body: bytes
    """The request as it is sent: OTLP protobuf, compressed. The same spans give the same bytes."""
