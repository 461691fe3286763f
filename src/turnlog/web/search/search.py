"""GET /search: what all sessions say. The query, filters and all, is in the address; without script it is a form."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple
from urllib.parse import urlencode

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import BaseRoute, Route

from turnlog.errors import UsageError
from turnlog.session.texts.texts import KINDS
from turnlog.store.index.refresh import Refreshed
from turnlog.store.search.fallback import search_loosely
from turnlog.store.search.found import Answered, Searched, document, loosened_words, searched
from turnlog.store.search.match import ROLES, plan
from turnlog.store.search.places import known_sessions
from turnlog.store.search.query import Query, parse
from turnlog.store.search.search import Wish, search
from turnlog.store.search.source import Source
from turnlog.store.search.syntax import QueryError
from turnlog.store.search.trashed import LeftOut, trashed
from turnlog.web import amounts, answers
from turnlog.web.answers import kept, page, place_of
from turnlog.web.home.listing import Listing, Lists
from turnlog.web.place import Place
from turnlog.web.search.composing import CONTROLS, changed, composed, filters
from turnlog.web.search.hits import groups
from turnlog.web.search.scanner import Job, scanned

MODES = ("words", "substring", "regex")
_LIMITS = {"limit": (20, 500), "hits": (3, 200), "context": (0, 10)}
_MORE = 40
_HOME = Wish(limit=5, hits=2)
_LONGEST = 2000
_AGES = {"1d": "a day", "7d": "a week", "30d": "30 days", "90d": "90 days", "1y": "a year"}


class Asked(NamedTuple):
    """What an address asks for."""

    q: str = ""
    """The query; in the modes that read files, filters alone."""
    mode: str = "words"
    text: str = ""
    """What to look for in the modes that read files."""
    newest: bool = False
    limit: int = 20
    hits: int = 3
    context: int = 0

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to look for."""
        return not (self.q.strip() if self.mode == "words" else self.text)

    def address(self, path: str = "/search", **changes: Any) -> str:
        """Where to ask for this, with some changes."""
        new, usual = self._replace(**changes), Asked()
        said = {"q": new.q, "text": new.text, "sort": "newest" if new.newest else ""}
        said |= {name: getattr(new, name) for name in ("mode", *_LIMITS) if getattr(new, name) != getattr(usual, name)}
        query = urlencode({name: value for name, value in said.items() if value})
        return f"{path}?{query}" if query else path


class Mistake(NamedTuple):
    """What is wrong with a query, and where."""

    words: str
    before: str = ""
    rest: str = ""

    @classmethod
    def of(cls, error: UsageError) -> Mistake:
        """The mistake that an error tells of."""
        words = str(error).removeprefix("--")
        if not isinstance(error, QueryError):
            return cls(words)
        return cls(words, error.query[: error.at], error.query[error.at :] or " ")


async def show(request: Request) -> Response:
    """The page."""
    asked = understood(request)
    if (told := _told(request)) is not None and (query := changed(asked.q, *told)) != asked.q:
        return RedirectResponse(asked.address(q=query), 303)
    return await _answered(request, asked, "search.html")


async def results(request: Request) -> Response:
    """The results alone, for the script of the page; controls that were changed are written into the query."""
    asked = understood(request)
    if (told := _told(request)) is not None:
        asked = asked._replace(q=changed(asked.q, *told))
    return await _answered(request, asked, "search_results.html")


async def _answered(request: Request, asked: Asked, template: str) -> Response:
    mistake, found = None, None
    try:
        found = None if asked.is_empty else await _document(request, asked)
    except UsageError as error:
        mistake = Mistake.of(error)
    return await run_in_threadpool(_page, request, template, asked, found, mistake)


def _page(
    request: Request, template: str, asked: Asked, found: Mapping[str, Any] | None, mistake: Mistake | None
) -> Response:
    listing = kept(request, "lists", Lists).of(place_of(request))
    return page(
        request,
        template,
        asked=asked,
        found=found,
        groups=list(groups(place_of(request), found["sessions"])) if found else [],
        left_out=LeftOut(**found["searched"]["trashed"]) if found else LeftOut(),
        mistake=mistake,
        controls=filters(asked.q),
        options=_options(request, listing),
        scope=kept(request, "scopes", Scopes).of(place_of(request)),
        loosened=[loosened_words(**item) for item in found["total"]["loosened"]] if found else [],
        more=_MORE,
        amounts=amounts,
    )


def understood(request: Request) -> Asked:
    """What an address asks for; what it does not understand it leaves out."""
    given = request.query_params
    mode = given.get("mode", "words")
    numbers = {
        name: min(int(text), most) if (text := given.get(name, "")).isdecimal() and len(text) < 7 else usual
        for name, (usual, most) in _LIMITS.items()
    }
    return Asked(
        given.get("q", "").strip()[:_LONGEST],
        mode if mode in MODES else "words",
        given.get("text", "")[:_LONGEST],
        given.get("sort") == "newest",
        max(numbers["limit"], 1),
        max(numbers["hits"], 1),
        numbers["context"],
    )


