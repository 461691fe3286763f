"""Posting a request to a target, and what its answer means.

One connection is kept alive over many requests. A request is sent once: whether it is sent again is for the caller to
say, who keeps count of what may have arrived twice. Redirects are not followed, so credentials go nowhere but to the
server that was named.
"""

from __future__ import annotations

import http.client
import re
import ssl
import time
from contextlib import suppress
from email.utils import parsedate_to_datetime
from functools import cached_property
from selectors import EVENT_READ, DefaultSelector
from typing import NamedTuple
from urllib.parse import SplitResult, urlsplit

from turnlog._version import __version__
from turnlog.model.endpoint import credentials, shown
from turnlog.trace.targets.target import Target
from turnlog.trace.wire.otlp import decompressed
from turnlog.trace.wire.replies import plain, read_rejection, words

LARGEST_ANSWER = 1 << 16
LONGEST_WAIT = 86_400.0
_FAULTS = (OSError, http.client.HTTPException, UnicodeError)  # the last for names that can't be looked up
_SECONDS = re.compile(r"\d{1,12}(\.\d+)?")
_PASSING = frozenset({407, 408, 425, 429})
_UNSURE = frozenset({500, 502, 504})
"""Something failed, perhaps after the spans were taken: a gateway does not know what became of a request."""
_PAGES = frozenset({"text/html", "application/xhtml+xml"})
_PROXY_PORT = 8080


class Accepted(NamedTuple):
    """The backend has it."""

    partial: str | None = None
    """What it says of spans that it did not take all the same."""
    rejected: int = 0
    """How many these are, as it says."""


class Later(NamedTuple):
    """Not now; the same request may be taken another time."""

    reason: str
    after: float | None = None
    """Seconds after which the server wants to be asked again."""
    unsure: bool = False
    """The request went out whole and no answer came back: it may have arrived."""


class TooLarge(NamedTuple):
    """It would be taken in smaller parts."""

    reason: str


class Refused(NamedTuple):
    """It would never be taken as it is."""

    status: int
    words: str


Verdict = Accepted | Later | TooLarge | Refused


