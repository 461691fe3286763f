"""Connections to servers, direct or through a proxy; another thread can end them."""

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
    """Create a connection to the server at an address without opening it; `trust` sets the accepted certificates."""
    is_safe, host = parts.scheme == "https", parts.hostname or ""
    port = parts.port or (443 if is_safe else 80)
    via_host, via_port = (proxy.hostname or "", proxy.port or DEFAULT_PROXY_PORT) if proxy else (host, port)
    if not is_safe:
        return http.client.HTTPConnection(via_host, via_port, timeout=seconds)
    connection = http.client.HTTPSConnection(
        via_host, via_port, timeout=seconds, context=trust or ssl.create_default_context()
    )
    if proxy is not None:
        connection.set_tunnel(host, port, build_proxy_headers(proxy))
    return connection


def build_proxy_headers(proxy: SplitResult) -> dict[str, str]:
    """Build the headers that are sent only to the proxy."""
    credentials = encode_basic_credentials(proxy)
    return {"proxy-authorization": credentials} if credentials else {}


def cut_connection(connection: socket.socket) -> None:
    """Shut down a connection that another thread is reading from; closing it would leave that thread waiting."""
    with contextlib.suppress(OSError):
        connection.shutdown(socket.SHUT_RDWR)
