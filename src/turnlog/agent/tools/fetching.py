"""Getting a page over HTTP, within limits: of time, of size, and of where a server may send us."""

from __future__ import annotations

import contextlib
import http.client
import os
import re
import ssl
import time
import zlib
from typing import NamedTuple
from urllib.parse import SplitResult, quote, urljoin, urlsplit, urlunsplit

from turnlog._version import __version__
from turnlog.agent.tools.tool import ToolError
from turnlog.model.cancel import Cancel
from turnlog.model.connecting import connection, cut
from turnlog.model.endpoint import is_loopback, proxy_for

LARGEST = 10 << 20
SECONDS = 60.0
"""That getting a page may take, redirects included."""
SILENCE = 15.0
"""Seconds that a server may say nothing."""
REDIRECTS = 10
_MOVED = frozenset({301, 302, 303, 307, 308})
_CHUNK = 1 << 16
_HOST = re.compile(r"[A-Za-z0-9_.:-]+")
_KEPT = "%/:=&?~+!$,;'@()*[]"
_META = re.compile(rb"<meta[^>]{0,200}charset\s*=\s*[\"']?([A-Za-z0-9_.:-]{1,40})", re.IGNORECASE)


class Page(NamedTuple):
    """What a server gave."""

    status: int
    reason: str
    kind: str
    """Its media type."""
    body: bytes
    charset: str
    elsewhere: str | None = None
    """The address on another host that it sends to; not followed."""

    def text(self) -> str:
        """The body as text."""
        found = _META.search(self.body[:2048]) if self.kind == "text/html" else None
        name = self.charset or (found[1].decode() if found else "utf-8")
        try:
            return self.body.decode(name, "replace")
        except LookupError:
            return self.body.decode("utf-8", "replace")


def address(url: str) -> SplitResult:
    """The parts of an address that may be fetched, with https in the place of http; ToolError if it is none."""
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname or "", parts.port
    except ValueError:
        raise ToolError("Invalid URL") from None
    if parts.scheme not in ("http", "https") or not _HOST.fullmatch(host) or parts.username is not None:
        raise ToolError("Invalid URL")
    if "." not in host and ":" not in host:
        raise ToolError(
            "WebFetch cannot fetch localhost or other hostnames without a dot. To reach a local server, use Bash with "
            "curl instead."
        )
    parts = parts._replace(path=quote(parts.path, safe=_KEPT), query=quote(parts.query, safe=_KEPT), fragment="")
    return parts if is_loopback(host) else parts._replace(scheme="https")


def fetch(url: str, cancel: Cancel) -> Page:
    """Get a page; redirects are followed on its own host only."""
    parts, until = address(url), time.monotonic() + SECONDS
    for _ in range(REDIRECTS + 1):
        page = _get(parts, cancel, until)
        if page.elsewhere is None:
            return page
        there = urljoin(urlunsplit(parts), page.elsewhere)
        if not _is_same_place(parts, there):
            return page._replace(elsewhere=there)
        parts = address(there)
    raise ToolError(f"Too many redirects (exceeded {REDIRECTS})")


def _is_same_place(parts: SplitResult, there: str) -> bool:
    try:
        new = address(there)
    except ToolError:
        return False
    hosts = {(part.hostname or "").removeprefix("www.") for part in (parts, new)}
    return len(hosts) == 1 and parts.port == new.port and new.scheme == parts.scheme


def _get(parts: SplitResult, cancel: Cancel, until: float) -> Page:
    cancel.check()
    proxy = proxy_for(parts, os.environ)
    made = connection(parts, urlsplit(proxy) if proxy else None, SILENCE)
    target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    try:
        made.connect()
        held = made.sock
        with contextlib.closing(made), cancel.then(lambda: cut(held)):
            made.request("GET", target, headers=_headers(parts))
            return _page(made.getresponse(), until)
    except ssl.SSLCertVerificationError as error:
        raise ToolError(f"{parts.hostname}: its certificate is not accepted: {error.verify_message}") from None
    except (OSError, ValueError, http.client.HTTPException) as error:
        cancel.check()
        raise ToolError(f"{parts.hostname} can't be reached: {str(error) or type(error).__name__}") from None


def _headers(parts: SplitResult) -> dict[str, str]:
    return {
        "accept": "text/markdown, text/html, */*",
        "accept-encoding": "gzip, deflate",
        "user-agent": f"turnlog/{__version__}",
        "host": parts.netloc,
    }


def _page(answer: http.client.HTTPResponse, until: float) -> Page:
    kind = answer.headers.get_content_type()
    charset = answer.headers.get_content_charset() or ""
    page = Page(answer.status, answer.reason or http.client.responses.get(answer.status, ""), kind, b"", charset)
    if answer.status in _MOVED and (there := answer.getheader("location")):
        return page._replace(elsewhere=there)
    return page if answer.status >= 400 else page._replace(body=_body(answer, until))


def _body(answer: http.client.HTTPResponse, until: float) -> bytes:
    is_packed = (answer.getheader("content-encoding") or "").lower() in ("gzip", "deflate", "x-gzip")
    unpack = zlib.decompressobj(zlib.MAX_WBITS | 32) if is_packed else None
    found = bytearray()
    while chunk := answer.read1(_CHUNK):
        try:
            found += unpack.decompress(chunk, LARGEST + 1 - len(found)) if unpack else chunk
        except zlib.error as error:
            raise ToolError(f"The page can't be unpacked: {error}") from None
        if len(found) > LARGEST:
            raise ToolError(f"The page is larger than {LARGEST >> 20} MB. Get it with curl, and read parts of it.")
        if time.monotonic() > until:
            raise ToolError(f"The page took longer than {SECONDS:.0f} seconds.")
    return bytes(found)
