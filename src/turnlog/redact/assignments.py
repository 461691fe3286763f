r"""Secrets that are known by what they are called: `DB_PASSWORD=…`, `"apiKey": "…"`, `--token …`, `password is …`.

A name is found first, in small letters; then what joins it to a value, then the value, which the doubts of `doubt` must
pass. Values in quotes end at a quote of the same depth: JSON in a text has `\"`, JSON in that has `\\\"`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from turnlog.redact.addresses import is_login
from turnlog.redact.anchored import Anchored
from turnlog.redact.doubt import password_like, strong, token_like
from turnlog.redact.finding import Finding, Rank
from turnlog.redact.view import View

_BEFORE = (
    "api access private auth account encryption signing master admin service shared storage subscription deploy session"
    " app client webhook bot root license".split()
)
_KEYS = rf"(?:{'|'.join(_BEFORE)})(?:[-_. ]?access)?[-_. ]?"
_NAME = re.compile(
    r"passw(?:or[dt]|d)|passphrase|passcode|pwd|secret|token|credential|(?<![a-z])_?auth(?![a-z0-9_-])|" + _KEYS + "key"
)
# Most words lack what must follow a name.
_FOLLOWS = r"(?=[a-z0-9_-]{0,40}+\\*+[\"'`]?\]?(?:\s{0,8}+[:=-]|\s?[,(]\s?\\*[\"'`]|>|\s))"
_ENDS = frozenset((word + joint)[-4:] for word in _BEFORE for joint in ("", *"-_. \n", "-\n", "_\n", ".\n", " \n"))
"""How everything ends in which `_BEFORE_KEY` finds something; `$` fits before a last line end, too."""
_SHORTEST = tuple(word for word in _BEFORE if len(word) < 4)


def _is_named(lower: str, key: int) -> bool:
    """Whether one of the words may stand before `key` that make it a secret."""
    return lower[max(0, key - 4) : key] in _ENDS or lower.endswith(_SHORTEST, 0, key)


_OTHERS = (
    Anchored("pwd", _FOLLOWS),
    Anchored("secret", _FOLLOWS),
    Anchored("token", _FOLLOWS),
    Anchored("credential", _FOLLOWS),
    Anchored("auth", "(?![a-z0-9_-])" + _FOLLOWS),
    Anchored("key", _FOLLOWS, may_be=_is_named),
)
_WORDS = (Anchored("pass", "(?:w(?:or[dt]|d)|phrase|code)" + _FOLLOWS), *_OTHERS)
_BEFORE_KEY = re.compile(_KEYS + "$")
_PASSWORDS = ("passw", "passp", "passc", "pwd")
_NO_VALUE = frozenset(
    "name names id ids type types count counts env var vars variable field fields file files path paths dir"
    " folder url uri endpoint host hash hashes length len size limit budget usage used expiry expires expiration"
    " ttl lifetime label placeholder prompt hint policy format prefix suffix regex pattern header headers scheme"
    " ref reference arn manager store provider class fn func param error message required enabled valid check"
    " reset strength at in by stdin index version algorithm alg method status rotation scope scopes source kind"
    " mode state form page screen view test tests per max min rate cost price total sum estimate estimated context"
    " window".split()
)
_HUMPS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|[0-9]+")
_REST = re.compile(r"[A-Za-z0-9_-]{0,40}+")
_JOINED = re.compile(
    r"(?P<close>\\*+[\"'`]?\]?)(?:"
    r"(?P<sign>\s{0,8}+(?::=|=>|={1,3}|:(?!:)|->)\s{0,8}+)(?P<typed>[A-Za-z][\w.\[\]| ]{0,30}?\s?=\s?(?=[\"'`]))?"
    r"|(?P<comma>\s?,\s?|\()(?=\\*[\"'`])"
    r"|(?P<tag>>)"
    r"|(?P<said>\s(?:is|was|=)\s?:?\s{1,3}+)"
    r"|(?P<space>\s{1,3}+)"
    r")(?P<open>\\*+[\"'`]{0,3})"
)
_PLAIN = re.compile(r"[A-Za-z_.,:;!?)(-]*+(?:\s|$)")
"""What goes on in a sentence: no digit before the next space, so no strong value, in quotes or not."""
_BARE = re.compile(r"[^\s\"'`<>,;(){}\[\]\\|&]{1,1024}+")
_FLAG = re.compile(r"(?:^|[\s\"'`(=])--?[a-z0-9_-]{0,40}$")
_NUMBER = re.compile(r"-?[0-9]++(?:\.[0-9]++)?(?:[eE][-+]?[0-9]++)?")
"""Of JSON: a mark in its place would be none."""
_SIGNS = ("-", "=", "$", "@", "*", "#", "/", "&", ".")
_SHELL_NAME = re.compile(r"[A-Z][A-Z0-9_]*$")


class Assignments:
    """The rule for named secrets."""

    names = ("password", "secret", "token", "key", "auth")

    def find(self, view: View) -> Iterator[Finding]:
        """Find the named secrets of a text."""
        lower = view.lower
        for word in _WORDS if view.says("pass") else _OTHERS:
            if word.anchor not in lower:
                continue
            for match in word.finditer(lower):
                start = _start(lower, match)
                if start is not None and (span := _value(view.text, start, match.end())):
                    rule, secret = kind(lower[start : match.end()]), unescaped(view.text[slice(*span)])
                    yield Finding(*span, rule, Rank.ASSIGNMENT, secret)


def named(name: str, value: str) -> str | None:
    """The rule by which a value of a JSON object is a secret, from its key."""
    for match in _words(name):
        rest = _REST.match(name, match.end())
        holds = rest and _may_hold(name[: match.end()] + rest[0], name[match.end() :]) and not re.search(r"\s", value)
        if holds and _is_value(match[0], value, quoted=True, sure=True):
            return kind(match[0])
    return None


@lru_cache(maxsize=1 << 10)
def _words(name: str) -> tuple[re.Match[str], ...]:
    """The words in a key that may make its value a secret; a session has few keys, and each very often."""
    return tuple(_NAME.finditer(name.lower()))


def kind(word: str) -> str:
    """The rule's name for a word that was found."""
    if word.startswith(_PASSWORDS):
        return "password"
    if word.endswith("key"):
        return "key"
    return word if word in ("token", "secret") else "auth" if word.endswith("auth") else "secret"


