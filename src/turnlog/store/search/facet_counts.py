"""Counts the hits of a search by kind, session, tool, model, outcome and age, for the choices beside its results.

All matches are counted, unlike in the search itself, which reads only the newest. Counting stops at a deadline; what it
has counted by then are lower bounds.
"""

from __future__ import annotations

import time
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any, Literal, NamedTuple

import apsw

from turnlog.session.texts.texts import TEXT_KINDS
from turnlog.store.index.facets import build_facet
from turnlog.store.index.shards import list_full_text_tables
from turnlog.store.search.match_expression import PLAN_FOR_EVERYTHING, SearchPlan, WideMatch, quote_fts_string

_FULL_TEXT_TABLES = ("said", "done")
_KIND_NAMES = list(TEXT_KINDS)
_ROWS_PER_CHECK = 2000
"""How many matches are read between two looks at the clock."""

NamedFacet = Literal["tool", "model"]


class FacetCounts(NamedTuple):
    """How many texts match, in all and for each value."""

    total: int
    kinds: Counter[str]
    sessions: Counter[int]
    """By session.id."""
    ages: list[int]
    """How many are at least as new as each of the requested times."""
    tools: Counter[str]
    models: Counter[str]
    failed: int
    is_complete: bool = True
    """False if all of these are lower bounds: the deadline passed, or a word is part of too many identifiers."""


_MAX_SHORT_EXPRESSION_CHARS = 400


class _Matches:
    """The texts that match an expression and bounds."""

    def __init__(self, expression: str, bounds: str) -> None:
        self.expression = expression
        self.bounds = bounds
        self.ids: set[int] = set()
        self.kinds: Counter[int] = Counter()
        self.files: Counter[int] = Counter()
        self.spans: list[int] = []
        """How many are between each two of the requested times."""
        self.is_everything = expression == PLAN_FOR_EVERYTHING.expression
        self.is_short = len(expression) <= _MAX_SHORT_EXPRESSION_CHARS


class FacetCounter:
    """Counts until a deadline, which all counts of one request share."""

    def __init__(self, db: apsw.Connection, max_seconds: float, trash_bound: str = "") -> None:
        self._db = db
        self._trash_bound = trash_bound
        self._deadline = time.monotonic() + max_seconds
        self._files: dict[int, int] = dict(db.execute("SELECT id, session FROM file"))
        self._is_complete = True
        self.is_late = False
        """Whether the deadline has passed, so that more time would give higher counts."""

    def count_facets(self, plan: SearchPlan, ages: Sequence[int] = ()) -> FacetCounts:
        """Count the texts that match a plan; `ages` are times in seconds since 1970."""
        self._is_complete = True
        wide = plan.wide() if plan.terms else WideMatch()
        self._is_complete = not wide.cut
        matches = _Matches(wide.expression or plan.expression, plan.sql_bounds + self._trash_bound)
        self._read_matches(matches, sorted(ages))
        kinds = Counter({_KIND_NAMES[kind]: count for kind, count in matches.kinds.items()})
        sessions: Counter[int] = Counter()
        for file, number in matches.files.items():
            sessions[self._files[file]] += number
        return FacetCounts(
            kinds.total(),
            kinds,
            sessions,
            [sum(matches.spans[bisect_right(sorted(ages), age) :]) for age in ages],
            self._count_names(matches, "tool", kinds["call"] + kinds["result"]),
            self._count_names(matches, "model", kinds.total()),
            self._count_word(matches, build_facet("e")) if kinds else 0,
            self._is_complete,
        )

    def _read_matches(self, matches: _Matches, limits: Sequence[int]) -> None:
        matches.spans = [0] * (len(limits) + 1)
        for rows in self._iter_rows(matches):
            for number, file, kind, moment in rows:
                matches.ids.add(number)
                matches.kinds[kind] += 1
                matches.files[file] += 1
                matches.spans[bisect_right(limits, moment)] += 1

    def _iter_rows(self, matches: _Matches) -> Iterator[list[tuple[int, int, int, int]]]:
        """Yield lists of (id, file, kind, time), the newest first."""
        for schema, table in list_full_text_tables(self._db):
            query = (
                f"SELECT text.id, file, kind, time FROM {schema}.{table} CROSS JOIN {schema}.text"
                f" ON text.id = {table}.rowid WHERE {table} MATCH ?{matches.bounds} ORDER BY {table}.rowid DESC"
            )
            if matches.is_everything:
                if table != _FULL_TEXT_TABLES[0]:
                    return
                query = f"SELECT id, file, kind, time FROM text WHERE ? != ''{matches.bounds} ORDER BY id DESC"
            cursor: Any = self._db.execute(query, (matches.expression,))
            while rows := list(islice(cursor, _ROWS_PER_CHECK)):
                yield rows
                if self._is_late():
                    return

    def _count_names(self, matches: _Matches, kind: NamedFacet, most: int) -> Counter[str]:
        """Count the matches of each tool or model, until `most` are counted."""
        counts: Counter[str] = Counter()
        rows: list[Any] = self._db.execute("SELECT id, text FROM name WHERE kind = ?", (kind,)).fetchall()
        for number, name in rows:
            if counts.total() >= most or self._is_late():
                break
            if count := self._count_word(matches, build_facet(kind[0], number)):
                counts[name] += count
        return counts

    def _count_word(self, matches: _Matches, word: str) -> int:
        """Count the matches that have a facet word.

        The index evaluates a short expression again for every word. A long one, with hundreds of identifiers, costs
        more than reading all texts that have the word.
        """
        wanted = quote_fts_string(word)
        if not matches.is_everything and matches.is_short:
            wanted = f"({wanted} AND {matches.expression})"
        span = (min(matches.ids, default=0), max(matches.ids, default=0))
        count = 0
        for schema, table in list_full_text_tables(self._db):
            query = f"SELECT rowid FROM {schema}.{table} WHERE {table} MATCH ? AND rowid BETWEEN ? AND ?"
            cursor: Any = self._db.execute(query, (wanted, *span))
            while not self._is_late() and (rows := list(islice(cursor, _ROWS_PER_CHECK))):
                count += sum(number in matches.ids for (number,) in rows)
        return count

    def _is_late(self) -> bool:
        if time.monotonic() > self._deadline:
            self._is_complete, self.is_late = False, True
        return self.is_late
