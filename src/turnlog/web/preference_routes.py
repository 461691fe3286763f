"""GET and POST /api/preferences: what the pages remember."""

from __future__ import annotations

from typing import Any

import msgspec
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from turnlog.errors import UsageError
from turnlog.web.answers import build_json_response, get_machine
from turnlog.web.preferences import Preferences


class PreferenceChanges(msgspec.Struct, forbid_unknown_fields=True):
    """The values to change; null removes a value."""

    set: dict[str, Any]


def send_preferences(request: Request) -> Response:
    return _build_response(get_machine(request).preferences.load())


async def change_preferences(request: Request) -> Response:
    """Save changed values, and send all of them."""
    try:
        changes = msgspec.json.decode(await request.body(), type=PreferenceChanges)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise UsageError(f"invalid request body: {error}") from None
    return _build_response(await run_in_threadpool(get_machine(request).preferences.change, changes.set))


def _build_response(preferences: Preferences) -> Response:
    return build_json_response(
        {"values": preferences.values, "revision": preferences.revision, "notice": preferences.notice}
    )


routes: list[BaseRoute] = [
    Route("/api/preferences", send_preferences),
    Route("/api/preferences", change_preferences, methods=["POST"]),
]
