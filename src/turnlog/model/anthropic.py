"""The Messages API over HTTP, with the standard library.

`http.client` is sufficient for one request at a time with a streamed answer. Importing it takes a third as long as
importing the usual HTTP library, which would take longer than an entire short command. Each request opens its own
connection; this takes little time compared with the model's answer. Redirects are not followed, so a key is sent only
to the configured server.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import re
import ssl
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from email.utils import parsedate_to_datetime
from functools import cached_property
from typing import Any
from urllib.parse import SplitResult

import msgspec

from turnlog.model.cancel import Cancel
from turnlog.model.endpoint import Endpoint
from turnlog.model.events import ModelEvent
from turnlog.model.failures import AnswerBrokenOff, ModelError, RequestRejected, ServerUnreachable, build_model_error
from turnlog.model.model import Model
from turnlog.model.request import ConversationMessages, JsonObject, ModelRequest
from turnlog.model.retries import RetryingModel, RetryPolicy
from turnlog.model.sse import read_server_events
from turnlog.model.stream_reader import StreamReader
from turnlog.network.addresses import format_public_address, parse_proxy_address, parse_server_address
from turnlog.network.connections import build_proxy_headers, cut_connection, make_connection

BytesPiece = bytes | memoryview

_MAX_IDLE_CONVERSATIONS = 4
"""The number of conversations to keep in encoded form: the session's and those of sub-agents."""


def encode_request_json(value: object) -> bytes:
    """Encode a value as JSON, replacing lone surrogates with U+FFFD."""
    try:
        return msgspec.json.encode(value)
    except (UnicodeEncodeError, TypeError, RecursionError):
        text = json.dumps(value, ensure_ascii=False)
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace").encode()


class RequestEncoder:
    """Encodes the requests for one model; thread-safe."""

    def __init__(self) -> None:
        self._idle: list[_SettledMessages] = []
        self._lock = threading.Lock()

    @contextmanager
    def encode_pieces(self, head: Mapping[str, Any], messages: Sequence[JsonObject]) -> Iterator[list[BytesPiece]]:
        """Yield the bytes of a request in pieces that remain valid within the block."""
        if not isinstance(messages, ConversationMessages) or "messages" in head:
            yield [encode_request_json(head if "messages" in head else {**head, "messages": list(messages)})]
            return
        known = self._take_settled(messages)
        known.encode_new(messages)
        begin, rest = (
            encode_request_json(head)[:-1] + b',"messages":[',
            b",".join(map(encode_request_json, messages.rest)) + b"]}",
        )
        with memoryview(known.data) as data:
            yield [begin, data, rest]
        with self._lock:  # not kept if the request failed
            self._idle = [*self._idle, known][-_MAX_IDLE_CONVERSATIONS:]

    def _take_settled(self, messages: ConversationMessages) -> _SettledMessages:
        """Return the encoded messages of a conversation; start with none if another request is using them."""
        with self._lock:
            for place, known in enumerate(self._idle):
                if known.messages is messages.settled and known.taken <= messages.taken:
                    return self._idle.pop(place)
        return _SettledMessages(messages.settled)


class _SettledMessages:
    def __init__(self, messages: Sequence[JsonObject]) -> None:
        self.messages = messages
        self.taken = 0
        self.data = bytearray()
        """The first messages, with a comma after each."""

    def encode_new(self, messages: ConversationMessages) -> None:
        """Encode the messages that were settled since the last call."""
        for message in self.messages[self.taken : messages.taken]:
            self.data += encode_request_json(message)
            self.data += b","
        self.taken = messages.taken


CHUNK_BYTES = 1 << 16
MAX_REFUSAL_BYTES = 1 << 20
_HTML_TAG = re.compile(r"<(style|script|title)\b.*?</\1>|<[^>]*>", re.DOTALL | re.IGNORECASE)
_CONNECTION_ERRORS = (OSError, http.client.HTTPException)


def connect_model(endpoint: Endpoint | None = None, patience: RetryPolicy | None = None) -> Model:
    """Return the model at an endpoint (by default, the one in the environment), with retries for temporary failures."""
    return RetryingModel(AnthropicModel(endpoint or Endpoint.from_environment()), patience)


