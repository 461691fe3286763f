r"""Finds secrets that are revealed by their names: `DB_PASSWORD=…`, `"apiKey": "…"`, `--token …`, `password is …`.

The search first finds a name, in lower case, then what joins it to a value, and then the value, which must pass the
checks in `plausibility`. A quoted value ends at a quote of the same depth: JSON in text has `\"`, and JSON inside that
has `\\\"`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from turnlog.redact.anchored_pattern import AnchoredPattern
from turnlog.redact.literal_joints import LITERAL_JOINT
from turnlog.redact.name_joints import JOINT_PATTERN, SHELL_NAME, NameValueJoint
from turnlog.redact.plausibility import (
    has_digits_or_symbols,
    has_joined_capitals,
    has_joined_words,
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
from turnlog.redact.value_positions import is_value_position
from turnlog.redact.value_spans import iterate_value_spans
from turnlog.redact.value_surroundings import is_in_hash_table, is_setting_value

# Most words are not followed by what must follow a name.
_NAME_LOOKAHEAD = (
    r"(?=[a-z0-9_-]{0,40}+\\*+[\"'`]?\]?"
    r"(?:\s{0,8}+[:=?-]|\s?(?:,\s{0,24}+|\(\s?)\\*[\"'`]|>|<|&[gl]t;|\.value|\[|%|\*\*|\\+[nr]|\s|\||：|は))"
)
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
_PLAIN_WORD = re.compile(r"(?![A-Z][a-z]{2,}\.[A-Z][a-z]{2,}[.,;!?)]{0,2}(?:\s|$))[A-Za-z_.,:;!?)(-]*+(?:\s|$)")
"""A word without digits, which may be the rest of a sentence: it is not a strong value, even in quotes."""
_OPTION_BEFORE_NAME = re.compile(
    r"(?:^|[\s\"'`(=])--?[a-z0-9_-]{0,40}$|(?:^|\s)(?:env|arg|setenv|setx|set -g?x)[ \t]+[a-z0-9_]{0,40}$"
)
"""What comes before a name that must be followed by its value: an option, or a command that sets a variable."""
_ATTRIBUTE_BEFORE_NAME = re.compile(r"name=\\*[\"']?[\w.\[\]-]{0,80}$")


class AssignmentRule:
    """Finds named secrets."""

    hints = tuple(filter(str.isascii, _WORD_ANCHORS))
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
            and choose_value_check(word, name)(value, True, bool(SHELL_NAME.match(name)))
        ):
            return word.rule
    return None


def unescape_value(value: str) -> str:
    """Remove from a value the escapes of the surrounding text and the separators between its pieces."""
    value = LITERAL_JOINT.sub("", value) if "\n" in value or "+" in value else value
    return re.sub(r"\\+(?=[\"'`\\/])", "", value) if "\\" in value else value


def _find_value_span(text: str, word: SecretWord, start: int, end: int) -> tuple[int, int] | None:
    rest = _NAME_REST.match(text, end)
    joined = JOINT_PATTERN.match(text, rest.end()) if rest else None
    if not rest or not joined:
        return None
    before = _read_name_prefix(text, start)
    is_flag = bool(joined["space"] or joined["comma"]) and _is_option_name(text, start)
    joint = NameValueJoint(joined, is_flag, before + text[start : rest.end()], start - len(before))
    # After most names, a sentence or a list may continue, so check that first.
    if joint.is_doubtful and (
        (_PLAIN_WORD.match(text, joined.end()) and not (joined["open"] and word.rule == "password"))
        or (joined["space"] and (rest[0] not in ("", "s") or "\n" in joined["space"]))
    ):
        return None
    if not can_hold_secret(joint.name, text[end : rest.end()]) or (
        joined["sign"] == ":" and before == "" and text[start - 1 : start] == ":"
    ):
        return None
    if (joined["part"] or joined["markup"]) and not _is_in_markup(text, joint):
        return None
    for span in iterate_value_spans(text, word, joint):
        if _is_secret_value(text, word, joint, span):
            return span
    return None


def _is_secret_value(text: str, word: SecretWord, joint: NameValueJoint, span: tuple[int, int]) -> bool:
    value, joined = unescape_value(text[slice(*span)]), joint.match
    quoted = bool(joined["open"]) or " " in value
    if (value.startswith((",", ";", ")", "]", "}")) and not is_dense(value)) or (
        joint.name == "PASS" and joined["sign"] != "="
    ):
        return False  # the rest of an expression, or the output of a test runner
    is_strong = False
    if joint.is_doubtful:
        if joined["comma"] and value.isidentifier() and not is_random_like(value, least=8):
            return False
        if (
            joint.is_far
            and word.rule != "password"
            and not (is_random_like(value, least=16) or has_joined_capitals(value))
        ):
            return False
        is_phrase = quoted and word.rule == "password" and is_passphrase_like(value, sure=False)
        is_conspicuous = quoted and word.rule == "password" and " " not in value and has_digits_or_symbols(value)
        is_joined = word.rule == "password" and has_joined_words(value, sure=False) and (quoted or value[0].isupper())
        is_named_phrase = quoted and joined["space"] and word.is_phrase and is_passphrase_like(value, sure=True)
        is_strong = is_joined or bool(is_named_phrase) or is_strong_secret(value)
        if not (is_strong or is_conspicuous or is_phrase) or (word.is_ambiguous and not is_random_like(value, least=8)):
            return False
    sure = (
        joint.is_sure
        or (quoted and " " in value and (is_strong or _is_spaced_setting(text, joint, value)))
        or (not quoted and _is_value(text, word, joint, span, is_strong and "." in value))
    )
    return choose_value_check(word, joint.name)(value, quoted, sure) and not is_in_hash_table(text, *span)


def _is_spaced_setting(text: str, joint: NameValueJoint, value: str) -> bool:
    """Return whether words in quotes are the value of `password='…'` in a connection string, and no sentence."""
    is_alone = text[joint.start - 1 : joint.start] in ("", " ", ";") and joint.match["sign"] == "="
    return is_alone and any(map(str.isdigit, value))


def _is_value(text: str, word: SecretWord, joint: NameValueJoint, span: tuple[int, int], is_strong: bool) -> bool:
    """Return whether a value without quotes can't be code."""
    if is_strong or (word.rule == "password" and is_setting_value(text, *span)):
        return True
    name_end = joint.start + len(joint.name)
    return is_value_position(text, joint.start, text[name_end : span[0]], span)


def _is_in_markup(text: str, joint: NameValueJoint) -> bool:
    """Return whether a name is that of an element or in an attribute of one, or that of a part of a form."""
    before = text[max(0, joint.start - 90) : joint.start]
    is_element = before.endswith(("<", ":", "&lt;", ">", "&gt;")) or before[-1:] == "."
    return _ATTRIBUTE_BEFORE_NAME.search(before) is not None or (is_element and joint.match["markup"] is not None)


def _is_option_name(text: str, start: int) -> bool:
    before = text[max(0, start - 42) : start]
    return ("-" in before or " " in before) and bool(_OPTION_BEFORE_NAME.search(before.lower()))


def _read_name_prefix(text: str, start: int) -> str:
    at = start
    while at > 0 and start - at < 40 and (text[at - 1].isalnum() or text[at - 1] in "_-"):
        at -= 1
    # The letter of an escape, such as \\n, is not part of the name.
    return text[at + 1 : start] if at < start and text[at] in "nrt" and text[at - 1 : at] == "\\" else text[at:start]
