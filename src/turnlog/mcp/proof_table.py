"""Decides whether redacted text matches a query, with the tokenizer and the expressions of the index.

The index contains the words of secrets, so whether it has a hit would tell an agent whether it has guessed one. It only
suggests texts; what an agent learns depends on the text as the agent may see it. A placeholder, and whatever part of a
word is left beside one, matches nothing, and no phrase continues across it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

import apsw

from turnlog.redact.secret_rule import SECRET_MARK, can_have_marks
from turnlog.session.texts.texts import SearchText
from turnlog.store.index.words import find_identifiers, join_identifier_parts, to_indexed_text

_BARRIER = " \ue001 "
"""A word that no query contains; like the words for filters, it is one for the tokenizer, but nobody types it."""
_WORD_START = re.compile(r"[^\W_]*")
_TABLE = """
CREATE VIRTUAL TABLE proof USING fts5 (words, paths, facet, parts, tokenize="unicode61 remove_diacritics 2")
"""


class ProofTable:
    """Holds the texts of one entry at a time."""

    def __init__(self) -> None:
        self._db = apsw.Connection(":memory:")
        self._db.execute(_TABLE)

    def select_matches(self, expression: str, texts: Iterable[SearchText], facets: str) -> list[SearchText]:
        """Return the texts that match an expression; all of them have the given words for filters."""
        listed = list(texts)
        self._db.execute("DELETE FROM proof")
        for number, text in enumerate(listed):
            words, paths = hide_marks(text.words), hide_marks("\n".join(text.paths))
            row = (number, to_indexed_text(words), to_indexed_text(paths), facets, _list_parts(words))
            self._db.execute("INSERT INTO proof (rowid, words, paths, facet, parts) VALUES (?, ?, ?, ?, ?)", row)
        found = self._db.execute("SELECT rowid FROM proof WHERE proof MATCH ? ORDER BY rowid", (expression,))
        return [listed[int(str(number))] for (number,) in found.fetchall()]


def hide_marks(text: str) -> str:
    """Replace placeholders, and what is left of the words that secrets were cut from, with a word nobody types."""
    if not can_have_marks(text):
        return text
    parts, at = [], 0
    for mark in SECRET_MARK.finditer(text):
        before = text[at : mark.start()]
        parts += [before[: len(before) - _count_last_letters(before)], _BARRIER]
        after = _WORD_START.match(text, mark.end())
        at = after.end() if after else mark.end()
    return "".join([*parts, text[at:]])


def _count_last_letters(text: str) -> int:
    """Return how many letters and digits are at the end of text."""
    count = 0
    while count < len(text) and text[-1 - count].isalnum():
        count += 1
    return count


def _list_parts(words: str) -> str:
    """List the parts of camelCase identifiers; the index finds them in a table of their own."""
    names = find_identifiers(to_indexed_text(words).encode("utf-8", "replace"))
    return _BARRIER.join(join_identifier_parts(name.decode("utf-8", "replace")) for name in names)
