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
from turnlog.model.connecting import cut_connection, make_connection
from turnlog.model.endpoint import find_proxy, is_loopback

MAX_PAGE_BYTES = 10 << 20
MAX_FETCH_SECONDS = 60.0
"""That getting a page may take, redirects included."""
MAX_SILENCE_SECONDS = 15.0
"""Seconds that a server may say nothing."""
MAX_REDIRECTS = 10
_REDIRECT_STATUSES = frozenset({301, 302, 303, 307, 308})
_CHUNK_BYTES = 1 << 16
_HOST_PATTERN = re.compile(r"[A-Za-z0-9_.:-]+")
_UNQUOTED_CHARACTERS = "%/:=&?~+!$,;'@()*[]"
_META_CHARSET_PATTERN = re.compile(rb"<meta[^>]{0,200}charset\s*=\s*[\"']?([A-Za-z0-9_.:-]{1,40})", re.IGNORECASE)


class FetchedPage(NamedTuple):
    """What a server gave."""

    status: int
    reason: str
    kind: str
    """Its media type."""
    body: bytes
    charset: str
    elsewhere: str | None = None
    """The address on another host that it sends to; not followed."""

    def decode_text(self) -> str:
        """The body as text."""
        found = _META_CHARSET_PATTERN.search(self.body[:2048]) if self.kind == "text/html" else None
        name = self.charset or (found[1].decode() if found else "utf-8")
        try:
            return self.body.decode(name, "replace")
        except LookupError:
            return self.body.decode("utf-8", "replace")


def parse_fetch_url(url: str) -> SplitResult:
    """The parts of an address that may be fetched, with https in the place of http; ToolError if it is none."""
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname or "", parts.port
    except ValueError:
        raise ToolError("Invalid URL") from None
    if parts.scheme not in ("http", "https") or not _HOST_PATTERN.fullmatch(host) or parts.username is not None:
        raise ToolError("Invalid URL")
    if "." not in host and ":" not in host:
        raise ToolError(
            "WebFetch cannot fetch localhost or other hostnames without a dot. To reach a local server, use Bash with "
            "curl instead."
        )
    parts = parts._replace(
        path=quote(parts.path, safe=_UNQUOTED_CHARACTERS),
        query=quote(parts.query, safe=_UNQUOTED_CHARACTERS),
        fragment="",
    )
    return parts if is_loopback(host) else parts._replace(scheme="https")


def fetch_page(url: str, cancel: Cancel) -> FetchedPage:
    """Get a page; redirects are followed on its own host only."""
    parts, until = parse_fetch_url(url), time.monotonic() + MAX_FETCH_SECONDS
    for _ in range(MAX_REDIRECTS + 1):
        page = _request_page(parts, cancel, until)
        if page.elsewhere is None:
            return page
        there = urljoin(urlunsplit(parts), page.elsewhere)
        if not _is_same_host(parts, there):
            return page._replace(elsewhere=there)
        parts = parse_fetch_url(there)
    raise ToolError(f"Too many redirects (exceeded {MAX_REDIRECTS})")


def _is_same_host(parts: SplitResult, there: str) -> bool:
    try:
        new = parse_fetch_url(there)
    except ToolError:
        return False
    hosts = {(part.hostname or "").removeprefix("www.") for part in (parts, new)}
    return len(hosts) == 1 and parts.port == new.port and new.scheme == parts.scheme


def _request_page(parts: SplitResult, cancel: Cancel, until: float) -> FetchedPage:
    cancel.check()
    proxy = find_proxy(parts, os.environ)
    made = make_connection(parts, urlsplit(proxy) if proxy else None, MAX_SILENCE_SECONDS)
    target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    try:
        made.connect()
        held = made.sock
        with contextlib.closing(made), cancel.on_cancel(lambda: cut_connection(held)):
            made.request("GET", target, headers=_build_headers(parts))
            return _read_page(made.getresponse(), until)
    except ssl.SSLCertVerificationError as error:
        raise ToolError(f"{parts.hostname}: its certificate is not accepted: {error.verify_message}") from None
    except (OSError, ValueError, http.client.HTTPException) as error:
        cancel.check()
        raise ToolError(f"{parts.hostname} can't be reached: {str(error) or type(error).__name__}") from None


def _build_headers(parts: SplitResult) -> dict[str, str]:
    return {
        "accept": "text/markdown, text/html, */*",
        "accept-encoding": "gzip, deflate",
        "user-agent": f"turnlog/{__version__}",
        "host": parts.netloc,
    }


def _read_page(answer: http.client.HTTPResponse, until: float) -> FetchedPage:
    kind = answer.headers.get_content_type()
    charset = answer.headers.get_content_charset() or ""
    page = FetchedPage(answer.status, answer.reason or http.client.responses.get(answer.status, ""), kind, b"", charset)
    if answer.status in _REDIRECT_STATUSES and (there := answer.getheader("location")):
        return page._replace(elsewhere=there)
    return page if answer.status >= 400 else page._replace(body=_read_body(answer, until))


def _read_body(answer: http.client.HTTPResponse, until: float) -> bytes:
    is_packed = (answer.getheader("content-encoding") or "").lower() in ("gzip", "deflate", "x-gzip")
    unpack = zlib.decompressobj(zlib.MAX_WBITS | 32) if is_packed else None
    found = bytearray()
    while chunk := answer.read1(_CHUNK_BYTES):
        try:
            found += unpack.decompress(chunk, MAX_PAGE_BYTES + 1 - len(found)) if unpack else chunk
        except zlib.error as error:
            raise ToolError(f"The page can't be unpacked: {error}") from None
        if len(found) > MAX_PAGE_BYTES:
            raise ToolError(
                f"The page is larger than {MAX_PAGE_BYTES >> 20} MB. Get it with curl, and read parts of it."
            )
        if time.monotonic() > until:
            raise ToolError(f"The page took longer than {MAX_FETCH_SECONDS:.0f} seconds.")
    return bytes(found)
