"""Finds passwords in URLs and credentials in headers."""

from __future__ import annotations

import re
from base64 import b64decode
from binascii import Error
from collections.abc import Iterator

from turnlog.redact.anchored_pattern import AnchoredPattern
from turnlog.redact.plausibility import (
    COMMON_NON_SECRETS,
    has_letters_and_digits,
    has_varied_characters,
    is_placeholder,
    is_strong_secret,
)
from turnlog.redact.secret_rule import FindingRank, SecretFinding
from turnlog.redact.text_view import TextView, is_inside_word

_DATABASE_SCHEMES = frozenset(
    "postgres postgresql mysql mariadb mongodb redis rediss amqp amqps mssql sqlserver oracle clickhouse cockroachdb"
    " cassandra neo4j bolt couchdb elasticsearch snowflake redshift ldap ldaps kafka nats memcached influxdb".split()
)
_URL_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]{1,30}$")
_URL_AUTHORITY = AnchoredPattern("://", r"([^\s/?#\"'`<>\\|,;(){}]{3,400}+)")
_AUTH_SCHEMES = (
    AnchoredPattern("bearer", r"[ +]{1,4}+"),
    AnchoredPattern("basic", r"[ +]{1,4}+"),
)
_AUTH_HEADERS = (
    *_AUTH_SCHEMES,
    AnchoredPattern(
        "authorization",
        r"\\*+[\"']?\s{0,4}+[:=,]\s{0,4}+\\*+[\"']?(?:[a-z][a-z0-9_-]{1,30}+[ =]{1,4}+)?(?<!bearer )(?<!basic )",
    ),
)
_CREDENTIAL_PATTERN = re.compile(r"[A-Za-z0-9._~+/:=-]{8,4096}+")
_SIGNATURE_FIELD = re.compile(
    r"(?:response|signature|oauth_signature|mac|hash)\\*[\"']?=\\*[\"']?(?P<value>[A-Za-z0-9+/%_.-]{16,1024}+={0,2})"
)
"""The header fields that prove knowledge of the password, in Digest, AWS, OAuth and Hawk."""
_MAX_SIGNATURE_DISTANCE_CHARS = 1200


class UrlRule:
    """Finds `scheme://name:password@host` and `https://token@host`."""

    hints = ("@",)
    names = ("database", "url-password")

    def find(self, view: TextView) -> Iterator[SecretFinding]:
        text = view.text
        if "@" not in text:
            return
        for match in _URL_AUTHORITY.finditer(text):
            login, at, _ = match[1].rpartition("@")
            user, colon, password = login.partition(":")
            if not at or not _is_url_credential(user, colon, password):
                continue
            value = password if colon and password else user
            end = match.start(1) + len(login)
            yield SecretFinding(end - len(value), end, _classify_url(text, match.start()), FindingRank.ADDRESS, value)


class HeaderRule:
    """Finds `Authorization: Basic …` and `Bearer …`."""

    hints = ("bearer", "basic", "authorization")
    names = ("basic-auth", "bearer", "signature")

    def find(self, view: TextView) -> Iterator[SecretFinding]:
        lower = view.lower
        for header in _AUTH_HEADERS if view.has_word("auth") else _AUTH_SCHEMES:
            scheme = header.anchor
            if scheme not in lower:
                continue
            for match in header.finditer(lower):
                if is_inside_word(lower, match.start()):
                    continue
                value = _CREDENTIAL_PATTERN.match(view.text, match.end())
                credential = value[0].rstrip(".:,") if value else ""
                is_credential = is_encoded_login(credential) if scheme == "basic" else _is_bearer_token(credential)
                if is_credential and not view.text.startswith(("(", "["), match.end() + len(credential)):
                    name = "basic-auth" if scheme == "basic" else "bearer"
                    yield SecretFinding(
                        match.end(), match.end() + len(credential), name, FindingRank.HEADER, credential
                    )
                elif scheme == "authorization":
                    yield from _find_signatures(view, match.end())


def _find_signatures(view: TextView, start: int) -> Iterator[SecretFinding]:
    """Find signatures in a header that has no credential."""
    line = view.text.find("\n", start, start + _MAX_SIGNATURE_DISTANCE_CHARS)
    for match in _SIGNATURE_FIELD.finditer(
        view.lower, start, line if line >= 0 else start + _MAX_SIGNATURE_DISTANCE_CHARS
    ):
        value = view.text[slice(*match.span("value"))]
        if has_letters_and_digits(value) and has_varied_characters(value) and not is_placeholder(value):
            yield SecretFinding(*match.span("value"), "signature", FindingRank.HEADER, value)


def is_encoded_login(credential: str) -> bool:
    """Return whether a value is base64 of `name:password`."""
    try:
        decoded = b64decode(credential + "=" * (-len(credential) % 4), validate=True)
        text = decoded.decode("utf-8")
    except (Error, ValueError):
        return False
    name, colon, password = text.partition(":")
    return bool(colon and len(password) >= 3 and text.isprintable() and not is_placeholder(password) and name)


def _is_bearer_token(credential: str) -> bool:
    return (
        len(credential) >= 12
        and has_letters_and_digits(credential)
        and has_varied_characters(credential)
        and not is_placeholder(credential)
    )


def _is_url_credential(user: str, colon: str, password: str) -> bool:
    if colon and password:
        return len(password) >= 3 and password.lower() != user.lower() and not _is_placeholder_password(password)
    return len(user) >= 20 and is_strong_secret(user)


def _is_placeholder_password(password: str) -> bool:
    return (
        password.lower() in COMMON_NON_SECRETS or (password.isdigit() and len(password) < 6) or is_placeholder(password)
    )


def _classify_url(text: str, colon: int) -> str:
    scheme = _URL_SCHEME.search(text, max(0, colon - 32), colon)
    base = scheme[0].lower().partition("+")[0] if scheme else ""
    return "database" if base in _DATABASE_SCHEMES else "url-password"
