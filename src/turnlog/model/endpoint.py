"""The address and key of a model, from the same environment variables that Claude Code and the SDKs read.

ANTHROPIC_API_KEY       a key, sent as `x-api-key`
ANTHROPIC_AUTH_TOKEN    a token, sent as `authorization: Bearer`; for gateways
ANTHROPIC_BASE_URL      the server (default: https://api.anthropic.com)
HTTPS_PROXY, HTTP_PROXY, ALL_PROXY, NO_PROXY    in upper or lower case
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
    """A server with the Messages API."""

    url: str = DEFAULT_BASE_URL
    key: str | None = None
    token: str | None = None
    proxy: str | None = None
    """The proxy to use; its address may contain a password."""
    connecting: float = 15.0
    """The time limit for a connection."""
    silence: float = 300.0
    """The time limit between two parts of a response; the Messages API sends pings more often than this."""

    def __repr__(self) -> str:
        return f"Endpoint({self.url!r})"

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] | None = None, *, url: str | None = None) -> Endpoint:
        """Read an endpoint from the environment; raise UsageError if its key is missing or would not be encrypted."""
        variables = os.environ if environment is None else environment
        key, token = (_read_secret(variables, name) for name in ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"))
        if key is None and token is None:
            raise UsageError("no API key: set ANTHROPIC_API_KEY (or ANTHROPIC_AUTH_TOKEN for a gateway)")
        address = url or variables.get("ANTHROPIC_BASE_URL", "").strip() or DEFAULT_BASE_URL
        parts = parse_server_address(address)
        if parts.scheme == "http" and not is_loopback(parts.hostname or ""):
            raise UsageError(f"{format_public_address(parts)}: the key would be sent unencrypted; use https")
        return cls(address.rstrip("/"), key, token, find_proxy(parts, variables))

    def hide_keys(self, text: str) -> str:
        """Remove keys from text, because some gateways repeat them in errors."""
        for secret in filter(None, (self.key, self.token)):
            text = text.replace(secret, "[key]")
        return text

    def build_headers(self) -> dict[str, str]:
        from turnlog._version import __version__

        headers = {
            "content-type": "application/json",
            "accept-encoding": "identity",
            "anthropic-version": API_VERSION,
            "user-agent": f"turnlog/{__version__}",
        }
        if self.key is not None:
            headers["x-api-key"] = self.key
        if self.token is not None:
            headers["authorization"] = f"Bearer {self.token}"
        return headers


def _read_secret(variables: Mapping[str, str], name: str) -> str | None:
    value = variables.get(name, "").strip()
    if not value:
        return None
    if not (value.isascii() and value.isprintable()):
        raise UsageError(f"{name} contains characters that are not valid in a key; check how it is set")
    return value
