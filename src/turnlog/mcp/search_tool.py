"""The tool that searches; queries are limited to the readable sessions, and excerpts are made from redacted text."""

from __future__ import annotations

import contextlib
import json
from collections import OrderedDict
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from turnlog.api.config import data_dir
from turnlog.errors import TurnlogError, UsageError
from turnlog.mcp.turn_text import format_minute
from turnlog.mcp.untrusted_text import clean_line
from turnlog.render.figures import format_count
from turnlog.session.clock import to_iso_time
from turnlog.store.search.index_source import IndexSource
from turnlog.store.search.loose_search import search_loosely
from turnlog.store.search.query import SearchQuery, parse_query
from turnlog.store.search.search import HitGroup, IndexHit, SearchOptions, SearchOutcome
from turnlog.store.search.searched_sessions import SearchedSession, load_searched_sessions
from turnlog.store.search.syntax import AllNode, FilterValue, QueryError, QueryFilter, iter_all_terms

if TYPE_CHECKING:
    from turnlog.mcp.arguments import SearchArguments
    from turnlog.mcp.library import SessionLibrary
    from turnlog.mcp.project_scope import ReadableSession
    from turnlog.session.session import Session
    from turnlog.store.store import Store

_MAX_HITS = 3
_MAX_EXCERPT_CHARS = 220
_MAX_TITLE_CHARS = 100
_MAX_REMEMBERED_LINES = 200
_SCOPE_FILTERS = ("project", "session")


class FoundSession(NamedTuple):
    """A session with hits, and where they are."""

    group: HitGroup
    session: SearchedSession


def search_scope_sessions(library: SessionLibrary, arguments: SearchArguments) -> str:
    """Answer search_sessions."""
    query = parse_query(arguments.query)
    if any(isinstance(node, QueryFilter) and node.name in _SCOPE_FILTERS for node in iter_all_terms(query.root)):
        raise UsageError("the filters project: and session: are not available here; use the argument `session`")
    session = library.scope.find_session(arguments.session, library.config) if arguments.session else None
    with library.open_index() as (store, remark):
        readable = library.scope.list_indexed(store.db)
        if session is not None:
            readable = [item for item in readable if item.uuid == session.session_id]
        if not readable:
            return library.build_answer("No sessions here yet.", [], arguments, remark)
        reader = RedactingReader(library, store)
        found, outcome = _search_index(store, _limit_query(library, query, arguments), readable, arguments, reader)
        items = [partial(_render_session, library, reader, item) for item in found]
        return library.build_answer(_build_head(found, outcome), items, arguments, remark)


def _limit_query(library: SessionLibrary, query: SearchQuery, arguments: SearchArguments) -> SearchQuery:
    """Add the scope to the parsed query: added to its text, the query could close a parenthesis and escape it."""
    limits: list[QueryFilter] = []
    if library.scope.folder is not None:
        limits.append(QueryFilter("project", (FilterValue(str(library.scope.folder), 0),), 0))
    if arguments.session:
        name = library.scope.find_session(arguments.session, library.config).session_id
        limits.append(QueryFilter("session", (FilterValue(name, 0),), 0))
    return query._replace(root=AllNode((*limits, query.root)))


def _search_index(
    store: Store,
    query: SearchQuery,
    readable: list[ReadableSession],
    arguments: SearchArguments,
    reader: RedactingReader,
) -> tuple[list[FoundSession], SearchOutcome]:
    options = SearchOptions(arguments.limit, _MAX_HITS, arguments.newest, 0, _MAX_EXCERPT_CHARS)
    trash = reader.source.find_trashed(store.db)
    try:
        outcome = search_loosely(store.db, query, options, reader.read_passage, trash)
    except QueryError as error:
        # The rest of the message suggests names from other projects.
        raise UsageError(f"{str(error).partition('; closest')[0]}, at character {error.at + 1} of the query") from None
    allowed = {item.number for item in readable}
    # The index limits by the folder of a project, and different paths may share one.
    groups = [group for group in outcome.groups if group.session in allowed]
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


