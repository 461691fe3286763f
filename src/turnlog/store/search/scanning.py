"""A scan from its filters to its groups: which files to look through, and when enough was found."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import apsw

from turnlog.store.index.refresh import ignore_progress
from turnlog.store.search.match import plan_search
from turnlog.store.search.needle import SearchNeedle
from turnlog.store.search.passages import Passages
from turnlog.store.search.query import SearchQuery
from turnlog.store.search.scan import MAX_SIGHTINGS_PER_FILE, FileScanReport, ScanProgress, ScanResult, scan_files
from turnlog.store.search.search import HitGroup, SearchOptions, SearchOutcome, read_neighbours
from turnlog.store.search.source import IndexSource
from turnlog.store.search.syntax import QueryError, QueryTerm, iter_all_terms
from turnlog.store.search.targets import TextSieve, group_scan_reports, has_text_filters, list_scan_targets

_MAX_STRICT_SIGHTINGS = 5000


class ScanRequest(NamedTuple):
    """What to look for, and the filters that stand beside it."""

    needle: SearchNeedle
    query: SearchQuery | None = None


class ScanOutcome(NamedTuple):
    """What a scan found, and how it went."""

    found: SearchOutcome
    scan: ScanResult


def scan_indexed_files(
    db: apsw.Connection,
    source: IndexSource,
    looked_for: ScanRequest,
    wish: SearchOptions,
    progress: ScanProgress = ignore_progress,
) -> ScanOutcome:
    """Look through the files that the filters of a query name."""
    needle, query = looked_for
    if query is not None:
        _refuse_terms(query)
    filters = plan_search(db, query) if query is not None else None
    is_strict = has_text_filters(query)
    look = _ScanFindings(db, TextSieve(db, filters if is_strict else None), wish)
    trash = source.find_trashed(db)
    chosen = list_scan_targets(db, query)
    files = [target for target in chosen if target.file not in trash.files]
    result = scan_files(
        needle,
        files,
        source.read_pieces,
        _MAX_STRICT_SIGHTINGS if is_strict else MAX_SIGHTINGS_PER_FILE,
        look.is_enough,
        progress,
    )
    look.is_enough(result.reports)
    groups = group_scan_reports(db, look.kept, look.sieve, wish.limit, wish.hits)
    if wish.context:
        passages = Passages(db, source.read_passage)
        groups = [_add_context(db, passages, group, wish.context) for group in groups]
    total = sum(report.total for report in look.kept)
    left_out = trash.build_left_out((trash.files[item.file] for item in chosen if item.file in trash.files), None)
    found = SearchOutcome(groups, total, len(look.sessions), is_bounded=result.left > 0, left_out=left_out)
    return ScanOutcome(found, result)


def _refuse_terms(query: SearchQuery) -> None:
    for node in iter_all_terms(query.root):
        if isinstance(node, QueryTerm):
            raise QueryError("with --substring or --regex a query holds filters alone", query.text, node.at)


class _ScanFindings:
    """What was found so far and fits."""

    def __init__(self, db: apsw.Connection, sieve: TextSieve, wish: SearchOptions) -> None:
        self.db = db
        self.sieve = sieve
        self.wish = wish
        self.kept: list[FileScanReport] = []
        self.sessions: set[int] = set()
        self._seen = 0

    def is_enough(self, reports: Sequence[FileScanReport]) -> bool:
        """Whether there are as many sessions as are to be shown."""
        for report in reports[self._seen :]:
            fitting = self.sieve.sift_report(report)
            if fitting.total:
                self.kept.append(fitting)
                self.sessions.add(self.db.execute("SELECT session FROM file WHERE id = ?", (report.file,)).get)
        self._seen = len(reports)
        return len(self.sessions) >= self.wish.limit


def _add_context(db: apsw.Connection, passages: Passages, group: HitGroup, count: int) -> HitGroup:
    hits = [
        hit._replace(before=read_neighbours(db, passages, hit, -count), after=read_neighbours(db, passages, hit, count))
        for hit in group.hits
    ]
    return group._replace(hits=tuple(hits))
