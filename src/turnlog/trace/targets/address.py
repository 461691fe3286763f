"""Addresses and headers of targets, checked before anything is sent: what is wrong is told once, in one line."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from urllib.parse import SplitResult, urlsplit

from turnlog.errors import UsageError
from turnlog.network.addresses import (
    encode_basic_credentials,
    find_proxy,
    format_public_address,
    is_loopback,
    parse_proxy_address,
)
from turnlog.trace.targets.target import TraceTarget

TRACES_PATH = "/v1/traces"
LANGFUSE_PATH = "/api/public/otel"

_HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_RESERVED_HEADERS = frozenset(
    {"connection", "content-encoding", "content-length", "content-type", "host", "transfer-encoding"}
)


def parse_target_address(address: str, where: str) -> SplitResult:
    """The parts of an address; `where` says who gave it."""
    try:
        parts = urlsplit(address.strip())
        _ = parts.port
        (parts.hostname or "").encode("idna")
    except ValueError:
        raise UsageError(f"{where} is no address; it looks like https://host/path") from None
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise UsageError(f"{where} is no address: it must begin with https:// and name a server")
    if not (parts.geturl().isascii() and parts.geturl().isprintable() and " " not in parts.geturl()):
        raise UsageError(f"{where} is no address: spaces and letters beyond ASCII must be percent-encoded")
    return parts


def extend_path(parts: SplitResult, path: str) -> SplitResult:
    """An address with a path added to its own, unless it ends so already."""
    own = parts.path.rstrip("/")
    return parts._replace(path=own if own.endswith(path) else own + path)


def to_langfuse_address(parts: SplitResult) -> SplitResult:
    """Where a Langfuse server takes OTLP."""
    if parts.path.rstrip("/").endswith((LANGFUSE_PATH, LANGFUSE_PATH + TRACES_PATH)):
        return extend_path(parts, TRACES_PATH)
    return extend_path(parts, LANGFUSE_PATH + TRACES_PATH)


def check_headers(given: Mapping[str, str], where: str) -> dict[str, str]:
    """Headers by names in small letters; their values are credentials, so no error repeats them."""
    for name, value in given.items():
        if not _HEADER_NAME.fullmatch(name) or not (value.isascii() and value.isprintable()):
            raise UsageError(f"{where}: header {name!r} holds characters that no header has; look how it was set")
        if name.lower() in _RESERVED_HEADERS:
            raise UsageError(f"{where}: header {name!r} is not to be chosen; leave it out")
    return {name.lower(): value.strip() for name, value in given.items()}


def split_credentials(parts: SplitResult, found: Mapping[str, str]) -> tuple[str, Mapping[str, str]]:
    """An address without user and password, and the headers that bring them."""
    pair = encode_basic_credentials(parts)
    if pair is None:
        return parts._replace(fragment="").geturl(), MappingProxyType(dict(found))
    bare = parts._replace(netloc=parts.netloc.rpartition("@")[2], fragment="").geturl()
    return bare, MappingProxyType({"authorization": pair, **found})


def require_encryption(target: TraceTarget, *, plain: bool) -> TraceTarget:
    """The target, if its credentials would not be sent for all to read."""
    parts = urlsplit(target.url)
    if parts.scheme == "http" and not plain and target.has_secrets and not is_loopback(parts.hostname or ""):
        raise UsageError(
            f"{target.name}: {format_public_address(parts)}: credentials would be sent unencrypted; use https, "
            f"or allow it in"
            " config.toml with plain = true"
        )
    return target


def find_target_proxy(parts: SplitResult, environ: Mapping[str, str]) -> str | None:
    """The proxy that the environment names for an address; raises UsageError for one that can't be used."""
    found = find_proxy(parts, environ)
    if found is not None:
        parse_proxy_address(found)
    return found


def find_certificate(path: str | None, where: str) -> str | None:
    """A file of certificates that is there."""
    if not path:
        return None
    found = Path(path).expanduser()
    if not found.is_file():
        raise UsageError(f"{found}: no such file; {where} names it")
    return str(found)
