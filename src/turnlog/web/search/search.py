"""GET /search: search all sessions. The address contains the whole query, so the page also works without scripts."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple
from urllib.parse import urlencode

from markupsafe import Markup, escape
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import BaseRoute, Route

from turnlog.api.documents import to_document
from turnlog.api.search import build_search_report
from turnlog.errors import UsageError
from turnlog.session.texts.texts import TEXT_KINDS
from turnlog.store.index.refresh import RefreshResult
from turnlog.store.search.index_source import IndexSource
from turnlog.store.search.loose_search import search_loosely
from turnlog.store.search.match_expression import KINDS_BY_ROLE, plan_search
from turnlog.store.search.query import SearchQuery, parse_query
from turnlog.store.search.search import SearchOptions, search_index
from turnlog.store.search.search_answer import (
    SearchAnswer,
    SearchedIndex,
    describe_loosened_words,
    describe_share,
    read_searched_index,
)
from turnlog.store.search.searched_sessions import load_searched_sessions
from turnlog.store.search.syntax import QueryError
from turnlog.store.search.trashed_sessions import LeftOutHits, find_trashed_sessions
from turnlog.web import amounts, answers
from turnlog.web.answers import get_app_state, get_machine, render_page
from turnlog.web.home.session_list import HomeListing, ListingCache
from turnlog.web.machine import Machine
from turnlog.web.reading.links import text_address
from turnlog.web.search.query_filters import FILTER_CONTROLS, apply_changed_controls, change_filters, read_filters
from turnlog.web.search.scanner import ScanJob, run_scan


class LinkedHit(NamedTuple):
    kind: str
    time: float | None
    href: str
    text: Markup | None
    is_in_agent: bool
    is_beside: bool
    """Whether it is in a large result that is stored outside the transcript."""
    before: list[tuple[str, str | None]]
    after: list[tuple[str, str | None]]


class SessionHits(NamedTuple):
    session: Mapping[str, Any]
    ref: str
    title: str
    project: str
    last: float | None
    hits: list[LinkedHit]


def build_session_hits(machine: Machine, sessions: Sequence[Mapping[str, Any]]) -> Iterator[SessionHits]:
    """Add addresses to the sessions and hits of a `turnlog search --json` document."""
    refs = machine.load_refs()
    for session in sessions:
        row = machine.store.db.execute(
            "SELECT session.id, uuid, name.text FROM session JOIN name ON name.id = project"
            " LEFT JOIN file ON file.session = session.id WHERE uuid = ? ORDER BY path = ? DESC LIMIT 1",
            (session["session_id"], session["path"]),
        ).fetchone()
        number, uuid, folder = row if row else (0, session["session_id"], "")
        ref = refs.format_ref(number, uuid)
        yield SessionHits(
            session,
            ref,
            " ".join((session["title"] or "")[:1000].split())[:240] or "(no title)",
            session["project"] or folder,
            amounts.parse_seconds(session["ended"]),
            [_to_linked_hit(hit, session, ref) for hit in session["hits"]],
        )


def _to_linked_hit(hit: Mapping[str, Any], session: Mapping[str, Any], ref: str) -> LinkedHit:
    is_beside = hit["agent_id"] is None and hit["path"] != session["path"]
    return LinkedHit(
        hit["kind"],
        amounts.parse_seconds(hit["time"]),
        text_address(ref, None if is_beside else hit["offset"], hit["agent_id"]),
        None if hit["text"] is None else mark_ranges(hit["text"], hit["ranges"]),
        hit["agent_id"] is not None,
        is_beside,
        [(item["kind"], item["text"]) for item in hit["before"]],
        [(item["kind"], item["text"]) for item in hit["after"]],
    )


def mark_ranges(text: str, ranges: Sequence[Sequence[int]]) -> Markup:
    """Escape text and mark the given ranges."""
    parts, done = [], 0
    for start, end in ranges:
        parts += [escape(text[done:start]), Markup("<mark>{}</mark>").format(text[start:end])]
        done = end
    return Markup("").join([*parts, escape(text[done:])])


SEARCH_MODES = ("words", "substring", "regex")
_NUMBER_LIMITS = {"limit": (20, 500), "hits": (3, 200), "context": (0, 10)}
_MORE_SESSIONS = 40
_HOME_OPTIONS = SearchOptions(limit=5, hits=2)
_MAX_QUERY_CHARS = 2000
_AGE_CHOICES = {"1d": "a day", "7d": "a week", "30d": "30 days", "90d": "90 days", "1y": "a year"}


class SearchRequest(NamedTuple):
    """A parsed address."""

    q: str = ""
    """The query; in the modes that read files, only its filters."""
    mode: str = "words"
    text: str = ""
    """The text to search for in the modes that read files."""
    newest: bool = False
    limit: int = 20
    hits: int = 3
    context: int = 0

    @property
    def is_empty(self) -> bool:
        return not (self.q.strip() if self.mode == "words" else self.text)

    def address(self, path: str = "/search", **changes: Any) -> str:
        """Return the address of this request with some changes."""
        new, defaults = self._replace(**changes), SearchRequest()
        params = {"q": new.q, "text": new.text, "sort": "newest" if new.newest else ""}
        params |= {
            name: getattr(new, name)
            for name in ("mode", *_NUMBER_LIMITS)
            if getattr(new, name) != getattr(defaults, name)
        }
        query = urlencode({name: value for name, value in params.items() if value})
        return f"{path}?{query}" if query else path


class QueryMistake(NamedTuple):
    """The error in a query and its position."""

    words: str
    before: str = ""
    rest: str = ""

    @classmethod
    def from_error(cls, error: UsageError) -> QueryMistake:
        words = str(error).removeprefix("--")
        if not isinstance(error, QueryError):
            return cls(words)
        return cls(words, error.query[: error.at], error.query[error.at :] or " ")


async def show_search(request: Request) -> Response:
    search = parse_search_request(request)
    if (controls := _read_controls(request)) is not None and (
        query := apply_changed_controls(search.q, *controls)
    ) != search.q:
        return RedirectResponse(search.address(q=query), 303)
    return await _answer_search(request, search, "search.html")


async def show_search_results(request: Request) -> Response:
    """Render only the results, for the page's script; changed controls are written into the query."""
    search = parse_search_request(request)
    if (controls := _read_controls(request)) is not None:
        search = search._replace(q=apply_changed_controls(search.q, *controls))
    return await _answer_search(request, search, "search_results.html")