class RedactingReader:
    """Reads the lines that hits refer to, without secrets, and remembers which entries they are."""

    def __init__(self, library: SessionLibrary, store: Store) -> None:
        self.source = IndexSource(data_dir())
        self._library = library
        self._main_paths: dict[str, str] = dict(
            store.db.execute(
                "SELECT file.path, main.path FROM file"
                " JOIN file AS main ON main.session = file.session AND main.kind = 'session'"
                " WHERE file.kind != 'session'"
            )
        )
        self._lines: OrderedDict[tuple[str, int], bytes | None] = OrderedDict()

    def read_passage(self, path: str, offset: int, whole: bool) -> bytes | None:
        """Read a line or a large piece without its secrets."""
        key = path, offset
        if key not in self._lines:
            self._lines[key] = self._read_redacted(path, offset, whole)
            if len(self._lines) > _MAX_REMEMBERED_LINES:
                self._lines.popitem(last=False)
        return self._lines[key]

    def _read_redacted(self, path: str, offset: int, whole: bool) -> bytes | None:
        with contextlib.suppress(TurnlogError):  # a deleted session that the archive has: the rules still apply
            self._library.sessions.learn_secrets(Path(self._main_paths.get(path, path)))
        data = self.source.read_passage(path, offset, whole)
        if data is None:
            return None
        return self._library.sessions.redact_data(data) if whole else self._library.sessions.redact_line(data)

    def find_uuid(self, path: str, offset: int) -> str | None:
        """Return the uuid of an entry that was read."""
        try:
            body: Any = json.loads(self._lines.get((path, offset)) or b"null")
        except ValueError:
            return None
        uuid = body.get("uuid") if isinstance(body, dict) else None
        return uuid if isinstance(uuid, str) else None


def _render_session(library: SessionLibrary, reader: RedactingReader, found: FoundSession) -> str:
    session = found.session
    gone = " · deleted, only in the archive" if session.is_gone else ""
    place = f" · {session.cwd}" if library.scope.folder is None else ""
    title = clean_line(library.sessions.redact_text(session.title or "(no title)"), _MAX_TITLE_CHARS)
    span = f"{format_minute(session.started)} to {format_minute(session.ended)}"
    head = f"{session.uuid[:8]} · {span}{gone}{place} · {title}"
    turns = _open_for_turns(library, found)
    lines = [_render_hit(reader, found, hit, turns) for hit in found.group.hits]
    left = found.group.total - len(found.group.hits)
    return "\n".join([head, *lines, *([f"  … {left} more hits"] if left > 0 else [])])


def _open_for_turns(library: SessionLibrary, found: FoundSession) -> Session | None:
    if found.session.path is None or found.session.is_gone:
        return None
    try:
        return library.sessions.open_session(Path(found.session.path))
    except TurnlogError:
        return None


def _render_hit(reader: RedactingReader, found: FoundSession, hit: IndexHit, session: Session | None) -> str:
    path = found.session.paths.get(hit.file, "")
    agent = found.session.agents.get(hit.file)
    turn = _find_turn_number(reader, session, path, hit.offset) if agent is None else None
    place = f"turn {turn}" if turn else f"sub-agent {agent}" if agent else "outside turns"
    text = clean_line(hit.snippet.text, 2 * _MAX_EXCERPT_CHARS) if hit.snippet else "(the text is gone)"
    return f"  {place}, {hit.kind}, {_format_second(hit.time)}: {text}"


def _format_second(seconds: int) -> str:
    try:
        return format_minute(to_iso_time(datetime.fromtimestamp(seconds, UTC)) if seconds else None)
    except (ValueError, OverflowError, OSError):
        return "no time"


def _find_turn_number(reader: RedactingReader, session: Session | None, path: str, offset: int) -> int | None:
    uuid = reader.find_uuid(path, offset)
    if session is None or uuid is None or (index := session.file.by_uuid.get(uuid)) is None:
        return None
    turn = session.find_turn(session.file.entries[index])
    return turn.number if turn else None
