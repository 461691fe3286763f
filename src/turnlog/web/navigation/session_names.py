"""Sessions by the names that people use in addresses: the start of an id, a title, or `last`.

/s/22161731           the command line prints ids in this form
/s/Volume%20discounts
/s/last               the session with the newest message
"""

from __future__ import annotations

import re
from typing import NamedTuple
from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from turnlog.errors import NotFound
from turnlog.store.insight.catalog import CatalogSession
from turnlog.web.answers import get_app_state, get_machine, render_page
from turnlog.web.home.session_list import HomeListing, ListingCache

LAST_NAME = "last"
MAX_CANDIDATES = 20
_ID_START_PATTERN = re.compile(r"[0-9a-f]{4,36}|[0-9a-f]{8}-[0-9a-f-]{0,27}", re.IGNORECASE | re.ASCII)
_WHOLE_REF_PATTERN = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}(?:\.\d+)?", re.IGNORECASE | re.ASCII)


class SessionCandidate(NamedTuple):
    ref: str
    row: CatalogSession

    @property
    def title(self) -> str:
        return self.row.title or self.row.first_prompt or "(no title)"


def is_whole_ref(ref: str) -> bool:
    """Return whether a text is a session's whole reference rather than a name."""
    return _WHOLE_REF_PATTERN.fullmatch(ref) is not None


def get_listing(request: Request) -> HomeListing:
    return get_app_state(request, "lists", ListingCache).get_listing(get_machine(request))


def find_named_sessions(listing: HomeListing, name: str) -> list[SessionCandidate]:
    """Find the sessions that a name fits: an id exactly or from its start, then a title, then a part of a title."""
    rows = [row for row in listing.rows if row.talks and not row.is_gone] or listing.rows
    text = " ".join(name.split()).casefold()
    if text == LAST_NAME:
        found = sorted(rows, key=lambda row: row.last, reverse=True)[:1]
    elif _ID_START_PATTERN.fullmatch(text) and (by_id := [r for r in listing.rows if r.uuid.startswith(text)]):
        found = by_id
    else:
        titles = [(row, " ".join((row.title or "").split()).casefold()) for row in listing.rows]
        exact = [row for row, title in titles if title == text]
        found = exact or [row for row, title in titles if text and text in title]
    return [SessionCandidate(listing.refs.format_ref(row.number, row.uuid), row) for row in found]


def redirect_to_session(request: Request, name: str, *, prefix: str = "/s/", suffix: str = "") -> Response:
    """Redirect to the session with a name; if several fit, let the reader choose."""
    found = find_named_sessions(get_listing(request), name)
    if not found:
        raise NotFound(
            f"no session is called {name[:80]!r}; use an id, the start of one (4 characters or more), a title, or"
            f" {LAST_NAME!r}"
        )
    query = f"?{request.url.query}" if request.url.query else ""
    addresses = [f"{prefix}{quote(item.ref)}{suffix}{query}" for item in found]
    if len(found) == 1:
        return RedirectResponse(addresses[0], 307)
    return render_page(
        request,
        "session_choice.html",
        status=300,
        name=name[:80],
        candidates=list(zip(found, addresses, strict=True))[:MAX_CANDIDATES],
        left_out=max(len(found) - MAX_CANDIDATES, 0),
    )
