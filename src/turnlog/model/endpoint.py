"""Where a model is asked, and with which key: from the environment, as Claude Code and the SDKs understand it.

ANTHROPIC_API_KEY       a key, sent as `x-api-key`
ANTHROPIC_AUTH_TOKEN    a token, sent as `authorization: Bearer`; for gateways
ANTHROPIC_BASE_URL      another server; https://api.anthropic.com without it
HTTPS_PROXY, HTTP_PROXY, ALL_PROXY, NO_PROXY    in capitals or not
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from ipaddress import ip_address
from urllib.parse import SplitResult, unquote, urlsplit

from msgspec import Struct

from turnlog.errors import UsageError

DEFAULT_BASE_URL = "https://api.anthropic.com"
API_VERSION = "2023-06-01"


class Endpoint(Struct, frozen=True):
    """A server that speaks the Messages API."""

    url: str = DEFAULT_BASE_URL
    key: str | None = None
    token: str | None = None
    proxy: str | None = None
    """The proxy to go through; its address may hold a password."""
    connecting: float = 15.0
    """Seconds that making a connection may take."""
    silence: float = 300.0
    """Seconds that a server may say nothing; the Messages API sends a ping long before."""

    def __repr__(self) -> str:
        """Without what is secret."""
        return f"Endpoint({self.url!r})"

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] | None = None, *, url: str | None = None) -> Endpoint:
        """What the environment names; UsageError if there is no key, or if it would be sent for all to read."""
        given = os.environ if environment is None else environment
        key, token = (_read_secret(given, name) for name in ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"))
        if key is None and token is None:
            raise UsageError("no key for the model: set ANTHROPIC_API_KEY (or ANTHROPIC_AUTH_TOKEN for a gateway)")
        address = url or given.get("ANTHROPIC_BASE_URL", "").strip() or DEFAULT_BASE_URL
        parts = parse_server_address(address)
        if parts.scheme == "http" and not is_loopback(parts.hostname or ""):
            raise UsageError(f"{format_public_address(parts)}: the key would be sent unencrypted; use https")
        return cls(address.rstrip("/"), key, token, find_proxy(parts, given))

    def hide_keys(self, text: str) -> str:
        """A text without the keys, which some gateways repeat when they refuse them."""
        for secret in filter(None, (self.key, self.token)):
            text = text.replace(secret, "[key]")
        return text

    def build_headers(self) -> dict[str, str]:
        """What every request says."""
        from turnlog._version import __version__

        found = {
            "content-type": "application/json",
            "accept-encoding": "identity",
            "anthropic-version": API_VERSION,
            "user-agent": f"turnlog/{__version__}",
        }
        if self.key is not None:
            found["x-api-key"] = self.key
        if self.token is not None:
            found["authorization"] = f"Bearer {self.token}"
        return found


def parse_server_address(address: str, name: str = "ANTHROPIC_BASE_URL") -> SplitResult:
    """The parts of a server's address; UsageError, with the `name` that it was given by, if it is none."""
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


def _is_exempt(host: str, given: Mapping[str, str]) -> bool:
    names = (given.get("no_proxy") or given.get("NO_PROXY") or "").split(",")
    for name in (part.strip().lower().lstrip(".").removeprefix("*.") for part in names):
        if name == "*" or (name and (host == name or host.endswith("." + name))):
            return True
    return False


def encode_proxy_credentials(parts: SplitResult) -> str | None:
    """The user and password of a proxy's address, as they are sent to it."""
    if parts.username is None:
        return None
    from base64 import b64encode

    pair = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
    return "Basic " + b64encode(pair.encode()).decode()


def _read_secret(given: Mapping[str, str], name: str) -> str | None:
    value = given.get(name, "").strip()
    if not value:
        return None
    if not (value.isascii() and value.isprintable()):
        raise UsageError(f"{name} holds characters that no key has; look how it was set")
    return value
