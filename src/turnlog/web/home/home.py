"""GET /: all sessions on the machine. Rows are loaded in pages; details that are not in the index are requested row by
row.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlencode

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from turnlog.edit.open_signs import find_open_signs, find_suspect_sessions
from turnlog.edit.session_target import SessionTarget
from turnlog.entries.clients import list_clients
from turnlog.entries.layout import list_config_candidates
from turnlog.store.index.file_changes import read_unlisted_paths
from turnlog.store.insight.catalog import CatalogSession, UsedTool, list_used_tools
from turnlog.web import amounts
from turnlog.web.answers import build_json_response, get_app_state, get_machine, render_page
from turnlog.web.home.health import MAX_AUTO_READ_BYTES, HealthCache, SessionHealth
from turnlog.web.home.session_list import (
    PAGE_SIZE,
    SORT_COLUMNS,
    HomeListing,
    ListingCache,
    ListingFilter,
    ListingPage,
    ProjectGroup,
    select_listing_page,
)

_CACHE_SECONDS = 4.0
"""How long a result is reused."""
_RECENT_SECONDS = 3 * 86400
_MAX_SUSPECTS = 400
"""How many sessions from the last `_RECENT_SECONDS` to check, because some clients don't register theirs."""


class LiveSessions:
    """Remembers for a few seconds which sessions are open."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._found: frozenset[int] = frozenset()
        self._time = float("-inf")

    def get_known(self) -> frozenset[int]:
        """Return the numbers of sessions that were open within the last minute, without checking again."""
        return self._found if time.monotonic() - self._time < 60 else frozenset()

    def find_live(self, rows: Sequence[CatalogSession], config_dirs: Sequence[Path]) -> frozenset[int]:
        """Return the numbers of the open sessions."""
        with self._lock:
            if time.monotonic() - self._time > _CACHE_SECONDS:
                there = [row for row in rows if not row.is_gone]
                self._found = frozenset({*_find_registered(there, config_dirs), *_find_by_process(there)})
                self._time = time.monotonic()
            return self._found


def _find_registered(rows: Sequence[CatalogSession], config_dirs: Sequence[Path]) -> Iterator[int]:
    ids = {client.session_id for folder in config_dirs for client in list_clients(folder) if client.is_here}
    yield from (row.number for row in rows if row.uuid in ids)


def _find_by_process(rows: Sequence[CatalogSession]) -> Iterator[int]:
    """Yield the recent sessions that a process has open or was started with."""
    since = (time.time() - _RECENT_SECONDS) * 1e9
    recent = sorted((row for row in rows if row.mtime_ns > since), key=lambda row: -row.mtime_ns)[:_MAX_SUSPECTS]
    targets = {row.number: _to_edit_target(row) for row in recent}
    certain = {found.path for found in find_suspect_sessions(targets.values())}
    for number, target in targets.items():
        if target.path in certain and any(sign.is_certain for sign in find_open_signs(target)):
            yield number


def _to_edit_target(row: CatalogSession) -> SessionTarget:
    path = Path(row.path)
    projects = path.parent.parent
    return SessionTarget(path, row.uuid, projects.parent if projects.name == "projects" else None)


_MAX_TITLE_CHARS = 240


class HomeRow(NamedTuple):
    """A session with everything that its row displays."""

    row: CatalogSession
    ref: str
    title: str
    prompt: str | None
    """The first prompt, if it differs from the title."""
    used: list[UsedTool]
    health: SessionHealth | None
    ends: float | None
    """When Claude Code will delete it, if that is soon."""
    origin_ref: str | None
    origin_title: str | None
    is_live: bool
    group: ProjectGroup | None
    """The project whose group starts with this row."""


def show_home(request: Request) -> Response:
    listing = get_app_state(request, "lists", ListingCache).get_listing(get_machine(request))
    filters = parse_listing_filter(request)
    page = _select_page(request, listing, filters)
    unlisted = read_unlisted_paths(get_machine(request).store.db)
    return render_page(
        request,
        "home.html",
        **_build_template_values(request, listing, filters, page),
        folders=_list_project_folders(request),
        unlisted=unlisted,
    )


def show_home_rows(request: Request) -> Response:
    """Render one page of rows, for the page's script."""
    listing = get_app_state(request, "lists", ListingCache).get_listing(get_machine(request))
    filters = parse_listing_filter(request)
    return render_page(
        request,
        "home_rows.html",
        **_build_template_values(request, listing, filters, _select_page(request, listing, filters)),
    )


def _select_page(request: Request, listing: HomeListing, filters: ListingFilter) -> ListingPage:
    healths = get_app_state(request, "healths", HealthCache)

    def rank_health(row: CatalogSession) -> int:
        known = healths.get_known(Path(row.path))
        return ("healthy", "warning", "error").index(known.verdict) + 1 if known else 0

    return select_listing_page(listing, filters, rank_health)


def _build_template_values(
    request: Request, listing: HomeListing, filters: ListingFilter, page: ListingPage
) -> dict[str, Any]:
    return {
        "items": _build_rows(request, listing, page),
        "page": page,
        "filters": filters,
        "total": sum(number for _, number in listing.projects),
        "deletion": listing.deletion,
        "projects": listing.projects,
        "sorts": {name: label for name, (label, _, _) in SORT_COLUMNS.items()},
        "downwards": {name: is_down for name, (_, _, is_down) in SORT_COLUMNS.items()},
        "address": lambda **changes: build_home_address(filters, **changes),
        "amounts": amounts,
        "now": time.time(),
    }


