"""Finds long random values that are revealed by the text before them: names of keys, URL parameters, or cookies.

These values contain long runs of letters and digits. Most text has few such runs, so checking each of them is faster
than searching the whole text for each name.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from urllib.parse import unquote

from turnlog.redact.cookies import is_login_cookie
from turnlog.redact.plausibility import has_letters_and_digits, has_varied_characters, is_placeholder, is_random_like
from turnlog.redact.secret_names import is_public_key_name
from turnlog.redact.secret_rule import FindingRank, SecretFinding
from turnlog.redact.text_view import TextView
from turnlog.redact.value_surroundings import is_in_hash_table

_MAX_NAME_DISTANCE_CHARS = 64
_MAX_HEADER_DISTANCE_CHARS = 600
_NAME_BEFORE_VALUE = re.compile(
    r"(?P<lead>[?&;]|amp;|u0026)?(?P<name>[A-Za-z0-9_.$-]{1,60}+)\\*[\"'`]?\]?\s{0,3}"
    r"(?:[:=]|=>|:=)\s{0,3}\\*[\"'`]?(?:0x)?"
    r"(?P<prefix>[^\s\"'`&;,<>(){}=]{0,40})$"
)
_CHARS_BEFORE_RUN = frozenset("\"'`=: %$~x")
"""The characters that may come before a run that is a value or part of one."""
_RUN_VALUE = re.compile(r"[^\s&\"'`<>#\\;,(){}|]{16,4096}+")
_SIGNATURE_NAME = re.compile(r"(?:.*[-_.])?(?:sig|signature|hmac)|x-amz-security-token", re.IGNORECASE)
_SECRET_PARAMETER = re.compile(
    r"key|code|ticket|auth|jwt|sid|session|session_?id|appid|assertion|code_verifier|(?:auth|access)key", re.IGNORECASE
)
_KEY_NAME = re.compile(r"(?:.*[^A-Za-z])?(?P<word>pat|salt)|.*(?P<key>[kK]ey|KEY)", re.IGNORECASE)
_SESSION_COOKIE_NAME = re.compile(
    r"PHPSESSID|JSESSIONID|ASPSESSIONID[A-Z]{8}|ASP\.NET_SessionId|connect\.sid|laravel_session"
)
_COOKIE_LINE = re.compile(r"cookies?\\*[\"'`]?\]?\s{0,4}[:=(,]\s{0,4}[^:(){}\[\]]{0,8}[{(\[\"'\\]?[^(){}\[\]]*$")
"""Matches text that ends inside a header, call or object with cookies."""
JWK_PRIVATE = frozenset({"d", "p", "q", "dp", "dq", "qi", "k"})
"""The members of a JSON Web Key that must be kept secret."""
_JWK = re.compile(r"\bkty\b")
_MAX_JWK_DISTANCE_CHARS = 4_000
_CURL_COOKIE_OPTION = re.compile(r"(?:\s-b|--cookie)[ =]{1,2}")


class RandomRunRule:
    """Finds long random values that have a name."""

    hints = ()
    names = ("key", "token", "secret", "signature", "cookie")

    def find(self, view: TextView) -> Iterator[SecretFinding]:
        text, searched_end = view.text, 0
        for start, _ in view.random_runs:
            # Most runs are names in code.
            if start < searched_end or text[max(0, start - 1) : start] not in _CHARS_BEFORE_RUN:
                continue
            if text[start - 1] == " " and text[start - 2 : start - 1] not in (":", "=", ">"):
                continue
            if not (name := _NAME_BEFORE_VALUE.search(text, max(0, start - _MAX_NAME_DISTANCE_CHARS), start)):
                continue
            begin = name.start("prefix")
            value = _RUN_VALUE.match(text, begin)
            secret = value[0].rstrip(".:") if value else ""
            if (
                secret
                and (rule := _choose_rule(view, name, secret))
                and not is_in_hash_table(text, begin, begin + len(secret))
            ):
                searched_end = begin + len(secret)
                yield SecretFinding(
                    begin, searched_end, rule, FindingRank.ADDRESS if name["lead"] else FindingRank.HEADER, secret
                )


def _choose_rule(view: TextView, match: re.Match[str], secret: str) -> str | None:
    """Return the rule that makes a value a secret, or None."""
    name, plain = match["name"], unquote(secret) if "%" in secret else secret
    if match["lead"] and _SIGNATURE_NAME.fullmatch(name):
        return (
            "signature"
            if has_letters_and_digits(plain) and has_varied_characters(plain, 8) and not is_placeholder(plain)
            else None
        )
    if match["lead"] and _SECRET_PARAMETER.fullmatch(name) and is_random_like(plain):
        return "key"
    if named := _KEY_NAME.fullmatch(name):
        if not is_random_like(secret) or (named["key"] and is_public_key_name(name)):
            return None
        return "key" if named["key"] else "token" if named["word"].lower() == "pat" else "secret"
    if name in JWK_PRIVATE:
        around = max(0, match.start() - _MAX_JWK_DISTANCE_CHARS), match.end() + _MAX_JWK_DISTANCE_CHARS
        return "key" if is_random_like(secret) and _JWK.search(view.text, *around) else None
    if _SESSION_COOKIE_NAME.fullmatch(name):
        return "cookie" if not is_placeholder(plain) else None
    return "cookie" if _is_in_cookie_line(view, match.start()) and is_login_cookie(name, secret) else None


def _is_in_cookie_line(view: TextView, at: int) -> bool:
    """Return whether a name is in a line of cookies."""
    first = max(
        view.text.rfind("\n", max(0, at - _MAX_HEADER_DISTANCE_CHARS), at) + 1, at - _MAX_HEADER_DISTANCE_CHARS, 0
    )
    before = view.lower[first:at]
    if "cookie" in before:
        return _COOKIE_LINE.search(before) is not None
    return view.has_word("curl") and _CURL_COOKIE_OPTION.search(before) is not None
