"""Parses and formats server addresses, and chooses the proxy to use.

An address may contain a user name and password; `format_public_address` returns the part that may be shown.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from ipaddress import ip_address
from urllib.parse import SplitResult, unquote, urlsplit

from turnlog.errors import UsageError

_HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_RESERVED_HEADERS = frozenset(
    {"connection", "content-encoding", "content-length", "content-type", "host", "transfer-encoding"}
)


def parse_server_address(address: str, name: str = "ANTHROPIC_BASE_URL") -> SplitResult:
    """Parse a server's address; raise UsageError if it is invalid. `name` is the setting's name."""
    try:
        parts = urlsplit(address)
        _ = parts.port
    except ValueError as error:
        raise UsageError(f"{name} is not a valid address: {error}") from None
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise UsageError(f"{name} is not a valid address: it must start with https:// and name a server")
    return parts


def parse_target_address(address: str, where: str) -> SplitResult:
    """Parse an address; `where` names the setting that it comes from."""
    try:
        parts = urlsplit(address.strip())
        _ = parts.port
        (parts.hostname or "").encode("idna")
    except ValueError:
        raise UsageError(f"{where} is not a valid address; use one such as https://host/path") from None
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise UsageError(f"{where} is not a valid address: it must start with https:// and name a server")
    if not (parts.geturl().isascii() and parts.geturl().isprintable() and " " not in parts.geturl()):
        raise UsageError(f"{where} is not a valid address: percent-encode spaces and characters outside ASCII")
    return parts


def format_public_address(parts: SplitResult) -> str:
    """Format an address without its credentials, path or query."""
    host = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else parts.hostname
    return f"{parts.scheme}://{host}" + (f":{parts.port}" if parts.port else "")


def is_loopback(host: str) -> bool:
    """Return whether a host is the local machine."""
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


def find_proxy(parts: SplitResult, environ: Mapping[str, str]) -> str | None:
    """Return the proxy that the environment specifies for a server, or None."""
    host = parts.hostname or ""
    names = [f"{parts.scheme}_proxy", "all_proxy"]
    if parts.scheme == "http" and environ.get("REQUEST_METHOD"):
        names = names[1:]  # in a CGI program, HTTP_PROXY comes from the visitor
    proxy = next(
        (value for name in names for key in (name, name.upper()) if (value := environ.get(key, "").strip())), None
    )
    if proxy is None or is_loopback(host) or _is_exempt(host, environ):
        return None
    return proxy if "://" in proxy else f"http://{proxy}"


def parse_proxy_address(address: str) -> SplitResult:
    """Parse a proxy's address; raise UsageError for a proxy that turnlog can't use."""
    parts = urlsplit(address)
    if parts.scheme != "http" or not parts.hostname:
        raise UsageError("this proxy is not supported: its address must start with http:// and name a server")
    return parts


def _is_exempt(host: str, environ: Mapping[str, str]) -> bool:
    names = (environ.get("no_proxy") or environ.get("NO_PROXY") or "").split(",")
    for name in (part.strip().lower().lstrip(".").removeprefix("*.") for part in names):
        if name == "*" or (name and (host == name or host.endswith("." + name))):
            return True
    return False


def encode_basic_credentials(parts: SplitResult) -> str | None:
    """Encode an address's user name and password for HTTP Basic authentication; return None if it has neither."""
    if parts.username is None:
        return None
    from base64 import b64encode

    pair = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
    return "Basic " + b64encode(pair.encode()).decode()


def check_headers(headers: Mapping[str, str], where: str) -> dict[str, str]:
    """Check headers and convert their names to lower case; the values are credentials, so errors never repeat them."""
    for name, value in headers.items():
        if not _HEADER_NAME.fullmatch(name) or not (value.isascii() and value.isprintable()):
            raise UsageError(f"{where}: header {name!r} contains invalid characters; check how it was set")
        if name.lower() in _RESERVED_HEADERS:
            raise UsageError(f"{where}: header {name!r} can't be set; leave it out")
    return {name.lower(): value.strip() for name, value in headers.items()}
