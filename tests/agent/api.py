"""The Messages API as a server on loopback that looks at every request before it answers it, and fails when told to.

    api = Api([reply(says("Hi.")), …], agents={"Look": […]})

The script is that of `tests.interop.scenario`. An answer may also `do` something that no healthy server does: a
function of this module. A request that the API would refuse is answered with 400 and its reason is kept in `refused`.
"""

from __future__ import annotations

import contextlib
import json
import socket
import struct
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from tests.agent.rules import Memory, find_refusal
from tests.interop.classify import Object
from tests.interop.mock_anthropic import Handler, MockAnthropic
from tests.interop.scenario import stream_events

Act = Callable[["Asked", Object, Mapping[str, str]], None]


class Asked(Handler):
    """One request that is looked at before it is answered."""

    mock: Api

    def answer(self, body: Object) -> None:
        """Refuse what the API would refuse; else do what the script says."""
        headers = {key.lower(): value for key, value in self.headers.items()}
        with self.mock.looking:
            reason = find_refusal(body, headers, self.mock.memory)
        if reason is None:
            super().answer(body)
            return
        self.mock.refused.append(reason)
        self.mock.record(self, body, "refused", None)
        self.send_error_reply(
            {"status": 400, "type": "invalid_request_error", "message": reason}, {"request-id": "req_refused"}
        )

    def stream(self, reply: Object, message: Object, extra: Mapping[str, str]) -> None:
        """Send an answer, or do something else."""
        self.mock.memory.gave(message)
        act = reply.get("do")
        if act is not None:
            self.close_connection = True
            with contextlib.suppress(OSError):
                act(self, message, extra)
        else:
            super().stream(reply, message, extra)

    def begin(self, extra: Mapping[str, str], kind: str = "text/event-stream") -> None:
        """Send the head of an answer."""
        self.send_response(200)
        for name, value in {"content-type": kind, "connection": "close", **extra}.items():
            self.send_header(name, value)
        self.end_headers()

    def bytes_of(self, message: Object) -> list[bytes]:
        """The events of an answer as they are sent."""
        return [
            f"event: {name}\ndata: {json.dumps({'type': name, **data}, ensure_ascii=False)}\n\n".encode()
            for name, data in stream_events(message)
        ]


class Api(MockAnthropic):
    """The server."""

    handler = Asked

    def __init__(
        self,
        replies: Iterable[Any] = (),
        agents: Mapping[str, Sequence[Any]] | None = None,
        memory: Memory | None = None,
        *,
        scenario: Object | None = None,
    ) -> None:
        self.refused: list[str] = []
        self.memory = memory or Memory()
        self.looking = threading.Lock()
        self.over = threading.Event()
        delegated = [{"kind": "agent", "match": match, "replies": list(some)} for match, some in (agents or {}).items()]
        super().__init__(scenario or {"conversations": [{"kind": "main", "replies": [*replies]}, *delegated]})

    @property
    def bodies(self) -> list[Object]:
        """What was asked."""
        return [request["body"] for request in self.requests]

    def __exit__(self, *exc: object) -> None:
        self.over.set()
        super().__exit__(*exc)


# -- what servers, and what lies between, do to answers


def reset(asked: Asked, message: Object, extra: Mapping[str, str]) -> None:
    """Break the connection off before the first byte."""
    asked.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    socket.close(asked.connection.detach())


def cut(kind: str, *, is_torn: bool = False) -> Act:
    """End the connection behind the first part of some kind; or in the middle of it."""

    def act(asked: Asked, message: Object, extra: Mapping[str, str]) -> None:
        asked.begin(extra)
        for data in asked.bytes_of(message):
            found = kind.encode() in data
            asked.wfile.write(data[: len(data) // 2] if found and is_torn else data)
            if found:
                return

    return act


def interrupted_by(data: bytes, after: int = 3) -> Act:
    """Send some bytes in the middle of an answer."""

    def act(asked: Asked, message: Object, extra: Mapping[str, str]) -> None:
        asked.begin(extra)
        events = asked.bytes_of(message)
        asked.wfile.write(b"".join([*events[:after], data, *events[after:]]))

    return act


class Gate:
    """An answer that stops after some events, until the test opens it or the client goes away."""

    def __init__(self, after: int = 5) -> None:
        self._after = after
        self._is_open = threading.Event()
        self._is_reached = threading.Event()

    def open(self) -> None:
        """Let the rest come."""
        self._is_open.set()

    def then(self, act: Callable[[], object]) -> None:
        """Do something once the answer has stopped; another thread does it."""
        threading.Thread(target=lambda: self._is_reached.wait() and act(), daemon=True).start()

    def __call__(self, asked: Asked, message: Object, extra: Mapping[str, str]) -> None:
        asked.begin(extra)
        events = asked.bytes_of(message)
        asked.wfile.write(b"".join(events[: self._after]))
        self._is_reached.set()
        asked.connection.settimeout(0.05)
        while not self._is_open.is_set():
            if asked.mock.over.is_set():
                return
            with contextlib.suppress(TimeoutError):
                if not asked.connection.recv(1):
                    return
        asked.connection.settimeout(None)
        asked.wfile.write(b"".join(events[self._after :]))


def hang(after: int = 3) -> Act:
    """Say a part of the answer and then nothing, until the client goes away."""
    return Gate(after)


def dribble(size: int) -> Act:
    """Send an answer in many small pieces."""

    def act(asked: Asked, message: Object, extra: Mapping[str, str]) -> None:
        asked.begin(extra)
        asked.connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        data = b"".join(asked.bytes_of(message))
        for at in range(0, len(data), size):
            asked.wfile.write(data[at : at + size])

    return act


def page(status: int, kind: str, body: str, **headers: str) -> Act:
    """Send something that is no answer of a model."""

    def act(asked: Asked, message: Object, extra: Mapping[str, str]) -> None:
        asked.send_response(status)
        asked.send_header("connection", "close")
        if kind:
            asked.send_header("content-type", kind)
        for name, value in headers.items():
            asked.send_header(name.replace("_", "-"), value)
        asked.end_headers()
        asked.wfile.write(body.encode())

    return act


def error(status: int, kind: str, message: str = "so it is", **headers: str) -> Object:
    """An answer that is an error of the API."""
    return {"error": {"status": status, "type": kind, "message": message, "headers": headers}}
