"""GET /insights: where tokens, money and time went. The figures are those of `turnlog usage --json`.

Figures that the index sums by hour are part of the page. Parts that examine every call or text (tools, files, waits)
load after it, one by one, and are remembered while the index is unchanged.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from typing import Any, NamedTuple

from starlette.exceptions import HTTPException
from starlette.requests import Request as HttpRequest
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from turnlog.api.documents import to_document
from turnlog.api.usage import build_usage_table
from turnlog.errors import UsageError
from turnlog.store.filter_values import list_names
from turnlog.store.insight.insights import (
    count_messages_by_hour,
    list_busiest_files,
    list_longest_turns,
    list_slowest_calls,
)
from turnlog.store.lake.lake_index import LAKE_TIME_ZONE, list_lake_projects
from turnlog.store.project_folders import load_session_folders
from turnlog.store.search.searched_sessions import load_searched_sessions
from turnlog.store.usage.groupings import GROUPINGS
from turnlog.store.usage.tool_spend import list_tool_points
from turnlog.store.usage.tool_usage import list_call_points, list_tool_times
from turnlog.store.usage.usage_document import load_usage_report
from turnlog.store.usage.usage_reports import UsageRequest, parse_usage_request
from turnlog.store.usage.usage_series import UsagePoint, list_usage_points
from turnlog.store.usage.usage_slices import UNKNOWN_MODEL
from turnlog.web import amounts, answers
from turnlog.web.answers import get_app_state, get_machine, render_page
from turnlog.web.home.session_list import ListingCache
from turnlog.web.insights import breakdown, periods, rankings, session_sums
from turnlog.web.insights.insights_filter import TIME_RANGES, InsightsFilter, parse_insights_filter
from turnlog.web.insights.panels import Panel, keep_insights_links
from turnlog.web.insights.people import build_people_panels
from turnlog.web.insights.time_axis import PERIOD_NAMES, TimeAxis, build_time_axis
from turnlog.web.insights.tools_panel import build_tools_panel
from turnlog.web.machine import Machine
from turnlog.web.project_names import name_projects
from turnlog.web.reading.links import text_address
from turnlog.web.slices.index_cache import IndexCache, load_tool_spend

_LATE_PARTS = {
    "tools": "Tools",
    "waits": "Longest waits",
    "files": "Busiest files",
}
ALL_ROWS, TOP_ROWS, NEWEST_ROWS = slice(None), slice(15), slice(-60, None)
"""The rows of a report to show."""


def show_insights(request: HttpRequest) -> Response:
    machine, failure = get_machine(request), None
    filters = parse_insights_filter(request)
    try:
        overview = _get_overview(request, filters)
    except UsageError as error:
        # If the address has an invalid date or an unknown project, the page reports it and shows everything.
        failure = str(error).removeprefix("--")
        filters = InsightsFilter("all", timezone=filters.timezone)
        overview = _get_overview(request, filters)
    whole = request.query_params.get("parts") == "all"
    return render_page(
        request,
        "insights.html",
        filters=filters,
        ranges=TIME_RANGES,
        dimensions=filters.list_dimensions(bool(machine.lake)),
        periods=PERIOD_NAMES,
        measures={name: measure.label for name, measure in breakdown.MEASURES.items()},
        failure=failure,
        total=overview.sums,
        panels=overview.panels,
        parts={name: _get_part_panels(request, filters, name) if whole else None for name in _LATE_PARTS},
        titles=_LATE_PARTS,
        projects=_list_projects(request),
        models=list_names(machine.store.db, "model"),
        amounts=amounts,
    )


class InsightsOverview(NamedTuple):
    """The totals, and the panels that are part of the page."""

    sums: dict[str, Any]
    panels: list[Panel]


def _load_usage_document(machine: Machine, request: UsageRequest, rows: slice = ALL_ROWS) -> dict[str, Any]:
    """Load a report's document; with `rows`, only those rows and the total number of rows."""
    is_growing = machine.state.is_busy or machine.lake is not None  # a lake's sums can't be computed from its index
    usage = load_usage_report(machine.store.db, request, is_demo=machine.is_demo, is_growing=is_growing)
    total = len(usage.report.rows)
    usage = usage._replace(report=usage.report._replace(rows=usage.report.rows[rows]))
    document: dict[str, Any] = to_document(build_usage_table(usage))
    return document if rows is ALL_ROWS else {**document, "all_rows": total}


def _get_overview(request: HttpRequest, filters: InsightsFilter) -> InsightsOverview:
    machine = get_machine(request)
    overview: InsightsOverview = get_app_state(request, "memory", IndexCache).get_or_make(
        machine, ("page", filters), lambda: _build_overview(request, filters)
    )
    return overview


