"""GET /prompts: everything that a person typed, across all sessions, newest first."""

from __future__ import annotations

from typing import Any, NamedTuple
from urllib.parse import urlencode

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from turnlog.api.documents import to_document
from turnlog.api.prompts import PromptList, build_prompt_query, collect_prompts
from turnlog.errors import UsageError
from turnlog.web import amounts
from turnlog.web.answers import build_json_response, get_app_state, get_machine, render_page
from turnlog.web.home.session_list import ListingCache
from turnlog.web.reading.links import text_address

_PAGE_SIZE = 50


class PromptFilter(NamedTuple):
    """The query string of the page's address."""

    q: str = ""
    project: str = ""
    since: str = ""
    until: str = ""
    page: int = 1

    def address(self, **changes: Any) -> str:
        """Return the address of this filter with some changes."""
        new = self._replace(**changes)
        params = {name: value for name, value in new._asdict().items() if value and (name, value) != ("page", 1)}
        return f"/prompts?{urlencode(params)}" if params else "/prompts"


def show_prompts(request: Request) -> Response:
    filters = _parse_filter(request)
    failure, found = "", PromptList([], 0, 1, 1)
    try:
        found = _collect(request, filters)
    except UsageError as error:
        failure = str(error).removeprefix("--")
    machine = get_machine(request)
    listing = get_app_state(request, "lists", ListingCache).get_listing(machine)
    refs = {row.path: listing.refs.format_ref(row.number, row.uuid) for row in listing.rows}
    return render_page(
        request,
        "prompts.html",
        found=found,
        hrefs=[
            text_address(refs.get(item.path, item.session_id), item.offset, None) if item.path in refs else None
            for item in found.prompts
        ],
        filters=filters,
        failure=failure,
        projects=listing.projects,
        is_growing=not machine.state.is_complete,
        amounts=amounts,
    )


def send_prompts(request: Request) -> Response:
    """Send the document of `turnlog prompts --json`."""
    return build_json_response(to_document(_collect(request, _parse_filter(request))))


def _collect(request: Request, filters: PromptFilter) -> PromptList:
    machine = get_machine(request)
    db = machine.store.db
    query = build_prompt_query(
        db,
        filters.q,
        filters.project or None,
        filters.since or None,
        filters.until or None,
        _PAGE_SIZE,
        filters.page,
    )
    return collect_prompts(db, machine.data_dir, query)


def _parse_filter(request: Request) -> PromptFilter:
    params = request.query_params
    text = params.get("page", "1")
    page = int(text) if text.isdecimal() and len(text) < 7 else 1
    values = {name: params.get(name, "").strip()[:1000] for name in ("q", "project", "since", "until")}
    return PromptFilter(**values, page=max(page, 1))


routes: list[BaseRoute] = [Route("/prompts", show_prompts), Route("/api/prompts", send_prompts)]
