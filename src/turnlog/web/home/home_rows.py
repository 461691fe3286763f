"""The rows of the list: each session with everything that its row or its JSON document shows."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from starlette.requests import Request

from turnlog.store.insight.catalog import CatalogSession, UsedTool, list_used_tools
from turnlog.web import amounts
from turnlog.web.answers import get_app_state, get_machine
from turnlog.web.home.health import HealthCache, SessionHealth
from turnlog.web.home.live_sessions import LiveSessions
from turnlog.web.home.session_list import HomeListing, ListingCache, ListingPage, ProjectGroup
from turnlog.web.slices.slice_figures import SliceFigures

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
    is_provisional: bool
    """Whether the index has not read the session yet."""
    group: ProjectGroup | None
    """The project whose group starts with this row."""
    figures: SliceFigures | None
    """What it adds to the sum of the sessions, if a filter selects a part of their usage."""

    @property
    def has_copied_cost(self) -> bool:
        """Whether a part of its cost is for messages of an older session, which sums don't count again."""
        return amounts.format_usd(self.row.own_cost_usd) != amounts.format_usd(self.row.cost_usd)


def build_home_rows(request: Request, listing: HomeListing, page: ListingPage) -> list[HomeRow]:
    rows = page.rows
    if listing.provisional:  # the listing had no time for all of them
        peeks = get_app_state(request, "lists", ListingCache).peeks
        rows = [row if row.number not in listing.provisional else peeks.complete_row(row) for row in rows]
    used = list_used_tools(get_machine(request).store.db, (row.number for row in rows))
    healths = get_app_state(request, "healths", HealthCache)
    live = get_app_state(request, "liveness", LiveSessions).get_known()
    before = page.before.project if page.before else None
    items = []
    for row in rows:
        group = page.groups.get(row.project) if row.project != before else None
        before = row.project
        health, figures = healths.get_known(Path(row.path)), page.row_figures.get(row.number)
        items.append(_build_row(row, listing, used, health, row.number in live, group, figures))
    return items


def _build_row(
    row: CatalogSession,
    listing: HomeListing,
    used: Mapping[int, list[UsedTool]],
    health: SessionHealth | None,
    is_live: bool,
    group: ProjectGroup | None,
    figures: SliceFigures | None,
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
        row.number in listing.provisional,
        group,
        figures,
    )


def _to_one_line(text: str | None) -> str | None:
    return " ".join((text or "")[: 4 * _MAX_TITLE_CHARS].split())[:_MAX_TITLE_CHARS] or None


def to_session_document(item: HomeRow) -> dict[str, Any]:
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
        "provisional": item.is_provisional,
        "health": item.health and to_health_document(item.health),
    }


def to_health_document(health: SessionHealth) -> dict[str, Any]:
    return {**health._asdict(), "verdict": health.verdict}
