"""GET /search: search all sessions. The address contains the whole query, so the page also works without scripts."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple
from urllib.parse import urlencode

import apsw
from markupsafe import Markup, escape
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from turnlog.api.documents import to_document
from turnlog.api.search import build_search_report
from turnlog.errors import UsageError
from turnlog.store.index.refresh import RefreshResult
from turnlog.store.project_folders import load_project_path
from turnlog.store.search.facet_counts import FacetCounter, FacetCounts
from turnlog.store.search.index_source import IndexSource
from turnlog.store.search.loose_search import search_loosely
from turnlog.store.search.match_expression import SearchPlan, plan_search
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
from turnlog.web.machine import IndexState, Machine
from turnlog.web.reading.links import text_address
from turnlog.web.search.facets import FacetGroup, FacetSource, SessionPlaces, build_facets, build_uncounted_facets
from turnlog.web.search.query_filters import change_filters, list_filters, remove_filter
from turnlog.web.search.remembered_searches import list_remembered_searches
from turnlog.web.search.scanner import ScanJob, run_scan
from turnlog.web.search.typed_query import complete_typed_query


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
    total: int
    """How many hits the session has."""
    is_bounded: bool
    """Whether it may have more."""


def build_session_hits(
    machine: Machine, document: Mapping[str, Any], counts: FacetCounts | None = None
) -> Iterator[SessionHits]:
    """Add addresses to the sessions and hits of a `turnlog search --json` document."""
    refs = machine.load_refs()
    for session in document["sessions"]:
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
            session["project"] or load_project_path(machine.store.db, folder),
            amounts.parse_seconds(session["ended"]),
            [_to_linked_hit(hit, session, ref) for hit in session["hits"]],
            max(session["total"], counts.sessions[number] if counts else 0),
            not counts.is_complete if counts else document["total"]["at_least"],
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
_HOME_OPTIONS = SearchOptions(limit=5, hits=3)
_MAX_QUERY_CHARS = 2000
_COUNT_SECONDS, _MAX_COUNT_SECONDS = 0.15, 5.0
"""How long hits are counted while the reader types, and how long if that was not enough."""
_MAX_SCOPE_SECONDS = 0.5
"""How long all texts of an index are counted."""


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


class FoundTexts(NamedTuple):
    """The results of a search, and the plan by which its hits can be counted."""

    document: dict[str, Any]
    plan: SearchPlan | None = None
    """None if the hits can't be counted: files were read, or no single text contains all words."""


class CountedHits(NamedTuple):
    """The number of hits, and the choices beside them."""

    counts: FacetCounts | None = None
    """None if the hits can't be counted."""
    facets: Sequence[FacetGroup] = ()
    is_late: bool = False
    """Whether counting was cut short."""


class HitTotal(NamedTuple):
    """How many hits there are."""

    hits: int
    sessions: int
    is_bounded: bool
    """Whether there may be more."""


async def show_search(request: Request) -> Response:
    return await _answer_search(request, parse_search_request(request), "search.html")


async def show_search_results(request: Request) -> Response:
    """Render only the results, for the page's script."""
    return await _answer_search(request, parse_search_request(request), "search_results.html")


async def _answer_search(request: Request, search: SearchRequest, template: str) -> Response:
    mistake, found = None, None
    try:
        found = None if search.is_empty else await _find_texts(request, search)
    except UsageError as error:
        mistake = QueryMistake.from_error(error)
    return await run_in_threadpool(_render_results, request, template, search, found, mistake)


def _render_results(
    request: Request,
    template: str,
    search: SearchRequest,
    found: FoundTexts | None,
    mistake: QueryMistake | None,
) -> Response:
    machine = get_machine(request)
    scopes = get_app_state(request, "scopes", ScopeCache)
    document = found.document if found else None
    is_patient = request.query_params.get("counts") == "all"
    counted = CountedHits()
    if mistake is None:
        counted = _count_hits(machine, scopes, search, found, _MAX_COUNT_SECONDS if is_patient else _COUNT_SECONDS)
    counts = counted.counts
    return render_page(
        request,
        template,
        search=search,
        results=document,
        total=_build_total(document, counts) if document else None,
        groups=list(build_session_hits(machine, document, counts)) if document else [],
        left_out=LeftOutHits(**document["searched"]["trashed"]) if document else LeftOutHits(),
        mistake=mistake,
        facets=counted.facets,
        is_counted=is_patient or not counted.is_late,
        filters=[
            (item.name, ", ".join(item.values), search._replace(q=remove_filter(search.q, item)))
            for item in list_filters(search.q)
        ],
        search_without_filters=change_filters(search.q, {item.name: () for item in list_filters(search.q)}),
        scope=scopes.get_scope(machine),
        coverage=_describe_coverage(machine.state, scopes.get_scope(machine).share),
        loosened=[describe_loosened_words(**item) for item in document["total"]["loosened"]] if document else [],
        more=_MORE_SESSIONS,
        remembered=list_remembered_searches(machine.preferences.load().values),
        amounts=amounts,
    )


