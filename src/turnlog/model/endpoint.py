"""Where a model is asked, and with which key: from the environment, as Claude Code and the SDKs understand it.

ANTHROPIC_API_KEY       a key, sent as `x-api-key`
ANTHROPIC_AUTH_TOKEN    a token, sent as `authorization: Bearer`; for gateways
ANTHROPIC_BASE_URL      another server; https://api.anthropic.com without it
HTTPS_PROXY, HTTP_PROXY, ALL_PROXY, NO_PROXY    in capitals or not
"""

from __future__ import annotations

import os
from collections.abc import Mapping

from msgspec import Struct

from turnlog.errors import UsageError
from turnlog.network.addresses import find_proxy, format_public_address, is_loopback, parse_server_address

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


def _read_secret(given: Mapping[str, str], name: str) -> str | None:
    value = given.get(name, "").strip()
    if not value:
        return None
    if not (value.isascii() and value.isprintable()):
        raise UsageError(f"{name} holds characters that no key has; look how it was set")
    return value
