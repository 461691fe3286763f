"""The address of the list: its query string holds the filter, the order and the page."""

from __future__ import annotations

from datetime import date
from typing import Any
from urllib.parse import urlencode

import apsw
from starlette.requests import Request

from turnlog.store.usage.usage_reports import UsageRequest, build_usage_scope
from turnlog.web.home.session_list import SORT_COLUMNS, ListingFilter


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
        since=_parse_day_text(params.get("since", "")),
        until=_parse_day_text(params.get("until", "")),
        only="deleting" if params.get("only") == "deleting" else "",
    )


def _parse_day_text(text: str) -> str:
    """Return a day as it is written in an address; an empty string if it isn't one."""
    try:
        return date.fromisoformat(text[:10]).isoformat()
    except ValueError:
        return ""


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
        "since": new.since,
        "until": new.until,
        "only": new.only,
        "page": str(new.page) if new.page else "",
    }
    query = urlencode({name: value for name, value in params.items() if value})
    return f"{path}?{query}" if query else path


def find_active_sessions(db: apsw.Connection, filters: ListingFilter) -> frozenset[int] | None:
    """Return the sessions that used tokens in the filter's period; None if the filter has no period."""
    if not (filters.since or filters.until):
        return None
    since, until = (date.fromisoformat(day) if day else None for day in (filters.since, filters.until))
    wanted, _ = build_usage_scope(db, UsageRequest(since=since, until=until), is_by_day=True)
    return frozenset(session for (session,) in db.execute(f"SELECT DISTINCT session {wanted.sql}", wanted.values))