class AnthropicModel(Model):
    """Sends each request to a server, without retries."""

    def __init__(self, endpoint: Endpoint) -> None:
        self.endpoint = endpoint
        self._parts = parse_server_address(endpoint.url)
        self._encoder = RequestEncoder()

    def stream(self, request: ModelRequest, cancel: Cancel | None = None) -> Iterator[ModelEvent]:
        head = {**request.build_head(), "stream": True}
        with self._open_response("/v1/messages", head, request, cancel or Cancel()) as answer:
            kind = answer.headers.get_content_type()
            if kind != "text/event-stream":
                raise self._build_wrong_type_error(answer, kind)
            yield from StreamReader(answer.getheader("request-id")).read_events(
                read_server_events(_read_chunks(answer))
            )

    def count_tokens(self, request: ModelRequest, cancel: Cancel | None = None) -> int:
        head = {key: value for key, value in request.build_head().items() if key not in _UNCOUNTED_FIELDS}
        with self._open_response("/v1/messages/count_tokens", head, request, cancel or Cancel()) as answer:
            body = _decode_object(answer.read(MAX_REFUSAL_BYTES))
            count = body.get("input_tokens")
            if not isinstance(count, int):
                raise self._build_wrong_type_error(answer, answer.headers.get_content_type())
            return count

    @contextmanager
    def _open_response(
        self, path: str, head: dict[str, Any], request: ModelRequest, cancel: Cancel
    ) -> Iterator[http.client.HTTPResponse]:
        """Send a request and yield its accepted, unread response; close the connection afterwards or on cancel."""
        cancel.check()
        connection = self._make_connection()
        with contextlib.ExitStack() as cleanup:
            cleanup.callback(connection.close)
            try:
                connection.connect()
                socket = connection.sock  # the connection drops its reference once the answer starts
                socket.settimeout(self.endpoint.silence)
                cleanup.enter_context(cancel.on_cancel(lambda: cut_connection(socket)))
                self._send_request(connection, path, head, request)
                answer = cleanup.enter_context(connection.getresponse())
                if answer.status != 200:
                    raise self._read_refusal(answer)
                yield answer
            except _CONNECTION_ERRORS as error:
                cancel.check()
                raise self._to_model_error(error) from None
            except ModelError:
                cancel.check()
                raise

    def _make_connection(self) -> http.client.HTTPConnection:
        trust = self._tls_context if self._parts.scheme == "https" else None
        return make_connection(self._parts, self._proxy, self.endpoint.connecting, trust)

    @cached_property
    def _tls_context(self) -> ssl.SSLContext:
        return ssl.create_default_context()

    @cached_property
    def _proxy(self) -> SplitResult | None:
        return None if self.endpoint.proxy is None else parse_proxy_address(self.endpoint.proxy)

    def _send_request(
        self, connection: http.client.HTTPConnection, path: str, head: dict[str, Any], request: ModelRequest
    ) -> None:
        headers, target = self.endpoint.build_headers(), self._parts.path.rstrip("/") + path
        if request.betas:
            headers["anthropic-beta"] = ",".join(request.betas)
        if self._proxy is not None and self._parts.scheme == "http":
            headers |= build_proxy_headers(self._proxy)
            target = format_public_address(self._parts) + target
        with self._encoder.encode_pieces(head, request.messages) as pieces:
            headers["content-length"] = str(sum(map(len, pieces)))
            connection.request("POST", target, _slice_pieces(pieces), headers)

    def _to_model_error(self, error: Exception) -> ModelError:
        where = format_public_address(self._parts)
        if isinstance(error, ssl.SSLCertVerificationError):
            return RequestRejected(f"{where}: the server's certificate was rejected: {error.verify_message}")
        if isinstance(error, TimeoutError):
            return ServerUnreachable(f"{where}: the server did not answer in time")
        if isinstance(error, http.client.HTTPException):
            return AnswerBrokenOff(f"{where}: the answer is truncated or not HTTP ({type(error).__name__})")
        reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
        return ServerUnreachable(f"{where}: the server can't be reached: {reason}")

    def _read_refusal(self, answer: http.client.HTTPResponse) -> ModelError:
        """Convert a response with a status other than 200 into an error."""
        raw = answer.read(MAX_REFUSAL_BYTES)
        error = _decode_object(raw).get("error")
        details = error if isinstance(error, dict) else {}
        kind, message = details.get("type"), details.get("message")
        if answer.status in (301, 302, 303, 307, 308):
            message = "the server redirects; set ANTHROPIC_BASE_URL to the new address"
        text = (" ".join(message.split()) if isinstance(message, str) else "") or _strip_html(raw) or answer.reason
        return build_model_error(
            answer.status,
            f"{format_public_address(self._parts)}: {answer.status}: {self.endpoint.hide_keys(text)[:500]}",
            kind if isinstance(kind, str) else None,
            again={"true": True, "false": False}.get(answer.getheader("x-should-retry", "")),
            request_id=answer.getheader("request-id"),
            retry_after=_parse_retry_after(answer.getheader),
        )

    def _build_wrong_type_error(self, answer: http.client.HTTPResponse, kind: str) -> RequestRejected:
        return RequestRejected(
            (
                f"{format_public_address(self._parts)}: the server answered with {kind} instead of a model's answer; "
                f"check ANTHROPIC_BASE_URL"
            ),
            status=answer.status,
        )


_UNCOUNTED_FIELDS = frozenset({"max_tokens", "temperature", "stop_sequences", "metadata", "stream"})


def _read_chunks(answer: http.client.HTTPResponse) -> Iterator[bytes]:
    while chunk := answer.read1(CHUNK_BYTES):
        yield chunk


def _slice_pieces(pieces: Iterable[BytesPiece]) -> Iterator[BytesPiece]:
    """Split a request into small parts, so that the timeout applies to each part and not to a long upload."""
    for piece in pieces:
        for at in range(0, len(piece), CHUNK_BYTES):
            yield piece[at : at + CHUNK_BYTES]


def _decode_object(raw: bytes) -> dict[str, Any]:
    try:
        value = msgspec.json.decode(raw)
    except (msgspec.DecodeError, ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def _strip_html(raw: bytes) -> str:
    """Extract the text from an HTML page sent by an intermediate server."""
    return " ".join(_HTML_TAG.sub(" ", raw[:8192].decode("utf-8", "replace")).split())[:200]


def _parse_retry_after(header: Callable[[str], str | None]) -> float | None:
    """Return the requested pause in seconds; headers state it in seconds or milliseconds, or as a date."""
    for name, unit in (("retry-after-ms", 1000.0), ("retry-after", 1.0)):
        value = header(name)
        if value is None:
            continue
        with contextlib.suppress(ValueError, OverflowError):
            return min(max(0.0, float(value) / unit), 1e9)
        with contextlib.suppress(ValueError, TypeError, IndexError, OverflowError):
            return max(0.0, parsedate_to_datetime(value).timestamp() - time.time())
    return None
