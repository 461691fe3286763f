"""Who may talk to the server: the browser that was opened for it, on this machine, from its own pages.

Every request passes the guard, which asks in this order

    Host                one of our own names with our own port, else 421: a page of a stranger whose name leads here
    address, method     not too long, and GET, HEAD or POST
    Sec-Fetch-Site      not cross-site or same-site, else 403: another page, perhaps of another local server, asks
    Origin              none or our own, else 403
    ?token=             the one-time token of the printed address: gives the cookie, and goes on without it
    cookie              ours, else 403; styles and scripts are no exception
    POST                an Origin, and JSON: a form of another page can send neither

and puts the headers on every answer, failures too. GET and HEAD never write. The transcripts that pages show are
hostile input: the policy lets no script run but ours, and no page of ours load or send anything elsewhere.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from typing import NamedTuple

from starlette.types import ASGIApp, Message, Receive, Scope, Send

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
_MAX_COOKIES = 64


class RequestRefusal(NamedTuple):
    """Why a request is not answered."""

    status: int
    words: str


class ServerKeys:
    """The keys of one server: its names, its cookie, and the token that is good for one visit."""

    def __init__(self, port: int, secret: bytes) -> None:
        self.hosts = frozenset(f"{name}:{port}" for name in _HOST_NAMES) | (
            frozenset(_HOST_NAMES) if port == 80 else frozenset()
        )
        self.cookie_name = f"turnlog-{port}"
        self.cookie = hmac.new(secret, b"turnlog web cookie %d" % port, hashlib.sha256).hexdigest()
        self.token = secrets.token_urlsafe(32)
        self._is_used = False

    def redeem_token(self, token: str) -> bool:
        """Whether a token is the one that was printed; it opens once."""
        is_right = hmac.compare_digest(token.encode(), self.token.encode())
        opens = is_right and not self._is_used
        self._is_used |= is_right
        return opens

    def has_cookie(self, cookies: str) -> bool:
        """Whether our cookie is among those that a browser sent."""
        for part in cookies.split(";", _MAX_COOKIES)[:_MAX_COOKIES]:
            name, _, value = part.strip().partition("=")
            if name == self.cookie_name and hmac.compare_digest(value.encode(), self.cookie.encode()):
                return True
        return False


class RequestGuard:
    """In front of the application: what it lets through is ours."""

    def __init__(self, app: ASGIApp, door: ServerKeys) -> None:
        self.app = app
        self.door = door

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or refuse it."""
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
        """Give the cookie for the token, and go on to the same page without it in the address."""
        is_known = self.door.has_cookie(";".join(headers.get("cookie", [])))
        if scope["method"] != "GET" or not (self.door.redeem_token(token) or is_known):
            words = "This address was good for one visit; start `turnlog web` again for a new one."
            await _send_refusal(RequestRefusal(403, words), scope, send)
            return
        path: bytes = scope["raw_path"].partition(b"?")[0]
        goal = path if _OWN_PATH_PATTERN.fullmatch(path) else b"/"
        cookie = f"{self.door.cookie_name}={self.door.cookie}; HttpOnly; SameSite=Strict; Path=/"
        fields = [(b"location", goal), (b"set-cookie", cookie.encode())]
        await _send_response(303, fields, b"", _add_security_headers(send))

    def _check_visitor(self, scope: Scope, headers: dict[str, list[str]]) -> RequestRefusal | None:
        if not self.door.has_cookie(";".join(headers.get("cookie", []))):
            return RequestRefusal(403, "This browser was not let in: open the address that `turnlog web` has printed.")
        if scope["method"] != "POST":
            return None
        if "origin" not in headers:
            return RequestRefusal(403, "A change must come from a page of turnlog.")
        kind = headers.get("content-type", [""])[0].partition(";")[0].strip().lower()
        return (
            None if kind == "application/json" else RequestRefusal(415, "Send JSON (content-type: application/json).")
        )


def _check_origin(scope: Scope, headers: dict[str, list[str]], door: ServerKeys) -> RequestRefusal | None:
    """Why a request is none of ours, whoever sent it."""
    host = headers.get("host", [])
    if len(host) != 1 or host[0].lower() not in door.hosts:
        return RequestRefusal(421, "This is a server for this machine alone.")
    if len(scope.get("raw_path") or b"") + len(scope["query_string"]) > MAX_ADDRESS_BYTES:
        return RequestRefusal(414, "The address is too long.")
    if scope["method"] not in ALLOWED_METHODS:
        return RequestRefusal(405, "GET, HEAD and POST are all there is.")
    if any(site.strip().lower() not in ("same-origin", "none") for site in headers.get("sec-fetch-site", [])):
        return RequestRefusal(403, "Another page has asked for this.")
    if any(origin.lower() != f"http://{host[0].lower()}" for origin in headers.get("origin", [])):
        return RequestRefusal(403, "Another page has asked for this.")
    return None


def _read_headers(scope: Scope) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for name, value in scope["headers"]:
        found.setdefault(name.decode("latin-1").lower(), []).append(value.decode("latin-1"))
    return found


def _read_token(scope: Scope) -> str | None:
    """The token of an address."""
    for part in scope["query_string"].split(b"&"):
        name, _, value = part.partition(b"=")
        if name == b"token":
            return str(value.decode("latin-1"))
    return None


def _add_security_headers(send: Send) -> Send:
    """Send with our headers on every answer; an answer's own caching stays."""

    async def send_with_headers(message: Message) -> None:
        if message["type"] == "http.response.start":
            given = list(message.get("headers", []))
            names = {name.lower() for name, _ in given}
            kept = [
                pair for pair in given if pair[0].lower() == b"cache-control" or pair[0].lower() not in SECURITY_HEADERS
            ]
            ours = [pair for pair in SECURITY_HEADERS.items() if pair[0] != b"cache-control" or pair[0] not in names]
            message = {**message, "headers": [*kept, *ours]}
        await send(message)

    return send_with_headers


async def _send_refusal(refusal: RequestRefusal, scope: Scope, send: Send) -> None:
    """Say no, with nothing in it that came from outside."""
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