def _build_overview(request: HttpRequest, filters: InsightsFilter) -> InsightsOverview:
    machine = get_machine(request)
    models = _load_usage_document(machine, filters.to_usage_request("model"), TOP_ROWS)
    if not models["rows"]:
        return InsightsOverview(models, [])
    db, usage, links = machine.store.db, filters.to_usage_request(), filters.to_slice_address()
    points = list_usage_points(db, usage)
    parts = _list_stacked_points(request, filters, points)
    names = name_projects(load_session_folders(db).values())
    days = {date.fromisoformat(point.day) for point in (*points, *parts)}
    axis = build_time_axis(days, usage.since, usage.until, filters.today, filters.per)
    by_time = _load_usage_document(machine, filters.to_usage_request(axis.kind))
    over_time = periods.list_usage_periods(by_time, axis, links)
    dated_links = links._replace(since=axis.first.isoformat(), until=axis.last.isoformat())
    panels = [
        _build_stack_panel(filters, parts, axis, names),
        breakdown.build_treemap_panel(points, dated_links, names),
        periods.build_time_panel(by_time, over_time),
        *(build_people_panels(machine, usage, models) if machine.lake else []),
        *_build_ranking_panels(machine, filters, models, names),
        periods.build_hours_panel(count_messages_by_hour(db, usage), _describe_time_zone(machine), links),
        periods.build_cache_panel(by_time, over_time),
        *([] if machine.lake else [_build_blocks_panel(machine, filters)]),
        _build_session_panel(machine, filters, names),
    ]
    return InsightsOverview(models, _fit_panels(machine, panels))


def _list_stacked_points(request: HttpRequest, filters: InsightsFilter, points: list[UsagePoint]) -> list[UsagePoint]:
    """List what the stacked chart adds up."""
    db = get_machine(request).store.db
    if filters.measure == "calls":
        return list_call_points(db, filters.to_usage_request())
    return (
        list_tool_points(db, load_tool_spend(request), filters.to_usage_request()) if filters.by == "tool" else points
    )


def _build_stack_panel(
    filters: InsightsFilter, points: list[UsagePoint], axis: TimeAxis, names: Mapping[str, str]
) -> Panel:
    links, has_calls = filters.to_slice_address(), filters.measure == "calls"
    if has_calls:
        links = links._replace(model="", outcome="called")
    wanted = breakdown.Breakdown(filters.by or "project", filters.measure or "cost", axis, links, names)
    panel = breakdown.build_stack_panel(points, wanted)
    return panel._replace(note=_ANY_MODEL_NOTE) if has_calls and filters.model else panel


def _describe_time_zone(machine: Machine) -> str:
    return LAKE_TIME_ZONE if machine.lake else "this machine's time zone"


def _build_ranking_panels(
    machine: Machine, filters: InsightsFilter, models: dict[str, Any], names: Mapping[str, str]
) -> list[Panel]:
    projects = _load_usage_document(machine, filters.to_usage_request("project"), TOP_ROWS)
    links = filters.to_slice_address()
    return [
        rankings.build_cost_panel(
            "project",
            "By project",
            projects,
            lambda row: rankings.build_project_cell(row, filters.address, names),
            lambda row: links.build(folder=row["project"] or ""),
        ),
        rankings.build_cost_panel(
            "model",
            "By model",
            models,
            lambda row: rankings.build_model_cell(row, filters.address),
            lambda row: links.build(by_model=row["model"] or UNKNOWN_MODEL),
        ),
    ]


def _build_session_panel(machine: Machine, filters: InsightsFilter, names: Mapping[str, str]) -> Panel:
    sessions = _load_usage_document(machine, filters.to_usage_request("session"), TOP_ROWS)
    return rankings.build_cost_panel(
        "session", "By session", sessions, lambda row: rankings.build_session_cell(row, names), is_wide=True
    )


def _fit_panels(machine: Machine, panels: list[Panel]) -> list[Panel]:
    """Drop the links to pages that a lake doesn't have."""
    return [keep_insights_links(panel) for panel in panels] if machine.lake else panels


def _build_blocks_panel(machine: Machine, filters: InsightsFilter) -> Panel:
    blocks = _load_usage_document(machine, filters.to_usage_request("blocks"), NEWEST_ROWS)
    return periods.build_blocks_panel(blocks, filters.to_slice_address())


def show_insights_part(request: HttpRequest) -> Response:
    """Render one of the parts that load after the page."""
    name = request.path_params["part"]
    if name not in _LATE_PARTS:
        raise HTTPException(404, "no such part")
    return render_page(
        request, "insights_part.html", panels=_get_part_panels(request, parse_insights_filter(request), name)
    )


def _get_part_panels(request: HttpRequest, filters: InsightsFilter, name: str) -> list[Panel]:
    machine = get_machine(request)
    make = {"tools": _build_tool_panels, "files": _build_file_panels, "waits": _build_wait_panels}[name]
    panels: list[Panel] = get_app_state(request, "memory", IndexCache).get_or_make(
        machine, (name, filters), lambda: _fit_panels(machine, make(machine, filters))
    )
    return [panel._replace(note=_ANY_MODEL_NOTE) for panel in panels] if filters.model else panels


