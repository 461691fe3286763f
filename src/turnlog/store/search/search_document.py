"""What a search found, as a JSON document: hits by session, what was searched, and what was not."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, NamedTuple

from turnlog.session.clock import to_iso_time
from turnlog.store.index.batch_writer import count_cut_texts
from turnlog.store.search.trashed_sessions import NOTHING_TRASHED, TrashedSessions
from turnlog.store.session_counts import count_sessions

if TYPE_CHECKING:
    import apsw

    from turnlog.store.index.refresh import RefreshResult
    from turnlog.store.search.query import SearchQuery
    from turnlog.store.search.scan import ScanResult
    from turnlog.store.search.search import HitGroup, HitNeighbour, IndexHit, SearchOutcome
    from turnlog.store.search.searched_sessions import SearchedSession
    from turnlog.store.search.snippet import Snippet

_MAX_NAMED_WORDS = 5
"""So many words are named."""


class SearchedIndex(NamedTuple):
    """What there was to search."""

    texts: int
    sessions: int
    deleted: int
    """Sessions whose files are gone."""
    is_complete: bool
    unread: tuple[str, ...]
    """Files that could not be read."""
    ignored: tuple[str, ...]
    """What of the query was not searched for."""
    cut_texts: int = 0
    """Texts that are so long that only their beginning is searched."""


class SearchAnswer(NamedTuple):
    """The whole answer to a query."""

    scope: SearchedIndex
    found: SearchOutcome
    sessions: dict[int, SearchedSession]
    """Those of the groups that were found, by number."""
    scan: ScanResult | None = None
    """How the files were read, where it was not the index that answered."""


def read_searched_index(
    db: apsw.Connection, done: RefreshResult, query: SearchQuery | None, trash: TrashedSessions = NOTHING_TRASHED
) -> SearchedIndex:
    """What there is to search in an index, after what was done to bring it up to date; but for what is in the trash."""
    put_away = f"file IN ({', '.join(map(str, trash.files))})"
    gone = "SELECT id FROM file WHERE kind = 'session' AND gone IS NOT NULL"
    return SearchedIndex(
        db.execute("SELECT count(*) FROM text").get - db.execute(f"SELECT count(*) FROM text WHERE {put_away}").get,
        count_sessions(db, trash.sessions).sessions,
        sum(file not in trash.files for (file,) in db.execute(gone)),
        not (done.left or done.is_busy),
        done.unread,
        query.ignored if query else (),
        count_cut_texts(db),
    )


def to_search_document(query: str, answered: SearchAnswer) -> dict[str, Any]:
    """The answer to a query as a JSON document."""
    scope, found, sessions, scan = answered
    return {
        "query": query,
        "sessions": [_to_session_document(group, sessions[group.session]) for group in found.groups],
        "total": {
            "hits": found.total,
            "sessions": found.sessions,
            "at_least": found.is_bounded,
            "scattered": found.is_scattered,
            "gone": found.unread,
            "loosened": [{"typed": item.typed, "how": item.how, "words": list(item.words)} for item in found.loosened],
        },
        "searched": {
            "texts": scope.texts,
            "sessions": scope.sessions,
            "deleted": scope.deleted,
            "complete": scope.is_complete,
            "unread": list(scope.unread),
            "ignored": list(scope.ignored),
            "cut": list(found.cut),
            "cut_texts": scope.cut_texts,
            "trashed": {"sessions": list(found.left_out.sessions), "hits": found.left_out.hits},
        },
        "scan": _to_scan_document(scan) if scan else None,
    }


def describe_loosened_words(typed: str, how: str, words: Sequence[str]) -> str:
    """What was looked for in place of a word that found nothing, for people."""
    others = ", ".join(words[:_MAX_NAMED_WORDS]) + (", …" if len(words) > _MAX_NAMED_WORDS else "")
    ways = {"prefix": "words that begin with it", "substring": "words that contain it", "spelling": "similar words"}
    return f"Nothing found for “{typed}”; these are hits for {ways[how]}: {others}."


def _to_scan_document(scan: ScanResult) -> dict[str, Any]:
    return {
        "files": scan.files,
        "bytes": scan.bytes,
        "seconds": round(scan.seconds, 3),
        "mb_per_second": round(scan.bytes / 1e6 / scan.seconds, 1) if scan.seconds else None,
        "left": scan.left,
        "interrupted": scan.is_interrupted,
        "unread": list(scan.failures),
    }


def _to_session_document(group: HitGroup, session: SearchedSession) -> dict[str, Any]:
    return {
        "session_id": session.uuid,
        "path": session.path,
        "project": session.cwd,
        "title": session.title,
        "started": session.started,
        "ended": session.ended,
        "deleted": session.is_gone,
        "score": round(group.score, 3) if group.score else None,
        "total": group.total,
        "hits": [_to_hit_document(hit, session) for hit in group.hits],
    }


def _to_hit_document(hit: IndexHit, session: SearchedSession) -> dict[str, Any]:
    return {
        "kind": hit.kind,
        "time": _to_iso_time(hit.time),
        "path": session.paths.get(hit.file),
        "offset": hit.offset,
        "agent_id": session.agents.get(hit.file),
        **_to_text_document(hit.snippet),
        "ranges": [list(span) for span in hit.snippet.ranges] if hit.snippet else [],
        "before": [_to_neighbour_document(item) for item in hit.before],
        "after": [_to_neighbour_document(item) for item in hit.after],
    }


def _to_neighbour_document(item: HitNeighbour) -> dict[str, Any]:
    return {"kind": item.kind, "time": _to_iso_time(item.time), **_to_text_document(item.snippet)}


def _to_text_document(snippet: Snippet | None) -> dict[str, Any]:
    return {"text": snippet.text if snippet else None}


def _to_iso_time(seconds: int) -> str | None:
    try:
        return to_iso_time(datetime.fromtimestamp(seconds, UTC)) if seconds else None
    except (ValueError, OverflowError, OSError):
        return None
