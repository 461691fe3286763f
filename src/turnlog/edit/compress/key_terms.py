"""Finds key terms: what must survive when text is shortened, such as names, paths, numbers, addresses and code.

A key term is a part of the text that somebody may search for later or that a program can interpret: anything in
backticks, addresses, paths and file names, identifiers (with dots, inner capitals, underscores or brackets), options,
hashes and numbers. The number of a list item does not count.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

_KEY_TERM_PATTERN = re.compile(
    r"""
    (?P<code>`[^`\n]+`)
    | (?P<url>\b[a-z][a-z0-9+.-]{0,20}://[^\s<>()\[\]"'`]+[^\s<>()\[\]"'`.,;:!?。，；：！？])
    | (?P<path>
        (?<![\w/])(?:~|\.{1,2})?(?:/[\w.@+%-]*[\w@+%-])+/?       # from a root: /etc/hosts, ~/x, ./x
        | \b[A-Za-z]:\\[\w\\.@+%-]*[\w\\]                         # C:\\x
        | \b[\w.@+-]{1,99}(?:/[\w.@+-]{1,99}){0,30}/[\w@+-]{1,99}\.\w{1,8}\b    # src/cart.py
        | \b[\w.@+-]{1,99}(?:/[\w.@+-]{1,99}){2,30}\b             # a/b/c
        | \b[\w-]{1,99}\.[A-Za-z][A-Za-z0-9]{0,4}\b(?![\w(.])     # cart.py
      )
    | (?P<flag>(?<![\w-])--?[A-Za-z][\w-]*\b)
    | (?P<call>\b[A-Za-z_][\w.]{0,99}\(\))
    | (?P<dotted>\b[A-Za-z_]\w*(?:(?:\.|::|->)[A-Za-z_]\w*)+\b)
    | (?P<snake>\b\w*[A-Za-z0-9]_\w+\b|\b__\w+\b)
    | (?P<camel>\b[a-z]+[A-Z]\w*\b|\b[A-Z][a-z0-9]+(?:[A-Z]+[a-z0-9]+)+\b|\b[A-Z]{2,}[a-z]+[A-Z]\w*\b)
    | (?P<number>(?<![\w.])[#$€£]?\d+(?:[.,:]\d+)*(?:[%\w]*\w|%)?)
    """,
    re.VERBOSE,
)
# Runs have a maximum length where others may follow that start with the same characters; otherwise the pattern would
# scan an unsuitable long text again from each position.
_NUMBERING_PATTERN = re.compile(r"^[ \t]*\d{1,4}[.)](?=\s)", re.MULTILINE)
_ABBREVIATIONS = frozenset({"e.g", "i.e", "z.B", "d.h", "u.a", "a.m", "p.m"})


def find_key_terms(text: str) -> list[str]:
    """List the key terms in text, in order, without duplicates or backticks."""
    unnumbered = _NUMBERING_PATTERN.sub(lambda match: " " * len(match[0]), text)
    terms = (match[0].strip("`").strip() for match in _KEY_TERM_PATTERN.finditer(unnumbered))
    return [term for term in dict.fromkeys(terms) if term and term not in _ABBREVIATIONS]


def find_lost_terms(terms: Iterable[str], text: str) -> list[str]:
    """List the key terms that do not appear in the text."""
    present = frozenset(find_key_terms(text))  # finds most terms without a separate search for each
    return [term for term in terms if term not in present and not has_term(text, term)]


def has_term(text: str, term: str) -> bool:
    """Return whether text contains a key term on its own, not only as part of a longer word."""
    start = text.find(term)
    while start >= 0:
        end = start + len(term)
        if not (_is_inside_word(text, start) or _is_inside_word(text, end) or _continues_number(text, end)):
            return True
        start = text.find(term, start + 1)
    return False


def _is_inside_word(text: str, at: int) -> bool:
    """Return whether the characters at a position and before it belong to the same word."""
    return 0 < at < len(text) and _is_word_character(text[at - 1]) and _is_word_character(text[at])


def _is_word_character(character: str) -> bool:
    return character == "_" or (character.isalnum() and character < "\u2e80")


def _continues_number(text: str, end: int) -> bool:
    return text[end - 1 : end].isdigit() and text[end : end + 1] in (".", ",") and text[end + 1 : end + 2].isdigit()
