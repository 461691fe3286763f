r"""Finds secrets that are revealed by their names: `DB_PASSWORD=…`, `"apiKey": "…"`, `--token …`, `password is …`.

The search first finds a name, in lower case, then what joins it to a value, and then the value, which must pass the
checks in `plausibility`. A quoted value ends at a quote of the same depth: JSON in text has `\"`, and JSON inside that
has `\\\"`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from turnlog.redact.anchored_pattern import AnchoredPattern
from turnlog.redact.literal_joints import LITERAL_JOINT
from turnlog.redact.plausibility import (
    has_digits_or_symbols,
    is_dense,
    is_passphrase_like,
    is_random_like,
    is_strong_secret,
)
from turnlog.redact.secret_names import (
    RARE_ANCHORS,
    SECRET_WORDS,
    SecretWord,
    can_be_secret_key,
    can_hold_secret,
    choose_value_check,
    find_name_start,
    find_secret_words,
)
from turnlog.redact.secret_rule import FindingRank, SecretFinding
from turnlog.redact.text_view import TextView
from turnlog.redact.value_surroundings import is_in_hash_table, is_setting_value

# Most words are not followed by what must follow a name.
_NAME_LOOKAHEAD = r"(?=[a-z0-9_-]{0,40}+\\*+[\"'`]?\]?(?:\s{0,8}+[:=-]|\s?(?:,\s{0,24}+|\(\s?)\\*[\"'`]|>|\s|\|))"
_WORD_ANCHORS = tuple(dict.fromkeys(word.anchor for word in SECRET_WORDS if word.anchor != "code"))
"""The anchors of all words except `code`, which is too common; `lists` handles what follows it."""
_WORDS_BY_ANCHOR = {anchor: tuple(word for word in SECRET_WORDS if word.anchor == anchor) for anchor in _WORD_ANCHORS}
_ALL_SEARCHES = tuple(
    AnchoredPattern(
        anchor,
        "(?:" + "|".join(f"({word.rest})" for word in words) + ")" + _NAME_LOOKAHEAD,
        may_be=can_be_secret_key if anchor == "key" else None,
    )
    for anchor, words in _WORDS_BY_ANCHOR.items()
)
_WORD_SEARCHES = tuple(search for search in _ALL_SEARCHES if search.anchor not in RARE_ANCHORS)
_RARE_SEARCHES = tuple(search for search in _ALL_SEARCHES if search.anchor in RARE_ANCHORS)
_NAME_REST = re.compile(r"[A-Za-z0-9_-]{0,40}+")
_VERBS = "is|was|are|ist|war|lautet|heißt|est|es|era|è|é"
_OF = (
    "for|of|to|on|at|in|für|fuer|vom|von|des|der|zum|zur|im|am|du|de|del|della|dello|do|da|dos|van|voor|pour|para|per"
    "|di|al"
)
"""Words that a sentence may have between a name and its value: `Passwort für den Drucker lautet: …`."""
_JOINT_PATTERN = re.compile(
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
_PLAIN_WORD = re.compile(r"[A-Za-z_.,:;!?)(-]*+(?:\s|$)")
"""A word without digits, which may be the rest of a sentence: it is not a strong value, even in quotes."""
_BARE_VALUE = re.compile(r"[^\s\"'`<>,;(){}\[\]\\|&]{1,1024}+")
_OPTION_BEFORE_NAME = re.compile(
    r"(?:^|[\s\"'`(=])--?[a-z0-9_-]{0,40}$|(?:^|\s)(?:env|arg|setx|set -g?x)[ \t]+[a-z0-9_]{0,40}$"
)
"""What comes before a name that must be followed by its value: an option, or a command that sets a variable."""
_NUMBER_PATTERN = re.compile(r"-?[0-9]++(?:\.[0-9]++)?(?:[eE][-+]?[0-9]++)?")
"""A JSON number, which must be kept: a placeholder in its place would make the JSON invalid."""
_CODE_START_SIGNS = ("-", "=", "$", "@", "*", "#", "/", "&", ".")
_TYPOGRAPHIC = re.compile(r"[^„“”«»\n]{3,200}?(?=\s?[“”»])")
_PUNCTUATED = re.compile(r"[^\s\"'`\\]{24,200}+(?=\s|$)")
"""A value in an env file, which may contain any symbol."""
_PHRASE_LINE = re.compile(r"[A-Za-z]{2,16}(?: [A-Za-z]{2,16}){3,30}(?=\s*(?:\n|$))")
_SHELL_NAME = re.compile(r"[A-Z][A-Z0-9_]*$")


class AssignmentRule:
    """Finds named secrets."""

    hints = _WORD_ANCHORS
    names = ("password", "secret", "token", "key", "auth", "recovery-code")

    def find(self, view: TextView) -> Iterator[SecretFinding]:
        lower = view.lower
        for search in _choose_searches(view):
            words = _WORDS_BY_ANCHOR[search.anchor]
            for match in search.finditer(lower):
                word = words[(match.lastindex or 1) - 1]
                start = find_name_start(lower, match.start(), word)
                if start is not None and (span := _find_value_span(view.text, word, start, match.end())):
                    yield SecretFinding(
                        *span, word.rule, FindingRank.ASSIGNMENT, unescape_value(view.text[slice(*span)])
                    )


def _choose_searches(view: TextView) -> Iterator[AnchoredPattern]:
    early = view.early
    yield from (search for search in _WORD_SEARCHES if view.has_word(search.anchor))
    yield from (search for search in _RARE_SEARCHES if search.anchor in early)


def find_rule_for_key(name: str, value: str) -> str | None:
    """Return the rule that makes the value of a JSON key a secret, or None."""
    for word, _, end in find_secret_words(name):
        rest = _NAME_REST.match(name, end)
        if (
            rest
            and can_hold_secret(name[:end] + rest[0], name[end:])
            and choose_value_check(word, name)(value, True, bool(_SHELL_NAME.match(name)))
        ):
            return word.rule
    return None


def unescape_value(value: str) -> str:
    """Remove from a value the escapes of the surrounding text and the separators between its pieces."""
    value = LITERAL_JOINT.sub("", value) if "\n" in value or "+" in value else value
    return re.sub(r"\\+(?=[\"'`\\/])", "", value) if "\\" in value else value


class _NameValueJoint(NamedTuple):
    """The text between a name and its value."""

    match: re.Match[str]
    is_flag: bool
    """Whether the name is an option: `--name`."""
    name: str

    @property
    def is_doubtful(self) -> bool:
        """True if what follows may be the rest of a sentence or list instead of a value."""
        joined = self.match
        follows = joined["comma"] or joined["said"] or self.is_far or joined["cell"] or joined["space"]
        return bool(follows) and not self.is_sure

    @property
    def is_far(self) -> bool:
        """True if other words come between the name and its value."""
        return bool(self.match["far"] or self.match["changed"])

    @property
    def is_sure(self) -> bool:
        """True if only a value can follow, as after an option or a shell variable without spaces."""
        if self.is_flag and self.match["space"]:
            return True
        return bool((self.match["sign"] == "=" or self.match["comma"]) and _SHELL_NAME.match(self.name))


def _find_value_span(text: str, word: SecretWord, start: int, end: int) -> tuple[int, int] | None:
    rest = _NAME_REST.match(text, end)
    joined = _JOINT_PATTERN.match(text, rest.end()) if rest else None
    if not rest or not joined:
        return None
    name = _read_name_prefix(text, start) + text[start : rest.end()]
    joint = _NameValueJoint(joined, bool(joined["space"] or joined["comma"]) and _is_option_name(text, start), name)
    # After most names, a sentence or a list may continue, so check that first.
    if joint.is_doubtful and (
        (_PLAIN_WORD.match(text, joined.end()) and not (joined["open"] and word.rule == "password"))
        or (joined["space"] and (rest[0] not in ("", "s") or "\n" in joined["space"]))
    ):
        return None
    if not can_hold_secret(name, text[end : rest.end()]) or (
        joined["sign"] == ":" and _read_name_prefix(text, start) == "" and text[start - 1 : start] == ":"
    ):
        return None
    for span in _iter_value_spans(text, word, joined):
        if _is_secret_value(text, word, joint, span):
            return span
    return None


def _iter_value_spans(text: str, word: SecretWord, joined: re.Match[str]) -> Iterator[tuple[int, int]]:
    """Yield where the value may be: in quotes, up to the next space or, for a phrase, up to the end of the line."""
    if joined["open"]:
        if span := _find_quoted_span(text, joined):
            yield span
        return
    if joined["sign"] and word.is_phrase and (line := _PHRASE_LINE.match(text, joined.end())):
        yield line.span()
    if joined["sign"] == "=" and (line := _PUNCTUATED.match(text, joined.end())) and is_dense(line[0]):
        yield line.span()
    if span := _find_bare_span(text, joined):
        yield span


def _is_secret_value(text: str, word: SecretWord, joint: _NameValueJoint, span: tuple[int, int]) -> bool:
    value, joined = unescape_value(text[slice(*span)]), joint.match
    quoted = bool(joined["open"]) or " " in value
    if (value.startswith((",", ";", ")", "]", "}")) and not is_dense(value)) or (
        joint.name == "PASS" and joined["sign"] != "="
    ):
        return False  # the rest of an expression, or the output of a test runner
    if joint.is_doubtful:
        if joined["comma"] and value.isidentifier() and not is_random_like(value, least=8):
            return False
        if joint.is_far and word.rule != "password" and not is_random_like(value, least=16):
            return False
        is_phrase = quoted and word.rule == "password" and is_passphrase_like(value, sure=False)
        is_conspicuous = quoted and word.rule == "password" and " " not in value and has_digits_or_symbols(value)
        if not (is_strong_secret(value) or is_conspicuous or is_phrase) or (
            word.is_ambiguous and not is_random_like(value, least=8)
        ):
            return False
    sure = joint.is_sure or (not quoted and word.rule == "password" and is_setting_value(text, *span))
    return choose_value_check(word, joint.name)(value, quoted, sure) and not is_in_hash_table(text, *span)


def _is_option_name(text: str, start: int) -> bool:
    before = text[max(0, start - 42) : start]
    return ("-" in before or " " in before) and bool(_OPTION_BEFORE_NAME.search(before.lower()))


def _read_name_prefix(text: str, start: int) -> str:
    at = start
    while at > 0 and start - at < 40 and (text[at - 1].isalnum() or text[at - 1] in "_-"):
        at -= 1
    # The letter of an escape, such as \\n, is not part of the name.
    return text[at + 1 : start] if at < start and text[at] in "nrt" and text[at - 1 : at] == "\\" else text[at:start]


def _find_quoted_span(text: str, joined: re.Match[str]) -> tuple[int, int] | None:
    """Return the span of a quoted value with all literals joined to it, or None if it is empty or has line breaks."""
    mark = joined["open"]
    if mark[0] in "„“«":
        match = _TYPOGRAPHIC.match(text, joined.end())
        return match.span() if match else None
    depth = len(mark) - len(mark.lstrip("\\"))
    quote = mark[depth:]
    if not quote or len(quote) == 2:
        return None
    start = at = joined.end()
    while (end := _find_literal_end(text, at, quote, depth)) is not None:
        joint = LITERAL_JOINT.match(text, end)
        if not joint or joint["close"] != mark or joint["open"] != mark:
            return start, end
        at = joint.end()
    return None


def _find_literal_end(text: str, start: int, quote: str, depth: int) -> int | None:
    """Return where a literal ends, given the depth of its opening quote."""
    for match in re.finditer(rf"(\\*)({re.escape(quote)})|[\n\t]", text[start : start + 1200]):
        if match[2] is None:
            return None
        if len(match[1]) % (2 * depth + 2) == depth:
            return start + match.end() - depth - len(quote)
    return None


def _find_bare_span(text: str, joined: re.Match[str]) -> tuple[int, int] | None:
    """Return the span of a value without quotes, or None if it is code."""
    match = _BARE_VALUE.match(text, joined.end())
    if not match:
        return None
    follows = text[match.end() : match.end() + 1]
    if joined["tag"]:
        return match.span() if text.startswith("</", match.end()) else None
    if joined["close"] and _NUMBER_PATTERN.fullmatch(match[0]):
        return None
    value = match[0].rstrip(".:!?=" if "==" not in match[0][-3:] else ".:!?")
    is_code = follows in ("(", "[", "{", "<") or (len(value) < 20 and value.startswith(_CODE_START_SIGNS))
    return None if is_code or not value else (match.start(), match.start() + len(value))
