"""Servers on loopback: one with scripted answers of the Messages API, and one that sends whatever bytes it is told."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from tests.interop.mock_anthropic import MockAnthropic
from turnlog.model.endpoint import Endpoint
from turnlog.model.retries import RetryPolicy

KEY = "sk-ant-test-secret"
QUICK = RetryPolicy(attempts=4, first=0.001, longest=0.01)


def script_server(*replies: Any) -> MockAnthropic:
    """A server that gives these replies (see `tests.interop.mock_anthropic`), one for each request."""
    return MockAnthropic({"conversations": [{"kind": "side", "replies": list(replies)}]})


def endpoint(url: str, **fields: Any) -> Endpoint:
    # Longer than any machine is busy: only a test about waiting itself sets less.
    return Endpoint(url, KEY, **{"connecting": 900.0, "silence": 900.0, **fields})


class Raw:
    """A server that answers each connection with the next of some bytes, and keeps what it was sent."""

    def __init__(self, *answers: bytes | float) -> None:
        self._answers = iter(answers)
        self.requests: list[bytes] = []
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._socket.getsockname()[1]}"
        self.port: int = self._socket.getsockname()[1]
        self._thread = threading.Thread(target=self._serve, daemon=True)

    def __enter__(self) -> Raw:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
        self._thread.join(60)

    def _serve(self) -> None:
        with suppress(OSError):
            while True:
                connection, _ = self._socket.accept()
                with connection, suppress(OSError):
                    self.requests.append(read_request(connection))
                    answer = next(self._answers, b"")
                    if isinstance(answer, float):
                        time.sleep(answer)
                    else:
                        connection.sendall(answer)


def read_request(connection: socket.socket) -> bytes:
    """A whole request."""
    data = b""
    while b"\r\n\r\n" not in data and (more := connection.recv(65536)):
        data += more
    head, _, rest = data.partition(b"\r\n\r\n")
    size = next((int(line[15:]) for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")), 0)
    while len(rest) < size and (more := connection.recv(65536)):
        rest += more
    return head + b"\r\n\r\n" + rest


def page(body: bytes, status: str = "200 OK", kind: str = "text/event-stream", **headers: str) -> bytes:
    """An HTTP answer that ends with the connection."""
    more = "".join(f"{name.replace('_', '-')}: {value}\r\n" for name, value in headers.items())
    return f"HTTP/1.1 {status}\r\ncontent-type: {kind}\r\nconnection: close\r\n{more}\r\n".encode() + body


def event(name: str, **data: Any) -> bytes:
    return f"event: {name}\ndata: {json.dumps({'type': name, **data})}\n\n".encode()


START = event("message_start", message={"id": "m1", "model": "m", "usage": {"input_tokens": 3, "output_tokens": 1}})
STOP = event("message_delta", delta={"stop_reason": "end_turn"}, usage={"output_tokens": 7}) + event("message_stop")


def text_block(text: str, index: int = 0) -> bytes:
    return (
        event("content_block_start", index=index, content_block={"type": "text", "text": ""})
        + event("content_block_delta", index=index, delta={"type": "text_delta", "text": text})
        + event("content_block_stop", index=index)
    )


@contextmanager
def find_closed_address() -> Iterator[str]:
    """An address where nobody listens."""
    with socket.create_server(("127.0.0.1", 0)) as held:
        port = held.getsockname()[1]
    yield f"http://127.0.0.1:{port}"
