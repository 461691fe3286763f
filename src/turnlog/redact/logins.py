"""Finds passwords next to user names: in calls, configuration files, command output and sentences."""

from __future__ import annotations

import re
from collections.abc import Iterator

from turnlog.redact.anchored_pattern import AnchoredPattern
from turnlog.redact.plausibility import has_digits_or_symbols, has_joined_capitals, is_password_like, is_random_like
from turnlog.redact.secret_rule import FindingRank, SecretFinding
from turnlog.redact.text_view import TextView

_PLAIN_LOGIN_CALLS = ("auth", "credential", "credentials", "pw_set")
"""Calls that take only a name and a password: any word may be the password."""
_MIXED_LOGIN_CALLS = (
    "login",
    "connect",
    "begin",
    "bind",
    "bind_s",
    "getconnection",
    "mysqli",
    "pdo",
    "authenticate",
    "sign_in",
    "credential]::new",
)
"""Calls that also take other arguments: only values that look like neither a word nor a name are passwords."""


def _build_lookbehind(names: tuple[str, ...]) -> str:
    return "|".join(rf"(?<={re.escape(name)}\()" for name in names)


# Search for the parenthesis first, which is much faster than a search for each name.
_LOGIN_CALL = re.compile(
    rf"\((?=[\"'\\\\\n])(?=\s{{0,40}}+\\*[\"'])(?:(?P<plain>{_build_lookbehind(_PLAIN_LOGIN_CALLS)})|{_build_lookbehind(_MIXED_LOGIN_CALLS)})"
)
_AUTH_TUPLE = AnchoredPattern("auth", r"\\*[\"']?\s?[=:]\s?[(\[]")
_CALL_ARGUMENT = re.compile(
    r"\s{0,40}+(?:[A-Za-z_]\w{0,40}+\s?=\s?)?"
    r"(?:\\*(?P<quote>[\"'])(?P<value>[^\"'\n\\]{0,200}+)\\*(?P=quote)|[\w.]{1,80}+(?:\(\))?)\s{0,40}+(?P<more>,?)"
)
_MAX_PGPASS_TEXT_CHARS = 4_000
_MAX_ARGUMENTS = 6
_PGPASS_LINE = re.compile(
    r"(?m)^[^\s:#]{1,253}:(?:[0-9]{2,5}|\*):[^\s:]{1,64}:[^\s:]{1,64}:(?P<value>[^\s:]{4,200})\s*$"
)
_SECRET_FILE_OUTPUT = AnchoredPattern(
    " cat ",
    r"(?<=[$#%>] cat )[^\n|;&]{0,120}?(?:pass|secret|token|cred|pwd|api[-_]?key)[^\n|;&/]{0,40}"
    r"\r?\n(?P<value>[^\s]{6,200})(?=\r?\n|$)",
)
_USER_NAME = r"`?(?P<user>[A-Za-z0-9._@+-]{2,64})`?"
_ACCOUNT_SENTENCE = AnchoredPattern(
    "account", rf"s?\b[:=]? (?:is |are )?{_USER_NAME} ?/ ?`?(?P<value>[^\s`\"',;(){{}}]{{6,64}})"
)
_CREDENTIALS_SENTENCE = AnchoredPattern(
    "cred",
    r"(?:s|entials?)\b[^\n:=]{0,60}(?:[:=]|\bare\b|\bis\b)\s?"
    + _USER_NAME
    + r"(?:\s?[/:]\s?| \| )`?(?P<value>[^\s`\"',;(){}]{6,64})",
)


class LoginRule:
    hints = (
        *(f"{name}(" for name in (*_PLAIN_LOGIN_CALLS, *_MIXED_LOGIN_CALLS)),
        "auth",
        ":*:",
        ":54",
        " cat ",
        "cred",
        "account",
    )
    names = ("password",)

    def find(self, view: TextView) -> Iterator[SecretFinding]:
        for span in self._iter_password_spans(view):
            yield SecretFinding(*span, "password", FindingRank.ASSIGNMENT, view.text[slice(*span)])

    def _iter_password_spans(self, view: TextView) -> Iterator[tuple[int, int]]:
        lower, text = view.lower, view.text
        if "(" in text:
            for match in _LOGIN_CALL.finditer(lower):
                yield from _iter_password_arguments(text, match.end(), match["plain"] is not None)
        if view.has_word("auth"):
            for match in _AUTH_TUPLE.finditer(lower):
                yield from _iter_password_arguments(text, match.end(), plain=True)
        if ":5432:" in text or (len(text) <= _MAX_PGPASS_TEXT_CHARS and (":54" in text or ":*:" in text)):
            for match in _PGPASS_LINE.finditer(text):
                if is_password_like(match["value"], quoted=True, sure=True):
                    yield match.span("value")
        if view.has_word(" cat "):
            for match in _SECRET_FILE_OUTPUT.finditer(lower):
                if _is_password(text[slice(*match.span("value"))]):
                    yield match.span("value")
        if view.has_word("cred"):
            yield from _iter_sentence_passwords(text, _CREDENTIALS_SENTENCE.finditer(lower))
        if "account" in view.early:
            yield from _iter_sentence_passwords(text, _ACCOUNT_SENTENCE.finditer(lower))


def _iter_sentence_passwords(text: str, matches: Iterator[re.Match[str]]) -> Iterator[tuple[int, int]]:
    for match in matches:
        value = text[slice(*match.span("value"))].rstrip(".)")
        if is_random_like(value, least=6) or has_joined_capitals(value):
            yield match.start("value"), match.start("value") + len(value)


def _iter_password_arguments(text: str, at: int, plain: bool) -> Iterator[tuple[int, int]]:
    """Yield the arguments of a call, or the items of a tuple, that are passwords; the first one is never a password."""
    strings = 0
    spans: list[tuple[int, int]] = []
    for _ in range(_MAX_ARGUMENTS):
        argument = _CALL_ARGUMENT.match(text, at)
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
        is_plain = plain and len(spans) == 1 and is_password_like(value, quoted=True, sure=False)
        if is_plain or _is_password(value):
            yield start, end


def _is_password(value: str) -> bool:
    if has_joined_capitals(value):
        return True
    if value.isidentifier() and value.islower() and not is_random_like(value, least=8):
        return False
    return (
        has_digits_or_symbols(value)
        and " " not in value
        and is_password_like(value, quoted=True, sure=True)
        and "." not in value[1:-1]
    )
