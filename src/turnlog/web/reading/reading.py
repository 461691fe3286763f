"""The page of a session, and everything that it asks for: windows, sub-agents, raw entries, its outline, its chart."""

from __future__ import annotations

import time

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from turnlog.demo import is_demo
from turnlog.errors import NotFound
from turnlog.web.answers import document, html, page, place_of
from turnlog.web.reading import windows
from turnlog.web.reading.finding import find
from turnlog.web.reading.outline import MOST, agents, outline, turns, wished
from turnlog.web.reading.overview import context, errors
from turnlog.web.reading.pictures import picture
from turnlog.web.reading.raws import markdown, raw
from turnlog.web.reading.remembering import remembered
from turnlog.web.reading.transcript import Transcript, transcript

_FRESH = 60.0
"""A file that was written so many seconds ago is probably being written."""


def session(request: Request) -> Response:
    """GET /s/{ref} and GET /s/{ref}/agent/{agent}: the page, with one window in it."""
    is_at_start = not request.query_params.keys() & {"at", "turn", "window"}
    found = transcript(request, soon=is_at_start)
    n = _wanted(request, found)
    head = found.head
    return page(
        request,
        "session.html",
        **windows.WORDS,
        found=found,
        head=head,
        title=_title(found),
        helper=found.helper,
        window=windows.window(found, n),
        windows=windows.count(found),
        size=windows.SIZE,
        turns=len(found.turns),
        agents=list(agents(found)),
        branches=_branches(found),
        is_made_up=is_demo(found.known.path),
        is_live=_is_live(found),
    )


def _title(found: Transcript) -> str:
    if found.agent and (helper := found.helper):
        return helper.description or helper.type or f"Sub-agent {helper.agent_id}"
    return found.head.title or found.known.title or "(no title)"


def _wanted(request: Request, found: Transcript) -> int:
    """The window that is in the page from the start."""
    asked = request.query_params
    if key := asked.get("at"):
        position = found.kept.position(found.leaf, key)
    elif asked.get("turn", "").isdecimal():
        number = int(asked["turn"][:9])
        position = next((position for position, chapter in found.chapters if chapter.turn == number), None)
    else:
        position = int(asked["window"][:9]) * windows.SIZE if asked.get("window", "").isdecimal() else 0
    return min((position or 0) // windows.SIZE, windows.count(found) - 1)


def _branches(found: Transcript) -> list[tuple[str, str, bool]]:
    """The branches to choose from: leaf, words, whether it is the one that is shown."""
    shown = found.kept.branch(found.leaf).leaf
    told = []
    for number, line in enumerate(found.head.branches, start=1):
        last = next((c for place in reversed(line.chapters) if (c := found.head.chapters[place]).turn), None)
        words = f"{number}: {last.title[:60] or last.kind}" if last else str(number)
        told.append((line.leaf, words + (" (current)" if line.is_current else ""), line.leaf == shown))
    return told


def _is_live(found: Transcript) -> bool:
    try:
        return not found.agent and not found.known.is_gone and time.time() - found.known.path.stat().st_mtime < _FRESH
    except OSError:
        return False


def window(request: Request) -> Response:
    """GET /s/{ref}/window/{n}: some items as a fragment."""
    found = transcript(request)
    return html(windows.fragment(found, _number(request, found)))


def agent_window(request: Request) -> Response:
    """GET /s/{ref}/agent/{agent}/window/{n}: likewise of a sub-agent; the first one brings a head."""
    found = transcript(request)
    n = _number(request, found)
    if n or "plain" in request.query_params:
        return html(windows.fragment(found, n, level=3))
    return page(
        request,
        "session_agent.html",
        **windows.WORDS,
        found=found,
        helper=found.helper,
        window=windows.window(found, 0, level=3),
        windows=windows.count(found),
        size=windows.SIZE,
    )


def _number(request: Request, found: Transcript) -> int:
    n: int = request.path_params["n"]
    if n >= windows.count(found):
        raise NotFound(f"there is no window {n}: the session has {windows.count(found)}")
    return n


def head(request: Request) -> Response:
    """GET /api/s/{ref}: what a session is made of."""
    return document(outline(transcript(request)))


def some_turns(request: Request) -> Response:
    """GET /api/s/{ref}/turns: the turns of the branch, or those that fit a filter, some at once."""
    found, asked = transcript(request), request.query_params
    wish = wished(found, asked.get("words", ""), asked.get("file", ""), failed="failed" in asked)
    first, count = (int(text[:9]) if (text := asked.get(name, "")).isdecimal() else 0 for name in ("first", "count"))
    return document(turns(found, wish, first, count or MOST))


def steps(request: Request) -> Response:
    """GET /api/s/{ref}/steps: how full the window was at each message."""
    fields = ("item", "time", "context", "cache_read", "output", "cost_usd")
    rows = [{name: getattr(step, name) for name in fields} for step in transcript(request).kept.steps()]
    return document({"steps": rows})


def search(request: Request) -> Response:
    """GET /api/s/{ref}/find: where a text stands."""
    asked = request.query_params
    query = asked.get("q", "").strip()
    return document(find(place_of(request), transcript(request), query, asked.get("start", "")))


def locate(request: Request) -> Response:
    """GET /api/s/{ref}/locate: where an item is shown, by its key or by a place in the file."""
    found = transcript(request)
    key, offset = request.query_params.get("key"), request.query_params.get("offset", "")
    if key is None and not offset.isdecimal():
        raise HTTPException(400, "key or offset: one of them is needed")
    if key is None:
        key = f"@{offset[:18]}"
    for leaf in (found.leaf, *(line.leaf for line in found.head.branches)):
        position = found.kept.position(leaf, key)
        if position is not None:
            item = found.kept.items(leaf, position, 1)[0]
            is_here = leaf == found.leaf
            address = found.permalink(item.key, leaf)
            return document({"key": item.key, "position": position if is_here else None, "address": address})
    raise NotFound("there is no such message in this session")


routes: list[BaseRoute] = [
    Route("/s/{ref}", session),
    Route("/s/{ref}/window/{n:int}", window),
    Route("/s/{ref}/agent/{agent}", session),
    Route("/s/{ref}/agent/{agent}/window/{n:int}", agent_window),
    Route("/s/{ref}/agent/{agent}/context", remembered(context)),
    Route("/s/{ref}/agent/{agent}/item", markdown),
    Route("/s/{ref}/context", remembered(context)),
    Route("/s/{ref}/item", markdown),
    Route("/s/{ref}/raw/{offset:int}", raw),
    Route("/s/{ref}/picture/{offset:int}/{place:int}", picture),
    Route("/api/s/{ref}", remembered(head)),
    Route("/api/s/{ref}/turns", some_turns),
    Route("/api/s/{ref}/steps", steps),
    Route("/api/s/{ref}/find", search),
    Route("/api/s/{ref}/locate", locate),
    Route("/api/s/{ref}/errors", errors),
]