class Poster:
    """Posts requests to a target, one after the other; not for several threads."""

    def __init__(self, target: Target) -> None:
        self.target = target
        self._parts = urlsplit(target.url)
        self._proxy = urlsplit(target.proxy) if target.proxy else None
        self._kept: http.client.HTTPConnection | None = None

    def __enter__(self) -> Poster:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the connection."""
        if self._kept is not None:
            self._kept.close()
            self._kept = None

    def post(self, body: bytes) -> Verdict:
        """Send a request (compressed, as a batch holds it) once."""
        went_out = False
        try:
            connection = self._connection()
            went_out = self._send(connection, body)
            return self._answered(connection)
        except _FAULTS as error:
            self.close()
            return Later(self._fault(error), unsure=went_out)
        except BaseException:
            self.close()
            raise

    def _send(self, connection: http.client.HTTPConnection, body: bytes) -> bool:
        """Whether the whole request went out."""
        headers = {
            **self.target.headers,
            "content-type": "application/x-protobuf",
            "user-agent": f"turnlog/{__version__}",
        }
        if self.target.compress is not False:
            headers["content-encoding"] = "gzip"
        else:
            body = decompressed(body)
        path = (self._parts.path or "/") + (f"?{self._parts.query}" if self._parts.query else "")
        if self._proxy is not None and self._parts.scheme == "http":
            headers |= _to_proxy(self._proxy)
            path = shown(self._parts) + path
        try:
            connection.request("POST", path, body, headers)
        except (BrokenPipeError, ConnectionResetError, TimeoutError):
            # A server that finds a request too large may say so and read no further: hear it out.
            if not _has_spoken(connection):
                raise
            return False
        return True

    def _answered(self, connection: http.client.HTTPConnection) -> Verdict:
        with connection.getresponse() as answer:
            raw = b""
            try:
                raw = _read(answer, time.monotonic() + self.target.timeout)
            except _FAULTS:
                self.close()  # the status is what counts
            if len(raw) > LARGEST_ANSWER:
                self.close()
            return self._verdict(answer, raw[:LARGEST_ANSWER])

    def _verdict(self, answer: http.client.HTTPResponse, raw: bytes) -> Verdict:
        status, kind = answer.status, answer.headers.get_content_type()
        if 200 <= status < 300 and kind not in _PAGES:
            rejection = read_rejection(raw, kind)
            if rejection is None:
                return Accepted()
            return Accepted(self.target.without_secrets(rejection.words)[:500], rejection.spans)
        said = self.target.without_secrets(words(raw, kind) or plain(answer.reason))[:500]
        if 200 <= status < 300:
            return Refused(status, f"a page came back where a tracing backend answers; is the address right? {said}")
        if status == 413:
            return TooLarge(f"{status}: {said}")
        if status in _PASSING or status >= 500:
            after = _retry_after(answer.getheader("retry-after"))
            return Later(f"{status}: {said}", after, unsure=status in _UNSURE)
        if 300 <= status < 400:
            said = "it wants to send us elsewhere; name that address in the target"
        return Refused(status, said)

    def _connection(self) -> http.client.HTTPConnection:
        """The connection of the last request if the server still holds it, else a new one."""
        if self._kept is not None and (self._kept.sock is None or _has_spoken(self._kept)):
            self.close()
        if self._kept is None:
            self._kept = self._opened()
        return self._kept

    def _opened(self) -> http.client.HTTPConnection:
        parts, proxy, limit = self._parts, self._proxy, self.target.timeout
        is_safe, host = parts.scheme == "https", parts.hostname or ""
        port = parts.port or (443 if is_safe else 80)
        at, by = (proxy.hostname or "", proxy.port or _PROXY_PORT) if proxy else (host, port)
        connection = (
            http.client.HTTPSConnection(at, by, timeout=limit, context=self._trust)
            if is_safe
            else http.client.HTTPConnection(at, by, timeout=limit)
        )
        if is_safe and proxy is not None:
            connection.set_tunnel(host, port, _to_proxy(proxy))
        try:
            connection.connect()
        except BaseException:
            connection.close()
            raise
        return connection

    @cached_property
    def _trust(self) -> ssl.SSLContext:
        return ssl.create_default_context(cafile=self.target.certificate)

    def _fault(self, error: Exception) -> str:
        if isinstance(error, ssl.SSLCertVerificationError):
            return f"its certificate is not accepted: {error.verify_message}"
        if isinstance(error, TimeoutError):
            return "no answer in time"
        if isinstance(error, http.client.HTTPException | ConnectionError) and not isinstance(
            error, ConnectionRefusedError
        ):
            return f"the connection was cut or is no HTTP ({type(error).__name__})"
        reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
        return self.target.without_secrets(f"can't be reached: {reason}")[:500]


def _has_spoken(connection: http.client.HTTPConnection) -> bool:
    """Whether there is something to read; where nothing was asked, that is the end of the connection."""
    with DefaultSelector() as selector:
        selector.register(connection.sock, EVENT_READ)
        return bool(selector.select(0))


def _read(answer: http.client.HTTPResponse, deadline: float) -> bytes:
    """What an answer says; no more of it than anybody wants to know, and not for ever."""
    parts, size = [], 0
    while size <= LARGEST_ANSWER and (part := answer.read1(LARGEST_ANSWER)):
        parts.append(part)
        size += len(part)
        if time.monotonic() > deadline:
            raise TimeoutError
    return b"".join(parts)


def _to_proxy(proxy: SplitResult) -> dict[str, str]:
    pair = credentials(proxy)
    return {"proxy-authorization": pair} if pair else {}


def _retry_after(value: str | None) -> float | None:
    """Seconds that the server wants us to wait, said as a number or as a date; a day at most."""
    if value is None:
        return None
    if _SECONDS.fullmatch(value):
        return min(float(value), LONGEST_WAIT)
    with suppress(ValueError, TypeError, IndexError, OverflowError):
        return min(max(0.0, parsedate_to_datetime(value).timestamp() - time.time()), LONGEST_WAIT)
    return None
