"""Posts a request to a target, and interprets its response.

One connection is kept alive for many requests. A request is sent only once: the caller decides whether to send it
again, and counts requests that may have arrived twice. Redirects are not followed, so credentials are sent only to the
configured server.
"""

from __future__ import annotations

import http.client
import re
import ssl
import time
from functools import cached_property
from selectors import EVENT_READ, DefaultSelector
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import msgspec

from turnlog._version import __version__
from turnlog.network.addresses import format_public_address
from turnlog.network.connections import build_proxy_headers, make_connection
from turnlog.network.replies import MAX_ANSWER_BYTES, parse_retry_after, read_reply_body, to_printable_line
from turnlog.trace.targets.target import TraceTarget
from turnlog.trace.wire.otlp import decompress_body
from turnlog.trace.wire.protobuf import iter_wire_fields

_HTML_TAG = re.compile(r"<(style|script|title)\b.*?</\1>|<[^>]*>", re.DOTALL | re.IGNORECASE)
_PROTOBUF_TYPES = ("application/x-protobuf", "application/protobuf", "application/vnd.google.protobuf")
_MESSAGE_FIELDS = ("message", "error", "detail", "details", "errorMessage", "error_message", "title")


class Rejection(NamedTuple):
    """Spans that a server rejected in a response that otherwise accepts the request."""

    spans: int
    words: str


def read_rejection(raw: bytes, kind: str) -> Rejection | None:
    """Read which spans an ExportTraceServiceResponse rejects; return None if it rejects none."""
    count, reason = _read_rejected(raw) if kind in _PROTOBUF_TYPES else _read_rejected_json(raw)
    text = f"{count} of its spans were rejected: {to_printable_line(reason) or 'no reason given'}"
    return Rejection(count, text) if count else None


def _read_rejected(raw: bytes) -> tuple[int, str]:
    fields = _parse_fields(_parse_fields(raw).get(1))
    count = fields.get(1)
    return count if isinstance(count, int) else 0, _decode_text(fields.get(2))


def _read_rejected_json(raw: bytes) -> tuple[int, str]:
    reply = _parse_json(raw)
    partial = reply.get("partialSuccess", reply.get("partial_success")) if isinstance(reply, dict) else None
    if not isinstance(partial, dict):
        return 0, ""
    count = partial.get("rejectedSpans", partial.get("rejected_spans"))
    reason = partial.get("errorMessage", partial.get("error_message"))
    # Protobuf's JSON writes 64-bit numbers as text.
    is_number = isinstance(count, int) or (isinstance(count, str) and count.isdecimal() and len(count) < 20)
    return int(count or 0) if is_number else 0, reason if isinstance(reason, str) else ""


def read_reply_words(raw: bytes, kind: str) -> str:
    """Read the message in a reply, as one line of printable characters; return an empty string if there is none."""
    if kind in _PROTOBUF_TYPES:
        status_message = _decode_text(_parse_fields(raw).get(2))  # a google.rpc.Status
        if status_message:
            return to_printable_line(status_message)
    message = _find_message(_parse_json(raw))
    return to_printable_line(message or _HTML_TAG.sub(" ", raw.decode("utf-8", "replace")))


def _find_message(reply: Any, depth: int = 3) -> str:
    """Find the human-readable message in a JSON reply."""
    if isinstance(reply, str) or depth == 0:
        return reply if isinstance(reply, str) else ""
    if isinstance(reply, list):
        return _find_message(reply[0], depth - 1) if reply else ""
    if not isinstance(reply, dict):
        return ""
    return next((text for name in _MESSAGE_FIELDS if (text := _find_message(reply.get(name), depth - 1))), "")


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


_CONNECTION_ERRORS = (OSError, http.client.HTTPException, UnicodeError)  # the last: host names that can't be encoded
_RETRY_STATUSES = frozenset({407, 408, 425, 429})
_UNSURE_STATUSES = frozenset({500, 502, 504})
"""Statuses of a server that failed, possibly after it accepted the spans, which a gateway can't detect."""
_PAGE_TYPES = frozenset({"text/html", "application/xhtml+xml"})


