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

from turnlog.api.documents import to_document
from turnlog.api.usage import build_usage_table
from turnlog.errors import UsageError
from turnlog.store.insight.catalog import read_catalog_state
from turnlog.store.insight.insights import (
    count_messages_by_hour,
    list_busiest_files,
    list_longest_turns,
    list_slowest_calls,
)
from turnlog.store.search.searched_sessions import load_searched_sessions
from turnlog.store.usage.groupings import GROUPINGS
from turnlog.store.usage.usage_document import load_usage_report
from turnlog.store.usage.usage_reports import UsageRequest, parse_usage_request
from turnlog.web import amounts, answers
from turnlog.web.answers import get_app_state, get_machine, render_page
from turnlog.web.home.session_list import ListingCache
from turnlog.web.insights import periods, rankings
from turnlog.web.insights.panels import Panel
from turnlog.web.machine import Machine
from turnlog.web.reading.links import text_address

TIME_RANGES = {"7d": "7 days", "30d": "30 days", "90d": "90 days", "365d": "a year", "all": "all time"}
_DEFAULT_RANGE = "30d"
_LATE_PARTS = {
    "tools": "What fills the context, and which tools fail",
    "waits": "Longest waits",
    "files": "Busiest files",
}
_MAX_REMEMBERED = 64
ALL_ROWS, TOP_ROWS, NEWEST_ROWS = slice(None), slice(15), slice(-60, None)
"""Which rows of a report are shown."""


class InsightsFilter(NamedTuple):
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

    def to_usage_request(self, kind: str = "daily") -> UsageRequest:
        """The same as a request to the index; raises UsageError."""
        since = self.since
        if self.range and self.range != "all":
            since = (date.today() - timedelta(days=int(self.range[:-1]) - 1)).isoformat()  # noqa: DTZ011 - as clocks here
        return parse_usage_request(kind, since or None, self.until or None, self.project or None, self.model or None)


def show_insights(request: HttpRequest) -> Response:
    """The page."""
    place, failure = get_machine(request), None
    wish = _parse_filter(request)
    try:
        made = _get_overview(request, wish)
    except UsageError as error:
        # The address may name a day or a project that there is not: the page says so, and shows everything.
        failure, wish = str(error).removeprefix("--"), InsightsFilter("all")
        made = _get_overview(request, wish)
    whole = request.query_params.get("parts") == "all"
    return render_page(
        request,
        "insights.html",
        wish=wish,
        ranges=TIME_RANGES,
        failure=failure,
        total=made.sums,
        panels=made.panels,
        parts={name: _get_part_panels(request, wish, name) if whole else None for name in _LATE_PARTS},
        titles=_LATE_PARTS,
        projects=_list_projects(request),
        models=_list_names(place, "model"),
        amounts=amounts,
    )


def _parse_filter(request: HttpRequest) -> InsightsFilter:
    given = {name: request.query_params.get(name, "").strip()[:1000] for name in InsightsFilter._fields}
    if given["range"] not in TIME_RANGES:
        given["range"] = ""
    if not (given["range"] or given["since"] or given["until"]):
        given["range"] = _DEFAULT_RANGE if _has_recent_usage(get_machine(request)) else "all"
    if given["range"] and (given["since"] or given["until"]):
        given["range"] = ""
    return InsightsFilter(**given)


def _has_recent_usage(place: Machine) -> bool:
    """Whether anything was used within the usual days."""
    days = int(_DEFAULT_RANGE[:-1])
    query = "SELECT EXISTS (SELECT 1 FROM spend WHERE hour >= unixepoch() / 3600 - ?)"
    return bool(place.store.db.execute(query, (days * 24,)).get)


class InsightsOverview(NamedTuple):
    """The sums of all, and the panels that come at once."""

    sums: dict[str, Any]
    panels: list[Panel]


