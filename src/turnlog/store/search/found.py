"""What a search found, as a JSON document: hits by session, what was searched, and what was not."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, NamedTuple

from turnlog.session.clock import iso
from turnlog.store.index.write import count_cut_texts
from turnlog.store.search.trashed import NOTHING, Trashed
from turnlog.store.session_counts import count_sessions

if TYPE_CHECKING:
    import apsw

    from turnlog.store.index.refresh import Refreshed
    from turnlog.store.search.places import Session
    from turnlog.store.search.query import Query
    from turnlog.store.search.scan import Scanned
    from turnlog.store.search.search import Found, Group, Hit, Neighbour
    from turnlog.store.search.snippet import Snippet

_NAMED = 5
"""So many words are named."""


class Searched(NamedTuple):
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


class Answered(NamedTuple):
    """The whole answer to a query."""

    scope: Searched
    found: Found
    sessions: dict[int, Session]
    """Those of the groups that were found, by number."""
    scan: Scanned | None = None
    """How the files were read, where it was not the index that answered."""


def searched(db: apsw.Connection, done: Refreshed, query: Query | None, trash: Trashed = NOTHING) -> Searched:
    """What there is to search in an index, after what was done to bring it up to date; but for what is in the trash."""
    put_away = f"file IN ({', '.join(map(str, trash.files))})"
    gone = "SELECT id FROM file WHERE kind = 'session' AND gone IS NOT NULL"
    return Searched(
        db.execute("SELECT count(*) FROM text").get - db.execute(f"SELECT count(*) FROM text WHERE {put_away}").get,
        count_sessions(db, trash.sessions).sessions,
        sum(file not in trash.files for (file,) in db.execute(gone)),
        not (done.left or done.is_busy),
        done.unread,
        query.ignored if query else (),
        count_cut_texts(db),
    )


def document(query: str, answered: Answered) -> dict[str, Any]:
    """The answer to a query as a JSON document."""
    scope, found, sessions, scan = answered
    return {
        "query": query,
        "sessions": [_session(group, sessions[group.session]) for group in found.groups],
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
        "scan": _scan(scan) if scan else None,
    }


def loosened_words(typed: str, how: str, words: Sequence[str]) -> str:
    """What was looked for in place of a word that found nothing, for people."""
    others = ", ".join(words[:_NAMED]) + (", …" if len(words) > _NAMED else "")
    ways = {"prefix": "words that begin with it", "substring": "words that contain it", "spelling": "similar words"}
    return f"Nothing found for “{typed}”; these are hits for {ways[how]}: {others}."


def _scan(scan: Scanned) -> dict[str, Any]:
    return {
        "files": scan.files,
        "bytes": scan.bytes,
        "seconds": round(scan.seconds, 3),
        "mb_per_second": round(scan.bytes / 1e6 / scan.seconds, 1) if scan.seconds else None,
        "left": scan.left,
        "interrupted": scan.is_interrupted,
        "unread": list(scan.failures),
    }


def _session(group: Group, session: Session) -> dict[str, Any]:
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
        "hits": [_hit(hit, session) for hit in group.hits],
    }


def _hit(hit: Hit, session: Session) -> dict[str, Any]:
    return {
        "kind": hit.kind,
        "time": _iso(hit.time),
        "path": session.paths.get(hit.file),
        "offset": hit.offset,
        "agent_id": session.agents.get(hit.file),
        **_text(hit.snippet),
        "ranges": [list(span) for span in hit.snippet.ranges] if hit.snippet else [],
        "before": [_neighbour(item) for item in hit.before],
        "after": [_neighbour(item) for item in hit.after],
    }


def _neighbour(item: Neighbour) -> dict[str, Any]:
    return {"kind": item.kind, "time": _iso(item.time), **_text(item.snippet)}


def _text(snippet: Snippet | None) -> dict[str, Any]:
    return {"text": snippet.text if snippet else None}


def _iso(seconds: int) -> str | None:
    try:
        return iso(datetime.fromtimestamp(seconds, UTC)) if seconds else None
    except (ValueError, OverflowError, OSError):
        return None
