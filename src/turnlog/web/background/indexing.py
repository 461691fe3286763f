"""GET /api/state: how far the index is. To ask is to say that a page is open."""

from __future__ import annotations

import time

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from turnlog.web.answers import build_json_response, get_machine


async def send_index_state(request: Request) -> Response:
    """What is being done in the background."""
    place = get_machine(request)
    place.visited = time.monotonic()
    now = place.state
    return build_json_response({**now._asdict(), "is_busy": now.is_busy, "words": now.words, "is_demo": place.is_demo})


routes: list[BaseRoute] = [Route("/api/state", send_index_state)]
