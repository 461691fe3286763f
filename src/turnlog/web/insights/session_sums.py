"""GET /insights/sessions: the sessions behind a part of a chart, whose sum is that part."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import NamedTuple

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from turnlog.errors import UsageError
from turnlog.store.search.searched_sessions import load_searched_sessions
from turnlog.store.usage.usage_sums import PICO_PER_DOLLAR
from turnlog.web import amounts
from turnlog.web.answers import get_app_state, get_machine, render_page
from turnlog.web.home.home_address import build_home_address
from turnlog.web.home.listing_filter import ListingFilter
from turnlog.web.home.session_list import ListingCache
from turnlog.web.insights.panels import Panel, PanelCell, PanelHead, PanelTable, build_bar_cells
from turnlog.web.machine import Machine
from turnlog.web.project_names import name_projects
from turnlog.web.slices.slice_address import SliceAddress, parse_slice_address
from turnlog.web.slices.slice_figures import SliceFigures, add_slice_figures, load_slice_figures

_MAX_ROWS = 1000


class _SessionNote(NamedTuple):
    """A session as the table shows it."""

    title: str | None
    project: str
    href: str | None


def show_session_sums(request: Request) -> Response:
    machine = get_machine(request)
    address, failure = parse_slice_address(request), None
    figures: dict[int, SliceFigures] = {}
    try:
        figures = load_slice_figures(request, address)
    except UsageError as error:
        failure = str(error).removeprefix("--")
    notes = _describe_lake_sessions(machine, figures) if machine.lake else _describe_listed_sessions(request)
    return render_page(
        request,
        "insights_sessions.html",
        status=400 if failure else 200,
        panels=[] if failure else [_build_panel(figures, notes)],
        about="" if failure else address.describe(),
        failure=failure,
        list_address="" if failure or machine.lake else build_home_address(_to_listing_filter(address)),
        amounts=amounts,
    )


def _to_listing_filter(address: SliceAddress) -> ListingFilter:
    return ListingFilter(
        project=address.folder or address.project,
        since=address.since,
        until=address.until,
        model=address.by_model or address.model,
        tool=address.by_tool,
        outcome=address.outcome,
        hour=address.hour,
        block=address.block,
        everything=True,
    )


def _describe_listed_sessions(request: Request) -> dict[int, _SessionNote]:
    listing = get_app_state(request, "lists", ListingCache).get_listing(get_machine(request))
    return {
        row.number: _SessionNote(row.title, row.project, f"/s/{listing.refs.format_ref(row.number, row.uuid)}")
        for row in listing.rows
    }


def _describe_lake_sessions(machine: Machine, numbers: Collection[int]) -> dict[int, _SessionNote]:
    sessions = load_searched_sessions(machine.store.db, numbers)
    return {number: _SessionNote(item.title, item.cwd or item.folder, None) for number, item in sessions.items()}


def _build_panel(figures: Mapping[int, SliceFigures], notes: Mapping[int, _SessionNote]) -> Panel:
    ordered = sorted(figures.items(), key=lambda item: item[1].rank, reverse=True)[:_MAX_ROWS]
    bars = build_bar_cells([row.usage.cost if row.usage else row.calls.calls if row.calls else 0 for _, row in ordered])
    names = name_projects(note.project for note in notes.values())
    rows = []
    for (session, row), bar in zip(ordered, bars, strict=True):
        note = notes.get(session)
        title = " ".join(((note and note.title) or "")[:400].split())[:120] or "(no title)"
        project = PanelCell(names[note.project], title=note.project) if note else PanelCell("–")
        rows.append([PanelCell(title, note and note.href), bar, project, *_build_cells(row)])
    whole = add_slice_figures(figures.values())
    heads = [PanelHead("Session", is_number=False), PanelHead("", kind="bar"), PanelHead("Project", is_number=False)]
    heads += [PanelHead(name) for name in (("Cost", "Tokens", "Messages") if whole.usage else ())]
    heads += [PanelHead(name) for name in (("Calls", "Failed") if whole.calls else ())]
    total = [PanelCell("Total"), PanelCell("", kind="bar"), PanelCell(""), *_build_cells(whole)]
    definition = "Every message counts once, in the session that has it first. Cost: at list prices."
    if whole.calls:
        definition += " A message that makes several calls is divided equally among them; each call counts once."
    table = PanelTable(heads, rows, total, len(figures) - len(rows))
    return Panel("sessions", "Sessions", table, definition=definition, is_wide=True, empty="No usage.")


def _build_cells(row: SliceFigures) -> list[PanelCell]:
    cells = []
    if row.usage is not None:
        cells.append(PanelCell(amounts.format_usd(row.usage.cost / PICO_PER_DOLLAR)))
        cells.append(PanelCell(amounts.format_short_number(row.usage.tokens), title=f"{row.usage.tokens:,.0f}"))
        cells.append(PanelCell(f"{row.usage.messages:,.0f}"))
    if row.calls is not None:
        cells += [PanelCell(f"{row.calls.calls:,}"), PanelCell(f"{row.calls.failed:,}")]
    return cells


routes: list[BaseRoute] = [Route("/insights/sessions", show_session_sums)]
