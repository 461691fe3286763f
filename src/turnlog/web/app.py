"""The application: the routes of every page, and error handling."""

from __future__ import annotations

import gzip
import hashlib
import threading
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from anyio.to_thread import current_default_thread_limiter
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.routing import BaseRoute, Route

from turnlog.errors import TurnlogError
from turnlog.web import preference_routes
from turnlog.web.actions import actions
from turnlog.web.actions.downloads import Downloads
from turnlog.web.answers import build_failure_response
from turnlog.web.background import upkeep
from turnlog.web.home import home
from turnlog.web.insights import insights
from turnlog.web.lake import lake_routes
from turnlog.web.live import live, notifications
from turnlog.web.machine import Machine, UnknownSession
from turnlog.web.navigation import palette, session_rail
from turnlog.web.navigation.session_addresses import (
    SessionNameResolver,
    build_name_failure,
    build_unknown_session_response,
)
from turnlog.web.navigation.session_names import SessionNameError
from turnlog.web.quest import quest
from turnlog.web.reading import compare_page, replay_page, session_page
from turnlog.web.search import prompts_page, search

_MEDIA_TYPES = {
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
    ".png": "image/png",
}
_COMPRESSED_SUFFIXES = (".css", ".js", ".svg")
_STATIC_FOLDERS = (Path(__file__).with_name("static"), Path(__file__).parent.with_name("render") / "static")
_VERSIONED_CACHING = "private, max-age=31536000, immutable"
_UNVERSIONED_CACHING = "private, no-cache"


class StaticFiles(NamedTuple):
    """The files that are served as they are, and a hash of their contents."""

    files: Mapping[str, Path]
    version: str

    @classmethod
    def from_folders(cls) -> StaticFiles:
        files = {
            path.relative_to(folder).as_posix(): path
            for folder in _STATIC_FOLDERS
            for path in sorted(folder.rglob("*"))
            if path.suffix in _MEDIA_TYPES and path.is_file()
        }
        digest = hashlib.sha256()
        for name, path in files.items():
            digest.update(name.encode() + b"\0" + path.read_bytes())
        return cls(files, digest.hexdigest()[:12])

    def address(self, name: str) -> str:
        """Return a file's address; an unknown name is a bug in turnlog."""
        if name not in self.files:
            raise LookupError(f"no static file {name!r}")
        return f"/static/v-{self.version}/{name}"


def send_static_file(request: Request) -> Response:
    static: StaticFiles = request.app.state.static
    version, name = request.path_params.get("version"), request.path_params["file"]
    path = static.files.get(name)
    if path is None:
        raise HTTPException(404)
    media_type, is_current = _MEDIA_TYPES[path.suffix], version == static.version
    headers = {"cache-control": _VERSIONED_CACHING if is_current else _UNVERSIONED_CACHING}
    if not is_current or path.suffix not in _COMPRESSED_SUFFIXES or not _accepts_gzip(request):
        return FileResponse(path, media_type=media_type, headers=headers)
    headers |= {"content-encoding": "gzip", "vary": "accept-encoding"}
    return Response(_compress_file(path, path.stat().st_mtime_ns), media_type=media_type, headers=headers)


def _accepts_gzip(request: Request) -> bool:
    return "gzip" in request.headers.get("accept-encoding", "")


@lru_cache(maxsize=256)
def _compress_file(path: Path, _changed: int) -> bytes:
    """Compress a file, once for each of its versions: a page that comes through a tunnel needn't wait for comments."""
    return gzip.compress(path.read_bytes(), mtime=0)


STATIC_ROUTES: list[BaseRoute] = [
    Route("/static/v-{version}/{file:path}", send_static_file),
    Route("/static/{file:path}", send_static_file),
]


MAX_BODY_BYTES = 64 << 10
_MAX_THREADS = 12
"""The maximum number of pages rendered at the same time; each thread has its own connection to the index."""
PAGE_MODULES = (
    home,
    session_page,
    session_rail,
    palette,
    replay_page,
    search,
    prompts_page,
    compare_page,
    insights,
    live,
    notifications,
    quest,
    actions,
    preference_routes,
    upkeep,
)
LAKE_PAGE_MODULES = (insights, preference_routes, lake_routes)
"""The pages of a lake. `lake_routes` is last: it refuses all other addresses."""


def build_application(machine: Machine) -> Starlette:
    """Build the app that shows a machine's sessions, or a lake; serve it only behind `security.RequestGuard`."""
    modules = PAGE_MODULES if machine.lake is None else LAKE_PAGE_MODULES
    app = Starlette(
        routes=[*STATIC_ROUTES, *(route for page in modules for route in page.routes)],
        middleware=[Middleware(SessionNameResolver)],
        exception_handlers={
            SessionNameError: build_name_failure,
            UnknownSession: build_unknown_session_response,
            TurnlogError: build_failure_response,
            HTTPException: build_failure_response,
            Exception: build_failure_response,
        },
        lifespan=_run_lifespan,
        max_body_size=MAX_BODY_BYTES,
    )
    app.router.redirect_slashes = False
    app.state.machine = machine
    app.state.downloads = Downloads()
    app.state.quest_lock, app.state.quest_channels = threading.Lock(), {}
    app.state.static = StaticFiles.from_folders()
    return app


@asynccontextmanager
async def _run_lifespan(app: Starlette) -> AsyncIterator[None]:
    current_default_thread_limiter().total_tokens = _MAX_THREADS
    try:
        yield
    finally:
        app.state.downloads.close()
        if hasattr(app.state, "channels"):
            app.state.channels.close()
