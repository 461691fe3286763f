"""What a tracing backend replies: how many spans it did not take, and why something failed.

A server answers in the encoding of the request, protobuf. Some answer in JSON all the same, and a gateway on the way
sends pages.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple

import msgspec

from turnlog.trace.wire.protobuf import iter_wire_fields

_HTML_TAG = re.compile(r"<(style|script|title)\b.*?</\1>|<[^>]*>", re.DOTALL | re.IGNORECASE)
_PROTOBUF_TYPES = ("application/x-protobuf", "application/protobuf", "application/vnd.google.protobuf")
_MESSAGE_FIELDS = ("message", "error", "detail", "details", "errorMessage", "error_message", "title")


class Rejection(NamedTuple):
    """Spans that a server says it did not take, in an answer that accepts the request."""

    spans: int
    words: str


def read_rejection(raw: bytes, kind: str) -> Rejection | None:
    """What an ExportTraceServiceResponse says of rejected spans; None if it rejects none."""
    count, said = _read_rejected(raw) if kind in _PROTOBUF_TYPES else _read_rejected_json(raw)
    words = f"{count} of its spans rejected: {to_printable_line(said) or 'without a reason'}"
    return Rejection(count, words) if count else None


def _read_rejected(raw: bytes) -> tuple[int, str]:
    found = _parse_fields(_parse_fields(raw).get(1))
    count = found.get(1)
    return count if isinstance(count, int) else 0, _decode_text(found.get(2))


def _read_rejected_json(raw: bytes) -> tuple[int, str]:
    found = _parse_json(raw)
    told = found.get("partialSuccess", found.get("partial_success")) if isinstance(found, dict) else None
    if not isinstance(told, dict):
        return 0, ""
    count = told.get("rejectedSpans", told.get("rejected_spans"))
    said = told.get("errorMessage", told.get("error_message"))
    # 64-bit numbers are written as text in the JSON of protobuf.
    is_number = isinstance(count, int) or (isinstance(count, str) and count.isdecimal() and len(count) < 20)
    return int(count or 0) if is_number else 0, said if isinstance(said, str) else ""


def read_reply_words(raw: bytes, kind: str) -> str:
    """The words of a reply, on one line and in visible characters; empty if it says nothing."""
    if kind in _PROTOBUF_TYPES:
        said = _decode_text(_parse_fields(raw).get(2))  # a google.rpc.Status
        if said:
            return to_printable_line(said)
    found = _find_message(_parse_json(raw))
    return to_printable_line(found or _HTML_TAG.sub(" ", raw.decode("utf-8", "replace")))


def _find_message(found: Any, depth: int = 3) -> str:
    """The text in a JSON reply that people are to read."""
    if isinstance(found, str) or depth == 0:
        return found if isinstance(found, str) else ""
    if isinstance(found, list):
        return _find_message(found[0], depth - 1) if found else ""
    if not isinstance(found, dict):
        return ""
    return next((said for name in _MESSAGE_FIELDS if (said := _find_message(found.get(name), depth - 1))), "")


def to_printable_line(text: str) -> str:
    """A text on one line, without what can't be seen."""
    return " ".join("".join(char if char.isprintable() else " " for char in text).split())


def _parse_fields(message: int | bytes | None) -> dict[int, int | bytes]:
    try:
        return dict(iter_wire_fields(message)) if isinstance(message, bytes) else {}
    except ValueError:
        return {}


def _decode_text(value: int | bytes | None) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else ""


def _parse_json(raw: bytes) -> Any:
    try:
        return msgspec.json.decode(raw)
    except (msgspec.DecodeError, ValueError, RecursionError):
        return None
