"""Passwords in URLs and credentials in headers."""

from __future__ import annotations

import re
from base64 import b64decode
from binascii import Error
from collections.abc import Iterator

from turnlog.redact.anchored import Anchored
from turnlog.redact.doubt import COMMON, made_up, mixed, strong, varied
from turnlog.redact.finding import Finding, Rank
from turnlog.redact.view import View, is_inside

_DATABASES = frozenset(
    "postgres postgresql mysql mariadb mongodb redis rediss amqp amqps mssql sqlserver oracle clickhouse cockroachdb"
    " cassandra neo4j bolt couchdb elasticsearch snowflake redshift ldap ldaps kafka nats memcached influxdb".split()
)
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]{1,30}$")
_AUTHORITY = Anchored("://", r"([^\s/?#\"'`<>\\|,;(){}]{3,400}+)")
_SCHEMES = (
    Anchored("bearer", r"[ +]{1,4}+"),
    Anchored("basic", r"[ +]{1,4}+"),
)
_HEADERS = (
    *_SCHEMES,
    Anchored(
        "authorization",
        r"\\*+[\"']?\s{0,4}+[:=,]\s{0,4}+\\*+[\"']?(?:[a-z][a-z0-9_-]{1,30}+[ =]{1,4}+)?(?<!bearer )(?<!basic )",
    ),
)
_CREDENTIAL = re.compile(r"[A-Za-z0-9._~+/:=-]{8,4096}+")
_PROOF = re.compile(
    r"(?:response|signature|oauth_signature|mac|hash)\\*[\"']?=\\*[\"']?(?P<value>[A-Za-z0-9+/%_.-]{16,1024}+={0,2})"
)
"""What proves in a header that somebody knows the password: of Digest, AWS, OAuth and Hawk."""
_PROOF_REACH = 1200


class Urls:
    """The rule for `scheme://name:password@host` and `https://token@host`."""

    hints = ("@",)
    names = ("database", "url-password")

    def find(self, view: View) -> Iterator[Finding]:
        """Find passwords in the URLs of a text."""
        text = view.text
        if "@" not in text:
            return
        for match in _AUTHORITY.finditer(text):
            login, at, _ = match[1].rpartition("@")
            user, colon, password = login.partition(":")
            if not at or not _is_login(user, colon, password):
                continue
            value = password if colon and password else user
            end = match.start(1) + len(login)
            yield Finding(end - len(value), end, _kind(text, match.start()), Rank.ADDRESS, value)


class Headers:
    """The rule for `Authorization: Basic …` and `Bearer …`."""

    hints = ("bearer", "basic", "authorization")
    names = ("basic-auth", "bearer", "signature")

    def find(self, view: View) -> Iterator[Finding]:
        """Find credentials in the headers of a text."""
        lower = view.lower
        for header in _HEADERS if view.says("auth") else _SCHEMES:
            scheme = header.anchor
            if scheme not in lower:
                continue
            for match in header.finditer(lower):
                if is_inside(lower, match.start()):
                    continue
                value = _CREDENTIAL.match(view.text, match.end())
                credential = value[0].rstrip(".:,") if value else ""
                is_one = is_login(credential) if scheme == "basic" else _is_bearer(credential)
                if is_one and not view.text.startswith(("(", "["), match.end() + len(credential)):
                    name = "basic-auth" if scheme == "basic" else "bearer"
                    yield Finding(match.end(), match.end() + len(credential), name, Rank.HEADER, credential)
                elif scheme == "authorization":
                    yield from _proofs(view, match.end())


def _proofs(view: View, start: int) -> Iterator[Finding]:
    """Find what a header holds instead of a credential."""
    line = view.text.find("\n", start, start + _PROOF_REACH)
    for match in _PROOF.finditer(view.lower, start, line if line >= 0 else start + _PROOF_REACH):
        value = view.text[slice(*match.span("value"))]
        if mixed(value) and varied(value) and not made_up(value):
            yield Finding(*match.span("value"), "signature", Rank.HEADER, value)


def is_login(credential: str) -> bool:
    """Whether this is base64 of `name:password`."""
    try:
        decoded = b64decode(credential + "=" * (-len(credential) % 4), validate=True)
        text = decoded.decode("utf-8")
    except (Error, ValueError):
        return False
    name, colon, password = text.partition(":")
    return bool(colon and len(password) >= 3 and text.isprintable() and not made_up(password) and name)


def _is_bearer(credential: str) -> bool:
    return len(credential) >= 12 and mixed(credential) and varied(credential) and not made_up(credential)


def _is_login(user: str, colon: str, password: str) -> bool:
    if colon and password:
        return len(password) >= 3 and password.lower() != user.lower() and not _stands_in(password)
    return len(user) >= 20 and strong(user)


def _stands_in(password: str) -> bool:
    return password.lower() in COMMON or (password.isdigit() and len(password) < 6) or made_up(password)


def _kind(text: str, colon: int) -> str:
    scheme = _SCHEME.search(text, max(0, colon - 32), colon)
    base = scheme[0].lower().partition("+")[0] if scheme else ""
    return "database" if base in _DATABASES else "url-password"
