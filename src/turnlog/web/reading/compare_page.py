"""GET /compare: two sessions, or two branches of one, side by side."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from turnlog.api.comparisons import SessionComparison, compare_sessions
from turnlog.api.documents import to_document
from turnlog.errors import Ambiguous, NotFound, TurnlogError, UsageError
from turnlog.store.filter_values import match_sessions
from turnlog.web import amounts
from turnlog.web.answers import build_json_response, get_machine, render_page
from turnlog.web.machine import Machine


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
    left = _find_path(machine, values["left"])
    right = None if values["right"] is None else _find_path(machine, values["right"])
    return compare_sessions(left, right, left_branch=values["branch"], right_branch=values["other_branch"])


def _find_path(machine: Machine, name: str) -> Path:
    """Find a session by its reference, the start of its id, its title, or `last`."""
    try:
        return machine.find_session(name).path
    except NotFound:
        numbers = match_sessions(machine.store.db, name).ids
    query = (
        "SELECT path FROM file WHERE kind = 'session' AND gone IS NULL AND session IN (SELECT value FROM json_each(?))"
    )
    paths: list[Any] = machine.store.db.execute(query, (str(numbers),)).fetchall()
    if len(paths) == 1:
        return Path(paths[0][0])
    if paths:
        raise Ambiguous(f"{name}: this matches {len(paths)} sessions; use more of the id")
    raise NotFound(f"{name}: no session has this id or title")


routes: list[BaseRoute] = [Route("/compare", show_comparison), Route("/api/compare", send_comparison)]
