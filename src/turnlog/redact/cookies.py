"""Finds login cookies: short ones in headers, and those in the cookie files of browsers and curl."""

from __future__ import annotations

import re
from collections.abc import Iterator
from urllib.parse import unquote

from turnlog.redact.plausibility import has_digits_or_symbols, is_code_expression, is_placeholder, is_random_like
from turnlog.redact.secret_rule import FindingRank, SecretFinding
from turnlog.redact.text_view import TextView

_COOKIE_HEADER = re.compile(r"cookie: ?(?P<line>[^\n]{1,2000}+)")
_COOKIE_PAIR = re.compile(r"(?P<name>[A-Za-z0-9_.$-]{1,80}+)=(?P<value>[^\s;,\"'`\\<>(){}=]{8,200}+)(?=[;\s\"'\\]|$)")
_COOKIE_JAR_LINE = re.compile(r"\t(?:TRUE|FALSE)\t[0-9]{1,12}\t(?P<name>[^\t\n]{1,100}+)\t(?P<value>[^\s]{8,4096}+)")
_LOGIN_COOKIE_NAME = re.compile(r"sess|sid\b|auth|token|login|remember|jwt|csrf|xsrf|identity|sso|user", re.IGNORECASE)
_UUID_PATTERN = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
_COOKIE_ATTRIBUTES = frozenset("path domain expires max-age samesite secure httponly priority version".split())


class CookieRule:
    """Finds short login cookies; `random_runs` finds the long ones."""

    hints = ("cookie: ", "e\t")
    names = ("cookie",)

    def find(self, view: TextView) -> Iterator[SecretFinding]:
        text = view.text
        if view.has_word("cookie: "):
            for header in _COOKIE_HEADER.finditer(view.lower):
                yield from _find_login_cookies(_COOKIE_PAIR.finditer(text, *header.span("line")))
        if view.runs and "\t" in text and "E\t" in text:
            yield from _find_login_cookies(_COOKIE_JAR_LINE.finditer(text))


def _find_login_cookies(matches: Iterator[re.Match[str]]) -> Iterator[SecretFinding]:
    for match in matches:
        if is_login_cookie(match["name"], match["value"]):
            yield SecretFinding(*match.span("value"), "cookie", FindingRank.HEADER, match["value"])


def is_login_cookie(name: str, value: str) -> bool:
    """Return whether a cookie's value keeps a user logged in."""
    plain = unquote(value) if "%" in value else value
    if (
        name.lower() in _COOKIE_ATTRIBUTES
        or is_placeholder(plain)
        or "://" in plain
        or is_code_expression(plain, quoted=False)
    ):
        return False
    if _UUID_PATTERN.fullmatch(plain):
        return bool(_LOGIN_COOKIE_NAME.search(name))
    return is_random_like(plain) or (
        bool(_LOGIN_COOKIE_NAME.search(name)) and has_digits_or_symbols(plain) and is_random_like(plain, least=10)
    )
