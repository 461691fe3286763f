"""Searches the text of all sessions: through the index, or by scanning the files for a substring or a regex."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from msgspec import Struct

from turnlog.api.config import Config, data_dir, load_config
from turnlog.api.index import Progress, open_index, open_other_index
from turnlog.api.lookup import Notify
from turnlog.errors import UsageError
from turnlog.session.clock import to_iso_time
from turnlog.store.index.refresh import RefreshResult, ignore_progress
from turnlog.store.search.filtered_scan import has_text_filters
from turnlog.store.search.index_source import IndexSource
from turnlog.store.search.query import parse_query
from turnlog.store.search.search import HitGroup, HitNeighbour, IndexHit, SearchOptions
from turnlog.store.search.search_answer import SearchAnswer, SearchedIndex, read_searched_index
from turnlog.store.search.searched_sessions import SearchedSession, load_searched_sessions

if TYPE_CHECKING:
    from turnlog.store.search.needle import SearchNeedle
    from turnlog.store.search.scan import ScanResult
    from turnlog.store.search.search import SearchOutcome
    from turnlog.store.store import Store


class NearbyText(Struct, frozen=True):
    """Text before or after a hit."""

    kind: str
    time: str | None
    text: str | None
    """The start of the text; None if it is gone."""


class SearchHit(Struct, frozen=True):
    """A passage that matches the query."""

    kind: str
    """title, prompt, answer, call, result and so on; see docs/json.md."""
    time: str | None
    path: str | None
    """The file that contains it: the session's, a sub-agent's, or a large result next to them."""
    offset: int
    """The offset of its entry in that file, in bytes."""
    agent_id: str | None
    text: str | None
    """The text around the matches, on one line; None if it is gone."""
    ranges: list[tuple[int, int]]
    """The positions of the matches in `text`."""
    before: list[NearbyText]
    after: list[NearbyText]


class MatchedSession(Struct, frozen=True):
    """A session with hits."""

    session_id: str
    path: str | None
    project: str | None
    title: str | None
    started: str | None
    ended: str | None
    newest: str | None
    """The time of the newest hit, or the session's end if that is unknown."""
    deleted: bool
    score: float | None
    total: int
    hits: list[SearchHit]


class LoosenedTerm(Struct, frozen=True):
    """A word without matches, and what was searched for instead."""

    typed: str
    how: str
    """prefix, substring or spelling."""
    words: list[str]


class SearchTotals(Struct, frozen=True):
    """The number of matches."""

    hits: int
    sessions: int
    at_least: bool
    """Whether there may be more, because not everything was searched."""
    scattered: bool
    """Whether no single passage contains every word, but each of these sessions contains all words."""
    gone: int
    """Hits whose text can't be read."""
    loosened: list[LoosenedTerm]


class TrashedMatches(Struct, frozen=True):
    """Matches that are not shown because their sessions are in the trash."""

    sessions: list[str]
    hits: int | None


class SearchedTexts(Struct, frozen=True):
    """What was searched."""

    texts: int
    sessions: int
    deleted: int
    complete: bool
    """Whether everything is in the index."""
    unread: list[str]
    ignored: list[str]
    """Parts of the query without a letter or digit."""
    cut: list[str]
    """Words that occur in too many identifiers for all of them to be searched."""
    cut_texts: int
    trashed: TrashedMatches
    share: float = 1.0
    """The part of the files whose texts were all searched, from 0 to 1; of the rest, only the conversations were."""


class ScanSummary(Struct, frozen=True):
    """Statistics about scanning the files."""

    files: int
    bytes: int
    seconds: float
    mb_per_second: float | None
    left: int
    """Older files that were not read."""
    interrupted: bool
    unread: list[str]


class SearchReport(Struct, frozen=True):
    """The results of a search."""

    query: str
    sessions: list[MatchedSession]
    total: SearchTotals
    searched: SearchedTexts
    scan: ScanSummary | None
    """None if the index was used."""


