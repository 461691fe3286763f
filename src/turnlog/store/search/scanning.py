"""A scan from its filters to its groups: which files to look through, and when enough was found."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import apsw

from turnlog.store.index.refresh import unheard
from turnlog.store.search.match import plan
from turnlog.store.search.needle import Needle
from turnlog.store.search.passages import Passages
from turnlog.store.search.query import Query
from turnlog.store.search.scan import KEPT, Progress, Report, Scanned, scan
from turnlog.store.search.search import Found, Group, Wish, neighbours
from turnlog.store.search.source import Source
from turnlog.store.search.syntax import QueryError, Term, everything
from turnlog.store.search.targets import Sieve, grouped, is_by_text, targets

_MOST = 5000


class LookedFor(NamedTuple):
    """What to look for, and the filters that stand beside it."""

    needle: Needle
    query: Query | None = None


class Outcome(NamedTuple):
    """What a scan found, and how it went."""

    found: Found
    scan: Scanned


def scanned(
    db: apsw.Connection, source: Source, looked_for: LookedFor, wish: Wish, progress: Progress = unheard
) -> Outcome:
    """Look through the files that the filters of a query name."""
    needle, query = looked_for
    if query is not None:
        _refuse_words(query)
    filters = plan(db, query) if query is not None else None
    is_strict = is_by_text(query)
    look = _Look(db, Sieve(db, filters if is_strict else None), wish)
    trash = source.trashed(db)
    chosen = targets(db, query)
    files = [target for target in chosen if target.file not in trash.files]
    result = scan(needle, files, source.pieces, _MOST if is_strict else KEPT, look.is_enough, progress)
    look.is_enough(result.reports)
    groups = grouped(db, look.kept, look.sieve, wish.limit, wish.hits)
    if wish.context:
        passages = Passages(db, source.at)
        groups = [_with_context(db, passages, group, wish.context) for group in groups]
    total = sum(report.total for report in look.kept)
    left_out = trash.left_out((trash.files[item.file] for item in chosen if item.file in trash.files), None)
    found = Found(groups, total, len(look.sessions), is_bounded=result.left > 0, left_out=left_out)
    return Outcome(found, result)


def _refuse_words(query: Query) -> None:
    for node in everything(query.root):
        if isinstance(node, Term):
            raise QueryError("with --substring or --regex a query holds filters alone", query.text, node.at)


class _Look:
    """What was found so far and fits."""

    def __init__(self, db: apsw.Connection, sieve: Sieve, wish: Wish) -> None:
        self.db = db
        self.sieve = sieve
        self.wish = wish
        self.kept: list[Report] = []
        self.sessions: set[int] = set()
        self._seen = 0

    def is_enough(self, reports: Sequence[Report]) -> bool:
        """Whether there are as many sessions as are to be shown."""
        for report in reports[self._seen :]:
            fitting = self.sieve.sifted(report)
            if fitting.total:
                self.kept.append(fitting)
                self.sessions.add(self.db.execute("SELECT session FROM file WHERE id = ?", (report.file,)).get)
        self._seen = len(reports)
        return len(self.sessions) >= self.wish.limit


def _with_context(db: apsw.Connection, passages: Passages, group: Group, count: int) -> Group:
    hits = [
        hit._replace(before=neighbours(db, passages, hit, -count), after=neighbours(db, passages, hit, count))
        for hit in group.hits
    ]
    return group._replace(hits=tuple(hits))
