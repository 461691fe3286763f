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

from turnlog.store.index.words import folded, joined, parts, spaced
from turnlog.store.search.syntax import Term

MOST = 600
"""So many identifiers are looked for with one word."""
_TOGETHER = 2400
"""So many with all words of a query."""
_LEAST = 30
_LOOKED_AT = 4000
"""So many that hold all parts of a name, to find those in which they stand together."""
_WORD = re.compile(r"[^\W_]+")


class Owners(NamedTuple):
    """The identifiers with a part, as the index knows them."""

    words: list[str]
    is_cut: bool
    """Whether there are more of them."""


class Identifiers:
    """Tells, for the words of one query, in which identifiers they stand."""

    def __init__(self, db: apsw.Connection, terms: Sequence[Term]) -> None:
        self._db = db
        self._terms = terms
        self._share = max(_LEAST, min(MOST, _TOGETHER // max(1, len(terms))))
        self._known: dict[Term, Owners] = {}

    def having(self, given: Term) -> Owners:
        """The identifiers that a word, or a name of several, is a part of: `user_name` of `getUserName`."""
        if given not in self._known:
            self._known[given] = self._found(given)
        return self._known[given]

    def _found(self, given: Term) -> Owners:
        pieces = _pieces(given)
        whole = "".join(pieces)
        most = self._share if len(pieces) == 1 else _LOOKED_AT
        wanted = _together([given])
        names = self._names(wanted, "DESC", most + 1)
        is_cut = len(names) > most
        if is_cut:
            names = self._ends(wanted, most)
        words = [word for word in _words(names) if whole in word]
        if is_cut or len(words) > self._share:
            return Owners(self._chosen(words, whole), True)
        return Owners(words, False)

    def _chosen(self, words: list[str], whole: str) -> list[str]:
        """As many as may be: some with all words of the query, some that were seen first, some last."""
        first = [word for word in self._meant if whole in word]
        rest = self._share - len(first)
        half = rest // 2 if len(words) > rest else len(words)
        return list(dict.fromkeys([*first, *words[:half], *words[len(words) - half :]]))

    @cached_property
    def _meant(self) -> list[str]:
        """Identifiers that hold all words of the query."""
        return _words(self._ends(_together(self._terms), self._share // 2)) if len(self._terms) > 1 else []

    def _ends(self, wanted: str, most: int) -> list[str]:
        """Of the identifiers that fit, those that were seen first and last."""
        first, last = (self._names(wanted, order, most // 2) for order in ("ASC", "DESC"))
        return first + last

    def _names(self, wanted: str, order: str, most: int) -> list[str]:
        query = (
            "SELECT name FROM identifier WHERE id IN"
            f" (SELECT rowid FROM hump WHERE hump MATCH ? ORDER BY rowid {order} LIMIT ?) ORDER BY id"
        )
        found: list[Any] = self._db.execute(query, (wanted, most)).fetchall()
        return [name for (name,) in found]


def _words(names: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(word for name in names for word in joined(name)))


def _pieces(given: Term) -> list[str]:
    return [piece for word in _WORD.findall(spaced(given.text)) for piece in parts(word) or [folded(word)]]


def _together(terms: Iterable[Term]) -> str:
    """An expression for identifiers that hold the parts of all terms."""
    found = []
    for term in terms:
        quoted = [f'"{piece}"' for piece in _pieces(term)]
        found += [*quoted[:-1], quoted[-1] + (" *" if term.is_prefix else "")]
    return " AND ".join(dict.fromkeys(found))