def search_sessions(
    query: str = "",
    *,
    substring: str | None = None,
    regex: str | None = None,
    limit: int = SearchOptions().limit,
    hits: int = SearchOptions().hits,
    context: int = 0,
    newest: bool = False,
    width: int = SearchOptions().width,
    other_files: bool = False,
    config: Config | None = None,
    notify: Notify | None = None,
    progress: Progress | None = None,
    scan_progress: Progress | None = None,
) -> SearchReport:
    """Search all sessions on this machine; docs/search.md explains the query.

    With `substring` or `regex`, the files are read, and `query` contains only filters. At most `limit` sessions are
    returned with up to `hits` hits each, the best first or, with `newest`, the newest first; `context` adds up to that
    many passages before and after each hit.
    """
    if not query.strip() and substring is None and regex is None:
        raise UsageError("nothing to search for; use a query, a substring or a regular expression")
    if substring is not None and regex is not None:
        raise UsageError("use a substring or a regular expression, not both")
    options = SearchOptions(limit, hits, newest, context, width)
    needle = _build_needle(substring, regex)
    parsed = parse_query(query) if query.strip() else None
    source = IndexSource(data_dir())
    # Only the index knows which texts match a filter, and the names of tools are in the part that is read last.
    is_whole = (needle is not None and has_text_filters(parsed)) or "tool:" in query
    with _open_searched_index(other_files, is_whole, config or load_config(), notify, progress) as (store, done):
        trash = source.find_trashed(store.db)
        scan: ScanResult | None = None
        if needle is None:
            from turnlog.store.search.loose_search import search_loosely

            found = search_loosely(store.db, parse_query(query), options, source.read_passage, trash)
        else:
            from turnlog.store.search.filtered_scan import ScanRequest, scan_indexed_files

            request = ScanRequest(needle, parsed)
            found, scan = scan_indexed_files(store.db, source, request, options, scan_progress or ignore_progress)
        scope = read_searched_index(store.db, done, parsed, trash)
        sessions = load_searched_sessions(store.db, [group.session for group in found.groups])
        return build_search_report(query, SearchAnswer(scope, found, sessions, scan))


def _build_needle(substring: str | None, regex: str | None) -> SearchNeedle | None:
    if substring is None and regex is None:
        return None
    from turnlog.store.search.needle import build_regex_needle, build_text_needle

    return build_text_needle(substring) if substring is not None else build_regex_needle(regex or "")


def _open_searched_index(
    other_files: bool, is_whole: bool, config: Config, notify: Notify | None, progress: Progress | None
) -> AbstractContextManager[tuple[Store, RefreshResult]]:
    if other_files:
        return open_other_index(config, notify=notify, progress=progress)
    return open_index(config, is_whole=is_whole, notify=notify, progress=progress)


def build_search_report(query: str, answer: SearchAnswer) -> SearchReport:
    """Combine the hits with a summary of what was searched."""
    found = answer.found
    return SearchReport(
        query,
        [_to_matched_session(group, answer.sessions[group.session]) for group in found.groups],
        SearchTotals(
            found.total,
            found.sessions,
            found.is_bounded,
            found.is_scattered,
            found.unread,
            [LoosenedTerm(item.typed, item.how, list(item.words)) for item in found.loosened],
        ),
        _to_search_scope(answer.scope, found),
        _to_scan_summary(answer.scan) if answer.scan else None,
    )


def _to_search_scope(scope: SearchedIndex, found: SearchOutcome) -> SearchedTexts:
    return SearchedTexts(
        scope.texts,
        scope.sessions,
        scope.deleted,
        scope.is_complete,
        list(scope.unread),
        list(scope.ignored),
        list(found.cut),
        scope.cut_texts,
        TrashedMatches(list(found.left_out.sessions), found.left_out.hits),
        round(scope.share, 4),
    )


def _to_scan_summary(scan: ScanResult) -> ScanSummary:
    return ScanSummary(
        scan.files,
        scan.bytes,
        round(scan.seconds, 3),
        round(scan.bytes / 1e6 / scan.seconds, 1) if scan.seconds else None,
        scan.left,
        scan.is_interrupted,
        list(scan.failures),
    )


def _to_matched_session(group: HitGroup, session: SearchedSession) -> MatchedSession:
    return MatchedSession(
        session.uuid,
        session.path,
        session.cwd,
        session.title,
        session.started,
        session.ended,
        _to_time_text(group.time),
        session.is_gone,
        round(group.score, 3) if group.score else None,
        group.total,
        [_to_search_hit(hit, session) for hit in group.hits],
    )


def _to_search_hit(hit: IndexHit, session: SearchedSession) -> SearchHit:
    return SearchHit(
        hit.kind,
        _to_time_text(hit.time),
        session.paths.get(hit.file),
        hit.offset,
        session.agents.get(hit.file),
        hit.snippet.text if hit.snippet else None,
        list(hit.snippet.ranges) if hit.snippet else [],
        list(_iter_nearby(hit.before)),
        list(_iter_nearby(hit.after)),
    )


def _iter_nearby(neighbours: tuple[HitNeighbour, ...]) -> Iterator[NearbyText]:
    for item in neighbours:
        yield NearbyText(item.kind, _to_time_text(item.time), item.snippet.text if item.snippet else None)


def _to_time_text(seconds: int) -> str | None:
    try:
        return to_iso_time(datetime.fromtimestamp(seconds, UTC)) if seconds else None
    except (ValueError, OverflowError, OSError):
        return None
