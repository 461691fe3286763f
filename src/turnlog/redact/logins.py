"""Passwords beside the name they belong to: in calls, in files of tools, in what a command shows, in a sentence."""

from __future__ import annotations

import re
from collections.abc import Iterator

from turnlog.redact.anchored import Anchored
from turnlog.redact.doubt import marked, password_like, random_like
from turnlog.redact.finding import Finding, Rank
from turnlog.redact.view import View

_PLAIN_CALLS = ("auth", "credential", "credentials", "pw_set")
"""They take a name and a password, and nothing else: any word may be the password."""
_MIXED_CALLS = (
    "login",
    "connect",
    "bind",
    "bind_s",
    "getconnection",
    "mysqli",
    "pdo",
    "authenticate",
    "sign_in",
    "credential]::new",
)
"""They take other things as well: only what no word or name looks like is a password."""


def _after(names: tuple[str, ...]) -> str:
    return "|".join(rf"(?<={re.escape(name)}\()" for name in names)


# The parenthesis is looked for first: that is much faster than a search for each name.
_CALL = re.compile(
    rf"\((?=[\"'\\\\\n])(?=\s{{0,40}}+\\*[\"'])(?:(?P<plain>{_after(_PLAIN_CALLS)})|{_after(_MIXED_CALLS)})"
)
_TUPLE = Anchored("auth", r"\\*[\"']?\s?[=:]\s?[(\[]")
_ARGUMENT = re.compile(
    r"\s{0,40}+(?:[A-Za-z_]\w{0,40}+\s?=\s?)?"
    r"(?:\\*(?P<quote>[\"'])(?P<value>[^\"'\n\\]{0,200}+)\\*(?P=quote)|[\w.]{1,80}+(?:\(\))?)\s{0,40}+(?P<more>,?)"
)
_SHORT = 4_000
_MOST_ARGUMENTS = 6
_PGPASS = re.compile(r"(?m)^[^\s:#]{1,253}:(?:[0-9]{2,5}|\*):[^\s:]{1,64}:[^\s:]{1,64}:(?P<value>[^\s:]{4,200})\s*$")
_SHOWS = Anchored(
    " cat ",
    r"(?<=[$#%>] cat )[^\n|;&]{0,120}?(?:pass|secret|token|cred|pwd|api[-_]?key)[^\n|;&/]{0,40}"
    r"\r?\n(?P<value>[^\s]{6,200})(?=\r?\n|$)",
)
_PERSON = r"`?(?P<user>[A-Za-z0-9._@+-]{2,64})`?"
_SAID = Anchored(
    "cred",
    r"(?:s|entials?)\b[^\n:=]{0,60}(?:[:=]|\bare\b|\bis\b)\s?"
    + _PERSON
    + r"(?:\s?[/:]\s?| \| )`?(?P<value>[^\s`\"',;(){}]{6,64})",
)


class Logins:
    """The rule for them."""

    hints = (*(f"{name}(" for name in (*_PLAIN_CALLS, *_MIXED_CALLS)), "auth", ":*:", ":54", " cat ", "cred")
    names = ("password",)

    def find(self, view: View) -> Iterator[Finding]:
        """Find the passwords of logins in a text."""
        for span in self._spans(view):
            yield Finding(*span, "password", Rank.ASSIGNMENT, view.text[slice(*span)])

    def _spans(self, view: View) -> Iterator[tuple[int, int]]:
        lower, text = view.lower, view.text
        if "(" in text:
            for match in _CALL.finditer(lower):
                yield from _arguments(text, match.end(), match["plain"] is not None)
        if view.says("auth"):
            for match in _TUPLE.finditer(lower):
                yield from _arguments(text, match.end(), plain=True)
        if ":5432:" in text or (len(text) <= _SHORT and (":54" in text or ":*:" in text)):
            for match in _PGPASS.finditer(text):
                if password_like(match["value"], quoted=True, sure=True):
                    yield match.span("value")
        if view.says(" cat "):
            for match in _SHOWS.finditer(lower):
                if _is_password(text[slice(*match.span("value"))]):
                    yield match.span("value")
        if view.says("cred"):
            for match in _SAID.finditer(lower):
                value = text[slice(*match.span("value"))].rstrip(".)")
                if random_like(value, least=6):
                    yield match.start("value"), match.start("value") + len(value)


def _arguments(text: str, at: int, plain: bool) -> Iterator[tuple[int, int]]:
    """Give the arguments of a call, or the items of a tuple, that are passwords: never the first one."""
    strings = 0
    spans: list[tuple[int, int]] = []
    for _ in range(_MOST_ARGUMENTS):
        argument = _ARGUMENT.match(text, at)
        if not argument:
            break
        at = argument.end()
        if argument["quote"]:
            strings += 1
            if strings > 1:
                spans.append(argument.span("value"))
        if not argument["more"]:
            break
    for start, end in spans:
        value = text[start:end]
        is_plain = plain and len(spans) == 1 and password_like(value, quoted=True, sure=False)
        if is_plain or _is_password(value):
            yield start, end


def _is_password(value: str) -> bool:
    if value.isidentifier() and value.islower() and not random_like(value, least=8):
        return False
    return (
        marked(value) and " " not in value and password_like(value, quoted=True, sure=True) and "." not in value[1:-1]
    )
