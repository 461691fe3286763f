"""GET /compare: two sessions, or two branches of one, side by side."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from turnlog.api.comparisons import SessionComparison, compare_sessions
from turnlog.api.documents import to_document
from turnlog.errors import TurnlogError, UsageError
from turnlog.web import amounts
from turnlog.web.answers import build_json_response, get_machine, render_page


def show_comparison(request: Request) -> Response:
    params = {name: request.query_params.get(name, "").strip()[:200] for name in _PARAMS}
    found, failure = None, ""
    if any(params.values()):
        try:
            found = _compare(request)
        except TurnlogError as error:
            failure = str(error).removeprefix("--")
    return render_page(request, "compare.html", found=found, failure=failure, params=params, amounts=amounts)


def send_comparison(request: Request) -> Response:
    """Send the document of `turnlog compare --json`."""
    return build_json_response(to_document(_compare(request)))


_PARAMS = ("left", "right", "branch", "other_branch")


def _compare(request: Request) -> SessionComparison:
    """Compare the sessions that the address names by their references."""
    machine = get_machine(request)
    values = {name: request.query_params.get(name, "").strip()[:200] or None for name in _PARAMS}
    if values["left"] is None:
        raise UsageError("name the session on the left")
    left = machine.find_session(values["left"]).path
    right = None if values["right"] is None else machine.find_session(values["right"]).path
    return compare_sessions(left, right, left_branch=values["branch"], right_branch=values["other_branch"])


routes: list[BaseRoute] = [Route("/compare", show_comparison), Route("/api/compare", send_comparison)]
