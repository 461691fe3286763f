"""GET /insights/sessions: the sessions behind a part of a chart, whose sum is that part."""

from __future__ import annotations

from collections.abc import Sequence

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from turnlog.store.usage.usage_reports import parse_usage_request
from turnlog.store.usage.usage_series import UsagePoint, list_usage_points
from turnlog.store.usage.usage_sums import PICO_PER_DOLLAR
from turnlog.web import amounts
from turnlog.web.answers import get_app_state, get_machine, render_page
from turnlog.web.home.session_list import HomeListing, ListingCache
from turnlog.web.insights.panels import Panel, PanelCell, PanelHead, PanelTable, build_bar_cells


def show_session_sums(request: Request) -> Response:
    machine = get_machine(request)
    params = {name: request.query_params.get(name, "")[:1000] for name in ("since", "until", "project", "model")}
    usage = parse_usage_request("daily", params["since"] or None, params["until"] or None)
    points = [
        point
        for point in list_usage_points(machine.store.db, usage)
        if params["project"] in ("", point.project) and params["model"] in ("", point.model)
    ]
    listing = get_app_state(request, "lists", ListingCache).get_listing(machine)
    about = _describe_part(**params)
    return render_page(
        request,
        "insights_sessions.html",
        panels=[_build_panel(points, listing)],
        about=about,
        amounts=amounts,
    )


def _describe_part(since: str, until: str, project: str, model: str) -> str:
    days = since if since == until else " to ".join(day for day in (since, until) if day)
    names = (project and amounts.folder_name(project), model and amounts.model_name(model))
    return " · ".join(part for part in (days or "all time", *names) if part)


def _build_panel(points: Sequence[UsagePoint], listing: HomeListing) -> Panel:
    sums: dict[int, list[int]] = {}
    for point in points:
        row = sums.setdefault(point.session, [0, 0, 0])
        for place, value in enumerate((point.cost, point.tokens, point.messages)):
            row[place] += value
    known = {row.number: row for row in listing.rows}
    ordered = sorted(sums.items(), key=lambda item: (-item[1][0], -item[1][1]))
    bars = build_bar_cells([row[0] for _, row in ordered])
    rows = []
    for (session, row), bar in zip(ordered, bars, strict=True):
        entry = known.get(session)
        title = " ".join(((entry and entry.title) or "")[:400].split())[:120] or "(no title)"
        href = f"/s/{listing.refs.format_ref(session, entry.uuid)}" if entry else None
        project = amounts.folder_name(entry.project) if entry else "–"
        rows.append([PanelCell(title, href), bar, PanelCell(project), *_build_cells(row)])
    heads = [
        PanelHead("Session", is_number=False),
        PanelHead("", kind="bar"),
        PanelHead("Project", is_number=False),
        PanelHead("Cost"),
        PanelHead("Tokens"),
        PanelHead("Messages"),
    ]
    whole = [sum(column) for column in zip(*sums.values(), strict=True)] or [0, 0, 0]
    total = [PanelCell("Total"), PanelCell("", kind="bar"), PanelCell(""), *_build_cells(whole)]
    definition = "Every message counts once, in the session that has it first. Cost: at list prices."
    table = PanelTable(heads, rows, total)
    return Panel("sessions", "Sessions", table, definition=definition, is_wide=True, empty="No usage.")


def _build_cells(row: Sequence[int]) -> list[PanelCell]:
    cost, tokens, messages = row
    return [
        PanelCell(amounts.format_usd(cost / PICO_PER_DOLLAR)),
        PanelCell(amounts.format_short_number(tokens), title=f"{tokens:,}"),
        PanelCell(f"{messages:,}"),
    ]


routes: list[BaseRoute] = [Route("/insights/sessions", show_session_sums)]
