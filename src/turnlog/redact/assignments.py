r"""Secrets that are known by what they are called: `DB_PASSWORD=…`, `"apiKey": "…"`, `--token …`, `password is …`.

A name is found first, in small letters; then what joins it to a value, then the value, which the doubts of `doubt` must
pass. Values in quotes end at a quote of the same depth: JSON in a text has `\"`, JSON in that has `\\\"`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from turnlog.redact.anchored import Anchored
from turnlog.redact.doubt import dense, marked, phrase_like, random_like, strong
from turnlog.redact.finding import Finding, Rank
from turnlog.redact.joints import JOINT
from turnlog.redact.names import RARE, WORDS, Word, check_of, may_be_key, may_hold, name_start, words_in
from turnlog.redact.tables import is_hash_table, is_setting
from turnlog.redact.view import View

# Most words lack what must follow a name.
_FOLLOWS = r"(?=[a-z0-9_-]{0,40}+\\*+[\"'`]?\]?(?:\s{0,8}+[:=-]|\s?(?:,\s{0,24}+|\(\s?)\\*[\"'`]|>|\s|\|))"
_ANCHORS = tuple(dict.fromkeys(word.anchor for word in WORDS if word.anchor != "code"))
"""`lists` looks for what follows `code`, which stands in too many texts."""
_BY_ANCHOR = {anchor: tuple(word for word in WORDS if word.anchor == anchor) for anchor in _ANCHORS}
_ALL_SEARCHES = tuple(
    Anchored(
        anchor,
        "(?:" + "|".join(f"({word.rest})" for word in words) + ")" + _FOLLOWS,
        may_be=may_be_key if anchor == "key" else None,
    )
    for anchor, words in _BY_ANCHOR.items()
)
_SEARCHES = tuple(search for search in _ALL_SEARCHES if search.anchor not in RARE)
_RARE_SEARCHES = tuple(search for search in _ALL_SEARCHES if search.anchor in RARE)
_REST = re.compile(r"[A-Za-z0-9_-]{0,40}+")
_VERBS = "is|was|are|ist|war|lautet|heißt|est|es|era|è|é"
_OF = (
    "for|of|to|on|at|in|für|fuer|vom|von|des|der|zum|zur|im|am|du|de|del|della|dello|do|da|dos|van|voor|pour|para|per"
    "|di|al"
)
"""What a sentence says between a name and its value: `Passwort für den Drucker lautet: …`."""
_JOINED = re.compile(
    r"(?P<close>\\*+[\"'`]?\]?)(?:"
    r"(?P<field>\s{0,8}+,?\s{0,40}+\\*+[\"']?value\\*+[\"']?\s?[:=]\s?)"
    r"|(?P<sign>\s{0,8}+(?::=|=>|={1,3}|:(?!:)|->)\s{0,8}+)(?P<typed>[A-Za-z][\w.\[\]| ]{0,30}?\s?=\s?(?=[\"'`]))?"
    r"(?:\(\s{0,40}+(?=\\*[\"'`]))?"
    r"|(?P<comma>\s?,\s{0,24}+|\()(?=\\*[\"'`])"
    r"|(?P<tag>>)"
    rf"|(?P<said>[ \t](?:{_VERBS}|=|for [^\s=]{{1,64}} ?=)[ \t]?:?\s{{1,3}}+)"
    rf"|(?P<far>[ \t](?:{_OF})[ \t][^\n:=.,;\"'`(){{}}<>|]{{1,48}}?(?::|[ \t](?:{_VERBS})[ \t]?:?)\s{{1,3}}+)"
    r"|(?P<changed>[ \t](?:to|auf|naar)[ \t])"
    r"|(?P<cell>[ \t]{0,40}+[|│][ \t]{1,40}+)"
    r"|(?P<space>[ \t]{0,40}+\\{1,8}+(?:\r?\n|n)[ \t]{0,40}+|\n[ \t]{0,40}+- (?!-)|[ \t]{1,40}+)"
    r")(?:[bBrRuU]{1,2}(?=[\"']))?(?P<open>[„“«]\s?|\\*+[\"'`]{0,3})"
)
_PLAIN = re.compile(r"[A-Za-z_.,:;!?)(-]*+(?:\s|$)")
"""What goes on in a sentence: no digit before the next space, so no strong value, in quotes or not."""
_BARE = re.compile(r"[^\s\"'`<>,;(){}\[\]\\|&]{1,1024}+")
_FLAG = re.compile(r"(?:^|[\s\"'`(=])--?[a-z0-9_-]{0,40}$|(?:^|\s)(?:env|arg|setx|set -g?x)[ \t]+[a-z0-9_]{0,40}$")
"""What stands before a name after which only its value can follow: an option, or a command that sets a variable."""
_NUMBER = re.compile(r"-?[0-9]++(?:\.[0-9]++)?(?:[eE][-+]?[0-9]++)?")
"""Of JSON: a mark in its place would be none."""
_SIGNS = ("-", "=", "$", "@", "*", "#", "/", "&", ".")
_TYPOGRAPHIC = re.compile(r"[^„“”«»\n]{3,200}?(?=\s?[“”»])")
_PUNCTUATED = re.compile(r"[^\s\"'`\\]{24,200}+(?=\s|$)")
"""A value of an env file may hold any sign."""
_PHRASE_LINE = re.compile(r"[A-Za-z]{2,16}(?: [A-Za-z]{2,16}){3,30}(?=\s*(?:\n|$))")
_SHELL_NAME = re.compile(r"[A-Z][A-Z0-9_]*$")


class Assignments:
    """The rule for named secrets."""

    hints = _ANCHORS
    names = ("password", "secret", "token", "key", "auth", "recovery-code")

    def find(self, view: View) -> Iterator[Finding]:
        """Find the named secrets of a text."""
        lower = view.lower
        for search in _searches(view):
            words = _BY_ANCHOR[search.anchor]
            for match in search.finditer(lower):
                word = words[(match.lastindex or 1) - 1]
                start = name_start(lower, match.start(), word)
                if start is not None and (span := _value(view.text, word, start, match.end())):
                    yield Finding(*span, word.rule, Rank.ASSIGNMENT, unescaped(view.text[slice(*span)]))


def _searches(view: View) -> Iterator[Anchored]:
    early = view.early
    yield from (search for search in _SEARCHES if view.says(search.anchor))
    yield from (search for search in _RARE_SEARCHES if search.anchor in early)


def named(name: str, value: str) -> str | None:
    """The rule by which a value of a JSON object is a secret, from its key."""
    for word, _, end in words_in(name):
        rest = _REST.match(name, end)
        if (
            rest
            and may_hold(name[:end] + rest[0], name[end:])
            and check_of(word, name)(value, True, bool(_SHELL_NAME.match(name)))
        ):
            return word.rule
    return None


def unescaped(value: str) -> str:
    """A value without the escapes of a text that it stands in, and without what joins its pieces."""
    value = JOINT.sub("", value) if "\n" in value or "+" in value else value
    return re.sub(r"\\+(?=[\"'`\\/])", "", value) if "\\" in value else value


class _Joint(NamedTuple):
    """What stands between a name and its value."""

    match: re.Match[str]
    is_flag: bool
    """The name is that of an option: `--name`."""
    name: str

    @property
    def is_doubtful(self) -> bool:
        """Whether a sentence or a list may go on here."""
        joined = self.match
        follows = joined["comma"] or joined["said"] or self.is_far or joined["cell"] or joined["space"]
        return bool(follows) and not self.is_sure

    @property
    def is_far(self) -> bool:
        """Whether other words stand between the name and its value."""
        return bool(self.match["far"] or self.match["changed"])

    @property
    def is_sure(self) -> bool:
        """Nothing but a value can follow an option, or a variable of the shell without spaces."""
        if self.is_flag and self.match["space"]:
            return True
        return bool((self.match["sign"] == "=" or self.match["comma"]) and _SHELL_NAME.match(self.name))


def _value(text: str, word: Word, start: int, end: int) -> tuple[int, int] | None:
    rest = _REST.match(text, end)
    joined = _JOINED.match(text, rest.end()) if rest else None
    if not rest or not joined:
        return None
    name = _whole_name(text, start) + text[start : rest.end()]
    joint = _Joint(joined, bool(joined["space"] or joined["comma"]) and _is_flag(text, start), name)
    # Most names stand where a sentence or a list may go on: that doubt comes first.
    if joint.is_doubtful and (
        (_PLAIN.match(text, joined.end()) and not (joined["open"] and word.rule == "password"))
        or (joined["space"] and (rest[0] not in ("", "s") or "\n" in joined["space"]))
    ):
        return None
    if not may_hold(name, text[end : rest.end()]) or (
        joined["sign"] == ":" and _whole_name(text, start) == "" and text[start - 1 : start] == ":"
    ):
        return None
    for span in _spans(text, word, joined):
        if _may_be(text, word, joint, span):
            return span
    return None


def _spans(text: str, word: Word, joined: re.Match[str]) -> Iterator[tuple[int, int]]:
    """Where the value may stand: in quotes, to the next space, or to the end of the line if it may be a phrase."""
    if joined["open"]:
        if span := _quoted(text, joined):
            yield span
        return
    if joined["sign"] and word.is_phrase and (line := _PHRASE_LINE.match(text, joined.end())):
        yield line.span()
    if joined["sign"] == "=" and (line := _PUNCTUATED.match(text, joined.end())) and dense(line[0]):
        yield line.span()
    if span := _bare(text, joined):
        yield span


def _may_be(text: str, word: Word, joint: _Joint, span: tuple[int, int]) -> bool:
    value, joined = unescaped(text[slice(*span)]), joint.match
    quoted = bool(joined["open"]) or " " in value
    if (value.startswith((",", ";", ")", "]", "}")) and not dense(value)) or (
        joint.name == "PASS" and joined["sign"] != "="
    ):
        return False  # the rest of an expression, or what a test runner says
    if joint.is_doubtful:
        if joined["comma"] and value.isidentifier() and not random_like(value, least=8):
            return False
        if joint.is_far and word.rule != "password" and not random_like(value, least=16):
            return False
        is_phrase = quoted and word.rule == "password" and phrase_like(value, sure=False)
        stands_out = quoted and word.rule == "password" and " " not in value and marked(value)
        if not (strong(value) or stands_out or is_phrase) or (word.is_ambiguous and not random_like(value, least=8)):
            return False
    sure = joint.is_sure or (not quoted and word.rule == "password" and is_setting(text, *span))
    return check_of(word, joint.name)(value, quoted, sure) and not is_hash_table(text, *span)


def _is_flag(text: str, start: int) -> bool:
    before = text[max(0, start - 42) : start]
    return ("-" in before or " " in before) and bool(_FLAG.search(before.lower()))


def _whole_name(text: str, start: int) -> str:
    at = start
    while at > 0 and start - at < 40 and (text[at - 1].isalnum() or text[at - 1] in "_-"):
        at -= 1
    # The letter of an escape, such as \\n, is no part of the name.
    return text[at + 1 : start] if at < start and text[at] in "nrt" and text[at - 1 : at] == "\\" else text[at:start]


def _quoted(text: str, joined: re.Match[str]) -> tuple[int, int] | None:
    """Where a value in quotes stands, with all literals that are joined to it; None if it is empty or has lines."""
    mark = joined["open"]
    if mark[0] in "„“«":
        match = _TYPOGRAPHIC.match(text, joined.end())
        return match.span() if match else None
    depth = len(mark) - len(mark.lstrip("\\"))
    quote = mark[depth:]
    if not quote or len(quote) == 2:
        return None
    start = at = joined.end()
    while (end := _closing(text, at, quote, depth)) is not None:
        joint = JOINT.match(text, end)
        if not joint or joint["close"] != mark or joint["open"] != mark:
            return start, end
        at = joint.end()
    return None


def _closing(text: str, start: int, quote: str, depth: int) -> int | None:
    """Where a literal ends that began with a quote of some depth."""
    for match in re.finditer(rf"(\\*)({re.escape(quote)})|[\n\t]", text[start : start + 1200]):
        if match[2] is None:
            return None
        if len(match[1]) % (2 * depth + 2) == depth:
            return start + match.end() - depth - len(quote)
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