async def _answer_search(request: Request, search: SearchRequest, template: str) -> Response:
    mistake, document = None, None
    try:
        document = None if search.is_empty else await _find_document(request, search)
    except UsageError as error:
        mistake = QueryMistake.from_error(error)
    return await run_in_threadpool(_render_results, request, template, search, document, mistake)


def _render_results(
    request: Request,
    template: str,
    search: SearchRequest,
    document: Mapping[str, Any] | None,
    mistake: QueryMistake | None,
) -> Response:
    listing = get_app_state(request, "lists", ListingCache).get_listing(get_machine(request))
    return render_page(
        request,
        template,
        search=search,
        results=document,
        groups=list(build_session_hits(get_machine(request), document["sessions"])) if document else [],
        left_out=LeftOutHits(**document["searched"]["trashed"]) if document else LeftOutHits(),
        mistake=mistake,
        controls=read_filters(search.q),
        options=_list_control_options(request, listing),
        scope=get_app_state(request, "scopes", ScopeCache).get_scope(get_machine(request)),
        loosened=[describe_loosened_words(**item) for item in document["total"]["loosened"]] if document else [],
        more=_MORE_SESSIONS,
        describe_share=describe_share,
        amounts=amounts,
    )


def parse_search_request(request: Request) -> SearchRequest:
    """Parse the query string of an address; unknown values are ignored."""
    params = request.query_params
    mode = params.get("mode", "words")
    numbers = {
        name: min(int(text), most) if (text := params.get(name, "")).isdecimal() and len(text) < 7 else default
        for name, (default, most) in _NUMBER_LIMITS.items()
    }
    return SearchRequest(
        params.get("q", "").strip()[:_MAX_QUERY_CHARS],
        mode if mode in SEARCH_MODES else "words",
        params.get("text", "")[:_MAX_QUERY_CHARS],
        params.get("sort") == "newest",
        max(numbers["limit"], 1),
        max(numbers["hits"], 1),
        numbers["context"],
    )


def _read_controls(request: Request) -> tuple[str, dict[str, str]] | None:
    """Return the query for which the controls were shown, and their current values."""
    params = request.query_params
    if "was" not in params:
        return None
    return params["was"][:_MAX_QUERY_CHARS], {
        name: params[f"f_{name}"][:200] for name in FILTER_CONTROLS if f"f_{name}" in params
    }


async def _find_document(request: Request, search: SearchRequest) -> dict[str, Any]:
    machine = get_machine(request)
    if search.mode == "words":
        options = SearchOptions(search.limit, search.hits, search.newest, search.context)
        return await run_in_threadpool(
            search_words, machine, search.q, options, get_app_state(request, "scopes", ScopeCache)
        )
    job = ScanJob(
        str(machine.index),
        str(machine.data_dir),
        search.mode,
        search.text,
        search.q,
        search.limit,
        search.hits,
        search.context,
        not machine.state.is_busy,
    )
    return await run_scan(job, request.is_disconnected)


