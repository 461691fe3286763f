"""The server: listens on loopback only, prints one line when it is ready, and stops within seconds even with open
connections."""

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
from turnlog.web.security import RequestGuard
from turnlog.web.server_keys import DEFAULT_PORT, LOOPBACK_HOST, ServerKeys

SHUTDOWN_TIMEOUT_SECONDS = 2
"""How long open connections may continue when the server stops."""
_IGNORED_MESSAGES = ("Cancel %s running task(s)", "Invalid HTTP request received.", "ASGI callable returned without")


class ListeningSocket(NamedTuple):
    socket: socket.socket
    port: int
    is_fallback: bool
    """Whether the default port was taken."""


def open_listening_socket(port: int | None) -> ListeningSocket:
    """Bind the given port; without one, bind the default port or, if that is taken, any free port."""
    if port is not None:
        try:
            return _bind_socket(port)
        except OSError as error:
            raise TurnlogError(f"port {port}: {error.strerror}; choose a different port, or omit --port") from None
    try:
        return _bind_socket(DEFAULT_PORT)
    except OSError:
        return _bind_socket(0)._replace(is_fallback=True)


def _bind_socket(port: int) -> ListeningSocket:
    # asyncio turns Nagle's algorithm off only if the protocol is named; otherwise every response waits 40 ms.
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        if sys.platform == "win32":  # SO_REUSEADDR would let another program take over the port
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_EXCLUSIVEADDRUSE, 1)
        else:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((LOOPBACK_HOST, port))
        listener.listen(128)
    except BaseException:
        listener.close()
        raise
    return ListeningSocket(listener, listener.getsockname()[1], False)


def build_launch_address(host: str, port: int, path: str, token: str) -> str:
    """Return an address to open first; it works once."""
    return f"http://{host}:{port}{path}{'&' if '?' in path else '?'}token={token}"


def serve_pages(
    machine: Machine,
    opened: ListeningSocket,
    door: ServerKeys,
    on_start: Callable[[], object],
    tell: Callable[[str], object],
) -> None:
    """Serve until a signal arrives; call `on_start` as soon as requests can be answered."""
    _forward_failures(tell)
    config = uvicorn.Config(
        RequestGuard(build_application(machine), door),
        loop="asyncio",
        http="h11",
        ws="none",
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_keep_alive=30,
        timeout_graceful_shutdown=SHUTDOWN_TIMEOUT_SECONDS,
    )
    _PageServer(config, machine, on_start).run([opened.socket])


class _PageServer(uvicorn.Server):
    """Reports when it starts listening, and treats a signal as a normal end."""

    def __init__(self, config: uvicorn.Config, machine: Machine, on_start: Callable[[], object]) -> None:
        super().__init__(config)
        self._machine = machine
        self._on_start = on_start

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            self._on_start()
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
        self._machine.ending.set()
        super().handle_exit(sig, frame)


class FailureLogHandler(logging.Handler):
    """Prints the server's warnings and errors, one line each."""

    def __init__(self, tell: Callable[[str], object]) -> None:
        super().__init__(logging.WARNING)
        self._tell = tell

    def emit(self, record: logging.LogRecord) -> None:
        """Print a record unless it is harmless."""
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
