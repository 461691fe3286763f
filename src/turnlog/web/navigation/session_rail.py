"""GET /rail: the sessions next to the one that is being read, as a fragment of its page."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, date, datetime
from typing import NamedTuple

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from turnlog.store.insight.catalog import CatalogSession
from turnlog.web.amounts import folder_name, format_count, format_local_time
from turnlog.web.answers import get_app_state, get_machine, render_page
from turnlog.web.home.session_list import HomeListing, ListingCache

MAX_RAIL_SESSIONS = 200
_SESSIONS_BEFORE = 60
"""How many newer sessions are listed above the current one."""


class RailRow(NamedTuple):
    ref: str
    title: str
    facts: tuple[str, ...]
    """What the heading above does not say already: the project and the time of day, or day and time."""
    prompts: int
    group: str
    """The heading to put before this row; empty if it belongs to the same group as the previous row."""
    is_here: bool


class SessionRail(NamedTuple):
    rows: list[RailRow]
    first: int
    """The index of the first row among all that match."""
    total: int


def build_rail(listing: HomeListing, ref: str, *, words: str = "", group: str = "day", first: int = -1) -> SessionRail:
    """List the sessions that match, around the current one unless `first` says where to start."""
    wanted = words.casefold().split()
    rows = [
        row
        for row in listing.rows
        if row.talks and not row.is_gone and all(word in listing.letters[row.number] for word in wanted)
    ]
    rows = _sort_rows(rows, group)
    refs = [listing.refs.format_ref(row.number, row.uuid) for row in rows]
    if first < 0:
        here = refs.index(ref) if ref in refs else 0
        first = max(0, min(here - _SESSIONS_BEFORE, len(rows) - MAX_RAIL_SESSIONS))
    found: list[RailRow] = []
    before = ""
    today = datetime.now(UTC).astimezone().date()
    for row, own in list(zip(rows, refs, strict=True))[first : first + MAX_RAIL_SESSIONS]:
        name = folder_name(row.project) if group == "project" else _name_day(row.last, today)
        time = format_local_time(row.last)
        facts = (time,) if group == "project" else (folder_name(row.project), time.split(" ")[-1])
        found.append(_to_rail_row(row, own, facts, name if name != before else "", is_here=own == ref))
        before = name
    return SessionRail(found, first, len(rows))


def _sort_rows(rows: Sequence[CatalogSession], group: str) -> list[CatalogSession]:
    newest_first = sorted(rows, key=lambda row: row.last, reverse=True)
    if group != "project":
        return newest_first
    order: dict[str, int] = {}
    for row in newest_first:
        order.setdefault(row.project, len(order))
    return sorted(newest_first, key=lambda row: order[row.project])


def _to_rail_row(row: CatalogSession, ref: str, facts: tuple[str, ...], group: str, *, is_here: bool) -> RailRow:
    title = row.title or row.first_prompt or "(no title)"
    return RailRow(ref, title[:120], facts, row.prompts, group, is_here)


def _name_day(seconds: float, today: date) -> str:
    try:
        day = datetime.fromtimestamp(seconds, UTC).astimezone().date()
    except (ValueError, OverflowError, OSError):
        return "Unknown day"
    days = (today - day).days
    if days in (0, 1):
        return ("Today", "Yesterday")[days]
    return f"{day.day} {day:%B}" if day.year == today.year else f"{day.day} {day:%B %Y}"


def show_rail(request: Request) -> Response:
    params = request.query_params
    first = int(text[:9]) if (text := params.get("first", "")).isdecimal() else -1
    rail = build_rail(
        get_app_state(request, "lists", ListingCache).get_listing(get_machine(request)),
        params.get("ref", ""),
        words=params.get("q", "")[:400],
        group=params.get("group", "day"),
        first=first,
    )
    return render_page(request, "session_rail.html", rail=rail, count=format_count)


routes: list[BaseRoute] = [Route("/rail", show_rail)]