class InsightsCache:
    """What was made before, as long as the index is the same."""

    def __init__(self) -> None:
        self._known: OrderedDict[Any, tuple[Any, Any]] = OrderedDict()

    def get_or_make(self, place: Machine, key: Any, make: Callable[[], Any]) -> Any:
        """What was made for a key, or makes it."""
        now = (place.index, *read_catalog_state(place.store.db), date.today())  # noqa: DTZ011 - as clocks here
        found = self._known.get(key)
        if found is None or found[0] != now:
            found = self._known[key] = now, make()
            while len(self._known) > _MAX_REMEMBERED:
                self._known.popitem(last=False)
        return found[1]


def _load_usage_document(place: Machine, request: UsageRequest, rows: slice = ALL_ROWS) -> dict[str, Any]:
    """The document of a report, or with some of its rows alone, and how many there are."""
    found = load_usage_report(place.store.db, request, is_demo=place.is_demo)
    total = len(found.report.rows)
    found = found._replace(report=found.report._replace(rows=found.report.rows[rows]))
    document: dict[str, Any] = to_document(build_usage_table(found))
    return document if rows is ALL_ROWS else {**document, "all_rows": total}


def _get_overview(request: HttpRequest, wish: InsightsFilter) -> InsightsOverview:
    place = get_machine(request)
    found: InsightsOverview = get_app_state(request, "memory", InsightsCache).get_or_make(
        place, ("page", wish), lambda: _build_overview(place, wish)
    )
    return found


def _build_overview(place: Machine, wish: InsightsFilter) -> InsightsOverview:
    models = _load_usage_document(place, wish.to_usage_request("model"), TOP_ROWS)
    first, last = (amounts.parse_seconds(models["total"][name]) for name in ("first", "last"))
    if not models["rows"]:
        return InsightsOverview(models, [])
    over = _load_usage_document(place, wish.to_usage_request(periods.choose_period(first, last)))
    by_project, by_session = (
        _load_usage_document(place, wish.to_usage_request(kind), TOP_ROWS) for kind in ("project", "session")
    )
    panels = [
        periods.build_time_panel(over),
        rankings.build_cost_panel("project", "By project", by_project, lambda row: _build_project_cell(row, wish)),
        rankings.build_cost_panel("model", "By model", models, rankings.build_model_cell),
        periods.build_hours_panel(
            count_messages_by_hour(place.store.db, wish.to_usage_request()), "this machine's time zone"
        ),
        periods.build_cache_panel(over),
        periods.build_blocks_panel(_load_usage_document(place, wish.to_usage_request("blocks"), NEWEST_ROWS)),
        rankings.build_cost_panel("session", "By session", by_session, rankings.build_session_cell, is_wide=True),
    ]
    return InsightsOverview(models, panels)


def _build_project_cell(row: Mapping[str, Any], wish: InsightsFilter) -> Any:
    return rankings.build_project_cell(row, wish.address)


def show_insights_part(request: HttpRequest) -> Response:
    """One of the parts that are loaded after the page."""
    name = request.path_params["part"]
    if name not in _LATE_PARTS:
        raise HTTPException(404, "there is no such part")
    return render_page(request, "insights_part.html", panels=_get_part_panels(request, _parse_filter(request), name))


def _get_part_panels(request: HttpRequest, wish: InsightsFilter, name: str) -> list[Panel]:
    place = get_machine(request)
    make = {"tools": _build_tool_panels, "files": _build_file_panels, "waits": _build_wait_panels}[name]
    found: list[Panel] = get_app_state(request, "memory", InsightsCache).get_or_make(
        place, (name, wish), lambda: make(place, wish)
    )
    return [panel._replace(note=_ANY_MODEL_NOTE) for panel in found] if wish.model else found


def _build_tool_panels(place: Machine, wish: InsightsFilter) -> list[Panel]:
    found = _load_usage_document(place, wish._replace(model="").to_usage_request("tool"))
    return [rankings.build_context_panel(found), rankings.build_failure_panel(found)]


def _build_file_panels(place: Machine, wish: InsightsFilter) -> list[Panel]:
    return [rankings.build_file_panel(list_busiest_files(place.store.db, wish.to_usage_request()))]


