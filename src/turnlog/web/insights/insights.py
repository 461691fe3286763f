"""GET /insights: where tokens, money and time went. The figures are those of `turnlog usage --json`.

What the index adds up by hour comes at once. What has to look at every call or text (tools, files, waits) is loaded
after the page, one part after the other, and remembered while the index stays the same.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping
from datetime import date, timedelta
from typing import Any, NamedTuple
from urllib.parse import urlencode

from starlette.exceptions import HTTPException
from starlette.requests import Request as HttpRequest
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from turnlog.errors import UsageError
from turnlog.store.insight.catalog import state
from turnlog.store.insight.insights import busiest, by_hour, longest, slowest
from turnlog.store.search.places import known_sessions
from turnlog.store.usage.asked import asked
from turnlog.store.usage.document import document, shown
from turnlog.store.usage.reports import KINDS, Request
from turnlog.web import amounts, answers
from turnlog.web.answers import kept, page, place_of
from turnlog.web.home.listing import Lists
from turnlog.web.insights import periods, rankings
from turnlog.web.insights.panels import Panel
from turnlog.web.place import Place
from turnlog.web.reading.links import text_address

RANGES = {"7d": "7 days", "30d": "30 days", "90d": "90 days", "365d": "a year", "all": "all time"}
_USUAL = "30d"
_PARTS = {
    "tools": "What fills the context, and which tools fail",
    "waits": "Longest waits",
    "files": "Busiest files",
}
_REMEMBERED = 64
ALL, MOST, NEWEST = slice(None), slice(15), slice(-60, None)
"""Which rows of a report are shown."""


class Wish(NamedTuple):
    """What the page is about."""

    range: str = ""
    """One of RANGES; empty: the days between `since` and `until`."""
    since: str = ""
    until: str = ""
    project: str = ""
    model: str = ""

    def address(self, path: str = "/insights", **changes: str) -> str:
        """Where to ask for this, with some changes."""
        query = urlencode({name: value for name, value in self._replace(**changes)._asdict().items() if value})
        return f"{path}?{query}" if query else path

    def request(self, kind: str = "daily") -> Request:
        """The same as a request to the index; raises UsageError."""
        since = self.since
        if self.range and self.range != "all":
            since = (date.today() - timedelta(days=int(self.range[:-1]) - 1)).isoformat()  # noqa: DTZ011 - as clocks here
        return asked(kind, since or None, self.until or None, self.project or None, self.model or None)


def show(request: HttpRequest) -> Response:
    """The page."""
    place, failure = place_of(request), None
    wish = _wished(request)
    try:
        made = _made(request, wish)
    except UsageError as error:
        # The address may name a day or a project that there is not: the page says so, and shows everything.
        failure, wish = str(error).removeprefix("--"), Wish("all")
        made = _made(request, wish)
    whole = request.query_params.get("parts") == "all"
    return page(
        request,
        "insights.html",
        wish=wish,
        ranges=RANGES,
        failure=failure,
        total=made.sums,
        panels=made.panels,
        parts={name: _part(request, wish, name) if whole else None for name in _PARTS},
        titles=_PARTS,
        projects=_projects(request),
        models=_names(place, "model"),
        amounts=amounts,
    )


def _wished(request: HttpRequest) -> Wish:
    given = {name: request.query_params.get(name, "").strip()[:1000] for name in Wish._fields}
    if given["range"] not in RANGES:
        given["range"] = ""
    if not (given["range"] or given["since"] or given["until"]):
        given["range"] = _USUAL if _is_used(place_of(request)) else "all"
    if given["range"] and (given["since"] or given["until"]):
        given["range"] = ""
    return Wish(**given)


def _is_used(place: Place) -> bool:
    """Whether anything was used within the usual days."""
    days = int(_USUAL[:-1])
    query = "SELECT EXISTS (SELECT 1 FROM spend WHERE hour >= unixepoch() / 3600 - ?)"
    return bool(place.store.db.execute(query, (days * 24,)).get)


class Made(NamedTuple):
    """The sums of all, and the panels that come at once."""

    sums: dict[str, Any]
    panels: list[Panel]


class Memory:
    """What was made before, as long as the index is the same."""

    def __init__(self) -> None:
        self._known: OrderedDict[Any, tuple[Any, Any]] = OrderedDict()

    def of(self, place: Place, key: Any, make: Callable[[], Any]) -> Any:
        """What was made for a key, or makes it."""
        now = (place.index, *state(place.store.db), date.today())  # noqa: DTZ011 - as clocks here
        found = self._known.get(key)
        if found is None or found[0] != now:
            found = self._known[key] = now, make()
            while len(self._known) > _REMEMBERED:
                self._known.popitem(last=False)
        return found[1]


def _usage(place: Place, request: Request, rows: slice = ALL) -> dict[str, Any]:
    """The document of a report, or with some of its rows alone, and how many there are."""
    found = shown(place.store.db, request, is_demo=place.is_demo)
    total = len(found.report.rows)
    found = found._replace(report=found.report._replace(rows=found.report.rows[rows]))
    return document(found) if rows is ALL else {**document(found), "all_rows": total}


def _made(request: HttpRequest, wish: Wish) -> Made:
    place = place_of(request)
    found: Made = kept(request, "memory", Memory).of(place, ("page", wish), lambda: _panels(place, wish))
    return found


def _panels(place: Place, wish: Wish) -> Made:
    models = _usage(place, wish.request("model"), MOST)
    first, last = (amounts.seconds_of(models["total"][name]) for name in ("first", "last"))
    if not models["rows"]:
        return Made(models, [])
    over = _usage(place, wish.request(periods.suited(first, last)))
    by_project, by_session = (_usage(place, wish.request(kind), MOST) for kind in ("project", "session"))
    panels = [
        periods.over_time(over),
        rankings.costs("project", "By project", by_project, lambda row: _project(row, wish)),
        rankings.costs("model", "By model", models, rankings.model),
        periods.hours(by_hour(place.store.db, wish.request()), "this machine's time zone"),
        periods.cache(over),
        periods.blocks(_usage(place, wish.request("blocks"), NEWEST)),
        rankings.costs("session", "By session", by_session, rankings.session, is_wide=True),
    ]
    return Made(models, panels)


def _project(row: Mapping[str, Any], wish: Wish) -> Any:
    return rankings.project(row, wish.address)


def part(request: HttpRequest) -> Response:
    """One of the parts that are loaded after the page."""
    name = request.path_params["part"]
    if name not in _PARTS:
        raise HTTPException(404, "there is no such part")
    return page(request, "insights_part.html", panels=_part(request, _wished(request), name))


def _part(request: HttpRequest, wish: Wish, name: str) -> list[Panel]:
    place = place_of(request)
    make = {"tools": _tools, "files": _files, "waits": _waits}[name]
    found: list[Panel] = kept(request, "memory", Memory).of(place, (name, wish), lambda: make(place, wish))
    return [panel._replace(note=_ANY_MODEL) for panel in found] if wish.model else found


def _tools(place: Place, wish: Wish) -> list[Panel]:
    found = _usage(place, wish._replace(model="").request("tool"))
    return [rankings.filling(found), rankings.failures(found)]


def _files(place: Place, wish: Wish) -> list[Panel]:
    return [rankings.files(busiest(place.store.db, wish.request()))]


def _waits(place: Place, wish: Wish) -> list[Panel]:
    db, refs = place.store.db, place.refs()
    calls, turns = slowest(db, wish.request()), longest(db, wish.request())
    known = known_sessions(db, {*(item.session for item in calls), *(item.session for item in turns)})

    def wait(item: Any, name: str, time: float | None) -> rankings.Wait:
        session = known[item.session]
        title = " ".join((session.title or "")[:400].split())[:100] or "(no title)"
        href = text_address(refs.of(item.session, session.uuid), item.offset, session.agents.get(item.file))
        return rankings.Wait(name, title, href, time, item.seconds, getattr(item, "failed", False))

    slow = [wait(item, item.tool, amounts.seconds_of(item.started)) for item in calls]
    long = [wait(item, f"Turn at {amounts.local(item.started)[11:]}", item.started) for item in turns]
    return [
        rankings.waits("slow", "Slowest calls", slow, _SLOW),
        rankings.waits("long", "Longest turns", long, _LONG),
    ]


_ANY_MODEL = "Calls and turns are not known by model: these are those of all models."
_SLOW = (
    "From a call's line to its result, sub-agents included; waiting for a permission is part of it. Calls that ask a"
    " person are left out."
)
_LONG = "From a prompt to the last answer, call or result before the next prompt."


def _projects(request: HttpRequest) -> list[tuple[str, str]]:
    listing = kept(request, "lists", Lists).of(place_of(request))
    found = {row.cwd or row.project for row in listing.rows}
    return sorted(((path, amounts.folder_name(path)) for path in found), key=lambda pair: (pair[1].casefold(), pair[0]))


def _names(place: Place, kind: str) -> list[str]:
    return [name for (name,) in place.store.db.execute("SELECT text FROM name WHERE kind = ? ORDER BY text", (kind,))]


def usage(request: HttpRequest) -> Response:
    """The document of `turnlog usage KIND --json`."""
    kind = request.path_params["kind"]
    if kind not in KINDS:
        raise HTTPException(404, f"there is no report {kind}; there are {', '.join(KINDS)}")
    given = {name: request.query_params.get(name) for name in ("since", "until", "project", "model", "timezone")}
    return answers.document(_usage(place_of(request), asked(kind, **given)))


def api(request: HttpRequest) -> Response:
    """What took longest, which files are busiest, and when work is done."""
    place, wish = place_of(request), _wished(request)
    wanted = wish.request()

    def make() -> dict[str, Any]:
        db = place.store.db
        return {
            "since": wanted.since and wanted.since.isoformat(),
            "until": wanted.until and wanted.until.isoformat(),
            "project": wanted.project,
            "hours": by_hour(db, wanted),
            "slowest_calls": [_placed(place, item) for item in slowest(db, wanted)],
            "longest_turns": [_placed(place, item) for item in longest(db, wanted)],
            "busiest_files": [{**item._asdict(), "changes": item.changes} for item in busiest(db, wanted)],
        }

    return answers.document(kept(request, "memory", Memory).of(place, ("api", wish), make))


def _placed(place: Place, item: Any) -> dict[str, Any]:
    found = known_sessions(place.store.db, [item.session])[item.session]
    said = {**item._asdict(), "session_id": found.uuid, "agent_id": found.agents.get(item.file)}
    return {name: value for name, value in said.items() if name not in ("session", "file")}


routes: list[BaseRoute] = [
    Route("/insights", show),
    Route("/insights/{part}", part),
    Route("/api/insights", api),
    Route("/api/usage/{kind}", usage),
]
