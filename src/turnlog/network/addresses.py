"""Addresses of servers: how they are read and shown, and which proxy leads to them.

An address may hold a user and a password: `format_public_address` is what may be shown.
"""

from __future__ import annotations

from collections.abc import Mapping
from ipaddress import ip_address
from urllib.parse import SplitResult, unquote, urlsplit

from turnlog.errors import UsageError


def parse_server_address(address: str, name: str = "ANTHROPIC_BASE_URL") -> SplitResult:
    """The parts of a server's address; raises UsageError if it is none. `name` says where it was set."""
    try:
        parts = urlsplit(address)
        _ = parts.port
    except ValueError as error:
        raise UsageError(f"{name} is no address: {error}") from None
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise UsageError(f"{name} is no address: it must begin with https:// and name a server")
    return parts


def format_public_address(parts: SplitResult) -> str:
    """An address without what may be secret in it."""
    host = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else parts.hostname
    return f"{parts.scheme}://{host}" + (f":{parts.port}" if parts.port else "")


def is_loopback(host: str) -> bool:
    """Whether a host is this machine."""
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


def find_proxy(parts: SplitResult, given: Mapping[str, str]) -> str | None:
    """The proxy that the environment names for a server, or None."""
    host = parts.hostname or ""
    names = [f"{parts.scheme}_proxy", "all_proxy"]
    if parts.scheme == "http" and given.get("REQUEST_METHOD"):
        names = names[1:]  # in a CGI program HTTP_PROXY is what a visitor says
    found = next(
        (value for name in names for key in (name, name.upper()) if (value := given.get(key, "").strip())), None
    )
    if found is None or is_loopback(host) or _is_exempt(host, given):
        return None
    return found if "://" in found else f"http://{found}"


def parse_proxy_address(address: str) -> SplitResult:
    """The parts of a proxy's address; raises UsageError for a proxy that turnlog can't use."""
    parts = urlsplit(address)
    if parts.scheme != "http" or not parts.hostname:
        raise UsageError("a proxy of this kind can't be used: its address must begin with http:// and name a server")
    return parts


def _is_exempt(host: str, given: Mapping[str, str]) -> bool:
    names = (given.get("no_proxy") or given.get("NO_PROXY") or "").split(",")
    for name in (part.strip().lower().lstrip(".").removeprefix("*.") for part in names):
        if name == "*" or (name and (host == name or host.endswith("." + name))):
            return True
    return False


def encode_basic_credentials(parts: SplitResult) -> str | None:
    """The user and password in an address as HTTP sends them, to the server or to a proxy; None if it has none."""
    if parts.username is None:
        return None
    from base64 import b64encode

    pair = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
    return "Basic " + b64encode(pair.encode()).decode()
