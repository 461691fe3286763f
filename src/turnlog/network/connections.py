"""Connections to servers: directly, or through a proxy; another thread may end them."""

from __future__ import annotations

import contextlib
import http.client
import socket
import ssl
from urllib.parse import SplitResult

from turnlog.network.addresses import encode_basic_credentials

DEFAULT_PROXY_PORT = 8080


def make_connection(
    parts: SplitResult, proxy: SplitResult | None, seconds: float, trust: ssl.SSLContext | None = None
) -> http.client.HTTPConnection:
    """A connection to the server of an address, not yet open; `trust` says which certificates are accepted."""
    is_safe, host = parts.scheme == "https", parts.hostname or ""
    port = parts.port or (443 if is_safe else 80)
    at, by = (proxy.hostname or "", proxy.port or DEFAULT_PROXY_PORT) if proxy else (host, port)
    if not is_safe:
        return http.client.HTTPConnection(at, by, timeout=seconds)
    made = http.client.HTTPSConnection(at, by, timeout=seconds, context=trust or ssl.create_default_context())
    if proxy is not None:
        made.set_tunnel(host, port, build_proxy_headers(proxy))
    return made


def build_proxy_headers(proxy: SplitResult) -> dict[str, str]:
    """The headers that only the proxy gets."""
    pair = encode_basic_credentials(proxy)
    return {"proxy-authorization": pair} if pair else {}


def cut_connection(held: socket.socket) -> None:
    """End a connection that another thread reads from; closing alone would leave it waiting."""
    with contextlib.suppress(OSError):
        held.shutdown(socket.SHUT_RDWR)
