"""A query that is held against redacted texts, and the texts that the index suggests for it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import apsw

from turnlog.session.texts.texts import TEXT_KINDS
from turnlog.store.index.facets import FACET_MARK, build_facet
from turnlog.store.index.shards import list_full_text_tables
from turnlog.store.search.match_expression import SearchPlan, plan_search, quote_fts_string
from turnlog.store.search.query import SearchQuery
from turnlog.store.search.syntax import AllNode, EitherNode, NotNode, QueryFilter, QueryNode, QueryTerm

if TYPE_CHECKING:
    from turnlog.mcp.proof_table import ProofTable
    from turnlog.mcp.redacted_names import RedactedNames
    from turnlog.session.texts.texts import SearchText

KIND_NAMES = list(TEXT_KINDS)
_TIME_FILTERS = ("after", "before")
_FACET_WORD = re.compile(rf"{FACET_MARK}([a-z])(\d*)")


class SuggestedText(NamedTuple):
    """A text that may match."""

    id: int
    file: int
    offset: int
    kind: int
    time: int
    place: str
    """The full-text table that contains it."""


class QueryProof:
    """Decides whether texts match a query."""

    def __init__(self, db: apsw.Connection, query: SearchQuery, table: ProofTable, names: RedactedNames) -> None:
        self._db = db
        self._table = table
        self._names = names
        # Bounds on the time are exact to the second in the index, and tell nothing about a text.
        rest = tuple(item for item in query.root.items if not _is_time_bound(item))
        self._timeless = query._replace(root=AllNode(rest))
        self._plan = plan_search(db, self._timeless, names.match)
        self._session: int | None = None

    @property
    def terms(self) -> tuple[QueryTerm, ...]:
        """The terms to show in an excerpt."""
        return self._plan.terms

    def select_matches(self, row: SuggestedText, texts: list[SearchText], session: int) -> list[SearchText]:
        """Return the texts at a place that match; the secrets of their session must be known by now."""
        if session != self._session:
            # What the names of tools look like may change with each session whose secrets are learned.
            self._session, self._plan = session, plan_search(self._db, self._timeless, self._names.match)
        expression = self._plan.expression
        return self._table.select_matches(expression, texts, " ".join(self._list_facets(expression, row)))

    def _list_facets(self, expression: str, row: SuggestedText) -> Iterator[str]:
        """List the words for filters that a text has, as far as the expression contains them."""
        yield build_facet("k", row.kind)
        query = f"SELECT 1 FROM {row.place} WHERE {row.place.partition('.')[2]} MATCH ? AND rowid = ?"
        for letter, number in dict.fromkeys(_FACET_WORD.findall(expression)):
            word = build_facet(letter, number)
            if letter != "k" and self._db.execute(query, (quote_fts_string(word), row.id)).get:
                yield word


class Suggestions:
    """The texts that the index suggests for a query: all that match once their secrets are redacted, and more."""

    def __init__(self, db: apsw.Connection, names: RedactedNames, scope: tuple[QueryNode, ...], bound: str) -> None:
        self._db = db
        self._names = names
        self._scope = scope
        self._bound = bound

    def plan(self, query: SearchQuery) -> SearchPlan:
        """Plan a search for everything that a query asks for, without what it excludes.

        A text may lack a word only after a secret was redacted, so exclusions are left to the proof.
        """
        wanted = [node for item in query.root.items if (node := _drop_negations(item))]
        return plan_search(self._db, query._replace(root=AllNode((*self._scope, *wanted))), self._names.suggest)

    def list_texts(self, expression: str, plan: SearchPlan) -> list[SuggestedText]:
        """List all suggested texts. Were their number limited, secrets could push other texts out."""
        found: dict[int, SuggestedText] = {}
        for schema, table in list_full_text_tables(self._db):
            query = (
                f"SELECT text.id, file, offset, kind, time FROM {schema}.{table} CROSS JOIN {schema}.text"
                f" ON text.id = {table}.rowid WHERE {table} MATCH ?{plan.sql_bounds}{self._bound}"
            )
            rows: Any = self._db.execute(query, (expression,))
            build = partial(SuggestedText, place=f"{schema}.{table}")
            found |= {row[0]: build(*row) for row in rows}
        return list(found.values())


def _is_time_bound(item: QueryNode) -> bool:
    node = item.item if isinstance(item, NotNode) else item
    return isinstance(node, QueryFilter) and node.name in _TIME_FILTERS


def _drop_negations(node: QueryNode) -> QueryNode | None:
    """Return what a node requires at least; None if that is nothing."""
    match node:
        case NotNode(item) if _is_time_bound(item):
            return node
        case NotNode():
            return None
        case AllNode(items):
            rest = [kept for item in items if (kept := _drop_negations(item))]
            return AllNode(tuple(rest)) if rest else None
        case EitherNode(items):
            choices = [kept for item in items if (kept := _drop_negations(item))]
            return EitherNode(tuple(choices)) if len(choices) == len(items) else None
    return node
