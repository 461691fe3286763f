"""The server: loopback only, one line when it listens, an end within a few seconds whatever is open."""

from __future__ import annotations

import logging
import os
import signal
import socket
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import NamedTuple

import uvicorn

from turnlog.errors import TurnlogError
from turnlog.web.app import application
from turnlog.web.background import warming
from turnlog.web.place import Place
from turnlog.web.security import Door, Guard

HOST = "127.0.0.1"
PORT = 4747
PATIENCE = 2
"""Seconds that open connections get when the server stops."""
_NOISE = ("Cancel %s running task(s)", "Invalid HTTP request received.", "ASGI callable returned without")


class Opened(NamedTuple):
    """A socket that listens."""

    socket: socket.socket
    port: int
    is_fallback: bool
    """The wanted port was taken."""


def listening(port: int | None) -> Opened:
    """Take a port: the given one, or the usual one, or any that is free."""
    if port is not None:
        try:
            return _bound(port)
        except OSError as error:
            raise TurnlogError(f"port {port}: {error.strerror}; give another --port, or none") from None
    try:
        return _bound(PORT)
    except OSError:
        return _bound(0)._replace(is_fallback=True)


def _bound(port: int) -> Opened:
    # With the protocol named, asyncio turns Nagle's algorithm off; else every answer waits 40 ms for the other side.
    found = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        if sys.platform == "win32":  # where SO_REUSEADDR would let another program take over our port
            found.setsockopt(socket.SOL_SOCKET, socket.SO_EXCLUSIVEADDRUSE, 1)
        else:
            found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        found.bind((HOST, port))
        found.listen(128)
    except BaseException:
        found.close()
        raise
    return Opened(found, found.getsockname()[1], False)


def address(door: Door, port: int, path: str = "/") -> str:
    """The address to open first; it is good for one visit."""
    return f"http://{HOST}:{port}{path}?token={door.token}"


def serve(
    place: Place, opened: Opened, door: Door, started: Callable[[], object], tell: Callable[[str], object]
) -> None:
    """Answer until a signal comes; `started` is called when the first request can be answered."""
    _listen_to_failures(tell)
    config = uvicorn.Config(
        Guard(application(place), door),
        loop="asyncio",
        http="h11",
        ws="none",
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_keep_alive=30,
        timeout_graceful_shutdown=PATIENCE,
    )
    _Server(config, place, started).run([opened.socket])


class _Server(uvicorn.Server):
    """A server that says when it listens, and for which a signal is a normal end."""

    def __init__(self, config: uvicorn.Config, place: Place, started: Callable[[], object]) -> None:
        super().__init__(config)
        self._place = place
        self._started = started

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            self._started()
            warming.begin()

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        before = {number: signal.signal(number, self.handle_exit) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        self._place.ending.set()
        super().handle_exit(sig, frame)


class Telling(logging.Handler):
    """What the server has to complain of, in one line."""

    def __init__(self, tell: Callable[[str], object]) -> None:
        super().__init__(logging.WARNING)
        self._tell = tell

    def emit(self, record: logging.LogRecord) -> None:
        """Tell it, unless it is a matter of course."""
        if str(record.msg).startswith(_NOISE):
            return
        error = record.exc_info[1] if record.exc_info else None
        if error is None:
            self._tell(record.getMessage())
            return
        self._tell(f"internal error: {type(error).__name__}: {error} (TURNLOG_DEBUG=1 shows the traceback)")
        if os.environ.get("TURNLOG_DEBUG") == "1":
            import traceback

            for text in "".join(traceback.format_exception(error)).splitlines():
                self._tell(text)


def _listen_to_failures(tell: Callable[[str], object]) -> None:
    logger = logging.getLogger("uvicorn")
    logger.handlers = [Telling(tell)]
    logger.propagate = False
