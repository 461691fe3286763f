"""Cookies that keep somebody logged in: short ones in headers, and those in the files of browsers and curl."""

from __future__ import annotations

import re
from collections.abc import Iterator
from urllib.parse import unquote

from turnlog.redact.doubt import is_code, made_up, marked, random_like
from turnlog.redact.finding import Finding, Rank
from turnlog.redact.view import View

_HEADER = re.compile(r"cookie: ?(?P<line>[^\n]{1,2000}+)")
_PAIR = re.compile(r"(?P<name>[A-Za-z0-9_.$-]{1,80}+)=(?P<value>[^\s;,\"'`\\<>(){}=]{8,200}+)(?=[;\s\"'\\]|$)")
_JAR = re.compile(r"\t(?:TRUE|FALSE)\t[0-9]{1,12}\t(?P<name>[^\t\n]{1,100}+)\t(?P<value>[^\s]{8,4096}+)")
_SESSION = re.compile(r"sess|sid\b|auth|token|login|remember|jwt|csrf|xsrf|identity|sso|user", re.IGNORECASE)
_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
_ATTRIBUTES = frozenset("path domain expires max-age samesite secure httponly priority version".split())


class Cookies:
    """The rule for them; `runs` finds the long ones."""

    hints = ("cookie: ", "e\t")
    names = ("cookie",)

    def find(self, view: View) -> Iterator[Finding]:
        """Find the cookies of a text."""
        text = view.text
        if view.says("cookie: "):
            for header in _HEADER.finditer(view.lower):
                yield from _cookies(_PAIR.finditer(text, *header.span("line")))
        if view.runs and "\t" in text and "E\t" in text:
            yield from _cookies(_JAR.finditer(text))


def _cookies(matches: Iterator[re.Match[str]]) -> Iterator[Finding]:
    for match in matches:
        if is_cookie(match["name"], match["value"]):
            yield Finding(*match.span("value"), "cookie", Rank.HEADER, match["value"])


def is_cookie(name: str, value: str) -> bool:
    """Whether a value that stands among cookies keeps somebody logged in."""
    plain = unquote(value) if "%" in value else value
    if name.lower() in _ATTRIBUTES or made_up(plain) or "://" in plain or is_code(plain, quoted=False):
        return False
    if _UUID.fullmatch(plain):
        return bool(_SESSION.search(name))
    return random_like(plain) or (bool(_SESSION.search(name)) and marked(plain) and random_like(plain, least=10))
