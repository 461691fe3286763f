"""The quest: its pages, the feeds that they draw, and the profile with its choices."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import FileResponse, Response, StreamingResponse
from starlette.routing import BaseRoute, Route

import turnlog.quest
from turnlog.errors import TurnlogError, UsageError
from turnlog.quest.chests import STATE_SECONDS
from turnlog.quest.cosmetics import COSMETICS
from turnlog.quest.demo_script import build_demo
from turnlog.quest.ledger import ProfileKeeper
from turnlog.quest.profile import QuestProfile
from turnlog.quest.replay_script import QuestScript, build_replay_script
from turnlog.quest.translation import HeroFacts
from turnlog.quest.wardrobe import claim_item, open_chest, skip_chest, wear_item
from turnlog.render.json_bytes import to_plain_value
from turnlog.web.answers import build_json_response, get_machine, render_page
from turnlog.web.live.live import FollowedSession, find_followed_session
from turnlog.web.live.stream import build_stream_response, encode_updates
from turnlog.web.navigation.session_addresses import resolve_query_name
from turnlog.web.quest.feed_channels import QuestChannel, stream_script

SHEETS_FOLDER = Path(turnlog.quest.__file__).with_name("sheets")
_SHEET_TYPES = {".png": "image/png", ".json": "application/json"}
_MIN_SPEED, _MAX_SPEED = 0.25, 64.0
_MAX_SCRIPT_SECONDS = 1e7


class WearRequest(Struct, forbid_unknown_fields=True):
    slot: str
    item: str | None = None


class ChestRequest(Struct, forbid_unknown_fields=True):
    action: str
    item: str | None = None


# -- pages


def show_quest(request: Request) -> Response:
    """GET /quest: render the page; `session` follows one session, `demo` or `replay` plays a script."""
    query = {name: resolve_query_name(request, name) for name in ("session", "replay")}
    query["demo"] = request.query_params.get("demo", "")
    for ref in filter(None, (query["session"], query["replay"])):
        _find_session(request, ref)
    return render_page(request, "quest.html", query=query)


def show_studio(request: Request) -> Response:
    """GET /quest/studio: render the page that shows every animation, landscape and item."""
    return render_page(request, "quest_studio.html")


def send_sheet(request: Request) -> Response:
    """GET /quest/sheets/{name}: send a sheet of sprites."""
    name = request.path_params["name"]
    known = {path.name: path for path in SHEETS_FOLDER.iterdir()} if SHEETS_FOLDER.is_dir() else {}
    path = known.get(name)
    if path is None or path.suffix not in _SHEET_TYPES:
        raise HTTPException(404)
    return FileResponse(path, media_type=_SHEET_TYPES[path.suffix], headers={"cache-control": "private, no-cache"})


# -- feeds


async def stream_quest(request: Request) -> Response:
    """GET /quest/events: stream the party; the query chooses a session, a replay, or the demo."""
    query = request.query_params
    if query.get("demo"):
        demo = await asyncio.to_thread(build_demo)
        return _stream_script(request, demo.script, demo.profile)
    if query.get("replay"):
        script = await asyncio.to_thread(lambda: _read_replay(request, resolve_query_name(request, "replay")))
        return _stream_script(request, script, await asyncio.to_thread(_read_profile, request))
    channel = await asyncio.to_thread(lambda: _open_channel(request, resolve_query_name(request, "session")))
    return build_stream_response(request, channel, None)


def _open_channel(request: Request, ref: str) -> QuestChannel:
    """Return the feed of a session, or of the party; all pages share it."""
    state, machine = request.app.state, get_machine(request)
    with state.quest_lock:
        channels: dict[str, QuestChannel] = state.quest_channels
        for name in [name for name, channel in channels.items() if channel.is_closed]:
            del channels[name]
        if ref not in channels:
            channels[ref] = QuestChannel(machine, _find_session(request, ref) if ref else None)
        return channels[ref]


def _find_session(request: Request, ref: str) -> FollowedSession:
    return find_followed_session(get_machine(request), ref)


def _stream_script(request: Request, script: QuestScript, profile: QuestProfile) -> Response:
    speed = _read_number(request, "speed", 1.0, _MIN_SPEED, _MAX_SPEED)
    begin = _read_number(request, "from", 0.0, 0.0, _MAX_SCRIPT_SECONDS)
    if (cursor := request.headers.get("last-event-id")) is not None:
        begin = _parse_number("last-event-id", cursor, 0.0, _MAX_SCRIPT_SECONDS)
    if request.method == "HEAD":
        return Response(media_type="text/event-stream")
    updates = stream_script(script, profile, speed, begin, get_machine(request).ending)
    return StreamingResponse(encode_updates(updates), media_type="text/event-stream")


def _read_number(request: Request, name: str, default: float, least: float, most: float) -> float:
    text = request.query_params.get(name)
    return default if text is None else _parse_number(name, text, least, most)


def _parse_number(name: str, text: str, least: float, most: float) -> float:
    try:
        number = float(text)
    except ValueError:
        number = float("nan")
    if not least <= number <= most:
        raise UsageError(f"{name}: use a number from {least:g} to {most:g}")
    return number


def _read_replay(request: Request, ref: str) -> QuestScript:
    session = _find_session(request, ref)
    return build_replay_script(session.path, HeroFacts(session.path.stem, session.project, session.title))


def send_replay(request: Request) -> Response:
    """GET /quest/replay/{ref}: send all game events of a session with their times."""
    return build_json_response(_read_replay(request, request.path_params["ref"]).to_document())


def send_demo(_: Request) -> Response:
    """GET /quest/demo: send the events of the demo, and the profile that it starts with."""
    demo = build_demo()
    return build_json_response({**demo.script.to_document(), "profile": to_plain_value(demo.profile)})


# -- the profile


def _read_profile(request: Request) -> QuestProfile:
    return ProfileKeeper(get_machine(request).data_dir).read_profile()


def send_profile(request: Request) -> Response:
    """GET /quest/profile."""
    return build_json_response(_read_profile(request))


def send_cosmetics(_: Request) -> Response:
    """GET /quest/cosmetics: send the items, and how long the states of a chest last."""
    items = [{"id": item.id, "slot": item.slot, "name": item.name, "level": item.level} for item in COSMETICS]
    return build_json_response({"items": items, "chest_seconds": STATE_SECONDS})


async def wear(request: Request) -> Response:
    """POST /quest/profile/wear: put on an item, or take one off."""
    wish = _parse_body(await request.body(), WearRequest)
    return await _change_profile(request, lambda folder: wear_item(folder, wish.slot, wish.item))


async def act_on_chest(request: Request) -> Response:
    """POST /quest/chests/{id}: open a chest, claim an item from it, or put it off."""
    wish = _parse_body(await request.body(), ChestRequest)
    name = request.path_params["id"]
    actions: dict[str, Callable[[Path], QuestProfile]] = {
        "open": lambda folder: open_chest(folder, name),
        "claim": lambda folder: claim_item(folder, name, wish.item),
        "skip": lambda folder: skip_chest(folder, name),
    }
    if wish.action not in actions:
        raise UsageError(f"action {wish.action[:40]}: use one of {', '.join(actions)}")
    return await _change_profile(request, actions[wish.action])


def _parse_body(body: bytes, kind: type[Any]) -> Any:
    try:
        return msgspec.json.decode(body, type=kind)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise UsageError(f"invalid request body: {error}") from None


async def _change_profile(request: Request, change: Callable[[Path], QuestProfile]) -> Response:
    try:
        profile = await asyncio.to_thread(change, get_machine(request).data_dir)
    except TurnlogError as error:
        return build_json_response({"error": str(error)}, 400 if isinstance(error, UsageError) else 409)
    return build_json_response(profile)


routes: list[BaseRoute] = [
    Route("/quest", show_quest),
    Route("/quest/studio", show_studio),
    Route("/quest/sheets/{name}", send_sheet),
    Route("/quest/events", stream_quest),
    Route("/quest/demo", send_demo),
    Route("/quest/replay/{ref}", send_replay),
    Route("/quest/cosmetics", send_cosmetics),
    Route("/quest/profile", send_profile),
    Route("/quest/profile/wear", wear, methods=["POST"]),
    Route("/quest/chests/{id}", act_on_chest, methods=["POST"]),
]