class PostAccepted(NamedTuple):
    """The backend has received the request."""

    partial: str | None = None
    """The server's message about spans that it rejected nevertheless."""
    rejected: int = 0
    """The number of spans that the server reports as rejected."""


class PostDeferred(NamedTuple):
    """The request was not accepted but may be accepted later."""

    reason: str
    after: float | None = None
    """How many seconds the server asks clients to wait before the next attempt."""
    unsure: bool = False
    """Whether the whole request was sent without a response, so that it may have arrived."""


class PostTooLarge(NamedTuple):
    """The server would accept the request in smaller parts."""

    reason: str


class PostRefused(NamedTuple):
    """The server will never accept the request as it is."""

    status: int
    words: str


PostVerdict = PostAccepted | PostDeferred | PostTooLarge | PostRefused


class Poster:
    """Posts requests to a target, one at a time; not thread-safe."""

    def __init__(self, target: TraceTarget) -> None:
        self.target = target
        self._parts = urlsplit(target.url)
        self._proxy = urlsplit(target.proxy) if target.proxy else None
        self._connection: http.client.HTTPConnection | None = None

    def __enter__(self) -> Poster:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def post(self, body: bytes) -> PostVerdict:
        """Send a request (compressed, as in the batch) once."""
        was_sent = False
        try:
            connection = self._get_connection()
            was_sent = self._send_request(connection, body)
            return self._read_verdict(connection)
        except _CONNECTION_ERRORS as error:
            self.close()
            return PostDeferred(self._describe_fault(error), unsure=was_sent)
        except BaseException:
            self.close()
            raise

    def _send_request(self, connection: http.client.HTTPConnection, body: bytes) -> bool:
        """Send a request; return whether all of it was sent."""
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
            # A server may reject a large request without reading all of it: read its response.
            if not _has_data(connection):
                raise
            return False
        return True

    def _read_verdict(self, connection: http.client.HTTPConnection) -> PostVerdict:
        with connection.getresponse() as answer:
            raw = b""
            try:
                raw = read_reply_body(answer, time.monotonic() + self.target.timeout)
            except _CONNECTION_ERRORS:
                self.close()  # only the status matters
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
        reason = self.target.hide_secrets(read_reply_words(raw, kind) or to_printable_line(answer.reason))[:500]
        if 200 <= status < 300:
            return PostRefused(
                status, f"the server returned a web page, not a tracing response; is the address correct? {reason}"
            )
        if status == 413:
            return PostTooLarge(f"{status}: {reason}")
        if status in _RETRY_STATUSES or status >= 500:
            after = parse_retry_after(answer.getheader("retry-after"))
            return PostDeferred(f"{status}: {reason}", after, unsure=status in _UNSURE_STATUSES)
        if 300 <= status < 400:
            reason = "the server redirects; set the address that it redirects to in the target"
        return PostRefused(status, reason)

    def _get_connection(self) -> http.client.HTTPConnection:
        """Return the connection of the last request if the server has kept it open, otherwise a new one."""
        if self._connection is not None and (self._connection.sock is None or _has_data(self._connection)):
            self.close()
        if self._connection is None:
            self._connection = self._open_connection()
        return self._connection

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
            return f"its certificate is not trusted: {error.verify_message}"
        if isinstance(error, TimeoutError):
            return "no response in time"
        if isinstance(error, http.client.HTTPException | ConnectionError) and not isinstance(
            error, ConnectionRefusedError
        ):
            return f"the connection was closed or is not HTTP ({type(error).__name__})"
        reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
        return self.target.hide_secrets(f"can't be reached: {reason}")[:500]


def _has_data(connection: http.client.HTTPConnection) -> bool:
    """Return whether there is data to read; if nothing was requested, this means that the connection has ended."""
    with DefaultSelector() as selector:
        selector.register(connection.sock, EVENT_READ)
        return bool(selector.select(0))
