"""The live pages: a board of all sessions with what they are doing, and a page that follows one of them."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from turnlog.entries.layout import session_files
from turnlog.errors import NotFound, Unreadable
from turnlog.live.events import Event
from turnlog.web.answers import document, page, place_of
from turnlog.web.live.channels import BoardChannel, Channels, SessionChannel, card
from turnlog.web.live.stream import stream
from turnlog.web.place import Place
from turnlog.web.reading.transcript import agent_address

COLUMNS = (
    ("needs", "Needs you"),
    ("working", "Working"),
    ("idle", "Idle"),
    ("ended", "Ended today"),
)
_LONGEST = 4096


class Followed(NamedTuple):
    """The session that a request is about."""

    path: Path
    ref: str
    title: str
    project: str


def channels_of(request: Request) -> Channels:
    """The channels of the server."""
    state = request.app.state
    if not hasattr(state, "channels"):
        state.channels = Channels(state.place)
    found = state.channels
    assert isinstance(found, Channels)
    return found


def followed(place: Place, ref: str) -> Followed:
    """The session that a reference means; one that is too new for the index is looked for in the folders."""
    try:
        known = place.session(ref)
    except NotFound:
        for folder in place.config_dirs:
            for file in session_files(folder):
                if file.session_id == ref:
                    return Followed(file.path, ref, "", file.project_dir.name)
        raise
    if known.is_gone:
        raise NotFound(
            f"{known.uuid} was deleted; `turnlog archive restore {known.uuid}` brings it back if it is archived"
        )
    return Followed(known.path, known.ref, known.title or "", known.cwd or known.folder)


async def _channel(request: Request) -> tuple[Followed, SessionChannel]:
    def opened() -> tuple[Followed, SessionChannel]:
        found = followed(place_of(request), request.path_params["ref"])
        try:
            return found, channels_of(request).session(found.path, found.ref)
        except OSError as error:
            raise Unreadable(f"{found.path}: {error.strerror or error}") from None

    found, channel = await asyncio.to_thread(opened)
    channel.start()
    return found, channel


def _cursor(request: Request) -> str | None:
    """Where somebody goes on from: what the browser remembers, else what the page said."""
    text = request.headers.get("last-event-id") or request.query_params.get("cursor")
    return text[:_LONGEST] if text else None


async def session_events(request: Request) -> Response:
    """GET /api/s/{ref}/events."""
    _, channel = await _channel(request)
    return stream(request, channel, _cursor(request))


async def session(request: Request) -> Response:
    """GET /live/{ref}: the last turns, and whatever comes."""
    found, channel = await _channel(request)
    first = await asyncio.to_thread(channel.first)
    shown = _Shown(found.ref, first)

    def written() -> Response:
        return page(
            request,
            "live_session.html",
            ref=found.ref,
            title=found.title or "(no title)",
            project=found.project,
            items=shown.items,
            agents=list(shown.agents.values()),
            state=shown.state,
            cursor=first[-1].cursor,
        )

    return await asyncio.to_thread(written)


class _Shown:
    """What the first events put on a page."""

    def __init__(self, ref: str, events: list[Event]) -> None:
        self.items: list[Markup] = []
        self.agents: dict[str, dict[str, Any]] = {}
        self.state: dict[str, Any] = {}
        self._ref = ref
        for event in events:
            data = msgspec.json.decode(event.data)
            if event.name == "agent":
                self._agent(data["agent"]).update(data)
            elif event.name == "state":
                self._doing(data)
            for part in data.get("parts", ()):
                target = self._agent(part["stream"])["items"] if part["stream"] else self.items
                target += [Markup(change["html"]) for change in part["changes"]]

    def _agent(self, name: str) -> dict[str, Any]:
        fresh: dict[str, Any] = {"agent": name, "type": "", "description": "", "items": [], "doing": None}
        return self.agents.setdefault(name, {**fresh, "address": agent_address(self._ref, name)})

    def _doing(self, data: dict[str, Any]) -> None:
        self.state = data
        for name, doing in data["streams"].items():
            self._agent(name)["doing"] = doing


async def _board(request: Request) -> tuple[BoardChannel, list[dict[str, Any]]]:
    channel = channels_of(request).board()
    channel.start()
    return channel, await asyncio.to_thread(channel.rows)


async def board(request: Request) -> Response:
    """GET /live."""
    _, rows = await _board(request)
    groups = [(name, words, [Markup(card(row)) for row in rows if row["column"] == name]) for name, words in COLUMNS]
    return await asyncio.to_thread(page, request, "live.html", groups=groups)


async def board_document(request: Request) -> Response:
    """GET /api/live."""
    channel, rows = await _board(request)
    return document({"files": channel.size, "sessions": rows})


async def board_events(request: Request) -> Response:
    """GET /api/live/events."""
    return stream(request, channels_of(request).board(), None)


routes: list[BaseRoute] = [
    Route("/live", board),
    Route("/live/{ref}", session),
    Route("/api/live", board_document),
    Route("/api/live/events", board_events),
    Route("/api/s/{ref}/events", session_events),
]
