"""Accepts only requests that come from the server's own pages, in the browser that was opened for it on this machine,
and from programs that know the token of the printed address.

Every request must pass these checks, in this order:

    Host                one of the server's own names with its port, else 421 (stops DNS rebinding)
    address, method     not too long; GET, HEAD or POST
    Sec-Fetch-Site      not cross-site or same-site, else 403: another page made the request
    Origin              absent or the server's own, else 403
    ?token=             a token for one visit: gives the cookie and the page token, and redirects without the token
    Authorization       the program token, else 403; then there is no need for a cookie
    cookie              the server's own for this host, else 403; styles and scripts need it too
    POST of a page      an Origin and the page token, else 403: the cookie alone changes nothing
    POST                JSON, else 415: a form of another page can't send it

Every response, including errors, gets the security headers. GET and HEAD never write. Transcripts are hostile input:
the content security policy allows only the server's own scripts and prevents pages from loading from or sending to
another host.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from turnlog.render.json_bytes import to_json_bytes
from turnlog.web.server_keys import ServerKeys

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
PAGE_TOKEN_HEADER = "x-turnlog-token"
LAUNCH_PATH = "/api/launch"
"""POST, for programs only: creates a launch token."""
_OWN_PATH_PATTERN = re.compile(rb"/(?:[A-Za-z0-9._-]+/)*[A-Za-z0-9._-]*")
_PLAIN_QUERY_PATTERN = re.compile(rb"[a-z]+=[A-Za-z0-9.-]+(?:&[a-z]+=[A-Za-z0-9.-]+)*")


class RequestRefusal(NamedTuple):
    status: int
    words: str


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
        elif scope["path"] == LAUNCH_PATH and scope["method"] == "POST" and "authorization" in headers:
            body = to_json_bytes({"token": self.door.create_launch_token()})
            await _send_response(200, [(b"content-type", b"application/json")], body, _add_security_headers(send))
        else:
            await self.app(scope, receive, _add_security_headers(send))

    async def _exchange_token(self, scope: Scope, headers: dict[str, list[str]], token: str, send: Send) -> None:
        """Give the browser its cookie and page token, and redirect to the same page without the token.

        The page token is in the fragment of the new address, which browsers send to no server; the page stores it.
        """
        host, is_known = headers["host"][0], self._has_cookie(headers)
        opens = scope["method"] == "GET" and self.door.redeem_token(token, has_cookie=is_known)
        if scope["method"] != "GET" or not (opens or is_known):
            words = "This address works once; restart `turnlog web` to get a new one."
            await _send_refusal(RequestRefusal(403, words), scope, send)
            return
        fields = [(b"location", _build_goal(scope))]
        if opens:
            cookie = f"{self.door.cookie_name}={self.door.derive_cookie(host)}; HttpOnly; SameSite=Strict; Path=/"
            page_token = f"#turnlog-token={self.door.derive_page_token(host)}"
            fields = [(b"location", _build_goal(scope) + page_token.encode()), (b"set-cookie", cookie.encode())]
        await _send_response(303, fields, b"", _add_security_headers(send))

    def _has_cookie(self, headers: dict[str, list[str]]) -> bool:
        return self.door.has_cookie(headers["host"][0], ";".join(headers.get("cookie", [])))

    def _check_visitor(self, scope: Scope, headers: dict[str, list[str]]) -> RequestRefusal | None:
        if "authorization" in headers:
            refusal = self._check_program(headers["authorization"])
        else:
            refusal = self._check_page(scope, headers)
        if refusal is not None or scope["method"] != "POST":
            return refusal
        kind = headers.get("content-type", [""])[0].partition(";")[0].strip().lower()
        return (
            None if kind == "application/json" else RequestRefusal(415, "Send JSON (content-type: application/json).")
        )

    def _check_program(self, authorizations: list[str]) -> RequestRefusal | None:
        scheme, _, token = authorizations[0].partition(" ")
        if len(authorizations) == 1 and scheme.lower() == "bearer" and self.door.is_program_token(token.strip()):
            return None
        return RequestRefusal(403, "Wrong token: use the one in the address that `turnlog web` printed.")

    def _check_page(self, scope: Scope, headers: dict[str, list[str]]) -> RequestRefusal | None:
        if not self._has_cookie(headers):
            return RequestRefusal(403, "This browser has no access: open the address that `turnlog web` printed.")
        if scope["method"] != "POST":
            return None
        tokens = headers.get(PAGE_TOKEN_HEADER, [])
        if "origin" not in headers or len(tokens) != 1 or not self.door.is_page_token(headers["host"][0], tokens[0]):
            return RequestRefusal(
                403,
                "Changes must come from one of turnlog's own pages: open the address that `turnlog web` printed.",
            )
        return None


def _build_goal(scope: Scope) -> bytes:
    """Return the address of a request without its token; the front page if it isn't clearly one of our own."""
    path: bytes = scope["raw_path"].partition(b"?")[0]
    goal = path if _OWN_PATH_PATTERN.fullmatch(path) else b"/"
    rest = b"&".join(part for part in scope["query_string"].split(b"&") if not part.startswith(b"token="))
    return goal + b"?" + rest if goal != b"/" and _PLAIN_QUERY_PATTERN.fullmatch(rest) else goal


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
    """Send an error that contains nothing from the request: as JSON to scripts and programs, otherwise as a page."""
    if "application/json" in _read_headers(scope).get("accept", []):
        body, kind = to_json_bytes({"error": refusal.words}), b"application/json"
    else:
        head = "<!doctype html><html lang=en><meta charset=utf-8><title>turnlog</title><h1>turnlog</h1>"
        body, kind = f"{head}<p>{refusal.words}".encode(), b"text/html; charset=utf-8"
    body = b"" if scope["method"] == "HEAD" else body
    fields = [(b"content-type", kind)]
    if refusal.status == 405:
        fields.append((b"allow", ", ".join(ALLOWED_METHODS).encode()))
    await _send_response(refusal.status, fields, body, _add_security_headers(send))


async def _send_response(status: int, fields: list[tuple[bytes, bytes]], body: bytes, send: Send) -> None:
    length = (b"content-length", str(len(body)).encode())
    await send({"type": "http.response.start", "status": status, "headers": [*fields, length]})
    await send({"type": "http.response.body", "body": body})
