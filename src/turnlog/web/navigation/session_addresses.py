"""Lets every address that contains a session's reference contain one of its names instead.

A page redirects to the address with the reference, so that its own links and what people copy are unambiguous. Other
addresses answer as if the reference had been used. If a name does not fit exactly one session, the answer lists the
sessions that it fits, or the closest ones. Requests that change something need the reference, because another session
may have become the last one in the meantime.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple
from urllib.parse import parse_qsl, quote, unquote, urlencode

from anyio import to_thread
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from turnlog.web.answers import build_json_response, get_machine, is_data_request, render_page
from turnlog.web.machine import UnknownSession
from turnlog.web.navigation.session_names import (
    SessionNameError,
    build_unknown_error,
    is_whole_ref,
    resolve_session_name,
)

_NAMED_PATH_PATTERN = re.compile(r"(/api/s/|/quest/replay/|/s/|/replay/|/live/)([^/]+)(/.*)?")
_PAGE_PATTERN = re.compile(r"/(?:replay|live)/[^/]+|/s/[^/]+(?:/agent/[^/]+)?")
_READING_METHODS = ("GET", "HEAD")


class SessionAddress(NamedTuple):
    """The path of a request, split at the name of its session."""

    prefix: str
    name: str
    rest: str
    query: str

    def build(self, ref: str) -> str:
        """Return the address with another name."""
        return f"{self.prefix}{quote(ref, safe='')}{self.rest}{self.query}"

    @classmethod
    def parse(cls, scope: Scope) -> SessionAddress | None:
        # The decoded path no longer says which slashes belong to a title.
        raw = scope.get("raw_path") or quote(scope["path"]).encode()
        path = raw.partition(b"?")[0].decode("ascii", "replace")
        match = _NAMED_PATH_PATTERN.fullmatch(path)
        if match is None:
            return None
        query = scope["query_string"].decode("ascii", "replace")
        return cls(match[1], unquote(match[2]), match[3] or "", f"?{query}" if query else "")


class SessionNameResolver:
    """Replaces the name of a session in a request's path by the session's reference."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        has_sessions = scope["type"] == "http" and scope["app"].state.machine.lake is None
        address = SessionAddress.parse(scope) if has_sessions else None
        if address is None or is_whole_ref(address.name):
            await self._app(scope, receive, send)
            return
        if scope["method"] not in _READING_METHODS:
            refusal = f"{address.name!r}: a request that changes something needs the whole id of the session"
            await build_json_response({"error": refusal}, 404)(scope, receive, send)
            return
        request = Request(scope, receive)
        response: Response
        try:
            ref = await to_thread.run_sync(resolve_session_name, get_machine(request), address.name, address.build)
        except SessionNameError as error:
            response = await to_thread.run_sync(build_name_failure, request, error)
        else:
            path = address._replace(query="").build(ref)
            if not _PAGE_PATTERN.fullmatch(path):
                await self._app({**scope, "path": unquote(path), "raw_path": path.encode()}, receive, send)
                return
            response = RedirectResponse(path + address.query, 307)
        await response(scope, receive, send)


def resolve_query_name(request: Request, param: str) -> str:
    """Return the reference of the session that a query parameter names; empty if the parameter is."""
    name = request.query_params.get(param, "").strip()
    return resolve_session_name(get_machine(request), name, _build_query_address(request, param)) if name else ""


def _build_query_address(request: Request, param: str) -> Callable[[str], str]:
    pairs = parse_qsl(request.url.query, keep_blank_values=True)

    def build(ref: str) -> str:
        values = {**dict(pairs), param: ref}
        return f"{request.url.path}?{urlencode(values, errors='replace')}"

    return build


def build_unknown_session_response(request: Request, error: Exception) -> Response:
    """Answer a request for a session that does not exist with the closest ones."""
    assert isinstance(error, UnknownSession)
    address = SessionAddress.parse(request.scope)
    param = next((name for name, value in request.query_params.items() if value.strip() == error.ref), "")
    build_address = address.build if address else _build_query_address(request, param)
    return build_name_failure(request, build_unknown_error(get_machine(request), error.ref, build_address))


def build_name_failure(request: Request, error: Exception) -> Response:
    """Let the reader choose among the sessions that a name may mean."""
    assert isinstance(error, SessionNameError)
    choices = [(candidate, error.build_address(candidate.ref)) for candidate in error.candidates]
    if is_data_request(request):
        sessions = [{"ref": item.ref, "title": item.title, "project": item.project} for item, _ in choices]
        return build_json_response({"error": str(error), "sessions": sessions}, error.status)
    return render_page(
        request,
        "session_choice.html",
        status=error.status,
        error=error,
        choices=choices,
        left_out=max(error.total - len(choices), 0),
    )
