"""A target: where spans are sent, with which credentials, and how much of a session they may include."""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import sha256
from types import MappingProxyType
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl, quote, unquote, urlsplit

from turnlog.network.addresses import format_public_address, is_loopback

if TYPE_CHECKING:
    from turnlog.trace.spans.content import ContentLevel, ContentPolicy

# Headers that select a project in a backend, which are not secret.
_PROJECT_HEADERS = (
    "x-project-name",
    "x-mlflow-experiment-id",
    "x-mlflow-workspace",
    "projectname",
    "comet-workspace",
    "x-bt-parent",
    "langsmith-project",
    "x-honeycomb-dataset",
    "x-axiom-dataset",
    "dash0-dataset",
    "x-scope-orgid",
)
_PUBLIC_HEADERS = frozenset((*_PROJECT_HEADERS, "x-langfuse-ingestion-version", "user-agent", "accept"))


@dataclass(frozen=True)
class TraceTarget:
    """A backend, or one of its projects."""

    name: str
    """The user's name for the target."""
    url: str = field(repr=False)
    """Where requests are posted."""
    headers: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}), repr=False)
    """Additional headers for every request, with lowercase names. They include the credentials."""
    identity: str = ""
    """A value that distinguishes two projects in one backend but is not secret, such as Langfuse's public key."""
    content: ContentLevel = "redacted"
    """How text is sent: full, redacted or none."""
    limit: int = 20_000
    """The maximum number of characters sent per piece of text."""
    nest: bool = False
    """Whether calls are nested below the generation that requested them, instead of beside it."""
    user: str | None = None
    """Who the sessions belong to."""
    timeout: float = 10.0
    """How many seconds to wait for a server that doesn't respond."""
    compress: bool | None = None
    """Whether requests are compressed; None means yes, except where this costs more than it saves."""
    certificate: str | None = None
    """A file with certificates to trust instead of the usual ones."""
    proxy: str | None = field(default=None, repr=False)
    """The proxy to use; its address may contain a password."""

    @property
    def policy(self) -> ContentPolicy:
        """How much of a session the target's spans may include."""
        from turnlog.trace.spans.content import ContentPolicy

        return ContentPolicy(self.content, self.limit)

    @cached_property
    def key(self) -> str:
        """An identifier for the destination, which does not depend on the target's name, key or password.

        Everything after the server's name is hashed, because some backends have tokens in their paths.
        """
        places = (self.headers.get(name, "") for name in _PROJECT_HEADERS)
        parts = "\n".join((urlsplit(self.url).path, self.identity, *places))
        return (
            f"{format_public_address(urlsplit(self.url))} "
            f"{sha256(parts.encode('utf-8', 'surrogatepass')).hexdigest()[:16]}"
        )

    @cached_property
    def is_far(self) -> bool:
        """Whether to keep requests small: True unless the server is on this machine and compression isn't requested."""
        is_here = self.proxy is None and is_loopback(urlsplit(self.url).hostname or "")
        return bool(self.compress) or not is_here

    @property
    def display_name(self) -> str:
        """The target's name and server."""
        return f"{self.name} ({format_public_address(urlsplit(self.url))})"

    @property
    def has_secrets(self) -> bool:
        """Whether requests contain credentials."""
        return any(True for _ in self._iter_secrets())

    def hide_secrets(self, text: str) -> str:
        """Remove the credentials from text sent by a server."""
        for secret in sorted({*self._iter_secrets(), *self._iter_path_tokens()}, key=len, reverse=True):
            text = text.replace(secret, "[secret]")
        return text

    def _iter_secrets(self) -> Iterator[str]:
        """Yield every form in which a server could repeat a credential, except values that are too short to be one."""
        for secret in self._iter_credentials():
            yield from (form for form in (secret, quote(secret, safe=""), unquote(secret)) if len(form) > 3)

    def _iter_path_tokens(self) -> Iterator[str]:
        """Yield possible tokens in the path, because servers may repeat an unknown address."""
        return (part for part in urlsplit(self.url).path.split("/") if len(part) > 7 and not part.isalpha())

    def _iter_credentials(self) -> Iterator[str]:
        for name, value in self.headers.items():
            if name not in _PUBLIC_HEADERS:
                yield value
                yield from _split_authorization(value)
        for address in (self.url, self.proxy or ""):
            parts = urlsplit(address)
            yield from (unquote(part) for part in (parts.username, parts.password) if part)
            yield from (value for _, value in parse_qsl(parts.query))


def _split_authorization(value: str) -> Iterator[str]:
    """Yield the token of `Bearer …`, or the user name and password of `Basic …`."""
    scheme, _, rest = value.partition(" ")
    yield rest
    if scheme.lower() == "basic":
        try:
            pair = b64decode(rest).decode()
        except ValueError:
            return
        yield pair
        yield pair.partition(":")[2]
