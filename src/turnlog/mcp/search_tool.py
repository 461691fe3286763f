"""The tool that searches; queries are limited to the readable sessions, and hits are proven on redacted text."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from turnlog.errors import TurnlogError, UsageError
from turnlog.mcp.proven_search import MAX_EXCERPT_CHARS, ProvenHit, ProvenOutcome, ProvenSearch, ProvenSession
from turnlog.mcp.turn_text import format_minute
from turnlog.mcp.untrusted_text import clean_line
from turnlog.render.figures import format_count
from turnlog.session.clock import to_iso_time
from turnlog.store.search.query import SearchQuery, parse_query
from turnlog.store.search.searched_sessions import SearchedSession, load_searched_sessions
from turnlog.store.search.syntax import FilterValue, QueryError, QueryFilter, QueryNode, iter_all_terms

if TYPE_CHECKING:
    from turnlog.entries.layout import SessionFile
    from turnlog.mcp.arguments import SearchArguments
    from turnlog.mcp.library import SessionLibrary
    from turnlog.mcp.redacting_reader import RedactingReader

_MAX_TITLE_CHARS = 100
_SCOPE_FILTERS = ("project", "session", "branch")


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
        scope = tuple(_list_limits(library, session))
        search = ProvenSearch(
            store, reader, library.sessions, readable, scope, limit=arguments.limit, newest=arguments.newest
        )
        found = _find_sessions(search, query)
        details = load_searched_sessions(store.db, [item.session for item in found.sessions])
        items = [partial(_render_session, library, reader, details[item.session], item) for item in found.sessions]
        remarks = " ".join(filter(None, [remark, library.describe_coverage(store)]))
        return library.build_answer(_build_head(found), items, arguments, remarks)


def _list_limits(library: SessionLibrary, session: SessionFile | None) -> Iterator[QueryNode]:
    """List the limits of the scope: added to the text of a query, the query could close a parenthesis and escape it."""
    # The index limits by the folder of a project, and different paths may share one; the search checks each session.
    if library.scope.folder is not None:
        yield _build_filter("project", str(library.scope.folder))
    if session is not None:
        yield _build_filter("session", session.session_id)


def _build_filter(name: str, value: str) -> QueryFilter:
    return QueryFilter(name, (FilterValue(value, 0),), 0)


def _find_sessions(search: ProvenSearch, query: SearchQuery) -> ProvenOutcome:
    try:
        return search.find(query)
    except QueryError as error:
        # The rest of the message suggests names from other projects.
        raise UsageError(f"{str(error).partition('; closest')[0]}, at character {error.at + 1} of the query") from None


def _build_head(found: ProvenOutcome) -> str:
    if not found.sessions:
        return "Nothing found."
    head = f"Hits in {format_count(len(found.sessions), 'session')}; get_turns reads the turn of a hit."
    if found.is_scattered:
        head += " No single text contains all words, but each session does."
    if found.is_loosened:
        head += " Nothing matches your words exactly, so these are hits for similar words."
    return head


def _render_session(
    library: SessionLibrary, reader: RedactingReader, session: SearchedSession, found: ProvenSession
) -> str:
    gone = " · deleted, only in the archive" if session.is_gone else ""
    place = f" · {session.cwd}" if library.scope.folder is None else ""
    title = clean_line(library.sessions.redact_text(session.title or "(no title)"), _MAX_TITLE_CHARS)
    span = f"{format_minute(session.started)} to {format_minute(session.ended)}"
    head = f"{session.uuid[:8]} · {span}{gone}{place} · {title}"
    lines = [_render_hit(library, reader, session, hit) for hit in found.hits]
    return "\n".join([head, *lines, *(["  … more hits"] if found.has_more else [])])


def _render_hit(library: SessionLibrary, reader: RedactingReader, session: SearchedSession, hit: ProvenHit) -> str:
    agent = session.agents.get(hit.file)
    turn = _find_turn_number(library, reader, session, hit) if agent is None else None
    place = f"turn {turn}" if turn else f"sub-agent {agent}" if agent else "outside turns"
    text = clean_line(hit.snippet.text, 2 * MAX_EXCERPT_CHARS)
    return f"  {place}, {hit.kind}, {_format_second(hit.time)}: {text}"


def _format_second(seconds: int) -> str:
    try:
        return format_minute(to_iso_time(datetime.fromtimestamp(seconds, UTC)) if seconds else None)
    except (ValueError, OverflowError, OSError):
        return "no time"


def _find_turn_number(
    library: SessionLibrary, reader: RedactingReader, session: SearchedSession, hit: ProvenHit
) -> int | None:
    if session.path is None or session.is_gone or session.paths.get(hit.file) != session.path:
        return None
    uuid = reader.find_uuid(session.path, hit.offset)
    try:
        return library.sessions.find_turn_number(Path(session.path), uuid) if uuid else None
    except TurnlogError:  # deleted in the meantime
        return None
