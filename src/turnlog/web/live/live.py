"""The live pages: a board of all sessions and their states, and a page that follows one session."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from turnlog.errors import NotFound, Unreadable
from turnlog.live.page_updates import PageUpdate
from turnlog.web import amounts
from turnlog.web.answers import build_json_response, get_machine, render_page
from turnlog.web.live.channels import BoardChannel, Channels, SessionChannel, render_board_card
from turnlog.web.live.event_channels import HISTORY_PREFIX, EventChannel
from turnlog.web.live.stream import build_stream_response
from turnlog.web.machine import Machine
from turnlog.web.reading.transcript_view import agent_address

BOARD_COLUMNS = (
    ("needs", "Needs you"),
    ("working", "Working"),
    ("idle", "Idle"),
    ("ended", "Ended today"),
)
_MAX_CURSOR_CHARS = 4096


class FollowedSession(NamedTuple):
    path: Path
    ref: str
    title: str
    project: str


def get_channels(request: Request) -> Channels:
    state = request.app.state
    if not hasattr(state, "channels"):
        state.channels = Channels(state.machine)
    channels = state.channels
    assert isinstance(channels, Channels)
    return channels


def find_followed_session(machine: Machine, ref: str) -> FollowedSession:
    known = machine.find_session_file(ref)
    if known.is_gone:
        raise NotFound(
            f"{known.uuid} was deleted; `turnlog archive restore {known.uuid}` restores it if it is in the archive"
        )
    return FollowedSession(known.path, known.ref, known.title or "", known.cwd or known.folder)


def _find_session(request: Request) -> FollowedSession:
    return find_followed_session(get_machine(request), request.path_params["ref"])


async def _open_session_channel(request: Request) -> tuple[FollowedSession, SessionChannel]:
    def open_channel() -> tuple[FollowedSession, SessionChannel]:
        session = _find_session(request)
        try:
            return session, get_channels(request).open_session(session.path, session.ref)
        except OSError as error:
            raise Unreadable(f"{session.path}: {error.strerror or error}") from None

    session, channel = await asyncio.to_thread(open_channel)
    channel.start()
    return session, channel


def _read_cursor(request: Request) -> str | None:
    """Return where to continue: the browser's last event id, or else the page's cursor."""
    text = request.headers.get("last-event-id") or request.query_params.get("cursor")
    return text[:_MAX_CURSOR_CHARS] if text else None


async def stream_session_updates(request: Request) -> Response:
    """GET /api/s/{ref}/updates."""
    _, channel = await _open_session_channel(request)
    return build_stream_response(request, channel, _read_cursor(request))


async def show_live_session(request: Request) -> Response:
    """GET /live/{ref}: render the last turns; the page then follows the updates."""
    session, channel = await _open_session_channel(request)
    first = await asyncio.to_thread(channel.read_first_updates)
    page = _LiveSessionPage(session.ref, first)

    def render() -> Response:
        return render_page(
            request,
            "live_session.html",
            ref=session.ref,
            title=session.title or "(no title)",
            project=session.project,
            items=page.items,
            agents=list(page.agents.values()),
            state=page.state,
            cursor=first[-1].cursor,
            amounts=amounts,
        )

    return await asyncio.to_thread(render)


class _LiveSessionPage:
    """Collects what the first updates put on the page."""

    def __init__(self, ref: str, updates: list[PageUpdate]) -> None:
        self.items: list[Markup] = []
        self.agents: dict[str, dict[str, Any]] = {}
        self.state: dict[str, Any] = {}
        self._ref = ref
        for update in updates:
            data = msgspec.json.decode(update.data)
            if update.name == "agent":
                self._get_agent(data["agent"]).update(data)
            elif update.name == "state":
                self._apply_state(data)
            for part in data.get("parts", ()):
                target = self._get_agent(part["stream"])["items"] if part["stream"] else self.items
                target += [Markup(change["html"]) for change in part["changes"]]

    def _get_agent(self, name: str) -> dict[str, Any]:
        fresh: dict[str, Any] = {"agent": name, "type": "", "description": "", "items": [], "doing": None}
        return self.agents.setdefault(name, {**fresh, "address": agent_address(self._ref, name)})

    def _apply_state(self, data: dict[str, Any]) -> None:
        self.state = data
        for name, doing in data["streams"].items():
            self._get_agent(name)["doing"] = doing


async def _open_board(request: Request) -> tuple[BoardChannel, list[dict[str, Any]]]:
    channel = get_channels(request).open_board()
    channel.start()
    return channel, await asyncio.to_thread(channel.list_rows)


async def show_board(request: Request) -> Response:
    """GET /live."""
    _, rows = await _open_board(request)
    groups = [
        (name, words, [Markup(render_board_card(row)) for row in rows if row["column"] == name])
        for name, words in BOARD_COLUMNS
    ]
    return await asyncio.to_thread(render_page, request, "live.html", groups=groups)


async def send_board(request: Request) -> Response:
    """GET /api/live."""
    channel, rows = await _open_board(request)
    return build_json_response({"files": channel.size, "sessions": rows})


async def stream_board_updates(request: Request) -> Response:
    """GET /api/live/updates."""
    return build_stream_response(request, get_channels(request).open_board(), None)


async def stream_events(request: Request) -> Response:
    """GET /api/events and GET /api/s/{ref}/events."""

    def open_channel() -> EventChannel:
        path = _find_session(request).path if "ref" in request.path_params else None
        return get_channels(request).open_events(path)

    cursor = _read_cursor(request)
    history = request.query_params.get("history")
    if cursor is None and history:
        cursor = f"{HISTORY_PREFIX}{history}"
    return build_stream_response(request, await asyncio.to_thread(open_channel), cursor)


async def play_demo(request: Request) -> Response:
    """POST /api/live/demo: play a made-up session on the board."""
    return build_json_response({"ref": await asyncio.to_thread(get_channels(request).play_demo)})


routes: list[BaseRoute] = [
    Route("/api/events", stream_events),
    Route("/api/s/{ref}/events", stream_events),
    Route("/api/live/demo", play_demo, methods=["POST"]),
    Route("/live", show_board),
    Route("/live/{ref}", show_live_session),
    Route("/api/live", send_board),
    Route("/api/live/updates", stream_board_updates),
    Route("/api/s/{ref}/updates", stream_session_updates),
]
