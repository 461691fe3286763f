"""A loopback OTLP endpoint that keeps what it is sent and answers as it is told.

    with Recorder() as recorder:
        recorder.answers += [503, ("retry-after", 2), "cut"]
        ...                                 # something posts to recorder.url
        assert [span["name"] for span in recorder.spans] == [...]

An answer is
    200                       accepts
    503, 413, 400             any other status; ("status", 400, "words") says words with it
    ("retry-after", 2)        429 and that many seconds
    ("partial", 1, "words")   accepts, and says that so many spans were rejected
    ("redirect", "http://…")  307
    ("page", b"…", "text/html")    200 with a body and its type
    ("hang", 3)               says nothing for that many seconds, then cuts; nothing is accepted
    "cut"                     takes the request and cuts; nothing is accepted
    "lost"                    accepts, and cuts before it says so
"""

from __future__ import annotations

import gzip
import socket
import threading
import zlib
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from google.protobuf.message import DecodeError  # type: ignore[import-untyped]
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)

Answer = int | str | tuple[Any, ...]
Decoded = dict[str, Any]


@dataclass
class Received:
    """A request as it came."""

    path: str
    headers: dict[str, str]
    """By names in small letters."""
    body: bytes
    """As it was sent: compressed, if it was."""
    spans: list[Decoded] = field(default_factory=list)
    resource: Decoded = field(default_factory=dict)
    scope: tuple[str, str] = ("", "")
    problem: str | None = None
    """Why it is not what OTLP wants."""
    answer: Answer = 200


class Recorder:
    """The endpoint; `url` has no path, any path will do."""

    def __init__(self, *answers: Answer, default: Answer = 200, listen: int = 0) -> None:
        self.answers: list[Answer] = [*answers]
        """What the next requests are answered with, in order."""
        self.default: Answer = default
        """What they are answered with after that."""
        self.requests: list[Received] = []
        self.spans: list[Decoded] = []
        """All spans that were accepted, in order."""
        self.connections = 0
        self._server = _Server(self, listen)
        self.port: int = self._server.server_address[1]
        self.url = f"http://127.0.0.1:{self.port}"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)
        self.closing = threading.Event()
        self.news = threading.Condition()

    def __enter__(self) -> Recorder:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.closing.set()
        self._server.shutdown()
        self._server.cut()
        self._server.server_close()
        self._thread.join(60)

    @property
    def repeats(self) -> int:
        """How many spans were accepted that had been accepted before."""
        return len(self.spans) - len({span["span"] for span in self.spans})

    @property
    def changed_spans(self) -> list[Decoded]:
        """Spans that were accepted again and are not what they were."""
        first: dict[str, Decoded] = {}
        return [span for span in self.spans if first.setdefault(span["span"], span) != span]

    def wait(self, spans: int = 0, requests: int = 0, seconds: float = 20) -> None:
        """Wait until so many spans are accepted and so many requests have come."""
        with self.news:
            arrived = self.news.wait_for(
                lambda: len(self.spans) >= spans and len(self.requests) >= requests, timeout=seconds
            )
        assert arrived, f"{len(self.spans)} of {spans} spans, {len(self.requests)} of {requests} requests"

    def take(self, request: Received) -> Answer:
        """Keep a request; what it is answered with."""
        with self.news:
            answer = self.answers.pop(0) if self.answers else self.default
            if request.problem is not None and _accepts(answer):
                answer = ("status", 400, request.problem)
            request.answer = answer
            self.requests.append(request)
            if _accepts(answer):
                self.spans += request.spans
            self.news.notify_all()
        return answer


def _accepts(answer: Answer) -> bool:
    return answer in (200, "lost") or (isinstance(answer, tuple) and answer[0] in ("partial", "page"))


