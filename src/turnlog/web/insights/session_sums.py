"""GET /insights/sessions: the sessions behind a part of a chart, whose sum is that part."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from turnlog.store.lake.lake_index import LAKE_TIME_ZONE
from turnlog.store.search.searched_sessions import load_searched_sessions
from turnlog.store.usage.usage_reports import parse_usage_request
from turnlog.store.usage.usage_series import UsagePoint, list_usage_points
from turnlog.store.usage.usage_sums import PICO_PER_DOLLAR
from turnlog.web import amounts
from turnlog.web.answers import get_app_state, get_machine, render_page
from turnlog.web.home.session_list import ListingCache
from turnlog.web.insights.panels import Panel, PanelCell, PanelHead, PanelTable, build_bar_cells
from turnlog.web.machine import Machine

_MAX_ROWS = 1000


class _SessionNote(NamedTuple):
    """A session as the table shows it."""

    title: str | None
    project: str
    href: str | None


def show_session_sums(request: Request) -> Response:
    machine = get_machine(request)
    params = {name: request.query_params.get(name, "")[:1000] for name in ("since", "until", "project", "model")}
    zone = LAKE_TIME_ZONE if machine.lake else None
    usage = parse_usage_request("daily", params["since"] or None, params["until"] or None, timezone=zone)
    points = [
        point
        for point in list_usage_points(machine.store.db, usage)
        if params["project"] in ("", point.project) and params["model"] in ("", point.model)
    ]
    notes = _describe_lake_sessions(machine, points) if machine.lake else _describe_listed_sessions(request)
    about = _describe_part(**params)
    return render_page(
        request,
        "insights_sessions.html",
        panels=[_build_panel(points, notes)],
        about=about,
        amounts=amounts,
    )


def _describe_part(since: str, until: str, project: str, model: str) -> str:
    days = since if since == until else " to ".join(day for day in (since, until) if day)
    names = (project and amounts.folder_name(project), model and amounts.model_name(model))
    return " · ".join(part for part in (days or "all time", *names) if part)


def _describe_listed_sessions(request: Request) -> dict[int, _SessionNote]:
    listing = get_app_state(request, "lists", ListingCache).get_listing(get_machine(request))
    return {
        row.number: _SessionNote(row.title, row.project, f"/s/{listing.refs.format_ref(row.number, row.uuid)}")
        for row in listing.rows
    }


def _describe_lake_sessions(machine: Machine, points: Sequence[UsagePoint]) -> dict[int, _SessionNote]:
    sessions = load_searched_sessions(machine.store.db, {point.session for point in points})
    return {number: _SessionNote(item.title, item.cwd or item.folder, None) for number, item in sessions.items()}


def _build_panel(points: Sequence[UsagePoint], notes: Mapping[int, _SessionNote]) -> Panel:
    sums: dict[int, list[int]] = {}
    for point in points:
        row = sums.setdefault(point.session, [0, 0, 0])
        for place, value in enumerate((point.cost, point.tokens, point.messages)):
            row[place] += value
    ordered = sorted(sums.items(), key=lambda item: (-item[1][0], -item[1][1]))[:_MAX_ROWS]
    bars = build_bar_cells([row[0] for _, row in ordered])
    rows = []
    for (session, row), bar in zip(ordered, bars, strict=True):
        note = notes.get(session)
        title = " ".join(((note and note.title) or "")[:400].split())[:120] or "(no title)"
        project = amounts.folder_name(note.project) if note else "–"
        rows.append([PanelCell(title, note and note.href), bar, PanelCell(project), *_build_cells(row)])
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
    table = PanelTable(heads, rows, total, len(sums) - len(rows))
    return Panel("sessions", "Sessions", table, definition=definition, is_wide=True, empty="No usage.")


def _build_cells(row: Sequence[int]) -> list[PanelCell]:
    cost, tokens, messages = row
    return [
        PanelCell(amounts.format_usd(cost / PICO_PER_DOLLAR)),
        PanelCell(amounts.format_short_number(tokens), title=f"{tokens:,}"),
        PanelCell(f"{messages:,}"),
    ]


routes: list[BaseRoute] = [Route("/insights/sessions", show_session_sums)]
