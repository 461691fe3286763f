"""The application: every page's routes, and what happens when one fails."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from anyio.to_thread import current_default_thread_limiter
from starlette.applications import Starlette
from starlette.exceptions import HTTPException

from turnlog.errors import TurnlogError
from turnlog.web import static_files
from turnlog.web.actions import actions
from turnlog.web.actions.downloads import Downloads
from turnlog.web.answers import build_failure_response
from turnlog.web.background import indexing
from turnlog.web.home import home
from turnlog.web.insights import insights
from turnlog.web.live import live
from turnlog.web.place import Machine
from turnlog.web.reading import reading
from turnlog.web.search import search

MAX_BODY_BYTES = 64 << 10
_MAX_THREADS = 12
"""So many pages are made at the same time; each thread has its own connection to the index."""
PAGE_MODULES = (static_files, home, reading, search, insights, live, actions, indexing)


def build_application(place: Machine) -> Starlette:
    """The pages of a machine; without `security.Guard` in front of it nothing may be served."""
    app = Starlette(
        routes=[route for page in PAGE_MODULES for route in page.routes],
        exception_handlers={
            TurnlogError: build_failure_response,
            HTTPException: build_failure_response,
            Exception: build_failure_response,
        },
        lifespan=_run_lifespan,
        max_body_size=MAX_BODY_BYTES,
    )
    app.router.redirect_slashes = False
    app.state.place = place
    app.state.downloads = Downloads()
    app.state.static = static_files.StaticFiles.from_folders()
    return app


@asynccontextmanager
async def _run_lifespan(app: Starlette) -> AsyncIterator[None]:
    current_default_thread_limiter().total_tokens = _MAX_THREADS
    try:
        yield
    finally:
        app.state.downloads.close()
