"""Posts one message to a server and determines the outcome from its reply.

Each message has its own connection, with a limit on the time for the whole exchange. Redirects are never followed, so
neither the message nor the credentials reach a server that the user did not configure.
"""

from __future__ import annotations

import http.client
import ssl
import threading
import time
from urllib.parse import urlsplit

from turnlog._version import __version__
from turnlog.network.addresses import format_public_address
from turnlog.network.connections import build_proxy_headers, cut_connection, make_connection
from turnlog.network.replies import MAX_ANSWER_BYTES, parse_retry_after, read_reply_body, to_printable_line
from turnlog.notify.channels import NotifyChannel
from turnlog.notify.notification import Notification
from turnlog.notify.outcome import SendOutcome, accept_message, defer_message, refuse_message
from turnlog.notify.server_messages import (
    ServerRequest,
    build_server_request,
    is_expected_reply,
    read_reply_text,
    read_retry_seconds,
)

_CONNECTION_ERRORS = (OSError, http.client.HTTPException, UnicodeError)  # the last for host names that can't be encoded
_RETRY_STATUSES = frozenset({407, 408, 425, 429})
_MAX_REASON_CHARS = 300


def post_to_server(channel: NotifyChannel, notice: Notification, tries: int = 0) -> SendOutcome:
    """Post a message once."""
    request = build_server_request(channel, notice, tries)
    connection: http.client.HTTPConnection | None = None
    deadline = time.monotonic() + channel.timeout
    is_late = threading.Event()
    try:
        connection = _open_connection(channel)
        with _CutOff(connection, deadline, is_late):
            _send(connection, channel, request)
            with connection.getresponse() as answer:
                if is_late.is_set():  # the headers broke off, which looks like their end
                    raise TimeoutError
                return _judge_reply(channel, answer, _read_whole_body(answer, deadline))
    except _CONNECTION_ERRORS as error:
        return defer_message(_describe_fault(channel, TimeoutError() if is_late.is_set() else error))
    finally:
        if connection is not None:
            connection.close()


def _read_whole_body(answer: http.client.HTTPResponse, deadline: float) -> bytes | None:
    """Read the body of a reply; return None if it was cut off."""
    try:
        raw = read_reply_body(answer, deadline)
    except _CONNECTION_ERRORS:
        return None
    return None if answer.length and len(raw) <= MAX_ANSWER_BYTES else raw


class _CutOff:
    """Ends a connection at a deadline: a timeout alone allows a server to send one byte at a time forever."""

    def __init__(self, connection: http.client.HTTPConnection, deadline: float, is_late: threading.Event) -> None:
        self._connection = connection
        self._is_late = is_late
        self._timer = threading.Timer(max(deadline - time.monotonic(), 0.01), self._cut)
        self._timer.daemon = True

    def __enter__(self) -> None:
        self._timer.start()

    def __exit__(self, *_: object) -> None:
        self._timer.cancel()

    def _cut(self) -> None:
        self._is_late.set()
        if self._connection.sock is not None:
            cut_connection(self._connection.sock)


def _open_connection(channel: NotifyChannel) -> http.client.HTTPConnection:
    parts = urlsplit(channel.url)
    trust = ssl.create_default_context(cafile=channel.certificate) if parts.scheme == "https" else None
    proxy = urlsplit(channel.proxy) if channel.proxy else None
    connection = make_connection(parts, proxy, channel.timeout, trust)
    try:
        connection.connect()
    except BaseException:
        connection.close()
        raise
    return connection


def _send(connection: http.client.HTTPConnection, channel: NotifyChannel, request: ServerRequest) -> None:
    parts = urlsplit(channel.url)
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    headers = {**request.headers, "user-agent": f"turnlog/{__version__}", "connection": "close"}
    if channel.proxy and parts.scheme == "http":
        headers |= build_proxy_headers(urlsplit(channel.proxy))
        path = format_public_address(parts) + path
    connection.request("POST", path, request.body, headers)


def _judge_reply(channel: NotifyChannel, answer: http.client.HTTPResponse, raw: bytes | None) -> SendOutcome:
    """Determine the outcome from a reply; if its body was cut off (`raw` is None), only the status counts."""
    status = answer.status
    if 200 <= status < 300:
        if raw is None or is_expected_reply(channel, raw):
            return accept_message()
        return defer_message(f"{status}: the reply is not that of a {channel.kind} server; is the address right?")
    if 300 <= status < 400:
        return refuse_message(f"{status}: the server redirects; set the address that it redirects to")
    raw = raw or b""
    words = channel.hide_secrets(to_printable_line(read_reply_text(raw)) or to_printable_line(answer.reason))
    reason = f"{status}: {words[:_MAX_REASON_CHARS]}"
    if status in _RETRY_STATUSES or status >= 500:
        after = parse_retry_after(answer.getheader("retry-after"))
        return defer_message(reason, after if after is not None else read_retry_seconds(channel, raw))
    return refuse_message(reason)


def _describe_fault(channel: NotifyChannel, error: Exception) -> str:
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"its certificate is not trusted: {error.verify_message}"
    if isinstance(error, TimeoutError):
        return "no response in time"
    if isinstance(error, http.client.HTTPException | ConnectionError) and not isinstance(error, ConnectionRefusedError):
        return f"the connection was closed or is not HTTP ({type(error).__name__})"
    reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
    return channel.hide_secrets(f"can't be reached: {reason}")[:_MAX_REASON_CHARS]
