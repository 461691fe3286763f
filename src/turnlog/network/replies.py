"""Reads what servers reply, within limits of size and time."""

from __future__ import annotations

import http.client
import re
import time
from contextlib import suppress
from email.utils import parsedate_to_datetime

MAX_ANSWER_BYTES = 1 << 16
MAX_WAIT_SECONDS = 86_400.0
_SECONDS_TEXT = re.compile(r"\d{1,12}(\.\d+)?")


def read_reply_body(answer: http.client.HTTPResponse, deadline: float) -> bytes:
    """Read a response within a size limit and a deadline."""
    parts, size = [], 0
    while size <= MAX_ANSWER_BYTES and (part := answer.read1(MAX_ANSWER_BYTES)):
        parts.append(part)
        size += len(part)
        if time.monotonic() > deadline:
            raise TimeoutError
    return b"".join(parts)


def parse_retry_after(value: str | None) -> float | None:
    """Return how many seconds the server asks us to wait, at most a day; the value is a number or a date."""
    if value is None:
        return None
    if _SECONDS_TEXT.fullmatch(value):
        return min(float(value), MAX_WAIT_SECONDS)
    with suppress(ValueError, TypeError, IndexError, OverflowError):
        return min(max(0.0, parsedate_to_datetime(value).timestamp() - time.time()), MAX_WAIT_SECONDS)
    return None


def to_printable_line(text: str) -> str:
    """Put text on one line, without unprintable characters."""
    return " ".join("".join(char if char.isprintable() else " " for char in text).split())
