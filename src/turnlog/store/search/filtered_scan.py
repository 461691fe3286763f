"""Runs a filtered scan: decides which files to search and when enough has been found, and groups the results."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import apsw

from turnlog.session.texts.texts import TEXT_KINDS
from turnlog.store.filter_values import match_branches, match_projects, match_sessions
from turnlog.store.index.refresh import ignore_progress
from turnlog.store.index.shards import list_full_text_tables, list_text_runs
from turnlog.store.search.index_source import IndexSource
from turnlog.store.search.match_expression import SearchPlan, plan_search
from turnlog.store.search.needle import SearchNeedle
from turnlog.store.search.passages import Passages
from turnlog.store.search.query import SearchQuery
from turnlog.store.search.scan import (
    MAX_SIGHTINGS_PER_FILE,
    FileScanReport,
    ScanProgress,
    ScanResult,
    ScanSighting,
    ScanTarget,
    scan_files,
)
from turnlog.store.search.search import HitGroup, IndexHit, SearchOptions, SearchOutcome, read_neighbours
from turnlog.store.search.syntax import QueryError, QueryFilter, QueryTerm, iter_all_terms

_KIND_NAMES = list(TEXT_KINDS)
_FILE_FILTERS = ("project", "session", "branch")
_MAX_RUN_GAP = 100_000
"""Numbers of texts that are further apart belong to different runs."""


def list_scan_targets(db: apsw.Connection, query: SearchQuery | None) -> list[ScanTarget]:
    """List the files in the projects and sessions that a query names, newest first; without a query, list all files."""
    rows: list[Any] = db.execute(
        "SELECT file.id, path, kind = 'output', size, gone IS NOT NULL, session, project"
        " FROM file JOIN session ON session.id = session ORDER BY mtime_ns DESC, file.id DESC"
    ).fetchall()
    for item in query.root.items if query else ():
        if isinstance(item, QueryFilter) and item.name in _FILE_FILTERS:
            wanted = _match_filter(db, item)
            rows = [row for row in rows if row[6 if item.name == "project" else 5] in wanted]
    return [ScanTarget(file, path, bool(plain), size, bool(gone)) for file, path, plain, size, gone, _, _ in rows]


def _match_filter(db: apsw.Connection, item: QueryFilter) -> set[int]:
    find = {"project": match_projects, "session": match_sessions, "branch": match_branches}[item.name]
    return {number for value in item.values for number in find(db, value.text).ids}


def has_text_filters(query: SearchQuery | None) -> bool:
    """Return whether a query has filters that apply to single texts, not only to whole files."""
    return any(
        not (isinstance(item, QueryFilter) and item.name in _FILE_FILTERS)
        for item in (query.root.items if query else ())
    )


class KnownText(NamedTuple):
    """The index row for a text that a scan found."""

    id: int
    time: int


class TextSieve:
    """Finds the texts from a scan in the index, and keeps those that match a plan."""

    def __init__(self, db: apsw.Connection, plan: SearchPlan | None) -> None:
        self._db = db
        self._plan = plan

    def sift_report(self, report: FileScanReport) -> FileScanReport:
        """Return the part of a report that matches the plan."""
        if self._plan is None:
            return report
        known = self.load_known_texts(report.file) if self._is_file_allowed(report.file) else {}
        fitting = self._select_fitting(known.values())
        passing = [
            item for item in report.sightings if (row := known.get(_get_sighting_key(item))) and row.id in fitting
        ]
        return FileScanReport(report.file, len(passing), passing, report.size)

    def _is_file_allowed(self, file: int) -> bool:
        assert self._plan is not None
        bound = self._plan.files_bound
        query = f"SELECT EXISTS (SELECT 1 FROM (SELECT ? AS file) WHERE true{bound})"
        return not bound or bool(self._db.execute(query, (file,)).get)

    def load_known_texts(self, file: int) -> dict[tuple[int, str], KnownText]:
        """Load the texts of a file by offset and kind."""
        query = "SELECT offset, kind, id, time FROM text WHERE id BETWEEN ? AND ?"
        rows: list[Any] = [row for run in list_text_runs(self._db, file) for row in self._db.execute(query, run)]
        return {(offset, _KIND_NAMES[kind]): KnownText(number, time) for offset, kind, number, time in rows}

    def _select_fitting(self, texts: Iterable[KnownText]) -> set[int]:
        assert self._plan is not None
        times = {text.id: text.time for text in texts}
        if not times:
            return set()
        matching: set[int] = set()
        for (schema, table), span in itertools.product(list_full_text_tables(self._db), _list_spans(times)):
            query = f"SELECT rowid FROM {schema}.{table} WHERE {table} MATCH ? AND rowid BETWEEN ? AND ?"
            matching.update(number for (number,) in self._db.execute(query, (self._plan.expression, *span)))
        return {number for number in matching if number in times and self._plan.is_in_time_bounds(times[number])}


def _list_spans(numbers: Iterable[int]) -> list[tuple[int, int]]:
    """List the first and last number of each run; a file that was read in stages has a run for each stage."""
    ordered = sorted(numbers)
    gaps = [at for at in range(1, len(ordered)) if ordered[at] - ordered[at - 1] > _MAX_RUN_GAP]
    return [(ordered[start], ordered[end - 1]) for start, end in itertools.pairwise([0, *gaps, len(ordered)])]


def _get_sighting_key(item: ScanSighting) -> tuple[int, str]:
    return item.offset, item.kind


def group_scan_reports(
    db: apsw.Connection, reports: Sequence[FileScanReport], sieve: TextSieve, limit: int, hits: int
) -> list[HitGroup]:
    """Group the results of a scan by session in file order, as a search does."""
    by_session: dict[int, list[FileScanReport]] = {}
    for report in reports:
        (session,) = db.execute("SELECT session FROM file WHERE id = ?", (report.file,)).fetchone() or (0,)
        by_session.setdefault(session, []).append(report)
    return [_build_group(session, members, sieve, hits) for session, members in list(by_session.items())[:limit]]


def _build_group(session: int, reports: Sequence[FileScanReport], sieve: TextSieve, most: int) -> HitGroup:
    hits: dict[str, IndexHit] = {}
    newest = 0
    for report in reports:
        known = sieve.load_known_texts(report.file)
        for item in report.sightings:
            row = known.get(_get_sighting_key(item), KnownText(0, 0))
            newest = max(newest, row.time)
            if len(hits) < most:
                hit = IndexHit(row.id, item.file, item.offset, item.kind, row.time, item.snippet)
                hits.setdefault(item.snippet.text, hit)
    total = sum(report.total for report in reports)
    return HitGroup(session, total, newest, 0.0, [], tuple(hits.values()))


_MAX_STRICT_SIGHTINGS = 5000


class ScanRequest(NamedTuple):
    """The text to search for, and the query with the filters."""

    needle: SearchNeedle
    query: SearchQuery | None = None


class ScanOutcome(NamedTuple):
    """The matches that a scan found, and the report on the scan itself."""

    found: SearchOutcome
    scan: ScanResult


def scan_indexed_files(
    db: apsw.Connection,
    source: IndexSource,
    request: ScanRequest,
    options: SearchOptions,
    progress: ScanProgress = ignore_progress,
) -> ScanOutcome:
    """Search the files that a query's filters select."""
    needle, query = request
    if query is not None:
        _refuse_terms(query)
    filters = plan_search(db, query) if query is not None else None
    is_strict = has_text_filters(query)
    findings = _ScanFindings(db, TextSieve(db, filters if is_strict else None), options)
    trash = source.find_trashed(db)
    targets = list_scan_targets(db, query)
    files = [target for target in targets if target.file not in trash.files]
    result = scan_files(
        needle,
        files,
        source.read_pieces,
        _MAX_STRICT_SIGHTINGS if is_strict else MAX_SIGHTINGS_PER_FILE,
        findings.is_enough,
        progress,
    )
    findings.is_enough(result.reports)
    groups = group_scan_reports(db, findings.reports, findings.sieve, options.limit, options.hits)
    if options.context:
        passages = Passages(db, source.read_passage)
        groups = [_add_context(db, passages, group, options.context) for group in groups]
    total = sum(report.total for report in findings.reports)
    left_out = trash.build_left_out((trash.files[item.file] for item in targets if item.file in trash.files), None)
    outcome = SearchOutcome(groups, total, len(findings.sessions), is_bounded=result.left > 0, left_out=left_out)
    return ScanOutcome(outcome, result)