def unescaped(value: str) -> str:
    """A value without the escapes of a text that it stands in."""
    return re.sub(r"\\+(?=[\"'`\\/])", "", value) if "\\" in value else value


def _start(lower: str, match: re.Match[str]) -> int | None:
    """Where the name of a secret begins that ends in this word; None if the word alone says nothing."""
    start = match.start()
    if match[0] == "key":
        found = _BEFORE_KEY.search(lower[max(0, start - 24) : start])
        return start - len(found[0]) if found else None
    if match[0] == "auth" and start > 0 and lower[start - 1].isalpha():
        return None
    return start


def _value(text: str, start: int, end: int) -> tuple[int, int] | None:
    rest = _REST.match(text, end)
    joined = _JOINED.match(text, rest.end()) if rest else None
    if not rest or not joined:
        return None
    flag = bool(joined["space"]) and _is_flag(text, start)
    # Most names stand where a sentence or a list may go on: that doubt comes first.
    doubtful = bool(joined["comma"] or joined["said"] or (joined["space"] and not flag))
    if doubtful and _PLAIN.match(text, joined.end()):
        return None
    quoted = bool(joined["open"])
    span = _quoted(text, joined) if quoted else _bare(text, joined)
    if not span:
        return None
    value = unescaped(text[slice(*span)])
    if doubtful and not strong(value):
        return None
    name = _whole_name(text, start) + text[start : rest.end()]
    # Nothing but a value can follow an option, or a variable of the shell without spaces.
    sure = flag or bool(joined["sign"] == "=" and _SHELL_NAME.match(name))
    holds = _may_hold(name, text[end : rest.end()])
    return span if holds and _is_value(text[start:end].lower(), value, quoted=quoted, sure=sure) else None


def _is_flag(text: str, start: int) -> bool:
    """Whether a name belongs to an option: `--name`."""
    before = text[max(0, start - 42) : start]
    return "-" in before and bool(_FLAG.search(before.lower()))


def _is_value(word: str, value: str, *, quoted: bool, sure: bool) -> bool:
    if word.endswith("auth"):
        return is_login(value)
    check = password_like if word.startswith(_PASSWORDS) else token_like
    return check(value, quoted=quoted, sure=sure)


def _whole_name(text: str, start: int) -> str:
    at = start
    while at > 0 and start - at < 40 and (text[at - 1].isalnum() or text[at - 1] in "_-"):
        at -= 1
    return text[at:start]


def _may_hold(name: str, rest: str) -> bool:
    """Whether a name is that of a secret: no `tokenizer`, `token_type`, `passwordHash`."""
    if rest[:1].islower() and not re.match(r"s?(?:[^a-z]|$)", rest):
        return False
    words = [word.lower() for word in _HUMPS.findall(name)]
    return not words or words[-1] not in _NO_VALUE


def _quoted(text: str, joined: re.Match[str]) -> tuple[int, int] | None:
    """Where a value in quotes stands; None if there is white space in it."""
    mark = joined["open"]
    depth = len(mark) - len(mark.lstrip("\\"))
    quote = mark[depth:]
    if not quote:
        return None
    start = joined.end()
    for match in re.finditer(rf"(\\*)({re.escape(quote)})|\s", text[start : start + 1200]):
        if match[2] is None:
            return None
        if len(match[1]) % (2 * depth + 2) == depth:
            return start, start + match.end() - depth - len(quote)
    return None


def _bare(text: str, joined: re.Match[str]) -> tuple[int, int] | None:
    """Where a value without quotes stands; None if it is code."""
    match = _BARE.match(text, joined.end())
    if not match:
        return None
    follows = text[match.end() : match.end() + 1]
    if joined["tag"]:
        return match.span() if text.startswith("</", match.end()) else None
    if joined["close"] and _NUMBER.fullmatch(match[0]):
        return None
    value = match[0].rstrip(".:!?=" if "==" not in match[0][-3:] else ".:!?")
    is_code = follows in ("(", "[", "{", "<") or (len(value) < 20 and value.startswith(_SIGNS))
    return None if is_code or not value else (match.start(), match.start() + len(value))
