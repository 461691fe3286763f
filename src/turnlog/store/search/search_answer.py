"""The answer to a search: what was found, what was searched, and what was not."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from turnlog.store.index.batch_writer import count_cut_texts
from turnlog.store.search.trashed_sessions import NOTHING_TRASHED, TrashedSessions
from turnlog.store.session_counts import count_sessions

if TYPE_CHECKING:
    import apsw

    from turnlog.store.index.refresh import RefreshResult
    from turnlog.store.search.query import SearchQuery
    from turnlog.store.search.scan import ScanResult
    from turnlog.store.search.search import SearchOutcome
    from turnlog.store.search.searched_sessions import SearchedSession

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


def describe_loosened_words(typed: str, how: str, words: Sequence[str]) -> str:
    """What was looked for in place of a word that found nothing, for people."""
    others = ", ".join(words[:_MAX_NAMED_WORDS]) + (", …" if len(words) > _MAX_NAMED_WORDS else "")
    ways = {"prefix": "words that begin with it", "substring": "words that contain it", "spelling": "similar words"}
    return f"Nothing found for “{typed}”; these are hits for {ways[how]}: {others}."
