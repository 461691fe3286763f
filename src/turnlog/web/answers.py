"""Builds the server's responses: pages, fragments, JSON documents and error messages."""

from __future__ import annotations

import re
from functools import cache
from http import HTTPStatus
from pathlib import Path
from typing import Any, TypeVar

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from turnlog._version import __version__
from turnlog.errors import Ambiguous, Busy, NotFound, TurnlogError, UsageError
from turnlog.render.jinja_templates import render_pieces
from turnlog.render.json_bytes import to_json_bytes
from turnlog.web.amounts import MAX_VALUE_CHARS, shorten_name
from turnlog.web.machine import Machine

T = TypeVar("T")
_DATA_PATHS = ("/api/", "/quest/")
"""Addresses that answer with JSON."""
_HALF_SURROGATE = re.compile("[\ud800-\udfff]")
_ERROR_STATUSES: dict[type[TurnlogError], int] = {NotFound: 404, UsageError: 400, Ambiguous: 409, Busy: 409}
_STATUS_MESSAGES = {
    404: "This page does not exist.",
    405: "This address does not accept this method.",
    413: "The request is too large.",
}
_STATUS_HEADINGS = {
    400: "Bad request",
    403: "Not allowed",
    404: "Not found",
    405: "Not allowed",
    413: "Too large",
    415: "Not JSON",
    500: "Something broke",
}


def get_machine(request: Request) -> Machine:
    machine = request.app.state.machine
    assert isinstance(machine, Machine)
    return machine


def get_app_state(request: Request, name: str, make: type[T]) -> T:
    """Return an object that lives as long as the application, creating it on first use."""
    state = request.app.state
    if not hasattr(state, name):
        setattr(state, name, make())
    value = getattr(state, name)
    assert isinstance(value, make)
    return value


@cache
def load_templates() -> Environment:
    """Load the templates; every value is escaped unless it is markup from `render`."""
    folder = Path(__file__).with_name("templates")
    environment = Environment(
        loader=FileSystemLoader(folder),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_shorten_value,
    )
    environment.filters["tojson_text"] = lambda value: escape(to_json_bytes(value).decode())
    environment.filters["in_full"] = escape
    environment.filters["in_pieces"] = render_pieces
    return environment


def _shorten_value(value: object) -> object:
    """Cut a string unless it is markup or filtered with `in_full`: a name of megabytes would stop the browser."""
    return shorten_name(value, MAX_VALUE_CHARS) if isinstance(value, str) and not isinstance(value, Markup) else value


def render_page(request: Request, template: str, /, *, status: int = 200, **values: Any) -> Response:
    """Render a page, or a fragment of one, from a template."""
    machine = get_machine(request)
    text = (
        load_templates()
        .get_template(template)
        .render(
            static=request.app.state.static.address,
            path=request.url.path,
            is_demo=machine.is_demo,
            lake=machine.lake,
            version=__version__,
            preferences=machine.preferences.load(),
            **values,
        )
    )
    return build_html_response(text, status)


def build_html_response(text: str, status: int = 200) -> Response:
    """Build a response from finished markup; lone surrogates, which UTF-8 can't encode, become U+FFFD.

    Carriage returns can only come from data. They are escaped, because parsers would turn them into line feeds.
    """
    return Response(_HALF_SURROGATE.sub("\ufffd", text).replace("\r", "&#13;").encode(), status, media_type="text/html")


def build_json_response(value: Any, status: int = 200) -> Response:
    return Response(to_json_bytes(value), status, media_type="application/json")


def is_data_request(request: Request) -> bool:
    """Return whether a script asks, which wants failures as JSON."""
    return request.url.path.startswith(_DATA_PATHS)


def build_failure_response(request: Request, error: Exception) -> Response:
    """Describe a failure: as JSON to scripts, otherwise as a page."""
    status, words = _explain_error(error)
    if is_data_request(request):
        response = build_json_response({"error": words}, status)
    else:
        response = render_page(
            request, "error.html", status=status, heading=_STATUS_HEADINGS.get(status, "Failed"), words=words
        )
    if isinstance(error, HTTPException):
        response.headers.update(error.headers or {})
    return response


def _explain_error(error: Exception) -> tuple[int, str]:
    if isinstance(error, HTTPException):
        is_usual = error.detail == HTTPStatus(error.status_code).phrase
        return error.status_code, _STATUS_MESSAGES.get(error.status_code, error.detail) if is_usual else error.detail
    if isinstance(error, TurnlogError):
        return _ERROR_STATUSES.get(type(error), 500), str(error)
    return 500, f"This is a bug in turnlog: {type(error).__name__}. The terminal that runs it shows details."