def _told(request: Request) -> tuple[str, dict[str, str]] | None:
    """The query that the controls were shown beside, and what they say now."""
    given = request.query_params
    if "was" not in given:
        return None
    return given["was"][:_LONGEST], {name: given[f"f_{name}"][:200] for name in CONTROLS if f"f_{name}" in given}


async def _document(request: Request, asked: Asked) -> dict[str, Any]:
    place = place_of(request)
    if asked.mode == "words":
        wish = Wish(asked.limit, asked.hits, asked.newest, asked.context)
        return await run_in_threadpool(found_words, place, asked.q, wish, kept(request, "scopes", Scopes))
    job = Job(
        str(place.index),
        str(place.data_dir),
        asked.mode,
        asked.text,
        asked.q,
        asked.limit,
        asked.hits,
        asked.context,
        not place.state.is_busy,
    )
    return await scanned(job, request.is_disconnected)


def found_words(place: Place, text: str, wish: Wish, scopes: Scopes, *, is_loose: bool = True) -> dict[str, Any]:
    """Ask the index, and give the document of `turnlog search --json`; without what is not labelled, if so wished."""
    query = parse(text)
    db = place.store.db
    source = Source(place.data_dir)
    if is_loose:
        found = search_loosely(db, query, wish, source.at, source.trashed(db))
    else:
        found = search(db, plan(db, query), wish, source.at, source.trashed(db))
    sessions = known_sessions(db, [group.session for group in found.groups])
    return document(text, Answered(scopes.of(place, query), found, sessions))


class Scopes:
    """What there is to search; counting takes longer than most searches, so it is remembered for some seconds."""

    def __init__(self) -> None:
        self._known: tuple[float, int, Searched] | None = None

    def of(self, place: Place, query: Query | None = None) -> Searched:
        """What there is to search, and what of a query is not searched for."""
        now, generation = time.monotonic(), place.state.generation
        if self._known is None or self._known[1] != generation or now - self._known[0] > 30:
            trash = trashed(place.store.db, place.data_dir)
            self._known = now, generation, searched(place.store.db, Refreshed(), None, trash)
        return self._known[2]._replace(
            is_complete=not place.state.is_busy, ignored=query.ignored if query is not None else ()
        )


def _options(request: Request, listing: Listing) -> dict[str, list[tuple[str, str]]]:
    """What the controls offer: values and their names."""
    db = place_of(request).store.db
    projects = sorted({row.project for row in listing.rows}, key=lambda path: amounts.folder_name(path).casefold())
    names: list[tuple[str, str]] = list(db.execute("SELECT kind, text FROM name WHERE kind IN ('tool', 'model')"))
    return {
        "project": [(_shortest(path, projects), amounts.folder_name(path)) for path in projects],
        "tool": [(name, name) for kind, name in sorted(names) if kind == "tool"],
        "model": [(name, amounts.model_name(name)) for kind, name in sorted(names) if kind == "model"],
        "role": [(role, role) for role in ROLES],
        "kind": [(kind, kind) for kind in KINDS],
        "error": [("yes", "errors only"), ("no", "no errors")],
        "after": list(_AGES.items()),
    }


def _shortest(path: str, projects: Sequence[str]) -> str:
    """A project's name, if that means no other one, else its path."""
    name = amounts.folder_name(path)
    wanted = name.casefold()
    is_clear = sum(wanted in amounts.folder_name(other).casefold() for other in projects) == 1
    return name if is_clear else path


def hits(request: Request) -> Response:
    """A few hits for the list of sessions; nothing if the words there are no query."""
    text = request.query_params.get("q", "").strip()[:_LONGEST]
    if project := request.query_params.get("in", "")[:1000]:
        text = composed(text, {"project": project})
    place = place_of(request)
    try:
        found = found_words(place, text, _HOME, kept(request, "scopes", Scopes), is_loose=False)
    except UsageError:
        return answers.html("")
    shown = list(groups(place, found["sessions"]))
    if not shown:
        return answers.html("")
    return page(request, "search_hits.html", found=found, groups=shown, asked=Asked(text), amounts=amounts)


async def api(request: Request) -> Response:
    """The document of `turnlog search --json`; a query that is not understood is explained."""
    asked = understood(request)
    if asked.is_empty:
        return answers.document({"error": "nothing to search for; give q=, or mode= and text="}, 400)
    try:
        found = await _document(request, asked)
    except QueryError as error:
        return answers.document({"error": str(error), "query": error.query, "at": error.at}, 400)
    return answers.document(found)


routes: list[BaseRoute] = [
    Route("/search", show),
    Route("/search/results", results),
    Route("/search/hits", hits),
    Route("/api/search", api),
]
