"""Posting a request to a target, and what its answer means.

One connection is kept alive over many requests. A request is sent once: whether it is sent again is for the caller to
say, who keeps count of what may have arrived twice. Redirects are not followed, so credentials go nowhere but to the
server that was named.
"""

from __future__ import annotations

import http.client
import re
import ssl
import time
from contextlib import suppress
from email.utils import parsedate_to_datetime
from functools import cached_property
from selectors import EVENT_READ, DefaultSelector
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import msgspec

from turnlog._version import __version__
from turnlog.network.addresses import format_public_address
from turnlog.network.connections import build_proxy_headers, make_connection
from turnlog.trace.targets.target import TraceTarget
from turnlog.trace.wire.otlp import decompress_body
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


MAX_ANSWER_BYTES = 1 << 16
MAX_WAIT_SECONDS = 86_400.0
_CONNECTION_ERRORS = (OSError, http.client.HTTPException, UnicodeError)  # the last for names that can't be looked up
_SECONDS_TEXT = re.compile(r"\d{1,12}(\.\d+)?")
_RETRY_STATUSES = frozenset({407, 408, 425, 429})
_UNSURE_STATUSES = frozenset({500, 502, 504})
"""Something failed, perhaps after the spans were taken: a gateway does not know what became of a request."""
_PAGE_TYPES = frozenset({"text/html", "application/xhtml+xml"})


class PostAccepted(NamedTuple):
    """The backend has it."""

    partial: str | None = None
    """What it says of spans that it did not take all the same."""
    rejected: int = 0
    """How many these are, as it says."""


class PostDeferred(NamedTuple):
    """Not now; the same request may be taken another time."""

    reason: str
    after: float | None = None
    """Seconds after which the server wants to be asked again."""
    unsure: bool = False
    """The request went out whole and no answer came back: it may have arrived."""


class PostTooLarge(NamedTuple):
    """It would be taken in smaller parts."""

    reason: str


class PostRefused(NamedTuple):
    """It would never be taken as it is."""

    status: int
    words: str


PostVerdict = PostAccepted | PostDeferred | PostTooLarge | PostRefused


