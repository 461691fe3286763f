"""Long random values by what stands before them: the names of keys, the parameters of addresses, cookies.

Such a value holds a run of letters and digits, and a text has few of these: each is looked at, instead of the whole
text for each name.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from urllib.parse import unquote

from turnlog.redact.cookies import is_cookie
from turnlog.redact.doubt import made_up, mixed, random_like, varied
from turnlog.redact.finding import Finding, Rank
from turnlog.redact.names import is_public
from turnlog.redact.tables import is_hash_table
from turnlog.redact.view import View

_NAME_REACH = 64
_HEADER_REACH = 600
_NAME = re.compile(
    r"(?P<lead>[?&;]|amp;|u0026)?(?P<name>[A-Za-z0-9_.$-]{1,60}+)\\*[\"'`]?\]?\s{0,3}"
    r"(?:[:=]|=>|:=)\s{0,3}\\*[\"'`]?(?:0x)?"
    r"(?P<begun>[^\s\"'`&;,<>(){}=]{0,40})$"
)
_LEADS = frozenset("\"'`=: %$~x")
"""What may stand before a run that is a value or goes on with one."""
_VALUE = re.compile(r"[^\s&\"'`<>#\\;,(){}|]{16,4096}+")
_SIGNATURE = re.compile(r"(?:.*[-_.])?(?:sig|signature|hmac)|x-amz-security-token", re.IGNORECASE)
_PARAMETER = re.compile(
    r"key|code|ticket|auth|jwt|sid|session|session_?id|appid|assertion|code_verifier|(?:auth|access)key", re.IGNORECASE
)
_NAMED = re.compile(r"(?:.*[^A-Za-z])?(?P<word>pat|salt)|.*(?P<key>[kK]ey|KEY)", re.IGNORECASE)
_COOKIE = re.compile(r"PHPSESSID|JSESSIONID|ASPSESSIONID[A-Z]{8}|ASP\.NET_SessionId|connect\.sid|laravel_session")
_COOKIES = re.compile(r"cookies?\\*[\"'`]?\]?\s{0,4}[:=(,]\s{0,4}[^:(){}\[\]]{0,8}[{(\[\"'\\]?[^(){}\[\]]*$")
"""A header, a call or an object of cookies that has not ended."""
JWK_PRIVATE = frozenset({"d", "p", "q", "dp", "dq", "qi", "k"})
"""The members of a JSON Web Key that only its owner may know."""
_JWK = re.compile(r"\bkty\b")
_JWK_REACH = 4_000
_CURL = re.compile(r"(?:\s-b|--cookie)[ =]{1,2}")


class Runs:
    """The rule for them."""

    hints = ()
    names = ("key", "token", "secret", "signature", "cookie")

    def find(self, view: View) -> Iterator[Finding]:
        """Find the long random values of a text that something names."""
        text, done = view.text, 0
        for start, _ in view.random_runs:
            # Most runs are names of code.
            if start < done or text[max(0, start - 1) : start] not in _LEADS:
                continue
            if text[start - 1] == " " and text[start - 2 : start - 1] not in (":", "=", ">"):
                continue
            if not (name := _NAME.search(text, max(0, start - _NAME_REACH), start)):
                continue
            begin = name.start("begun")
            value = _VALUE.match(text, begin)
            secret = value[0].rstrip(".:") if value else ""
            if secret and (rule := _rule(view, name, secret)) and not is_hash_table(text, begin, begin + len(secret)):
                done = begin + len(secret)
                yield Finding(begin, done, rule, Rank.ADDRESS if name["lead"] else Rank.HEADER, secret)


def _rule(view: View, match: re.Match[str], secret: str) -> str | None:
    """The rule by which a value is a secret."""
    name, plain = match["name"], unquote(secret) if "%" in secret else secret
    if match["lead"] and _SIGNATURE.fullmatch(name):
        return "signature" if mixed(plain) and varied(plain, 8) and not made_up(plain) else None
    if match["lead"] and _PARAMETER.fullmatch(name) and random_like(plain):
        return "key"
    if named := _NAMED.fullmatch(name):
        if not random_like(secret) or (named["key"] and is_public(name)):
            return None
        return "key" if named["key"] else "token" if named["word"].lower() == "pat" else "secret"
    if name in JWK_PRIVATE:
        around = max(0, match.start() - _JWK_REACH), match.end() + _JWK_REACH
        return "key" if random_like(secret) and _JWK.search(view.text, *around) else None
    if _COOKIE.fullmatch(name):
        return "cookie" if not made_up(plain) else None
    return "cookie" if _is_in_cookies(view, match.start()) and is_cookie(name, secret) else None


def _is_in_cookies(view: View, at: int) -> bool:
    """Whether a name stands in a line of cookies."""
    first = max(view.text.rfind("\n", max(0, at - _HEADER_REACH), at) + 1, at - _HEADER_REACH, 0)
    before = view.lower[first:at]
    if "cookie" in before:
        return _COOKIES.search(before) is not None
    return view.says("curl") and _CURL.search(before) is not None