def search_words(
    machine: Machine, text: str, options: SearchOptions, scopes: ScopeCache, *, is_loose: bool = True
) -> dict[str, Any]:
    """Search the index and return the document of `turnlog search --json`; `is_loose` also tries loosened words."""
    query = parse_query(text)
    db = machine.store.db
    source = IndexSource(machine.data_dir)
    if is_loose:
        result = search_loosely(db, query, options, source.read_passage, source.find_trashed(db))
    else:
        result = search_index(db, plan_search(db, query), options, source.read_passage, source.find_trashed(db))
    sessions = load_searched_sessions(db, [group.session for group in result.groups])
    answer = SearchAnswer(scopes.get_scope(machine, query), result, sessions)
    document: dict[str, Any] = to_document(build_search_report(text, answer))
    return document


class ScopeCache:
    """Remembers for a few seconds what can be searched, since counting takes longer than most searches."""

    def __init__(self) -> None:
        self._known: tuple[float, int, SearchedIndex] | None = None

    def get_scope(self, machine: Machine, query: SearchQuery | None = None) -> SearchedIndex:
        """Return what can be searched, and which parts of a query are ignored."""
        now, generation = time.monotonic(), machine.state.generation
        if self._known is None or self._known[1] != generation or now - self._known[0] > 30:
            trash = find_trashed_sessions(machine.store.db, machine.data_dir)
            self._known = now, generation, read_searched_index(machine.store.db, RefreshResult(), None, trash)
        return self._known[2]._replace(
            is_complete=not machine.state.is_busy and self._known[2].share == 1,
            ignored=query.ignored if query is not None else (),
        )


def _list_control_options(request: Request, listing: HomeListing) -> dict[str, list[tuple[str, str]]]:
    """Return the choices for each control: values and labels."""
    db = get_machine(request).store.db
    projects = sorted({row.project for row in listing.rows}, key=lambda path: amounts.folder_name(path).casefold())
    names: list[tuple[str, str]] = list(db.execute("SELECT kind, text FROM name WHERE kind IN ('tool', 'model')"))
    return {
        "project": [(_shorten_project(path, projects), amounts.folder_name(path)) for path in projects],
        "tool": [(name, name) for kind, name in sorted(names) if kind == "tool"],
        "model": [(name, amounts.model_name(name)) for kind, name in sorted(names) if kind == "model"],
        "role": [(role, role) for role in KINDS_BY_ROLE],
        "kind": [(kind, kind) for kind in TEXT_KINDS],
        "error": [("yes", "errors only"), ("no", "no errors")],
        "after": list(_AGE_CHOICES.items()),
    }


def _shorten_project(path: str, projects: Sequence[str]) -> str:
    """Return a project's name if it is unambiguous, otherwise its path."""
    name = amounts.folder_name(path)
    wanted = name.casefold()
    is_clear = sum(wanted in amounts.folder_name(other).casefold() for other in projects) == 1
    return name if is_clear else path


def show_home_hits(request: Request) -> Response:
    """Render a few hits below the list of sessions, or nothing if the filter is not a valid query."""
    text = request.query_params.get("q", "").strip()[:_MAX_QUERY_CHARS]
    if project := request.query_params.get("in", "")[:1000]:
        text = change_filters(text, {"project": project})
    machine = get_machine(request)
    try:
        document = search_words(
            machine, text, _HOME_OPTIONS, get_app_state(request, "scopes", ScopeCache), is_loose=False
        )
    except UsageError:
        return answers.build_html_response("")
    groups = list(build_session_hits(machine, document["sessions"]))
    if not groups:
        return answers.build_html_response("")
    return render_page(
        request, "search_hits.html", results=document, groups=groups, search=SearchRequest(text), amounts=amounts
    )


async def send_search_document(request: Request) -> Response:
    """Send the document of `turnlog search --json`; for an invalid query, send an explanation."""
    search = parse_search_request(request)
    if search.is_empty:
        return answers.build_json_response({"error": "nothing to search for; pass q=, or mode= and text="}, 400)
    try:
        document = await _find_document(request, search)
    except QueryError as error:
        return answers.build_json_response({"error": str(error), "query": error.query, "at": error.at}, 400)
    return answers.build_json_response(document)


routes: list[BaseRoute] = [
    Route("/search", show_search),
    Route("/search/results", show_search_results),
    Route("/search/hits", show_home_hits),
    Route("/api/search", send_search_document),
]
