"""Accepts only requests that come from the server's own pages, in the browser that was opened for it on this machine.

Every request must pass these checks, in this order:

    Host                one of the server's own names with its port, else 421 (stops DNS rebinding)
    address, method     not too long; GET, HEAD or POST
    Sec-Fetch-Site      not cross-site or same-site, else 403: another page made the request
    Origin              absent or the server's own, else 403
    ?token=             the one-time token of the printed address: sets the cookie and redirects without the token
    cookie              the server's own, else 403; styles and scripts need it too
    POST                an Origin, and JSON: a form of another page can send neither

Every response, including errors, gets the security headers. GET and HEAD never write. Transcripts are hostile input:
the content security policy allows only the server's own scripts and prevents pages from loading from or sending to
another host.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from typing import NamedTuple

from starlette.types import ASGIApp, Message, Receive, Scope, Send

LOOPBACK_HOST = "127.0.0.1"
DEFAULT_PORT = 4747
CONTENT_SECURITY_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'self'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types app"
)
SECURITY_HEADERS = {
    b"content-security-policy": CONTENT_SECURITY_POLICY.encode(),
    b"x-content-type-options": b"nosniff",
    b"x-frame-options": b"DENY",
    b"referrer-policy": b"no-referrer",
    b"cross-origin-opener-policy": b"same-origin",
    b"cross-origin-resource-policy": b"same-origin",
    b"permissions-policy": b"camera=(), geolocation=(), microphone=(), payment=(), usb=(), clipboard-read=()",
    b"cache-control": b"no-store",
}
MAX_ADDRESS_BYTES = 4096
ALLOWED_METHODS = ("GET", "HEAD", "POST")
_HOST_NAMES = ("127.0.0.1", "localhost", "[::1]")
_OWN_PATH_PATTERN = re.compile(rb"/(?:[A-Za-z0-9._-]+/)*[A-Za-z0-9._-]*")
_PLAIN_QUERY_PATTERN = re.compile(rb"[a-z]+=[A-Za-z0-9.-]+(?:&[a-z]+=[A-Za-z0-9.-]+)*")
_MAX_COOKIES = 64


class RequestRefusal(NamedTuple):
    status: int
    words: str


class ServerKeys:
    """A server's host names, its cookie, and its one-time token."""

    def __init__(self, port: int, secret: bytes) -> None:
        self.hosts = frozenset(f"{name}:{port}" for name in _HOST_NAMES) | (
            frozenset(_HOST_NAMES) if port == 80 else frozenset()
        )
        self.cookie_name = f"turnlog-{port}"
        self.cookie = hmac.new(secret, b"turnlog web cookie %d" % port, hashlib.sha256).hexdigest()
        self.token = secrets.token_urlsafe(32)
        self._is_used = False

    def redeem_token(self, token: str) -> bool:
        """Return whether a token is the printed one and has not been used yet, and mark it as used."""
        is_right = hmac.compare_digest(token.encode(), self.token.encode())
        opens = is_right and not self._is_used
        self._is_used |= is_right
        return opens

    def has_cookie(self, cookies: str) -> bool:
        for part in cookies.split(";", _MAX_COOKIES)[:_MAX_COOKIES]:
            name, _, value = part.strip().partition("=")
            if name == self.cookie_name and hmac.compare_digest(value.encode(), self.cookie.encode()):
                return True
        return False


