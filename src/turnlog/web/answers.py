"""What the server answers with: pages, fragments, JSON documents, and failures in words."""

from __future__ import annotations

import re
from functools import cache
from http import HTTPStatus
from pathlib import Path
from typing import Any, TypeVar

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from turnlog._version import __version__
from turnlog.errors import Ambiguous, Busy, NotFound, TurnlogError, UsageError
from turnlog.render.encoding import encoded
from turnlog.web.place import Place

T = TypeVar("T")
_HALF = re.compile("[\ud800-\udfff]")
_STATUS: dict[type[TurnlogError], int] = {NotFound: 404, UsageError: 400, Ambiguous: 409, Busy: 409}
_USUAL = {
    404: "There is no such page.",
    405: "This address does not take such requests.",
    413: "What was sent is too large.",
}
_HEADINGS = {
    400: "This can't be understood",
    403: "Not allowed",
    404: "Not found",
    405: "Not allowed",
    413: "Too large",
    415: "Not JSON",
    500: "Something broke",
}


def place_of(request: Request) -> Place:
    """The machine that a request is about."""
    place = request.app.state.place
    assert isinstance(place, Place)
    return place


def kept(request: Request, name: str, make: type[T]) -> T:
    """Something that the application keeps from one request to the next."""
    state = request.app.state
    if not hasattr(state, name):
        setattr(state, name, make())
    found = getattr(state, name)
    assert isinstance(found, make)
    return found


@cache
def templates() -> Environment:
    """The templates; every value is escaped unless it is markup that `render` made."""
    folder = Path(__file__).with_name("templates")
    return Environment(
        loader=FileSystemLoader(folder),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def page(request: Request, template: str, /, *, status: int = 200, **values: Any) -> Response:
    """A page, or a piece of one, from a template."""
    place = place_of(request)
    text = (
        templates()
        .get_template(template)
        .render(
            static=request.app.state.static.address,
            path=request.url.path,
            is_demo=place.is_demo,
            version=__version__,
            **values,
        )
    )
    return html(text, status)


def html(text: str, status: int = 200) -> Response:
    """Markup that is ready; half surrogates, which UTF-8 can't spell, become the sign for what is unreadable.

    Carriage returns, which can only come from data, stay what they are: parsers would make line feeds of them.
    """
    return Response(_HALF.sub("\ufffd", text).replace("\r", "&#13;").encode(), status, media_type="text/html")


def document(value: Any, status: int = 200) -> Response:
    """A JSON document."""
    return Response(encoded(value), status, media_type="application/json")


def failed(request: Request, error: Exception) -> Response:
    """A failure in words: as JSON for the API, as a page otherwise."""
    status, words = _explained(error)
    if request.url.path.startswith("/api/"):
        answer = document({"error": words}, status)
    else:
        answer = page(request, "error.html", status=status, heading=_HEADINGS.get(status, "Failed"), words=words)
    if isinstance(error, HTTPException):
        answer.headers.update(error.headers or {})
    return answer


def _explained(error: Exception) -> tuple[int, str]:
    if isinstance(error, HTTPException):
        is_usual = error.detail == HTTPStatus(error.status_code).phrase
        return error.status_code, _USUAL.get(error.status_code, error.detail) if is_usual else error.detail
    if isinstance(error, TurnlogError):
        return _STATUS.get(type(error), 500), str(error)
    return 500, f"This is a mistake in turnlog: {type(error).__name__}. The terminal that runs it says more."