def _count_hits(
    machine: Machine, scopes: ScopeCache, search: SearchRequest, found: FoundTexts | None, max_seconds: float
) -> CountedHits:
    """Count the hits, and build the choices beside them."""
    db = machine.store.db
    if found is None or found.plan is None:
        scope = scopes.get_facets(machine)
        if search.is_empty:
            return CountedHits(None, build_facets(search.q, scope.counts, scope.source(db), has_alternatives=False))
        if search.mode == "words":
            return CountedHits()
        return CountedHits(None, build_uncounted_facets(search.q, scope.counts, scope.places))
    trash = find_trashed_sessions(db, machine.data_dir)
    counter = FacetCounter(db, max_seconds, trash.sql_bound)
    source = FacetSource(db, counter, scopes.get_facets(machine).places)
    counts = source.count_plan(found.plan)
    is_loosened = bool(found.document["total"]["loosened"])
    facets = build_facets(search.q, counts, source, has_alternatives=not is_loosened)
    return CountedHits(counts, facets, counter.is_late)


def _build_total(document: Mapping[str, Any], counts: FacetCounts | None) -> HitTotal:
    """Combine what was counted with what the search itself saw, which may be more if the counting was cut short."""
    total = document["total"]
    if counts is None:
        return HitTotal(total["hits"], total["sessions"], total["at_least"])
    return HitTotal(
        max(counts.total, total["hits"]), max(len(counts.sessions), total["sessions"]), not counts.is_complete
    )


def _describe_coverage(state: IndexState, share: float) -> str:
    """Say what a search covers while the index is being filled; empty if it covers everything."""
    if state.phase == "failed":
        return f"The index is out of date, so newer texts may be missing: {state.failure}"
    if state.phase == "starting":
        return "turnlog is still looking for session files; what it finds will appear here."
    if state.is_busy and state.files and state.files_read < state.files:
        return (
            f"So far, {state.files_read:,} of {state.files:,} files can be searched; the others follow, newest first."
        )
    if share < 1:
        return describe_share(share)
    return "The index is being updated; new texts will appear here." if state.is_busy else ""


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


async def _find_texts(request: Request, search: SearchRequest) -> FoundTexts:
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
    return FoundTexts(await run_scan(job, request.is_disconnected))


def search_words(
    machine: Machine, text: str, options: SearchOptions, scopes: ScopeCache, *, is_loose: bool = True
) -> FoundTexts:
    """Search the index as `turnlog search --json` does; `is_loose` also tries loosened words."""
    query = parse_query(text)
    db = machine.store.db
    source = IndexSource(machine.data_dir)
    if is_loose:
        result = search_loosely(db, query, options, source.read_passage, source.find_trashed(db))
    else:
        result = search_index(db, plan_search(db, query), options, source.read_passage, source.find_trashed(db))
    sessions = load_searched_sessions(db, [group.session for group in result.groups])
    answer = SearchAnswer(scopes.get_scope(machine, query), result, sessions)
    return FoundTexts(to_document(build_search_report(text, answer)), None if result.is_scattered else result.plan)


class ScopeFacets(NamedTuple):
    """What all texts together are."""

    counts: FacetCounts
    places: SessionPlaces

    def source(self, db: apsw.Connection) -> FacetSource:
        return FacetSource(db, FacetCounter(db, _COUNT_SECONDS), self.places)


class ScopeCache:
    """Remembers for a few seconds what can be searched, since counting takes longer than most searches."""

    def __init__(self) -> None:
        self._known: tuple[float, int, SearchedIndex] | None = None
        self._facets: tuple[int, ScopeFacets] | None = None

    def get_facets(self, machine: Machine) -> ScopeFacets:
        """Return the counts of all texts, and where the sessions belong."""
        generation = machine.state.generation
        if self._facets is None or self._facets[0] != generation:
            db = machine.store.db
            places = SessionPlaces.load(db)
            trash = find_trashed_sessions(db, machine.data_dir)
            source = FacetSource(db, FacetCounter(db, _MAX_SCOPE_SECONDS, trash.sql_bound), places)
            self._facets = generation, ScopeFacets(source.count_query(""), places)
        return self._facets[1]

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


def show_home_hits(request: Request) -> Response:
    """Render a few hits while somebody types, or nothing if the text is not a valid query."""
    text = complete_typed_query(request.query_params.get("q", "").strip()[:_MAX_QUERY_CHARS])
    if project := request.query_params.get("in", "")[:1000]:
        text = change_filters(text, {"project": [project]})
    machine = get_machine(request)
    try:
        scopes = get_app_state(request, "scopes", ScopeCache)
        document = search_words(machine, text, _HOME_OPTIONS, scopes, is_loose=False).document
    except UsageError:
        return answers.build_html_response("")
    groups = list(build_session_hits(machine, document))
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
        document = (await _find_texts(request, search)).document
    except QueryError as error:
        return answers.build_json_response({"error": str(error), "query": error.query, "at": error.at}, 400)
    return answers.build_json_response(document)


routes: list[BaseRoute] = [
    Route("/search", show_search),
    Route("/search/results", show_search_results),
    Route("/search/hits", show_home_hits),
    Route("/api/search", send_search_document),
]
