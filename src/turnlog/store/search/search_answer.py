"""The answer to a search: the results, what was searched, and what was not."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from turnlog.store.index.batch_writer import count_cut_texts
from turnlog.store.index.coverage import read_coverage
from turnlog.store.index.shards import COUNT_TEXTS
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
"""How many words a message lists."""


class SearchedIndex(NamedTuple):
    """The amount of data that could be searched."""

    texts: int
    sessions: int
    deleted: int
    """How many sessions have lost their files."""
    is_complete: bool
    unread: tuple[str, ...]
    """Files that could not be read."""
    ignored: tuple[str, ...]
    """Parts of the query that were not searched."""
    cut_texts: int = 0
    """How many texts are so long that only their start is searched."""
    share: float = 1.0
    """The part of the files whose texts can all be searched; of the rest, only the conversations can."""


class SearchAnswer(NamedTuple):
    """The whole answer to a query."""

    scope: SearchedIndex
    found: SearchOutcome
    sessions: dict[int, SearchedSession]
    """The sessions of the groups, by number."""
    scan: ScanResult | None = None
    """How the scan of the files went; None if the index answered."""


def read_searched_index(
    db: apsw.Connection, refresh: RefreshResult, query: SearchQuery | None, trash: TrashedSessions = NOTHING_TRASHED
) -> SearchedIndex:
    """Count what can be searched in an index after a refresh, excluding the trash."""
    share = read_coverage(db).share
    in_trash = f"file IN ({', '.join(map(str, trash.files))})"
    gone = "SELECT id FROM file WHERE kind = 'session' AND gone IS NOT NULL"
    return SearchedIndex(
        db.execute(COUNT_TEXTS).get - db.execute(f"{COUNT_TEXTS} WHERE {in_trash}").get,
        count_sessions(db, trash.sessions).sessions,
        sum(file not in trash.files for (file,) in db.execute(gone)),
        not (refresh.left or refresh.is_busy or share < 1),
        refresh.unread,
        query.ignored if query else (),
        count_cut_texts(db),
        share,
    )


def describe_share(share: float) -> str:
    """Describe which texts can be searched while the index is still being filled."""
    return f"Searched: all titles, prompts and answers; other texts: {int(100 * share)} %, newest first."


def describe_loosened_words(typed: str, how: str, words: Sequence[str]) -> str:
    """Describe the words that were searched for in place of a word that found nothing."""
    others = ", ".join(words[:_MAX_NAMED_WORDS]) + (", …" if len(words) > _MAX_NAMED_WORDS else "")
    ways = {"prefix": "words that start with it", "substring": "words that contain it", "spelling": "similar words"}
    return f"Nothing found for “{typed}”; these are hits for {ways[how]}: {others}."
