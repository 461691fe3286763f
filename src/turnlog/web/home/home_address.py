"""The address of the list: its query string holds the filter, the order and the page."""

from __future__ import annotations

from datetime import date
from typing import Any, NamedTuple
from urllib.parse import urlencode

from starlette.requests import Request

from turnlog.store.usage.usage_slices import DAY_NAMES
from turnlog.web.home.listing_filter import ListingFilter
from turnlog.web.home.session_list import SORT_COLUMNS

_MAX_VALUE_CHARS = 1000
_WEEKDAYS = dict(
    zip(
        DAY_NAMES,
        ("Mondays", "Tuesdays", "Wednesdays", "Thursdays", "Fridays", "Saturdays", "Sundays"),
        strict=True,
    )
)
_TEXT_FILTERS = ("model", "tool", "hour", "block")


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
        outcome="failed" if params.get("outcome") == "failed" else "",
        **{name: params.get(name, "").strip()[:_MAX_VALUE_CHARS] for name in _TEXT_FILTERS},
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
        "outcome": new.outcome,
        **{name: getattr(new, name) for name in _TEXT_FILTERS},
        "page": str(new.page) if new.page else "",
    }
    query = urlencode({name: value for name, value in params.items() if value})
    return f"{path}?{query}" if query else path


def _describe_week_hour(text: str) -> str:
    """Describe an hour of the week: `Wednesdays at 14:00`."""
    day, _, hour = text.partition("-")
    return f"{_WEEKDAYS.get(day, day)} at {hour}:00"


class FilterChip(NamedTuple):
    """A filter that the page names above the list, and the address without it."""

    words: str
    href: str


def list_filter_chips(filters: ListingFilter) -> list[FilterChip]:
    """Describe the filters that have no field of their own."""
    chips = []
    if filters.since or filters.until:
        is_one_day = filters.since == filters.until
        days = f"from {filters.since or 'the beginning'} to {filters.until or 'today'}"
        words = f"active {'on ' + filters.since if is_one_day else days}"
        chips.append(FilterChip(words, build_home_address(filters, since="", until="", page=0)))
    words_by_name = {
        "only": "will be deleted soon",
        "hour": f"active on {_describe_week_hour(filters.hour)}",
        "block": f"active in the five hours from {filters.block.replace('T', ' ')}:00 UTC",
        "model": f"used {filters.model}",
        "tool": f"called {filters.tool}",
        "outcome": "with a failed call",
    }
    return chips + [
        FilterChip(words, build_home_address(filters, **{name: ""}, page=0))
        for name, words in words_by_name.items()
        if getattr(filters, name)
    ]