class RequestGuard:
    """Wraps the application and refuses every request that fails a check."""

    def __init__(self, app: ASGIApp, door: ServerKeys) -> None:
        self.app = app
        self.door = door

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        if scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1008})
            return
        headers = _read_headers(scope)
        refusal = _check_origin(scope, headers, self.door)
        if refusal is None and (token := _read_token(scope)) is not None:
            await self._exchange_token(scope, headers, token, send)
            return
        refusal = refusal or self._check_visitor(scope, headers)
        if refusal is not None:
            await _send_refusal(refusal, scope, send)
            return
        await self.app(scope, receive, _add_security_headers(send))

    async def _exchange_token(self, scope: Scope, headers: dict[str, list[str]], token: str, send: Send) -> None:
        """Set the cookie and redirect to the same page without the token."""
        is_known = self.door.has_cookie(";".join(headers.get("cookie", [])))
        if scope["method"] != "GET" or not (self.door.redeem_token(token) or is_known):
            words = "This address works once; restart `turnlog web` to get a new one."
            await _send_refusal(RequestRefusal(403, words), scope, send)
            return
        path: bytes = scope["raw_path"].partition(b"?")[0]
        goal = path if _OWN_PATH_PATTERN.fullmatch(path) else b"/"
        rest = b"&".join(part for part in scope["query_string"].split(b"&") if not part.startswith(b"token="))
        if goal != b"/" and _PLAIN_QUERY_PATTERN.fullmatch(rest):
            goal += b"?" + rest
        cookie = f"{self.door.cookie_name}={self.door.cookie}; HttpOnly; SameSite=Strict; Path=/"
        fields = [(b"location", goal), (b"set-cookie", cookie.encode())]
        await _send_response(303, fields, b"", _add_security_headers(send))

    def _check_visitor(self, scope: Scope, headers: dict[str, list[str]]) -> RequestRefusal | None:
        if not self.door.has_cookie(";".join(headers.get("cookie", []))):
            return RequestRefusal(403, "This browser has no access: open the address that `turnlog web` printed.")
        if scope["method"] != "POST":
            return None
        if "origin" not in headers:
            return RequestRefusal(403, "Changes must come from one of turnlog's own pages.")
        kind = headers.get("content-type", [""])[0].partition(";")[0].strip().lower()
        return (
            None if kind == "application/json" else RequestRefusal(415, "Send JSON (content-type: application/json).")
        )


def _check_origin(scope: Scope, headers: dict[str, list[str]], door: ServerKeys) -> RequestRefusal | None:
    """Check whether a request comes from one of the server's own pages, regardless of its cookie."""
    host = headers.get("host", [])
    if len(host) != 1 or host[0].lower() not in door.hosts:
        return RequestRefusal(421, "This server accepts requests from this machine only.")
    if len(scope.get("raw_path") or b"") + len(scope["query_string"]) > MAX_ADDRESS_BYTES:
        return RequestRefusal(414, "The address is too long.")
    if scope["method"] not in ALLOWED_METHODS:
        return RequestRefusal(405, "Only GET, HEAD and POST are supported.")
    if any(site.strip().lower() not in ("same-origin", "none") for site in headers.get("sec-fetch-site", [])):
        return RequestRefusal(403, "The request comes from another page.")
    if any(origin.lower() != f"http://{host[0].lower()}" for origin in headers.get("origin", [])):
        return RequestRefusal(403, "The request comes from another page.")
    return None


def _read_headers(scope: Scope) -> dict[str, list[str]]:
    headers: dict[str, list[str]] = {}
    for name, value in scope["headers"]:
        headers.setdefault(name.decode("latin-1").lower(), []).append(value.decode("latin-1"))
    return headers


def _read_token(scope: Scope) -> str | None:
    for part in scope["query_string"].split(b"&"):
        name, _, value = part.partition(b"=")
        if name == b"token":
            return str(value.decode("latin-1"))
    return None


def _add_security_headers(send: Send) -> Send:
    """Add the security headers to every response; a response keeps its own caching headers."""

    async def send_with_headers(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = list(message.get("headers", []))
            names = {name.lower() for name, _ in headers}
            remaining = [
                pair
                for pair in headers
                if pair[0].lower() == b"cache-control" or pair[0].lower() not in SECURITY_HEADERS
            ]
            added = [pair for pair in SECURITY_HEADERS.items() if pair[0] != b"cache-control" or pair[0] not in names]
            message = {**message, "headers": [*remaining, *added]}
        await send(message)

    return send_with_headers


async def _send_refusal(refusal: RequestRefusal, scope: Scope, send: Send) -> None:
    """Send an error page that contains nothing from the request."""
    text = f"<!doctype html><html lang=en><meta charset=utf-8><title>turnlog</title><h1>turnlog</h1><p>{refusal.words}"
    body = b"" if scope["method"] == "HEAD" else text.encode()
    fields = [(b"content-type", b"text/html; charset=utf-8")]
    if refusal.status == 405:
        fields.append((b"allow", ", ".join(ALLOWED_METHODS).encode()))
    await _send_response(refusal.status, fields, body, _add_security_headers(send))


async def _send_response(status: int, fields: list[tuple[bytes, bytes]], body: bytes, send: Send) -> None:
    length = (b"content-length", str(len(body)).encode())
    await send({"type": "http.response.start", "status": status, "headers": [*fields, length]})
    await send({"type": "http.response.body", "body": body})