def _refuse_terms(query: SearchQuery) -> None:
    for node in iter_all_terms(query.root):
        if isinstance(node, QueryTerm):
            raise QueryError("with --substring or --regex, the query may contain only filters", query.text, node.at)


class _ScanFindings:
    """The matching reports found so far."""

    def __init__(self, db: apsw.Connection, sieve: TextSieve, options: SearchOptions) -> None:
        self.db = db
        self.sieve = sieve
        self.options = options
        self.reports: list[FileScanReport] = []
        self.sessions: set[int] = set()
        self._checked = 0

    def is_enough(self, reports: Sequence[FileScanReport]) -> bool:
        """Return whether enough sessions have been found."""
        for report in reports[self._checked :]:
            fitting = self.sieve.sift_report(report)
            if fitting.total:
                self.reports.append(fitting)
                self.sessions.add(self.db.execute("SELECT session FROM file WHERE id = ?", (report.file,)).get)
        self._checked = len(reports)
        return len(self.sessions) >= self.options.limit


def _add_context(db: apsw.Connection, passages: Passages, group: HitGroup, count: int) -> HitGroup:
    hits = [
        hit._replace(before=read_neighbours(db, passages, hit, -count), after=read_neighbours(db, passages, hit, count))
        for hit in group.hits
    ]
    return group._replace(hits=tuple(hits))
