"""Finds the camelCase identifiers that contain a word, so that a query can also search for them.

A common part (`get`, `user`) belongs to thousands of identifiers, and each identifier in the query requires a lookup in
every piece of the index, so their number is limited. Above the limit, identifiers that contain every word in the query
are preferred, since someone who types `user name` is probably looking for these. Half of the rest are the oldest,
because identifiers that have existed for a long time are the most frequent, and half are the newest.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import apsw

from turnlog.store.index.shards import list_schemas
from turnlog.store.index.words import fold_word, split_identifier, to_index_words, to_query_text
from turnlog.store.search.syntax import QueryTerm

MAX_IDENTIFIERS_PER_WORD = 600
"""The maximum number of identifiers to search for per word."""
_MAX_IDENTIFIERS_PER_QUERY = 2400
"""The maximum number of identifiers to search for per query."""
_MIN_IDENTIFIERS_PER_WORD = 30
_MAX_IDENTIFIERS_READ = 4000
"""How many identifiers with all parts of a name are read, to find those with adjacent parts."""
_WORD_PATTERN = re.compile(r"[^\W_]+")


class IdentifierOwners(NamedTuple):
    """The identifiers in the index that contain a part."""

    words: list[str]
    is_cut: bool
    """Whether there are more identifiers than these."""


class IdentifierLookup:
    """Finds the identifiers that contain the words of one query."""

    def __init__(self, db: apsw.Connection, terms: Sequence[QueryTerm]) -> None:
        self._db = db
        self._terms = terms
        self._share = max(
            _MIN_IDENTIFIERS_PER_WORD, min(MAX_IDENTIFIERS_PER_WORD, _MAX_IDENTIFIERS_PER_QUERY // max(1, len(terms)))
        )
        self._known: dict[QueryTerm, IdentifierOwners] = {}

    def find_owners(self, term: QueryTerm) -> IdentifierOwners:
        """Find the identifiers that contain a word, or a name of several words: `getUserName` for `user_name`."""
        if term not in self._known:
            self._known[term] = self._read_owners(term)
        return self._known[term]

    def _read_owners(self, term: QueryTerm) -> IdentifierOwners:
        pieces = _split_term(term)
        whole = "".join(pieces)
        most = self._share if len(pieces) == 1 else _MAX_IDENTIFIERS_READ
        wanted = _build_match_expression([term])
        names = self._select_names(wanted, "DESC", most + 1)
        is_cut = len(names) > most
        if is_cut:
            names = self._list_first_and_last(wanted, most)
        words = [word for word in _list_index_words(names) if whole in word]
        if is_cut or len(words) > self._share:
            return IdentifierOwners(self._choose_words(words, whole), True)
        return IdentifierOwners(words, False)

    def _choose_words(self, words: list[str], whole: str) -> list[str]:
        """Choose as many identifiers as allowed: some with every word in the query, some old ones and some new ones."""
        first = [word for word in self._full_matches if whole in word]
        rest = self._share - len(first)
        half = rest // 2 if len(words) > rest else len(words)
        return list(dict.fromkeys([*first, *words[:half], *words[len(words) - half :]]))

    @cached_property
    def _full_matches(self) -> list[str]:
        """The identifiers that contain every word in the query."""
        return (
            _list_index_words(self._list_first_and_last(_build_match_expression(self._terms), self._share // 2))
            if len(self._terms) > 1
            else []
        )

    def _list_first_and_last(self, wanted: str, most: int) -> list[str]:
        """List the oldest and the newest identifiers that match."""
        first, last = (self._select_names(wanted, order, most // 2) for order in ("ASC", "DESC"))
        return first + last

    def _select_names(self, wanted: str, order: str, most: int) -> list[str]:
        """Select the oldest or newest identifiers; those of shards are older than those of the index itself."""
        names: dict[str, None] = {}
        schemas = list_schemas(self._db)
        for schema in schemas if order == "DESC" else schemas[::-1]:
            query = (
                f"SELECT name FROM {schema}.identifier WHERE id IN"
                f" (SELECT rowid FROM {schema}.hump WHERE hump MATCH ? ORDER BY rowid {order} LIMIT ?) ORDER BY id"
            )
            rows: list[Any] = self._db.execute(query, (wanted, most)).fetchall()
            names.update((name, None) for (name,) in rows)
            if len(names) >= most:
                break
        return list(names)[:most]


def _list_index_words(names: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(word for name in names for word in to_index_words(name)))


def _split_term(term: QueryTerm) -> list[str]:
    return [
        piece
        for word in _WORD_PATTERN.findall(to_query_text(term.text))
        for piece in split_identifier(word) or [fold_word(word)]
    ]


def _build_match_expression(terms: Iterable[QueryTerm]) -> str:
    """Build an expression for identifiers that contain the parts of every term."""
    parts = []
    for term in terms:
        quoted = [f'"{piece}"' for piece in _split_term(term)]
        parts += [*quoted[:-1], quoted[-1] + (" *" if term.is_prefix else "")]
    return " AND ".join(dict.fromkeys(parts))
