"""GET /: all sessions on the machine, below a dashboard. Rows are loaded in pages; details that are not in the index
are requested row by row.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from turnlog.entries.layout import list_config_candidates
from turnlog.errors import UsageError
from turnlog.store.filter_values import list_names
from turnlog.store.index.file_changes import read_unlisted_paths
from turnlog.store.insight.catalog import CatalogSession
from turnlog.web import amounts
from turnlog.web.answers import build_json_response, get_app_state, get_machine, render_page
from turnlog.web.home.columns import COLUMN_LABELS, list_hidden_classes, read_chosen_columns
from turnlog.web.home.dashboard import DashboardCache
from turnlog.web.home.health import MAX_AUTO_READ_BYTES, HealthCache
from turnlog.web.home.home_address import build_home_address, list_filter_chips, parse_listing_filter
from turnlog.web.home.home_rows import build_home_rows, to_health_document, to_session_document
from turnlog.web.home.listing_filter import ListingFilter
from turnlog.web.home.live_sessions import LiveSessions
from turnlog.web.home.session_list import (
    PAGE_SIZE,
    SORT_COLUMNS,
    HomeListing,
    ListingCache,
    ListingPage,
    select_listing_page,
)
from turnlog.web.machine import IndexState
from turnlog.web.project_names import name_projects
from turnlog.web.slices.slice_figures import SliceFigures, load_slice_figures

_DELETING_ADDRESS = build_home_address(ListingFilter(only="deleting"))


def show_home(request: Request) -> Response:
    machine = get_machine(request)
    state, generation = machine.state, machine.generation  # before the listing, so that a later change is noticed
    filters = parse_listing_filter(request)
    listing = _get_listing_for(request, filters)
    page = _select_page(request, listing, filters)
    preferences = machine.preferences.load()
    columns = read_chosen_columns(preferences.values)
    return render_page(
        request,
        "home.html",
        **_build_template_values(request, state, listing, filters, page),
        generation=generation,
        dashboard=get_app_state(request, "dashboards", DashboardCache).get_quickly(machine, listing),
        address_deleting=_DELETING_ADDRESS,
        is_unfolded=preferences.is_on("home.dashboard", default=True),
        models=list_names(machine.store.db, "model"),
        tools=list_names(machine.store.db, "tool"),
        columns=columns,
        column_labels=COLUMN_LABELS,
        hidden_classes=list_hidden_classes(columns),
    )


def show_home_rows(request: Request) -> Response:
    """Render one page of rows, and what the page says above them, for the page's script."""
    state = get_machine(request).state
    filters = parse_listing_filter(request)
    listing = _get_listing_for(request, filters)
    values = _build_template_values(request, state, listing, filters, _select_page(request, listing, filters))
    return render_page(request, "home_rows.html", **values)


def show_dashboard(request: Request) -> Response:
    """Render the dashboard, for the page's script."""
    listing = _get_listing(request)
    return render_page(
        request,
        "home_dashboard.html",
        dashboard=get_app_state(request, "dashboards", DashboardCache).get_dashboard(get_machine(request), listing),
        address_deleting=_DELETING_ADDRESS,
        amounts=amounts,
    )


def _get_listing(request: Request) -> HomeListing:
    return get_app_state(request, "lists", ListingCache).get_listing(get_machine(request))


def _get_listing_for(request: Request, filters: ListingFilter) -> HomeListing:
    """Return the sessions that a page needs: its first rows must not wait until thousands of others are described."""
    if filters != ListingFilter():
        return _get_listing(request)
    return get_app_state(request, "lists", ListingCache).get_first_rows(get_machine(request))


def _select_page(request: Request, listing: HomeListing, filters: ListingFilter) -> ListingPage:
    healths = get_app_state(request, "healths", HealthCache)

    def rank_health(row: CatalogSession) -> int:
        known = healths.get_known(Path(row.path))
        return ("healthy", "warning", "error").index(known.verdict) + 1 if known else 0

    return select_listing_page(listing, filters, rank_health, _load_figures(request, filters))


def _load_figures(request: Request, filters: ListingFilter) -> dict[int, SliceFigures] | None:
    """Load what each session adds to the filter's part of the usage; None if the filter has no such part."""
    if not filters.has_slice:
        return None
    try:
        return load_slice_figures(request, filters.to_slice_address())
    except UsageError:  # an address that was changed by hand: no session is in that part
        return {}


def _build_template_values(
    request: Request, state: IndexState, listing: HomeListing, filters: ListingFilter, page: ListingPage
) -> dict[str, Any]:
    machine = get_machine(request)
    return {
        "items": build_home_rows(request, listing, page),
        "page": page,
        "page_size": PAGE_SIZE,
        "has_head": request.query_params.get("head") == "1",
        "filters": filters,
        "listing": listing,
        "state": state,
        "total": listing.total,
        "deletion": listing.deletion,
        "projects": listing.projects,
        "project_names": name_projects(path for path, _ in listing.projects),
        "chips": list_filter_chips(filters),
        "sorts": {name: label for name, (label, _, _) in SORT_COLUMNS.items()},
        "downwards": {name: is_down for name, (_, _, is_down) in SORT_COLUMNS.items()},
        "address": lambda **changes: build_home_address(filters, **changes),
        "folders": _list_project_folders(request),
        "unlisted": read_unlisted_paths(machine.store.db),
        "amounts": amounts,
        "now": time.time(),
    }


def _list_project_folders(request: Request) -> list[str]:
    machine = get_machine(request)
    return [
        str(folder / "projects") for folder in (list_config_candidates() if machine.is_demo else machine.config_dirs)
    ]


def send_sessions(request: Request) -> Response:
    listing = _get_listing(request)
    page = _select_page(request, listing, parse_listing_filter(request))
    return build_json_response(
        {
            "sessions": [to_session_document(item) for item in build_home_rows(request, listing, page)],
            "total": page.total,
            "hidden": page.hidden,
            "page": page.page,
            "page_size": PAGE_SIZE,
            "demo": get_machine(request).is_demo,
            "unlisted": read_unlisted_paths(get_machine(request).store.db),
        }
    )


def send_live_sessions(request: Request) -> Response:
    """Send the references of the open sessions."""
    listing = _get_listing(request)
    live = get_app_state(request, "liveness", LiveSessions).find_live(listing.rows, get_machine(request).config_dirs)
    return build_json_response(
        {"live": [listing.refs.format_ref(row.number, row.uuid) for row in listing.rows if row.number in live]}
    )


def send_health(request: Request) -> Response:
    """Send a session's health; a large session is read only with `now=1`."""
    session = get_machine(request).find_session(request.path_params["ref"])
    healths = get_app_state(request, "healths", HealthCache)
    if session.is_gone:
        return build_json_response({"state": "gone", "health": None})
    health = healths.get_known(session.path)
    if (
        health is None
        and request.query_params.get("now") != "1"
        and _read_file_size(session.path) > MAX_AUTO_READ_BYTES
    ):
        return build_json_response({"state": "large", "health": None})
    return build_json_response(
        {"state": "known", "health": to_health_document(health or healths.load_health(session.path))}
    )


def _read_file_size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0


routes: list[BaseRoute] = [
    Route("/", show_home),
    Route("/rows", show_home_rows),
    Route("/dashboard", show_dashboard),
    Route("/api/sessions", send_sessions),
    Route("/api/sessions/live", send_live_sessions),
    Route("/api/s/{ref}/health", send_health),
]
