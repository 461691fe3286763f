"""The Messages API over HTTP, with the standard library.

`http.client` is enough: one request at a time, a body that is sent whole and an answer that is read as it comes. It
costs a third of what the usual HTTP library costs to import, and that is more than what a short command takes in all. A
connection serves one request; making it takes little beside what a model takes. Redirects are not followed, so a key
goes nowhere but to the server that was named.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import re
import socket
import ssl
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from email.utils import parsedate_to_datetime
from functools import cached_property
from typing import Any
from urllib.parse import SplitResult, urlsplit

import msgspec

from turnlog.errors import UsageError
from turnlog.model.cancel import Cancel
from turnlog.model.endpoint import Endpoint, checked, credentials, shown
from turnlog.model.events import Event
from turnlog.model.failures import BrokenOff, ModelError, Rejected, Unreachable, failure
from turnlog.model.model import Model
from turnlog.model.patient import Patience, Patient
from turnlog.model.reading import Reading
from turnlog.model.request import Request
from turnlog.model.sse import sent

CHUNK = 1 << 16
LARGEST_REFUSAL = 1 << 20
_TAG = re.compile(r"<(style|script|title)\b.*?</\1>|<[^>]*>", re.DOTALL | re.IGNORECASE)
_FAULTS = (OSError, http.client.HTTPException)


def connect(endpoint: Endpoint | None = None, patience: Patience | None = None) -> Model:
    """The model at an endpoint, or at the one that the environment names; failures that pass are tried again."""
    return Patient(Anthropic(endpoint or Endpoint.from_environment()), patience)


class Anthropic(Model):
    """Asks a server, once."""

    def __init__(self, endpoint: Endpoint) -> None:
        self.endpoint = endpoint
        self._parts = checked(endpoint.url)

    def stream(self, request: Request, cancel: Cancel | None = None) -> Iterator[Event]:
        """Answer, event by event."""
        body = {**request.body(), "stream": True}
        with self._asked("/v1/messages", body, request, cancel or Cancel()) as answer:
            kind = answer.headers.get_content_type()
            if kind != "text/event-stream":
                raise self._strange(answer, kind)
            yield from Reading(answer.getheader("request-id")).events(sent(_chunks(answer)))

    def count_tokens(self, request: Request, cancel: Cancel | None = None) -> int:
        """How many tokens a request has."""
        body = {key: value for key, value in request.body().items() if key not in _NOT_COUNTED}
        with self._asked("/v1/messages/count_tokens", body, request, cancel or Cancel()) as answer:
            found = _object(answer.read(LARGEST_REFUSAL))
            count = found.get("input_tokens")
            if not isinstance(count, int):
                raise self._strange(answer, answer.headers.get_content_type())
            return count

    @contextmanager
    def _asked(
        self, path: str, body: dict[str, Any], request: Request, cancel: Cancel
    ) -> Iterator[http.client.HTTPResponse]:
        """The accepted request: its answer, not yet read. The connection ends with it, or when it is cancelled."""
        cancel.check()
        connection = self._connection()
        with contextlib.ExitStack() as ended:
            ended.callback(connection.close)
            try:
                connection.connect()
                held = connection.sock  # the connection itself forgets it once the answer begins
                held.settimeout(self.endpoint.silence)
                ended.enter_context(cancel.then(lambda: _cut(held)))
                self._send(connection, path, body, request)
                answer = ended.enter_context(connection.getresponse())
                if answer.status != 200:
                    raise self._refusal(answer)
                yield answer
            except _FAULTS as error:
                cancel.check()
                raise self._fault(error) from None
            except ModelError:
                cancel.check()
                raise

    def _connection(self) -> http.client.HTTPConnection:
        parts, proxy, limit = self._parts, self._proxy, self.endpoint.connecting
        is_safe, host = parts.scheme == "https", parts.hostname or ""
        port = parts.port or (443 if is_safe else 80)
        at, by = (proxy.hostname or "", proxy.port or 8080) if proxy else (host, port)
        if not is_safe:
            return http.client.HTTPConnection(at, by, timeout=limit)
        connection = http.client.HTTPSConnection(at, by, timeout=limit, context=self._trust)
        if proxy is not None:
            connection.set_tunnel(host, port, _to_proxy(proxy))
        return connection

    @cached_property
    def _trust(self) -> ssl.SSLContext:
        return ssl.create_default_context()

    @cached_property
    def _proxy(self) -> SplitResult | None:
        if self.endpoint.proxy is None:
            return None
        proxy = urlsplit(self.endpoint.proxy)
        if proxy.scheme != "http" or not proxy.hostname:
            raise UsageError(
                "a proxy of this kind can't be used: its address must begin with http:// and name a server"
            )
        return proxy

    def _send(self, connection: http.client.HTTPConnection, path: str, body: dict[str, Any], request: Request) -> None:
        headers, target = self.endpoint.headers(), self._parts.path.rstrip("/") + path
        if request.betas:
            headers["anthropic-beta"] = ",".join(request.betas)
        if self._proxy is not None and self._parts.scheme == "http":
            headers |= _to_proxy(self._proxy)
            target = shown(self._parts) + target
        connection.request("POST", target, _encoded(body), headers)

    def _fault(self, error: Exception) -> ModelError:
        where = shown(self._parts)
        if isinstance(error, ssl.SSLCertVerificationError):
            return Rejected(f"{where}: its certificate is not accepted: {error.verify_message}")
        if isinstance(error, TimeoutError):
            return Unreachable(f"{where}: no answer in time")
        if isinstance(error, http.client.HTTPException):
            return BrokenOff(f"{where}: the answer is cut or is no HTTP ({type(error).__name__})")
        reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
        return Unreachable(f"{where}: can't be reached: {reason}")

    def _refusal(self, answer: http.client.HTTPResponse) -> ModelError:
        """The error that an answer with another status than 200 is."""
        raw = answer.read(LARGEST_REFUSAL)
        error = _object(raw).get("error")
        told = error if isinstance(error, dict) else {}
        kind, words = told.get("type"), told.get("message")
        if answer.status in (301, 302, 303, 307, 308):
            words = "it wants to send us elsewhere; name that address in ANTHROPIC_BASE_URL"
        text = words if isinstance(words, str) and words else _plain(raw) or answer.reason
        return failure(
            answer.status,
            f"{shown(self._parts)}: {answer.status}: {text[:500]}",
            kind if isinstance(kind, str) else None,
            again={"true": True, "false": False}.get(answer.getheader("x-should-retry", "")),
            request_id=answer.getheader("request-id"),
            retry_after=_retry_after(answer.getheader),
        )

    def _strange(self, answer: http.client.HTTPResponse, kind: str) -> Rejected:
        return Rejected(
            f"{shown(self._parts)}: answers with {kind} instead of a model's words; is ANTHROPIC_BASE_URL right?",
            status=answer.status,
        )


_NOT_COUNTED = frozenset({"max_tokens", "temperature", "stop_sequences", "metadata", "stream"})


def _to_proxy(proxy: SplitResult) -> dict[str, str]:
    pair = credentials(proxy)
    return {"Proxy-Authorization": pair} if pair else {}


def _chunks(answer: http.client.HTTPResponse) -> Iterator[bytes]:
    while chunk := answer.read1(CHUNK):
        yield chunk


def _cut(held: socket.socket) -> None:
    """End a connection that another thread reads from; closing alone would leave it waiting."""
    with contextlib.suppress(OSError):
        held.shutdown(socket.SHUT_RDWR)


def _encoded(body: dict[str, Any]) -> bytes:
    """The bytes of a request; half of a surrogate pair becomes U+FFFD."""
    try:
        return msgspec.json.encode(body)
    except (UnicodeEncodeError, TypeError, RecursionError):
        text = json.dumps(body, ensure_ascii=False)
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace").encode()


def _object(raw: bytes) -> dict[str, Any]:
    try:
        found = msgspec.json.decode(raw)
    except (msgspec.DecodeError, ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _plain(raw: bytes) -> str:
    """The words of a page that some server on the way sent."""
    return " ".join(_TAG.sub(" ", raw[:8192].decode("utf-8", "replace")).split())[:200]


def _retry_after(header: Callable[[str], str | None]) -> float | None:
    """Seconds that the server wants us to wait: as a number, in milliseconds, or as a date."""
    for name, unit in (("retry-after-ms", 1000.0), ("retry-after", 1.0)):
        value = header(name)
        if value is None:
            continue
        with contextlib.suppress(ValueError, OverflowError):
            return min(max(0.0, float(value) / unit), 1e9)
        with contextlib.suppress(ValueError, TypeError, IndexError, OverflowError):
            return max(0.0, parsedate_to_datetime(value).timestamp() - time.time())
    return None