def _list_project_folders(request: Request) -> list[str]:
    machine = get_machine(request)
    return [
        str(folder / "projects") for folder in (list_config_candidates() if machine.is_demo else machine.config_dirs)
    ]


def parse_listing_filter(request: Request) -> ListingFilter:
    """Parse the query string of an address; unknown values are ignored."""
    params = request.query_params
    sort = params.get("sort", "time")
    return ListingFilter(
        q=params.get("q", "").strip()[:1000],
        project=params.get("project", "")[:1000],
        sort=sort if sort in SORT_COLUMNS else "time",
        is_turned=params.get("turned") == "1",
        group="project" if params.get("group") == "project" else "",
        everything=params.get("all") == "1",
        page=int(text) if (text := params.get("page", "0")).isdecimal() and len(text) < 7 else 0,
    )


def build_home_address(filters: ListingFilter, path: str = "/", **changes: Any) -> str:
    """Build the address for a filter with some changes."""
    new = filters._replace(**changes)
    params = {
        "q": new.q,
        "project": new.project,
        "sort": new.sort if new.sort != "time" else "",
        "turned": "1" if new.is_turned else "",
        "group": new.group,
        "all": "1" if new.everything else "",
        "page": str(new.page) if new.page else "",
    }
    query = urlencode({name: value for name, value in params.items() if value})
    return f"{path}?{query}" if query else path


def _build_rows(request: Request, listing: HomeListing, page: ListingPage) -> list[HomeRow]:
    used = list_used_tools(get_machine(request).store.db, (row.number for row in page.rows))
    healths = get_app_state(request, "healths", HealthCache)
    live = get_app_state(request, "liveness", LiveSessions).get_known()
    before = page.before.project if page.before else None
    items = []
    for row in page.rows:
        group = page.groups.get(row.project) if row.project != before else None
        before = row.project
        items.append(_build_row(row, listing, used, healths.get_known(Path(row.path)), row.number in live, group))
    return items


def _build_row(
    row: CatalogSession,
    listing: HomeListing,
    used: Mapping[int, list[UsedTool]],
    health: SessionHealth | None,
    is_live: bool,
    group: ProjectGroup | None,
) -> HomeRow:
    title = _to_one_line(row.title) or "(no title)"
    prompt = _to_one_line(row.first_prompt)
    origin = listing.by_uuid.get(row.origin.session_id) if row.origin else None
    return HomeRow(
        row,
        listing.refs.format_ref(row.number, row.uuid),
        title,
        prompt if prompt != title else None,
        used.get(row.number, []),
        health,
        listing.ends.get(row.number),
        listing.refs.format_ref(origin.number, origin.uuid) if origin else None,
        _to_one_line(origin.title) if origin else None,
        is_live,
        group,
    )


def _to_one_line(text: str | None) -> str | None:
    return " ".join((text or "")[: 4 * _MAX_TITLE_CHARS].split())[:_MAX_TITLE_CHARS] or None


def send_sessions(request: Request) -> Response:
    listing = get_app_state(request, "lists", ListingCache).get_listing(get_machine(request))
    filters = parse_listing_filter(request)
    page = _select_page(request, listing, filters)
    return build_json_response(
        {
            "sessions": [_to_session_document(item) for item in _build_rows(request, listing, page)],
            "total": page.total,
            "hidden": page.hidden,
            "page": page.page,
            "page_size": PAGE_SIZE,
            "demo": get_machine(request).is_demo,
            "unlisted": read_unlisted_paths(get_machine(request).store.db),
        }
    )


def _to_session_document(item: HomeRow) -> dict[str, Any]:
    row = item.row
    return {
        "ref": item.ref,
        "session_id": row.uuid,
        "path": row.path,
        "title": row.title,
        "first_prompt": row.first_prompt,
        "tag": row.tag,
        "project": row.project,
        "worktree": row.worktree,
        "git_branch": row.git_branch,
        "version": row.version,
        "started": row.started,
        "ended": row.ended,
        "seconds": row.seconds,
        "size": row.size,
        "prompts": row.prompts,
        "messages": row.messages,
        "calls": row.calls,
        "compactions": row.compactions,
        "agents": row.agents,
        "cost_usd": row.cost_usd,
        "own_cost_usd": row.own_cost_usd,
        "unpriced_tokens": row.unpriced,
        "models": row.models,
        "tools": [used._asdict() for used in item.used],
        "origin": row.origin
        and {
            "relation": row.origin.relation,
            "session_id": row.origin.session_id,
            "ref": item.origin_ref,
            "shared": row.origin.shared,
        },
        "gone": row.is_gone,
        "archived": row.is_archived,
        "deleted_after": None if item.ends is None else amounts.format_datetime_attribute(item.ends),
        "live": item.is_live,
        "health": item.health and _to_health_document(item.health),
    }


def _to_health_document(health: SessionHealth) -> dict[str, Any]:
    return {**health._asdict(), "verdict": health.verdict}


def send_live_sessions(request: Request) -> Response:
    """Send the references of the open sessions."""
    listing = get_app_state(request, "lists", ListingCache).get_listing(get_machine(request))
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
        {"state": "known", "health": _to_health_document(health or healths.load_health(session.path))}
    )


def _read_file_size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0


routes: list[BaseRoute] = [
    Route("/", show_home),
    Route("/rows", show_home_rows),
    Route("/api/sessions", send_sessions),
    Route("/api/sessions/live", send_live_sessions),
    Route("/api/s/{ref}/health", send_health),
]