class _Server(ThreadingHTTPServer):
    daemon_threads = False  # so that closing waits for them

    def __init__(self, recorder: Recorder, listen: int) -> None:
        self.recorder = recorder
        self._open: set[socket.socket] = set()
        super().__init__(("127.0.0.1", listen), _Handler)

    def process_request(self, request: Any, client_address: Any) -> None:
        self.recorder.connections += 1
        self._open.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        self._open.discard(request)
        super().shutdown_request(request)

    def cut(self) -> None:
        """End the connections that are kept alive."""
        for each in [*self._open]:
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that goes away is nothing to speak of."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: _Server

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - its name there
        """Be silent."""

    def do_POST(self) -> None:
        headers = {name.lower(): value for name, value in self.headers.items()}
        request = Received(self.path, headers, self._body(headers))
        _decode(request)
        answer = self.server.recorder.take(request)
        name, *rest = answer if isinstance(answer, tuple) else (answer,)
        if isinstance(name, int):
            self._reply(name)
        else:
            _REPLIES[name](self, *rest)

    def _body(self, headers: dict[str, str]) -> bytes:
        if headers.get("transfer-encoding") != "chunked":
            return self.rfile.read(int(headers.get("content-length", 0)))
        parts = []
        while size := int(self.rfile.readline().split(b";")[0], 16):
            parts.append(self.rfile.read(size))
            self.rfile.readline()
        self.rfile.readline()
        return b"".join(parts)

    def _reply(self, status: int, body: bytes = b"", kind: str = "application/x-protobuf", **headers: str) -> None:
        self.send_response(status)
        for name, value in {"content-type": kind, "content-length": str(len(body)), **headers}.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(body)

    def _status(self, status: int, words: str = "") -> None:
        self._reply(status, words.encode(), "text/plain; charset=utf-8")

    def _partial(self, rejected: int, words: str = "") -> None:
        answer = ExportTraceServiceResponse()
        answer.partial_success.rejected_spans = rejected
        answer.partial_success.error_message = words
        self._reply(200, answer.SerializeToString())

    def _hang(self, seconds: float) -> None:
        self.server.recorder.closing.wait(seconds)
        self._cut()

    def _cut(self) -> None:
        self.close_connection = True
        with suppress(OSError):
            self.connection.shutdown(socket.SHUT_RDWR)


_REPLIES: dict[str, Callable[..., None]] = {
    "status": _Handler._status,
    "partial": _Handler._partial,
    "retry-after": lambda handler, after: handler._reply(429, retry_after=str(after)),
    "redirect": lambda handler, address: handler._reply(307, location=address),
    "page": lambda handler, body, kind="text/html": handler._reply(200, body, kind),
    "hang": _Handler._hang,
    "cut": _Handler._cut,
    "lost": _Handler._cut,
}


def decode_body(body: bytes) -> Received:
    """What a body that is not compressed would be received as."""
    found = Received("/v1/traces", {"content-type": "application/x-protobuf"}, body)
    _decode(found)
    return found


def _decode(request: Received) -> None:
    try:
        _read(request)
    except (ValueError, OSError, EOFError, zlib.error, DecodeError) as error:
        request.problem = f"{type(error).__name__}: {error}"


def _read(request: Received) -> None:
    if request.headers.get("content-type") != "application/x-protobuf":
        raise ValueError(f"content-type is {request.headers.get('content-type')}")
    is_packed = request.headers.get("content-encoding") == "gzip"
    found = ExportTraceServiceRequest.FromString(gzip.decompress(request.body) if is_packed else request.body)
    for resource in found.resource_spans:
        request.resource = _attributes(resource.resource.attributes)
        for scope in resource.scope_spans:
            request.scope = (scope.scope.name, scope.scope.version)
            request.spans += map(_span, scope.spans)
    ids = [span["span"] for span in request.spans]
    if len({*ids}) < len(ids):
        raise ValueError("a span stands in it twice")


def _span(span: Any) -> Decoded:
    if len(span.trace_id) != 16 or len(span.span_id) != 8 or len(span.parent_span_id) not in (0, 8):
        raise ValueError(f"{span.name}: an id is too short or too long")
    return {
        "trace": span.trace_id.hex(),
        "span": span.span_id.hex(),
        "parent": span.parent_span_id.hex() or None,
        "name": span.name,
        "kind": span.kind,
        "start": span.start_time_unix_nano,
        "end": span.end_time_unix_nano,
        "status": span.status.code,
        "message": span.status.message,
        "attributes": _attributes(span.attributes),
    }


def _attributes(pairs: Any) -> Decoded:
    found = {pair.key: _value(pair.value) for pair in pairs}
    if len(found) < len(pairs):
        raise ValueError("an attribute stands in it twice")
    return found


def _value(value: Any) -> Any:
    which = value.WhichOneof("value")
    if which is None:
        return None
    if which == "array_value":
        return [_value(item) for item in value.array_value.values]
    if which == "kvlist_value":
        return _attributes(value.kvlist_value.values)
    return getattr(value, which)
