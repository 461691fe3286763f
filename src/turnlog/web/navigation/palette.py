"""GET /api/palette: the sessions that the palette offers for a text, within milliseconds."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from turnlog.store.insight.catalog import CatalogSession
from turnlog.web.amounts import describe_age, folder_name
from turnlog.web.answers import build_json_response, get_app_state, get_machine
from turnlog.web.home.session_list import HomeListing, ListingCache

MAX_OFFERED_SESSIONS = 8
_MAX_QUERY_CHARS = 200


def find_offered_sessions(listing: HomeListing, text: str, limit: int = MAX_OFFERED_SESSIONS) -> list[CatalogSession]:
    """Find sessions by id, title, project and the other words of their rows, best first; without a text, the newest."""
    words = text.casefold().split()
    ranked: list[tuple[int, float, CatalogSession]] = []
    for row in listing.rows:
        if not row.talks or row.is_gone:
            continue
        rank = _rank_row(row, listing.letters[row.number], words)
        if rank is not None:
            ranked.append((rank, -row.last, row))
    ranked.sort(key=lambda item: item[:2])
    return [row for _, _, row in ranked[:limit]]


def _rank_row(row: CatalogSession, letters: str, words: list[str]) -> int | None:
    """Return how well a row fits, best 0; None if it does not."""
    if not words:
        return 0
    if len(words) == 1 and row.uuid.startswith(words[0]):
        return 0
    title = (row.title or row.first_prompt or "").casefold()
    if all(word in title for word in words):
        return 1 if title.startswith(words[0]) else 2
    return 3 if all(word in letters for word in words) else None


def send_offered_sessions(request: Request) -> Response:
    listing = get_app_state(request, "lists", ListingCache).get_listing(get_machine(request))
    found = find_offered_sessions(listing, request.query_params.get("q", "")[:_MAX_QUERY_CHARS])
    sessions = [
        {
            "ref": listing.refs.format_ref(row.number, row.uuid),
            "title": (row.title or row.first_prompt or "(no title)")[:200],
            "project": folder_name(row.project),
            "age": describe_age(row.last),
        }
        for row in found
    ]
    return build_json_response({"sessions": sessions})


routes: list[BaseRoute] = [Route("/api/palette", send_offered_sessions)]
