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
from turnlog.web.app import build_application
from turnlog.web.background import warm_up
from turnlog.web.machine import Machine
from turnlog.web.security import RequestGuard, ServerKeys

LOOPBACK_HOST = "127.0.0.1"
DEFAULT_PORT = 4747
SHUTDOWN_TIMEOUT_SECONDS = 2
"""Seconds that open connections get when the server stops."""
_IGNORED_MESSAGES = ("Cancel %s running task(s)", "Invalid HTTP request received.", "ASGI callable returned without")


class ListeningSocket(NamedTuple):
    """A socket that listens."""

    socket: socket.socket
    port: int
    is_fallback: bool
    """The wanted port was taken."""


def open_listening_socket(port: int | None) -> ListeningSocket:
    """Take a port: the given one, or the usual one, or any that is free."""
    if port is not None:
        try:
            return _bind_socket(port)
        except OSError as error:
            raise TurnlogError(f"port {port}: {error.strerror}; give another --port, or none") from None
    try:
        return _bind_socket(DEFAULT_PORT)
    except OSError:
        return _bind_socket(0)._replace(is_fallback=True)


def _bind_socket(port: int) -> ListeningSocket:
    # With the protocol named, asyncio turns Nagle's algorithm off; else every answer waits 40 ms for the other side.
    found = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        if sys.platform == "win32":  # where SO_REUSEADDR would let another program take over our port
            found.setsockopt(socket.SOL_SOCKET, socket.SO_EXCLUSIVEADDRUSE, 1)
        else:
            found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        found.bind((LOOPBACK_HOST, port))
        found.listen(128)
    except BaseException:
        found.close()
        raise
    return ListeningSocket(found, found.getsockname()[1], False)


def build_launch_address(door: ServerKeys, port: int, path: str = "/") -> str:
    """The address to open first; it is good for one visit."""
    return f"http://{LOOPBACK_HOST}:{port}{path}?token={door.token}"


def serve_pages(
    place: Machine,
    opened: ListeningSocket,
    door: ServerKeys,
    started: Callable[[], object],
    tell: Callable[[str], object],
) -> None:
    """Answer until a signal comes; `started` is called when the first request can be answered."""
    _forward_failures(tell)
    config = uvicorn.Config(
        RequestGuard(build_application(place), door),
        loop="asyncio",
        http="h11",
        ws="none",
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_keep_alive=30,
        timeout_graceful_shutdown=SHUTDOWN_TIMEOUT_SECONDS,
    )
    _PageServer(config, place, started).run([opened.socket])


class _PageServer(uvicorn.Server):
    """A server that says when it listens, and for which a signal is a normal end."""

    def __init__(self, config: uvicorn.Config, place: Machine, started: Callable[[], object]) -> None:
        super().__init__(config)
        self._place = place
        self._started = started

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            self._started()
            warm_up.start_warm_up()

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


class FailureLogHandler(logging.Handler):
    """What the server has to complain of, in one line."""

    def __init__(self, tell: Callable[[str], object]) -> None:
        super().__init__(logging.WARNING)
        self._tell = tell

    def emit(self, record: logging.LogRecord) -> None:
        """Tell it, unless it is a matter of course."""
        if str(record.msg).startswith(_IGNORED_MESSAGES):
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


def _forward_failures(tell: Callable[[str], object]) -> None:
    logger = logging.getLogger("uvicorn")
    logger.handlers = [FailureLogHandler(tell)]
    logger.propagate = False
