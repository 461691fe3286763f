"""The camelCase identifiers that a word is a part of: what a query asks for besides the word itself.

A common part (`get`, `user`) belongs to thousands of identifiers, and each that is asked for costs a look into every
piece of the index. So there is a bound. Where it cuts, identifiers that hold all words of the query are taken, for they
are what somebody means who types `user name`; then half of those that were seen first, since identifiers that have
been there for long are the frequent ones, and half of those that were seen last.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import apsw

from turnlog.store.index.words import fold_word, split_identifier, to_index_words, to_query_text
from turnlog.store.search.syntax import QueryTerm

MAX_IDENTIFIERS_PER_WORD = 600
"""So many identifiers are looked for with one word."""
_MAX_IDENTIFIERS_PER_QUERY = 2400
"""So many with all words of a query."""
_MIN_IDENTIFIERS_PER_WORD = 30
_MAX_IDENTIFIERS_READ = 4000
"""So many that hold all parts of a name, to find those in which they stand together."""
_WORD_PATTERN = re.compile(r"[^\W_]+")


class IdentifierOwners(NamedTuple):
    """The identifiers with a part, as the index knows them."""

    words: list[str]
    is_cut: bool
    """Whether there are more of them."""


class IdentifierLookup:
    """Tells, for the words of one query, in which identifiers they stand."""

    def __init__(self, db: apsw.Connection, terms: Sequence[QueryTerm]) -> None:
        self._db = db
        self._terms = terms
        self._share = max(
            _MIN_IDENTIFIERS_PER_WORD, min(MAX_IDENTIFIERS_PER_WORD, _MAX_IDENTIFIERS_PER_QUERY // max(1, len(terms)))
        )
        self._known: dict[QueryTerm, IdentifierOwners] = {}

    def find_owners(self, given: QueryTerm) -> IdentifierOwners:
        """The identifiers that a word, or a name of several, is a part of: `user_name` of `getUserName`."""
        if given not in self._known:
            self._known[given] = self._read_owners(given)
        return self._known[given]

    def _read_owners(self, given: QueryTerm) -> IdentifierOwners:
        pieces = _split_term(given)
        whole = "".join(pieces)
        most = self._share if len(pieces) == 1 else _MAX_IDENTIFIERS_READ
        wanted = _build_match_expression([given])
        names = self._select_names(wanted, "DESC", most + 1)
        is_cut = len(names) > most
        if is_cut:
            names = self._list_first_and_last(wanted, most)
        words = [word for word in _list_index_words(names) if whole in word]
        if is_cut or len(words) > self._share:
            return IdentifierOwners(self._choose_words(words, whole), True)
        return IdentifierOwners(words, False)

    def _choose_words(self, words: list[str], whole: str) -> list[str]:
        """As many as may be: some with all words of the query, some that were seen first, some last."""
        first = [word for word in self._full_matches if whole in word]
        rest = self._share - len(first)
        half = rest // 2 if len(words) > rest else len(words)
        return list(dict.fromkeys([*first, *words[:half], *words[len(words) - half :]]))

    @cached_property
    def _full_matches(self) -> list[str]:
        """Identifiers that hold all words of the query."""
        return (
            _list_index_words(self._list_first_and_last(_build_match_expression(self._terms), self._share // 2))
            if len(self._terms) > 1
            else []
        )

    def _list_first_and_last(self, wanted: str, most: int) -> list[str]:
        """Of the identifiers that fit, those that were seen first and last."""
        first, last = (self._select_names(wanted, order, most // 2) for order in ("ASC", "DESC"))
        return first + last

    def _select_names(self, wanted: str, order: str, most: int) -> list[str]:
        query = (
            "SELECT name FROM identifier WHERE id IN"
            f" (SELECT rowid FROM hump WHERE hump MATCH ? ORDER BY rowid {order} LIMIT ?) ORDER BY id"
        )
        found: list[Any] = self._db.execute(query, (wanted, most)).fetchall()
        return [name for (name,) in found]


def _list_index_words(names: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(word for name in names for word in to_index_words(name)))


def _split_term(given: QueryTerm) -> list[str]:
    return [
        piece
        for word in _WORD_PATTERN.findall(to_query_text(given.text))
        for piece in split_identifier(word) or [fold_word(word)]
    ]


def _build_match_expression(terms: Iterable[QueryTerm]) -> str:
    """An expression for identifiers that hold the parts of all terms."""
    found = []
    for term in terms:
        quoted = [f'"{piece}"' for piece in _split_term(term)]
        found += [*quoted[:-1], quoted[-1] + (" *" if term.is_prefix else "")]
    return " AND ".join(dict.fromkeys(found))
