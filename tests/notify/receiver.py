"""A loopback server that receives messages and replies as a test sets.

    with Receiver("ok", 503, "hang") as receiver:
        ...
        assert receiver.ids == [...]

A reply is
    200, 503, 404 …              that status, with a body that every kind of server would send
    (429, {"retry-after": "2"})  a status with headers
    "hang"                       says nothing until the receiver is closed; nothing is accepted
    "drip"                       sends one byte of a header line at a time, forever; nothing is accepted
    "cut"                        takes the request and closes; nothing is accepted
    "lost"                       accepts, and closes before it says so
    "half"                       accepts, and closes in the middle of its reply's body
"""

from __future__ import annotations

import json
import socket
import threading
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple

Reply = int | str | tuple[int, dict[str, str]]


class Received(NamedTuple):
    """A request."""

    path: str
    headers: dict[str, str]
    body: bytes
    is_accepted: bool

    @property
    def document(self) -> dict[str, Any]:
        found = json.loads(self.body)
        assert isinstance(found, dict)
        return found

    @property
    def id(self) -> str:
        return self.headers["idempotency-key"]

    @property
    def messages(self) -> list[dict[str, Any]]:
        """The messages of a webhook's request: those that it combines, or the only one."""
        return self.document["members"] or [self.document]


class Receiver:
    """The server; `replies` are used up in order, after that everything is accepted."""

    def __init__(self, *replies: Reply, default: Reply = 200, body: bytes | None = None, port: int = 0) -> None:
        self.replies = [*replies]
        self.default = default
        self.body = body
        self.requests: list[Received] = []
        self.closing = threading.Event()
        self.news = threading.Condition()
        self._server = _Server(("127.0.0.1", port), _Handler)
        self._server.receiver = self
        self.port: int = self._server.server_address[1]
        self.url = f"http://127.0.0.1:{self.port}"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)

    def __enter__(self) -> Receiver:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.closing.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(5)

    @property
    def accepted_requests(self) -> list[Received]:
        """The requests that were accepted, in order."""
        return [request for request in self.requests if request.is_accepted]

    @property
    def ids(self) -> list[str]:
        """The ids of the messages that were accepted; a repeat is in it twice."""
        return [request.id for request in self.accepted_requests]

    def wait(self, *, requests: int = 0, accepted: int = 0, seconds: float = 60) -> None:
        """Wait until so many requests have come, and so many were accepted."""
        with self.news:
            arrived = self.news.wait_for(
                lambda: len(self.requests) >= requests and len(self.accepted_requests) >= accepted, timeout=seconds
            )
        assert arrived, f"{len(self.requests)} requests, {len(self.accepted_requests)} accepted"

    def take(self, path: str, headers: dict[str, str], body: bytes) -> Reply:
        """Keep a request, and choose the reply."""
        with self.news:
            reply = self.replies.pop(0) if self.replies else self.default
            is_accepted = reply in (200, 204, "lost", "half")
            self.requests.append(Received(path, headers, body, is_accepted))
            self.news.notify_all()
        return reply


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    receiver: Receiver

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that goes away is normal here."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - its name there
        """Be silent."""

    def do_POST(self) -> None:
        receiver = self.server.receiver
        headers = {name.lower(): value for name, value in self.headers.items()}
        body = self.rfile.read(int(headers.get("content-length", 0)))
        reply = receiver.take(self.path, headers, body)
        if isinstance(reply, str):
            self._misbehave(reply)
            return
        status, more = reply if isinstance(reply, tuple) else (reply, {})
        text = receiver.body if receiver.body is not None else b'{"ok":true,"id":"x"}'
        self.send_response(status)
        for name, value in {"content-length": str(len(text)), "content-type": "application/json", **more}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(text)

    def do_GET(self) -> None:
        self.do_POST()

    def _misbehave(self, reply: str) -> None:
        if reply == "hang":
            self.server.receiver.closing.wait(120)
        elif reply == "drip":
            with suppress(OSError):
                self.wfile.write(b"HTTP/1.1 200 OK\r\nx-slow: ")
                while not self.server.receiver.closing.wait(0.05):
                    self.wfile.write(b"a")
        elif reply == "half":
            self.wfile.write(b'HTTP/1.1 200 OK\r\ncontent-length: 500\r\n\r\n{"ok":')
        self.close_connection = True
        with suppress(OSError):
            self.connection.shutdown(socket.SHUT_RDWR)