def _build_tool_panels(machine: Machine, filters: InsightsFilter) -> list[Panel]:
    document = _load_usage_document(machine, filters._replace(model="").to_usage_request("tool"))
    usage, links = filters._replace(model="").to_usage_request(), filters._replace(model="").to_slice_address()
    times = list_tool_times(machine.store.db, usage)
    return [build_tools_panel(document, times, links), rankings.build_context_panel(document)]


def _build_file_panels(machine: Machine, filters: InsightsFilter) -> list[Panel]:
    return [rankings.build_file_panel(list_busiest_files(machine.store.db, filters.to_usage_request()))]


def _build_wait_panels(machine: Machine, filters: InsightsFilter) -> list[Panel]:
    db, refs = machine.store.db, machine.load_refs()
    calls, turns = (
        list_slowest_calls(db, filters.to_usage_request()),
        list_longest_turns(db, filters.to_usage_request()),
    )
    sessions = load_searched_sessions(db, {*(item.session for item in calls), *(item.session for item in turns)})

    def build_wait(item: Any, name: str, time: float | None) -> rankings.LongWait:
        session = sessions[item.session]
        title = " ".join((session.title or "")[:400].split())[:100] or "(no title)"
        href = text_address(refs.format_ref(item.session, session.uuid), item.offset, session.agents.get(item.file))
        return rankings.LongWait(name, title, href, time, item.seconds, getattr(item, "failed", False))

    slow = [build_wait(item, item.tool, amounts.parse_seconds(item.started)) for item in calls]
    long = [build_wait(item, f"Turn at {amounts.format_local_time(item.started)[11:]}", item.started) for item in turns]
    return [
        rankings.build_wait_panel("slow", "Slowest calls", slow, _SLOW_CALLS_DEFINITION),
        rankings.build_wait_panel("long", "Longest turns", long, _LONG_TURNS_DEFINITION),
    ]


_ANY_MODEL_NOTE = "Calls and turns can't be assigned to a model; these are for all models."
_SLOW_CALLS_DEFINITION = (
    "From a call's line to its result, sub-agents included; waiting for permission counts. Calls that ask"
    " a person are excluded."
)
_LONG_TURNS_DEFINITION = "From a prompt to the last answer, call or result before the next prompt."


def _list_projects(request: HttpRequest) -> list[tuple[str, str]]:
    machine = get_machine(request)
    if machine.lake:
        paths = list_lake_projects(machine.store.db)
    else:
        listing = get_app_state(request, "lists", ListingCache).get_listing(machine)
        paths = {row.cwd or row.project for row in listing.rows}
    return sorted(name_projects(paths).items(), key=lambda pair: (pair[1].casefold(), pair[0]))


def send_usage(request: HttpRequest) -> Response:
    """Send the document of `turnlog usage KIND --json`."""
    kind = request.path_params["kind"]
    if kind not in GROUPINGS:
        raise HTTPException(404, f"unknown report {kind!r}; choose one of {', '.join(GROUPINGS)}")
    machine = get_machine(request)
    params = {name: request.query_params.get(name) for name in ("since", "until", "project", "model", "timezone")}
    if machine.lake:
        if params["timezone"] not in (None, LAKE_TIME_ZONE):
            raise UsageError(f"timezone: the days of a lake are in {LAKE_TIME_ZONE}")
        params["timezone"] = LAKE_TIME_ZONE
    return answers.build_json_response(_load_usage_document(machine, parse_usage_request(kind, **params)))


def send_insights(request: HttpRequest) -> Response:
    """Send the longest waits, the busiest files, and the hours of work."""
    machine, filters = get_machine(request), parse_insights_filter(request)
    usage = filters.to_usage_request()

    def build_document() -> dict[str, Any]:
        db = machine.store.db
        return {
            "since": usage.since and usage.since.isoformat(),
            "until": usage.until and usage.until.isoformat(),
            "project": usage.project,
            "hours": count_messages_by_hour(db, usage),
            "slowest_calls": [_describe_with_session(machine, item) for item in list_slowest_calls(db, usage)],
            "longest_turns": [_describe_with_session(machine, item) for item in list_longest_turns(db, usage)],
            "busiest_files": [{**item._asdict(), "changes": item.changes} for item in list_busiest_files(db, usage)],
        }

    return answers.build_json_response(
        get_app_state(request, "memory", IndexCache).get_or_make(machine, ("api", filters), build_document)
    )


def _describe_with_session(machine: Machine, item: Any) -> dict[str, Any]:
    session = load_searched_sessions(machine.store.db, [item.session])[item.session]
    fields = {**item._asdict(), "session_id": session.uuid, "agent_id": session.agents.get(item.file)}
    return {name: value for name, value in fields.items() if name not in ("session", "file")}


routes: list[BaseRoute] = [
    Route("/insights", show_insights),
    *session_sums.routes,
    Route("/insights/{part}", show_insights_part),
    Route("/api/insights", send_insights),
    Route("/api/usage/{kind}", send_usage),
]