class Poster:
    """Posts requests to a target, one after the other; not for several threads."""

    def __init__(self, target: TraceTarget) -> None:
        self.target = target
        self._parts = urlsplit(target.url)
        self._proxy = urlsplit(target.proxy) if target.proxy else None
        self._kept: http.client.HTTPConnection | None = None

    def __enter__(self) -> Poster:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the connection."""
        if self._kept is not None:
            self._kept.close()
            self._kept = None

    def post(self, body: bytes) -> PostVerdict:
        """Send a request (compressed, as a batch holds it) once."""
        went_out = False
        try:
            connection = self._get_connection()
            went_out = self._send_request(connection, body)
            return self._read_verdict(connection)
        except _CONNECTION_ERRORS as error:
            self.close()
            return PostDeferred(self._describe_fault(error), unsure=went_out)
        except BaseException:
            self.close()
            raise

    def _send_request(self, connection: http.client.HTTPConnection, body: bytes) -> bool:
        """Whether the whole request went out."""
        headers = {
            **self.target.headers,
            "content-type": "application/x-protobuf",
            "user-agent": f"turnlog/{__version__}",
        }
        if self.target.compress is not False:
            headers["content-encoding"] = "gzip"
        else:
            body = decompress_body(body)
        path = (self._parts.path or "/") + (f"?{self._parts.query}" if self._parts.query else "")
        if self._proxy is not None and self._parts.scheme == "http":
            headers |= build_proxy_headers(self._proxy)
            path = format_public_address(self._parts) + path
        try:
            connection.request("POST", path, body, headers)
        except (BrokenPipeError, ConnectionResetError, TimeoutError):
            # A server that finds a request too large may say so and read no further: hear it out.
            if not _has_data(connection):
                raise
            return False
        return True

    def _read_verdict(self, connection: http.client.HTTPConnection) -> PostVerdict:
        with connection.getresponse() as answer:
            raw = b""
            try:
                raw = _read_answer(answer, time.monotonic() + self.target.timeout)
            except _CONNECTION_ERRORS:
                self.close()  # the status is what counts
            if len(raw) > MAX_ANSWER_BYTES:
                self.close()
            return self._judge_answer(answer, raw[:MAX_ANSWER_BYTES])

    def _judge_answer(self, answer: http.client.HTTPResponse, raw: bytes) -> PostVerdict:
        status, kind = answer.status, answer.headers.get_content_type()
        if 200 <= status < 300 and kind not in _PAGE_TYPES:
            rejection = read_rejection(raw, kind)
            if rejection is None:
                return PostAccepted()
            return PostAccepted(self.target.hide_secrets(rejection.words)[:500], rejection.spans)
        said = self.target.hide_secrets(read_reply_words(raw, kind) or to_printable_line(answer.reason))[:500]
        if 200 <= status < 300:
            return PostRefused(
                status, f"a page came back where a tracing backend answers; is the address right? {said}"
            )
        if status == 413:
            return PostTooLarge(f"{status}: {said}")
        if status in _RETRY_STATUSES or status >= 500:
            after = _parse_retry_after(answer.getheader("retry-after"))
            return PostDeferred(f"{status}: {said}", after, unsure=status in _UNSURE_STATUSES)
        if 300 <= status < 400:
            said = "it wants to send us elsewhere; name that address in the target"
        return PostRefused(status, said)

    def _get_connection(self) -> http.client.HTTPConnection:
        """The connection of the last request if the server still holds it, else a new one."""
        if self._kept is not None and (self._kept.sock is None or _has_data(self._kept)):
            self.close()
        if self._kept is None:
            self._kept = self._open_connection()
        return self._kept

    def _open_connection(self) -> http.client.HTTPConnection:
        trust = self._ssl_context if self._parts.scheme == "https" else None
        connection = make_connection(self._parts, self._proxy, self.target.timeout, trust)
        try:
            connection.connect()
        except BaseException:
            connection.close()
            raise
        return connection

    @cached_property
    def _ssl_context(self) -> ssl.SSLContext:
        return ssl.create_default_context(cafile=self.target.certificate)

    def _describe_fault(self, error: Exception) -> str:
        if isinstance(error, ssl.SSLCertVerificationError):
            return f"its certificate is not accepted: {error.verify_message}"
        if isinstance(error, TimeoutError):
            return "no answer in time"
        if isinstance(error, http.client.HTTPException | ConnectionError) and not isinstance(
            error, ConnectionRefusedError
        ):
            return f"the connection was cut or is no HTTP ({type(error).__name__})"
        reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
        return self.target.hide_secrets(f"can't be reached: {reason}")[:500]


def _has_data(connection: http.client.HTTPConnection) -> bool:
    """Whether there is something to read; where nothing was asked, that is the end of the connection."""
    with DefaultSelector() as selector:
        selector.register(connection.sock, EVENT_READ)
        return bool(selector.select(0))


def _read_answer(answer: http.client.HTTPResponse, deadline: float) -> bytes:
    """What an answer says; no more of it than anybody wants to know, and not for ever."""
    parts, size = [], 0
    while size <= MAX_ANSWER_BYTES and (part := answer.read1(MAX_ANSWER_BYTES)):
        parts.append(part)
        size += len(part)
        if time.monotonic() > deadline:
            raise TimeoutError
    return b"".join(parts)


def _parse_retry_after(value: str | None) -> float | None:
    """Seconds that the server wants us to wait, said as a number or as a date; a day at most."""
    if value is None:
        return None
    if _SECONDS_TEXT.fullmatch(value):
        return min(float(value), MAX_WAIT_SECONDS)
    with suppress(ValueError, TypeError, IndexError, OverflowError):
        return min(max(0.0, parsedate_to_datetime(value).timestamp() - time.time()), MAX_WAIT_SECONDS)
    return None
