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
from turnlog.render.json_bytes import to_json_bytes
from turnlog.web.machine import Machine

T = TypeVar("T")
_HALF_SURROGATE = re.compile("[\ud800-\udfff]")
_ERROR_STATUSES: dict[type[TurnlogError], int] = {NotFound: 404, UsageError: 400, Ambiguous: 409, Busy: 409}
_STATUS_MESSAGES = {
    404: "There is no such page.",
    405: "This address does not take such requests.",
    413: "What was sent is too large.",
}
_STATUS_HEADINGS = {
    400: "This can't be understood",
    403: "Not allowed",
    404: "Not found",
    405: "Not allowed",
    413: "Too large",
    415: "Not JSON",
    500: "Something broke",
}


def get_machine(request: Request) -> Machine:
    """The machine that a request is about."""
    place = request.app.state.place
    assert isinstance(place, Machine)
    return place


def get_app_state(request: Request, name: str, make: type[T]) -> T:
    """Something that the application keeps from one request to the next."""
    state = request.app.state
    if not hasattr(state, name):
        setattr(state, name, make())
    found = getattr(state, name)
    assert isinstance(found, make)
    return found


@cache
def load_templates() -> Environment:
    """The templates; every value is escaped unless it is markup that `render` made."""
    folder = Path(__file__).with_name("templates")
    return Environment(
        loader=FileSystemLoader(folder),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def render_page(request: Request, template: str, /, *, status: int = 200, **values: Any) -> Response:
    """A page, or a piece of one, from a template."""
    place = get_machine(request)
    text = (
        load_templates()
        .get_template(template)
        .render(
            static=request.app.state.static.address,
            path=request.url.path,
            is_demo=place.is_demo,
            version=__version__,
            **values,
        )
    )
    return build_html_response(text, status)


def build_html_response(text: str, status: int = 200) -> Response:
    """Markup that is ready; half surrogates, which UTF-8 can't spell, become the sign for what is unreadable.

    Carriage returns, which can only come from data, stay what they are: parsers would make line feeds of them.
    """
    return Response(_HALF_SURROGATE.sub("\ufffd", text).replace("\r", "&#13;").encode(), status, media_type="text/html")


def build_json_response(value: Any, status: int = 200) -> Response:
    """A JSON document."""
    return Response(to_json_bytes(value), status, media_type="application/json")


def build_failure_response(request: Request, error: Exception) -> Response:
    """A failure in words: as JSON for the API, as a page otherwise."""
    status, words = _explain_error(error)
    if request.url.path.startswith("/api/"):
        answer = build_json_response({"error": words}, status)
    else:
        answer = render_page(
            request, "error.html", status=status, heading=_STATUS_HEADINGS.get(status, "Failed"), words=words
        )
    if isinstance(error, HTTPException):
        answer.headers.update(error.headers or {})
    return answer


def _explain_error(error: Exception) -> tuple[int, str]:
    if isinstance(error, HTTPException):
        is_usual = error.detail == HTTPStatus(error.status_code).phrase
        return error.status_code, _STATUS_MESSAGES.get(error.status_code, error.detail) if is_usual else error.detail
    if isinstance(error, TurnlogError):
        return _ERROR_STATUSES.get(type(error), 500), str(error)
    return 500, f"This is a mistake in turnlog: {type(error).__name__}. The terminal that runs it says more."
