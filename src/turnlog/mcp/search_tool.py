"""The tool that searches; queries are limited to the readable sessions, and excerpts are made from redacted text."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from turnlog.errors import TurnlogError, UsageError
from turnlog.mcp.turn_text import format_minute
from turnlog.mcp.untrusted_text import clean_line
from turnlog.render.figures import format_count
from turnlog.session.clock import to_iso_time
from turnlog.store.search.loose_search import QUICK_LOOSENING_STEPS, search_loosely
from turnlog.store.search.query import SearchQuery, parse_query
from turnlog.store.search.search import HitGroup, IndexHit, SearchOptions, SearchOutcome
from turnlog.store.search.searched_sessions import SearchedSession, load_searched_sessions
from turnlog.store.search.syntax import AllNode, FilterValue, QueryError, QueryFilter, QueryNode, iter_all_terms

if TYPE_CHECKING:
    from turnlog.entries.layout import SessionFile
    from turnlog.mcp.arguments import SearchArguments
    from turnlog.mcp.library import SessionLibrary
    from turnlog.mcp.project_scope import ReadableSession
    from turnlog.mcp.redacting_reader import RedactingReader
    from turnlog.store.store import Store

_MAX_HITS = 3
_MAX_EXCERPT_CHARS = 220
_MAX_TITLE_CHARS = 100
_SCOPE_FILTERS = ("project", "session", "branch")


class FoundSession(NamedTuple):
    """A session with hits, and where they are."""

    group: HitGroup
    session: SearchedSession


def search_scope_sessions(library: SessionLibrary, arguments: SearchArguments) -> str:
    """Answer search_sessions."""
    query = parse_query(arguments.query)
    if any(isinstance(node, QueryFilter) and node.name in _SCOPE_FILTERS for node in iter_all_terms(query.root)):
        raise UsageError(
            "the filters project:, session: and branch: are not available here; use the argument `session`"
        )
    session = library.find_file(arguments.session) if arguments.session else None
    current = library.find_current_session()
    with library.open_index() as (store, remark):
        readable = library.scope.list_indexed(store.db)
        if session is not None:
            readable = [item for item in readable if item.uuid == session.session_id]
        else:
            readable = [item for item in readable if item.uuid != current]
        if not readable:
            return library.build_answer("No sessions here yet.", [], arguments, remark)
        reader = library.build_reader(store)
        limited = _limit_query(library, query, session)
        found, outcome = _search_index(store, limited, readable, arguments, reader)
        items = [partial(_render_session, library, reader, item) for item in found]
        remarks = " ".join(filter(None, [remark, library.describe_coverage(store)]))
        return library.build_answer(_build_head(found, outcome), items, arguments, remarks)


def _limit_query(library: SessionLibrary, query: SearchQuery, session: SessionFile | None) -> SearchQuery:
    """Add the scope to the parsed query: added to its text, the query could close a parenthesis and escape it."""
    limits: list[QueryNode] = []
    if library.scope.folder is not None:
        limits.append(_build_filter("project", str(library.scope.folder)))
    if session is not None:
        limits.append(_build_filter("session", session.session_id))
    return query._replace(root=AllNode((*limits, query.root)))


def _build_filter(name: str, value: str) -> QueryFilter:
    return QueryFilter(name, (FilterValue(value, 0),), 0)


def _search_index(
    store: Store,
    query: SearchQuery,
    readable: list[ReadableSession],
    arguments: SearchArguments,
    reader: RedactingReader,
) -> tuple[list[FoundSession], SearchOutcome]:
    # One more than wanted: the current session, which is left out, is often among the hits.
    options = SearchOptions(arguments.limit + 1, _MAX_HITS, arguments.newest, 0, _MAX_EXCERPT_CHARS)
    trash = reader.source.find_trashed(store.db)
    try:
        # Comparing a query with all words of a large index takes too long for a tool that an agent waits for.
        outcome = search_loosely(store.db, query, options, reader.read_passage, trash, max_steps=QUICK_LOOSENING_STEPS)
    except QueryError as error:
        # The rest of the message suggests names from other projects.
        raise UsageError(f"{str(error).partition('; closest')[0]}, at character {error.at + 1} of the query") from None
    allowed = {item.number for item in readable}
    # The index limits by the folder of a project, and different paths may share one.
    groups = [group for group in outcome.groups if group.session in allowed][: arguments.limit]
    sessions = load_searched_sessions(store.db, [group.session for group in groups])
    return [FoundSession(group, sessions[group.session]) for group in groups], outcome


def _build_head(found: list[FoundSession], outcome: SearchOutcome) -> str:
    head = f"Hits in {format_count(len(found), 'session')}; get_turns reads the turn of a hit."
    if not found:
        return "Nothing found."
    if outcome.is_scattered:
        head += " No single text contains all words, but each session does."
    if outcome.loosened:
        head += " Nothing matches your words exactly, so these are hits for similar words."
    return head


def _render_session(library: SessionLibrary, reader: RedactingReader, found: FoundSession) -> str:
    session = found.session
    gone = " · deleted, only in the archive" if session.is_gone else ""
    place = f" · {session.cwd}" if library.scope.folder is None else ""
    title = clean_line(library.sessions.redact_text(session.title or "(no title)"), _MAX_TITLE_CHARS)
    span = f"{format_minute(session.started)} to {format_minute(session.ended)}"
    head = f"{session.uuid[:8]} · {span}{gone}{place} · {title}"
    lines = [_render_hit(library, reader, found, hit) for hit in found.group.hits]
    left = found.group.total - len(found.group.hits)
    return "\n".join([head, *lines, *([f"  … {left} more hits"] if left > 0 else [])])


def _render_hit(library: SessionLibrary, reader: RedactingReader, found: FoundSession, hit: IndexHit) -> str:
    agent = found.session.agents.get(hit.file)
    turn = _find_turn_number(library, reader, found.session, hit) if agent is None else None
    place = f"turn {turn}" if turn else f"sub-agent {agent}" if agent else "outside turns"
    text = clean_line(hit.snippet.text, 2 * _MAX_EXCERPT_CHARS) if hit.snippet else "(the text is gone)"
    return f"  {place}, {hit.kind}, {_format_second(hit.time)}: {text}"


def _format_second(seconds: int) -> str:
    try:
        return format_minute(to_iso_time(datetime.fromtimestamp(seconds, UTC)) if seconds else None)
    except (ValueError, OverflowError, OSError):
        return "no time"


def _find_turn_number(
    library: SessionLibrary, reader: RedactingReader, session: SearchedSession, hit: IndexHit
) -> int | None:
    if session.path is None or session.is_gone or session.paths.get(hit.file) != session.path:
        return None
    uuid = reader.find_uuid(session.path, hit.offset)
    try:
        return library.sessions.find_turn_number(Path(session.path), uuid) if uuid else None
    except TurnlogError:  # deleted in the meantime
        return None
