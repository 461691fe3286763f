"""GET /: all sessions of the machine. Rows come in pages; what the index does not know is asked for row by row."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlencode

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from turnlog.entries.layout import config_candidates
from turnlog.store.index.changes import read_unlisted
from turnlog.store.insight.catalog import Listed, Used, tools
from turnlog.web import amounts
from turnlog.web.answers import document, kept, page, place_of
from turnlog.web.home.health import LARGE, Health, Healths
from turnlog.web.home.listing import PAGE, SORTS, Group, Listing, Lists, Page, Wish, chosen
from turnlog.web.home.liveness import Liveness

_LONGEST = 240


class Shown(NamedTuple):
    """A session with all that its row says."""

    row: Listed
    ref: str
    title: str
    prompt: str | None
    """The first prompt, where the title is another."""
    used: list[Used]
    health: Health | None
    ends: float | None
    """When the client deletes it, if that is soon."""
    origin_ref: str | None
    origin_title: str | None
    is_live: bool
    group: Group | None
    """The project whose sessions begin with this one."""


def home(request: Request) -> Response:
    """The page."""
    listing = kept(request, "lists", Lists).of(place_of(request))
    wish = wished(request)
    found = _chosen(request, listing, wish)
    unlisted = read_unlisted(place_of(request).store.db)
    return page(
        request, "home.html", **_values(request, listing, wish, found), folders=_folders(request), unlisted=unlisted
    )


def rows(request: Request) -> Response:
    """The rows of one page alone, for the script of the page."""
    listing = kept(request, "lists", Lists).of(place_of(request))
    wish = wished(request)
    return page(request, "home_rows.html", **_values(request, listing, wish, _chosen(request, listing, wish)))


def _chosen(request: Request, listing: Listing, wish: Wish) -> Page:
    healths = kept(request, "healths", Healths)

    def badness(row: Listed) -> int:
        found = healths.known(Path(row.path))
        return ("healthy", "warning", "error").index(found.verdict) + 1 if found else 0

    return chosen(listing, wish, badness)


def _values(request: Request, listing: Listing, wish: Wish, found: Page) -> dict[str, Any]:
    return {
        "shown": _shown(request, listing, found),
        "found": found,
        "wish": wish,
        "total": sum(number for _, number in listing.projects),
        "deletion": listing.deletion,
        "projects": listing.projects,
        "sorts": {name: words for name, (words, _, _) in SORTS.items()},
        "downwards": {name: is_down for name, (_, _, is_down) in SORTS.items()},
        "address": lambda **changes: address(wish, **changes),
        "amounts": amounts,
        "now": time.time(),
    }


def _folders(request: Request) -> list[str]:
    place = place_of(request)
    return [str(folder / "projects") for folder in (config_candidates() if place.is_demo else place.config_dirs)]


def wished(request: Request) -> Wish:
    """What the address asks for; what it does not understand it leaves out."""
    asked = request.query_params
    sort = asked.get("sort", "time")
    return Wish(
        q=asked.get("q", "").strip()[:1000],
        project=asked.get("project", "")[:1000],
        sort=sort if sort in SORTS else "time",
        is_turned=asked.get("turned") == "1",
        group="project" if asked.get("group") == "project" else "",
        everything=asked.get("all") == "1",
        page=int(text) if (text := asked.get("page", "0")).isdecimal() and len(text) < 7 else 0,
    )


def address(wish: Wish, path: str = "/", **changes: Any) -> str:
    """The address of a wish with some changes."""
    new = wish._replace(**changes)
    said = {
        "q": new.q,
        "project": new.project,
        "sort": new.sort if new.sort != "time" else "",
        "turned": "1" if new.is_turned else "",
        "group": new.group,
        "all": "1" if new.everything else "",
        "page": str(new.page) if new.page else "",
    }
    query = urlencode({name: value for name, value in said.items() if value})
    return f"{path}?{query}" if query else path


def _shown(request: Request, listing: Listing, found: Page) -> list[Shown]:
    used = tools(place_of(request).store.db, (row.number for row in found.rows))
    healths = kept(request, "healths", Healths)
    live = kept(request, "liveness", Liveness).known()
    before = found.before.project if found.before else None
    shown = []
    for row in found.rows:
        group = found.groups.get(row.project) if row.project != before else None
        before = row.project
        shown.append(_one(row, listing, used, healths.known(Path(row.path)), row.number in live, group))
    return shown


def _one(
    row: Listed,
    listing: Listing,
    used: Mapping[int, list[Used]],
    health: Health | None,
    is_live: bool,
    group: Group | None,
) -> Shown:
    title = _line(row.title) or "(no title)"
    prompt = _line(row.first_prompt)
    origin = listing.by_uuid.get(row.origin.session_id) if row.origin else None
    return Shown(
        row,
        listing.refs.of(row.number, row.uuid),
        title,
        prompt if prompt != title else None,
        used.get(row.number, []),
        health,
        listing.ends.get(row.number),
        listing.refs.of(origin.number, origin.uuid) if origin else None,
        _line(origin.title) if origin else None,
        is_live,
        group,
    )


def _line(text: str | None) -> str | None:
    return " ".join((text or "")[: 4 * _LONGEST].split())[:_LONGEST] or None


def sessions(request: Request) -> Response:
    """The same as JSON."""
    listing = kept(request, "lists", Lists).of(place_of(request))
    wish = wished(request)
    found = _chosen(request, listing, wish)
    return document(
        {
            "sessions": [_described(item) for item in _shown(request, listing, found)],
            "total": found.total,
            "hidden": found.hidden,
            "page": found.page,
            "page_size": PAGE,
            "demo": place_of(request).is_demo,
            "unlisted": read_unlisted(place_of(request).store.db),
        }
    )


def _described(item: Shown) -> dict[str, Any]:
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
        "deleted_after": None if item.ends is None else amounts.stamp(item.ends),
        "live": item.is_live,
        "health": item.health and _health(item.health),
    }


def _health(found: Health) -> dict[str, Any]:
    return {**found._asdict(), "verdict": found.verdict}


def live(request: Request) -> Response:
    """The sessions that are open now."""
    listing = kept(request, "lists", Lists).of(place_of(request))
    found = kept(request, "liveness", Liveness).now(listing.rows, place_of(request).config_dirs)
    return document({"live": [listing.refs.of(row.number, row.uuid) for row in listing.rows if row.number in found]})


def health(request: Request) -> Response:
    """How a session is; one that is large is looked at only if `now=1` asks for it."""
    session = place_of(request).session(request.path_params["ref"])
    healths = kept(request, "healths", Healths)
    if session.is_gone:
        return document({"state": "gone", "health": None})
    found = healths.known(session.path)
    if found is None and request.query_params.get("now") != "1" and _size(session.path) > LARGE:
        return document({"state": "large", "health": None})
    return document({"state": "known", "health": _health(found or healths.of(session.path))})


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0


routes: list[BaseRoute] = [
    Route("/", home),
    Route("/rows", rows),
    Route("/api/sessions", sessions),
    Route("/api/sessions/live", live),
    Route("/api/s/{ref}/health", health),
]
