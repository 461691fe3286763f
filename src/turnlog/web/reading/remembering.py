"""Answers that take a look at a whole timeline, made once for each state of a session."""

from __future__ import annotations

from collections.abc import Callable
from weakref import WeakKeyDictionary

from starlette.requests import Request
from starlette.responses import Response

from turnlog.store.timelines.kept import KeptTimeline
from turnlog.web.reading.transcript import open_transcript_view

RouteHandler = Callable[[Request], Response]
_MAX_REMEMBERED = 16
"""So many answers are kept for each timeline."""
_REMEMBERED_ANSWERS: WeakKeyDictionary[KeptTimeline, dict[str, Response]] = WeakKeyDictionary()


def remember_answers(handler: RouteHandler) -> RouteHandler:
    """The same answers, made once for each address while the session stays as it is."""

    def answer(request: Request) -> Response:
        made = _REMEMBERED_ANSWERS.setdefault(open_transcript_view(request).kept, {})
        address = f"{request.url.path}?{request.url.query}"
        found = made.get(address)
        if found is None:
            found = handler(request)
            if len(made) < _MAX_REMEMBERED:
                made[address] = found
        return Response(found.body, found.status_code, media_type=found.media_type)

    return answer
