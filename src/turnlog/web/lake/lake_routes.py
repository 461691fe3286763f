"""The routes that only a lake has: the start page, and a refusal of everything that belongs to a machine's sessions."""

from __future__ import annotations

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import BaseRoute, Route

_METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]


def send_to_insights(_: Request) -> Response:
    return RedirectResponse("/insights", 307)


def refuse_other_page(_: Request) -> Response:
    raise HTTPException(404, "This page is not part of a lake, which has insights only.")


routes: list[BaseRoute] = [
    Route("/", send_to_insights),
    Route("/{path:path}", refuse_other_page, methods=_METHODS),
]
