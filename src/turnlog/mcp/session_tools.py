"""The tools that list sessions and read one: outline, turns and messages."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from turnlog.api.lookup import peek_in_index
from turnlog.errors import NotFound, UsageError
from turnlog.mcp.pages import LazyText
from turnlog.mcp.proof_table import hide_marks
from turnlog.mcp.turn_text import format_minute, outline_turn, render_message, render_turn
from turnlog.mcp.untrusted_text import clean_line
from turnlog.render.figures import format_count, format_size
from turnlog.session.session_lookup import read_all_titles

if TYPE_CHECKING:
    from turnlog.api.sessions import CatalogueRow
    from turnlog.entries.titles import SessionTitles
    from turnlog.mcp.arguments import ListArguments, MessageArguments, OutlineArguments, TurnArguments
    from turnlog.mcp.library import SessionLibrary
    from turnlog.session.session import Session

_MAX_TITLE_CHARS = 120
_MAX_LABEL_CHARS = 240


def list_scope_sessions(library: SessionLibrary, arguments: ListArguments) -> str:
    """Answer list_sessions."""
    rows = library.scope.list_rows(library.config)
    if arguments.since is not None:
        first = _parse_first_second(arguments.since)
        rows = [row for row in rows if row.time >= first]
    titles = read_row_titles(library, rows)
    wanted = " ".join(arguments.title.split()).casefold()
    listed = [pair for pair in zip(rows, titles, strict=True) if _has_title(library, wanted, *pair)]
    items = [partial(_render_row, library, *pair) for pair in listed]
    return library.build_answer(
        f"{format_count(len(items), 'session')} in {_name_scope(library)}, newest first.", items, arguments
    )


def _has_title(library: SessionLibrary, wanted: str, row: CatalogueRow, titles: SessionTitles) -> bool:
    """Return whether a title contains a text that is not part of a secret."""
    title = titles.best or ""
    if wanted not in title.casefold():
        return False
    return wanted in hide_marks(library.sessions.redact_label(title, [row.file.path])).casefold()


def read_row_titles(library: SessionLibrary, rows: list[CatalogueRow]) -> list[SessionTitles]:
    return read_all_titles([row.file for row in rows], [row.ends for row in rows], peek_in_index(library.config))


def _name_scope(library: SessionLibrary) -> str:
    return "all projects" if library.scope.folder is None else "this project"


def _parse_first_second(text: str) -> float:
    from turnlog.store.usage.usage_reports import parse_usage_request

    request = parse_usage_request("daily", since=text)
    return request.zone.find_day_start(request.since) if request.since else 0


def _render_row(library: SessionLibrary, row: CatalogueRow, titles: SessionTitles) -> str:
    """Render one session in the list."""
    ends = row.ends
    place = f" · {ends.cwd}" if ends.cwd and ends.cwd != str(library.scope.folder) else ""
    branch = f" · branch {ends.git_branch}" if ends.git_branch else ""
    span = f"{format_minute(ends.started)} to {format_minute(ends.ended)}"
    label = library.sessions.redact_label(f"{branch}{place} · {titles.best or '(no title)'}", [row.file.path])
    here = " · this session" if row.file.session_id == library.find_current_session() else ""
    return (
        f"{row.file.session_id[:8]}{here} · {span} · {format_size(row.file.size)} {clean_line(label, _MAX_LABEL_CHARS)}"
    )


def outline_session(library: SessionLibrary, arguments: OutlineArguments) -> str:
    """Answer get_session, and the resource of a session."""
    found = library.open_named(arguments.session)
    session = found.session
    items: list[LazyText] = [partial(_render_facts, session)]
    items += [partial(outline_turn, turn) for turn in session.turns]
    head = f"Session {found.file.session_id}: {format_count(len(session.turns), 'turn')}; get_turns reads them."
    return library.build_answer(head, items, arguments)


def _render_facts(session: Session) -> str:
    usage = session.usage
    started, ended = session.span
    agents = ", ".join(
        f"{agent.agent_id} ({clean_line(agent.type or agent.kind, 40)})" for agent in session.agents[:20]
    )
    facts = {
        "title": clean_line(session.title or "(none)", _MAX_TITLE_CHARS),
        "folder": ", ".join(session.folders[:5]),
        "time": f"{format_minute(started)} to {format_minute(ended)} UTC",
        "models": ", ".join(session.models[:5]),
        "tokens": f"{usage.output_tokens:,} out, {usage.input_tokens:,} in, {usage.cache_read_input_tokens:,} cached",
        "cost": f"${usage.cost_usd:.2f}" if usage.cost_usd else "",
        "calls": f"{len(session.calls):,}",
        "compactions": str(len(session.compactions)) if session.compactions else "",
        "sub-agents": agents,
        "git branches": ", ".join(clean_line(name, 60) for name in session.git_branches[:5]),
    }
    return "\n".join(f"{name}: {value}" for name, value in facts.items() if value)


def read_turns(library: SessionLibrary, arguments: TurnArguments) -> str:
    """Answer get_turns."""
    found = library.open_named(arguments.session)
    session = found.session if arguments.agent is None else _open_agent(found.session, arguments.agent)
    count = len(session.turns)
    if arguments.first > count:
        raise UsageError(f"first is {arguments.first}, but there are {format_count(count, 'turn')}")
    last = min(arguments.last or count, count)
    if arguments.first > last:
        raise UsageError(f"first is {arguments.first}, which is after last ({last})")
    turns = session.turns[arguments.first - 1 : last]
    items = [partial(render_turn, session, turn, arguments.results) for turn in turns]
    head = f"Session {found.short_id}, turns {arguments.first} to {last} of {count}."
    return library.build_answer(head, items, arguments)


def _open_agent(session: Session, name: str) -> Session:
    agents = [agent for agent in session.agents if agent.agent_id == name]
    if not agents:
        raise NotFound("this session has no such sub-agent; get_session lists the sub-agents")
    return session.open_agent_session(agents[0])


def read_messages(library: SessionLibrary, arguments: MessageArguments) -> str:
    """Answer get_messages."""
    from turnlog.api.session import collect_messages

    found = library.open_named(arguments.session)
    messages = collect_messages(found.session).messages
    count = len(messages)
    first = max(count + arguments.first, 0) if arguments.first < 0 else max(arguments.first - 1, 0)
    if first >= count:
        raise UsageError(f"first is {arguments.first}, but there are {format_count(count, 'message')}")
    items = [partial(render_message, number + 1, messages[number]) for number in range(first, count)]
    head = f"Session {found.short_id}, messages {first + 1} to {count} as resuming it would send them."
    return library.build_answer(head, items, arguments)