def _build_wait_panels(place: Machine, wish: InsightsFilter) -> list[Panel]:
    db, refs = place.store.db, place.load_refs()
    calls, turns = list_slowest_calls(db, wish.to_usage_request()), list_longest_turns(db, wish.to_usage_request())
    known = load_searched_sessions(db, {*(item.session for item in calls), *(item.session for item in turns)})

    def wait(item: Any, name: str, time: float | None) -> rankings.LongWait:
        session = known[item.session]
        title = " ".join((session.title or "")[:400].split())[:100] or "(no title)"
        href = text_address(refs.format_ref(item.session, session.uuid), item.offset, session.agents.get(item.file))
        return rankings.LongWait(name, title, href, time, item.seconds, getattr(item, "failed", False))

    slow = [wait(item, item.tool, amounts.parse_seconds(item.started)) for item in calls]
    long = [wait(item, f"Turn at {amounts.format_local_time(item.started)[11:]}", item.started) for item in turns]
    return [
        rankings.build_wait_panel("slow", "Slowest calls", slow, _SLOW_CALLS_DEFINITION),
        rankings.build_wait_panel("long", "Longest turns", long, _LONG_TURNS_DEFINITION),
    ]


_ANY_MODEL_NOTE = "Calls and turns are not known by model: these are those of all models."
_SLOW_CALLS_DEFINITION = (
    "From a call's line to its result, sub-agents included; waiting for a permission is part of it. Calls that ask a"
    " person are left out."
)
_LONG_TURNS_DEFINITION = "From a prompt to the last answer, call or result before the next prompt."


def _list_projects(request: HttpRequest) -> list[tuple[str, str]]:
    listing = get_app_state(request, "lists", ListingCache).get_listing(get_machine(request))
    found = {row.cwd or row.project for row in listing.rows}
    return sorted(((path, amounts.folder_name(path)) for path in found), key=lambda pair: (pair[1].casefold(), pair[0]))


def _list_names(place: Machine, kind: str) -> list[str]:
    return [name for (name,) in place.store.db.execute("SELECT text FROM name WHERE kind = ? ORDER BY text", (kind,))]


def send_usage(request: HttpRequest) -> Response:
    """The document of `turnlog usage KIND --json`."""
    kind = request.path_params["kind"]
    if kind not in GROUPINGS:
        raise HTTPException(404, f"there is no report {kind}; there are {', '.join(GROUPINGS)}")
    given = {name: request.query_params.get(name) for name in ("since", "until", "project", "model", "timezone")}
    return answers.build_json_response(_load_usage_document(get_machine(request), parse_usage_request(kind, **given)))


def send_insights(request: HttpRequest) -> Response:
    """What took longest, which files are busiest, and when work is done."""
    place, wish = get_machine(request), _parse_filter(request)
    wanted = wish.to_usage_request()

    def make() -> dict[str, Any]:
        db = place.store.db
        return {
            "since": wanted.since and wanted.since.isoformat(),
            "until": wanted.until and wanted.until.isoformat(),
            "project": wanted.project,
            "hours": count_messages_by_hour(db, wanted),
            "slowest_calls": [_describe_with_session(place, item) for item in list_slowest_calls(db, wanted)],
            "longest_turns": [_describe_with_session(place, item) for item in list_longest_turns(db, wanted)],
            "busiest_files": [{**item._asdict(), "changes": item.changes} for item in list_busiest_files(db, wanted)],
        }

    return answers.build_json_response(
        get_app_state(request, "memory", InsightsCache).get_or_make(place, ("api", wish), make)
    )


def _describe_with_session(place: Machine, item: Any) -> dict[str, Any]:
    found = load_searched_sessions(place.store.db, [item.session])[item.session]
    said = {**item._asdict(), "session_id": found.uuid, "agent_id": found.agents.get(item.file)}
    return {name: value for name, value in said.items() if name not in ("session", "file")}


routes: list[BaseRoute] = [
    Route("/insights", show_insights),
    Route("/insights/{part}", show_insights_part),
    Route("/api/insights", send_insights),
    Route("/api/usage/{kind}", send_usage),
]
