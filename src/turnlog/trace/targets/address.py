"""Addresses and headers of targets, which are checked before anything is sent; errors fit on one line."""

from __future__ import annotations

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


def extend_path(parts: SplitResult, path: str) -> SplitResult:
    """Append a path to an address, unless the address already ends with that path."""
    own = parts.path.rstrip("/")
    return parts._replace(path=own if own.endswith(path) else own + path)


def to_langfuse_address(parts: SplitResult) -> SplitResult:
    """Return the OTLP address of a Langfuse server."""
    if parts.path.rstrip("/").endswith((LANGFUSE_PATH, LANGFUSE_PATH + TRACES_PATH)):
        return extend_path(parts, TRACES_PATH)
    return extend_path(parts, LANGFUSE_PATH + TRACES_PATH)


def split_credentials(parts: SplitResult, headers: Mapping[str, str]) -> tuple[str, Mapping[str, str]]:
    """Move the user name and password from an address into the headers."""
    credentials = encode_basic_credentials(parts)
    if credentials is None:
        return parts._replace(fragment="").geturl(), MappingProxyType(dict(headers))
    bare = parts._replace(netloc=parts.netloc.rpartition("@")[2], fragment="").geturl()
    return bare, MappingProxyType({"authorization": credentials, **headers})


def require_encryption(target: TraceTarget, *, plain: bool) -> TraceTarget:
    """Return the target; raise an error if its credentials would be sent unencrypted."""
    parts = urlsplit(target.url)
    if parts.scheme == "http" and not plain and target.has_secrets and not is_loopback(parts.hostname or ""):
        raise UsageError(
            f"{target.name}: {format_public_address(parts)}: credentials would be sent unencrypted; use https, "
            "or allow this in config.toml with plain = true"
        )
    return target


def find_target_proxy(parts: SplitResult, environ: Mapping[str, str]) -> str | None:
    """Return the proxy that the environment specifies for an address; raise UsageError if it can't be used."""
    proxy = find_proxy(parts, environ)
    if proxy is not None:
        parse_proxy_address(proxy)
    return proxy


def find_certificate(path: str | None, where: str) -> str | None:
    """Return the path of an existing certificate file."""
    if not path:
        return None
    file = Path(path).expanduser()
    if not file.is_file():
        raise UsageError(f"{file}: no such file; the path is set in {where}")
    return str(file)
