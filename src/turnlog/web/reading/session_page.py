"""The page of a session, and everything that it asks for: windows, sub-agents, raw entries, its outline, its chart."""

from __future__ import annotations

import time
from collections.abc import Callable
from weakref import WeakKeyDictionary

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from turnlog.demo import is_demo
from turnlog.entries.entry import Entry
from turnlog.entries.reader import FileSource
from turnlog.errors import NotFound
from turnlog.render.html_escape import escape_to_markup
from turnlog.render.markdown import render_markdown as as_markdown
from turnlog.render.render_options import SHOW_EVERYTHING
from turnlog.render.text import render_text as as_text
from turnlog.render.tree import render_tree
from turnlog.session.timeline.timeline import TimelineItem
from turnlog.store.timelines.kept_timeline import KeptTimeline
from turnlog.web.answers import build_html_response, build_json_response, get_machine, render_page
from turnlog.web.reading import windows
from turnlog.web.reading.links import key_prefix
from turnlog.web.reading.outline import MAX_TURNS, build_outline, build_turn_filter, list_agents, list_turns
from turnlog.web.reading.overview import send_next_error, show_context_chart
from turnlog.web.reading.pictures import send_picture
from turnlog.web.reading.text_search import find_text
from turnlog.web.reading.transcript_view import TranscriptView, open_transcript_view
from turnlog.web.reading.windows import TEMPLATE_FUNCTIONS
from turnlog.web.reading.windows import build_page_views as views_of

RouteHandler = Callable[[Request], Response]
_MAX_REMEMBERED = 16
"""So many answers are kept for each timeline."""
_REMEMBERED_ANSWERS: WeakKeyDictionary[KeptTimeline, dict[str, Response]] = WeakKeyDictionary()


def remember_answers(handler: RouteHandler) -> RouteHandler:
    """The same answers, made once for each address while the session stays as it is."""

    def answer(request: Request) -> Response:
        made = _REMEMBERED_ANSWERS.setdefault(open_transcript_view(request).kept, {})
        address = f"{request.url.path}?{request.url.query}"
        found = made.get(address)
        if found is None:
            found = handler(request)
            if len(made) < _MAX_REMEMBERED:
                made[address] = found
        return Response(found.body, found.status_code, media_type=found.media_type)

    return answer


_TEXT_MEDIA_TYPE = "text/plain; charset=utf-8"
_MAX_SHOWN_BYTES = 2 << 20
"""Above this, the dialog shows only the beginning of an entry's bytes; the address has them all."""


def show_raw_entry(request: Request) -> Response:
    """GET /s/{ref}/raw/{offset}: the bytes of an entry, or with `format=html` a fragment that shows them."""
    found = open_transcript_view(request)
    place = found.find_line(request.path_params["offset"])
    source = FileSource(found.kept.path)
    try:
        data = source.read(*place).rstrip(b"\r\n")
    finally:
        source.close()
    excerpt = found.kept.read_excerpt([TimelineItem("", "meta", None, [place])])
    entry = excerpt.find_item_at(place.offset)
    is_json = isinstance(entry, Entry)
    if request.query_params.get("format") != "html":
        return Response(data, media_type="application/json" if is_json else _TEXT_MEDIA_TYPE)
    return render_page(
        request,
        "session_raw.html",
        **TEMPLATE_FUNCTIONS,
        tree=render_tree(excerpt.session.read_body(entry)) if isinstance(entry, Entry) else None,
        bytes=escape_to_markup(data[:_MAX_SHOWN_BYTES].decode("utf-8", "replace")),
        is_cut=len(data) > _MAX_SHOWN_BYTES,
        offset=place.offset,
        size=len(data),
        address=f"/s/{found.known.ref}/raw/{place.offset}{found.build_agent_query()}",
        name=" ".join(filter(None, (entry.type, entry.kind))) if isinstance(entry, Entry) else "broken line",
    )


def send_item_text(request: Request) -> Response:
    """GET /s/{ref}/item: an item as Markdown, or with `format=text` as plain text."""
    found = open_transcript_view(request)
    key = request.query_params.get("key", "")
    position = found.kept.find_position(found.leaf, key.removeprefix(key_prefix(found.agent)))
    if position is None:
        raise NotFound("there is no such message on this branch")
    items = found.read_items(position, 1)
    (view,) = views_of(found, items, found.kept.read_excerpt(items))
    written = as_text if request.query_params.get("format") == "text" else as_markdown
    return Response(written(view, SHOW_EVERYTHING).encode("utf-8", "replace"), media_type=_TEXT_MEDIA_TYPE)


_FRESH_SECONDS = 60.0
"""A file that was written so many seconds ago is probably being written."""


def show_session(request: Request) -> Response:
    """GET /s/{ref} and GET /s/{ref}/agent/{agent}: the page, with one window in it."""
    is_at_start = not request.query_params.keys() & {"at", "turn", "window"}
    found = open_transcript_view(request, soon=is_at_start)
    n = _find_first_window(request, found)
    head = found.head
    return render_page(
        request,
        "session.html",
        **windows.TEMPLATE_FUNCTIONS,
        found=found,
        head=head,
        title=_choose_title(found),
        helper=found.helper,
        window=windows.build_window(found, n),
        windows=windows.count_windows(found),
        size=windows.ITEMS_PER_WINDOW,
        turns=len(found.turns),
        agents=list(list_agents(found)),
        branches=_list_branches(found),
        is_made_up=is_demo(found.known.path),
        is_live=_is_live(found),
    )


def _choose_title(found: TranscriptView) -> str:
    if found.agent and (helper := found.helper):
        return helper.description or helper.type or f"Sub-agent {helper.agent_id}"
    return found.head.title or found.known.title or "(no title)"


def _find_first_window(request: Request, found: TranscriptView) -> int:
    """The window that is in the page from the start."""
    asked = request.query_params
    if key := asked.get("at"):
        position = found.kept.find_position(found.leaf, key)
    elif asked.get("turn", "").isdecimal():
        number = int(asked["turn"][:9])
        position = next((position for position, chapter in found.chapters if chapter.turn == number), None)
    else:
        position = int(asked["window"][:9]) * windows.ITEMS_PER_WINDOW if asked.get("window", "").isdecimal() else 0
    return min((position or 0) // windows.ITEMS_PER_WINDOW, windows.count_windows(found) - 1)


def _list_branches(found: TranscriptView) -> list[tuple[str, str, bool]]:
    """The branches to choose from: leaf, words, whether it is the one that is shown."""
    shown = found.kept.get_branch(found.leaf).leaf
    told = []
    for number, line in enumerate(found.head.branches, start=1):
        last = next((c for place in reversed(line.chapters) if (c := found.head.chapters[place]).turn), None)
        words = f"{number}: {last.title[:60] or last.kind}" if last else str(number)
        told.append((line.leaf, words + (" (current)" if line.is_current else ""), line.leaf == shown))
    return told


def _is_live(found: TranscriptView) -> bool:
    try:
        return (
            not found.agent
            and not found.known.is_gone
            and time.time() - found.known.path.stat().st_mtime < _FRESH_SECONDS
        )
    except OSError:
        return False


def send_window(request: Request) -> Response:
    """GET /s/{ref}/window/{n}: some items as a fragment."""
    found = open_transcript_view(request)
    return build_html_response(windows.render_window(found, _read_window_number(request, found)))


def send_agent_window(request: Request) -> Response:
    """GET /s/{ref}/agent/{agent}/window/{n}: likewise of a sub-agent; the first one brings a head."""
    found = open_transcript_view(request)
    n = _read_window_number(request, found)
    if n or "plain" in request.query_params:
        return build_html_response(windows.render_window(found, n, level=3))
    return render_page(
        request,
        "session_agent.html",
        **windows.TEMPLATE_FUNCTIONS,
        found=found,
        helper=found.helper,
        window=windows.build_window(found, 0, level=3),
        windows=windows.count_windows(found),
        size=windows.ITEMS_PER_WINDOW,
    )


def _read_window_number(request: Request, found: TranscriptView) -> int:
    n: int = request.path_params["n"]
    if n >= windows.count_windows(found):
        raise NotFound(f"there is no window {n}: the session has {windows.count_windows(found)}")
    return n


def send_outline(request: Request) -> Response:
    """GET /api/s/{ref}: what a session is made of."""
    return build_json_response(build_outline(open_transcript_view(request)))


def send_turns(request: Request) -> Response:
    """GET /api/s/{ref}/turns: the turns of the branch, or those that fit a filter, some at once."""
    found, asked = open_transcript_view(request), request.query_params
    wish = build_turn_filter(found, asked.get("words", ""), asked.get("file", ""), failed="failed" in asked)
    first, count = (int(text[:9]) if (text := asked.get(name, "")).isdecimal() else 0 for name in ("first", "count"))
    return build_json_response(list_turns(found, wish, first, count or MAX_TURNS))


def send_steps(request: Request) -> Response:
    """GET /api/s/{ref}/steps: how full the window was at each message."""
    fields = ("item", "time", "context", "cache_read", "output", "cost_usd")
    rows = [{name: getattr(step, name) for name in fields} for step in open_transcript_view(request).kept.read_steps()]
    return build_json_response({"steps": rows})


def send_text_hits(request: Request) -> Response:
    """GET /api/s/{ref}/find: where a text stands."""
    asked = request.query_params
    query = asked.get("q", "").strip()
    return build_json_response(
        find_text(get_machine(request), open_transcript_view(request), query, asked.get("start", ""))
    )


def locate_item(request: Request) -> Response:
    """GET /api/s/{ref}/locate: where an item is shown, by its key or by a place in the file."""
    found = open_transcript_view(request)
    key, offset = request.query_params.get("key"), request.query_params.get("offset", "")
    if key is None and not offset.isdecimal():
        raise HTTPException(400, "key or offset: one of them is needed")
    if key is None:
        key = f"@{offset[:18]}"
    for leaf in (found.leaf, *(line.leaf for line in found.head.branches)):
        position = found.kept.find_position(leaf, key)
        if position is not None:
            item = found.kept.read_items(leaf, position, 1)[0]
            is_here = leaf == found.leaf
            address = found.permalink(item.key, leaf)
            return build_json_response({"key": item.key, "position": position if is_here else None, "address": address})
    raise NotFound("there is no such message in this session")


routes: list[BaseRoute] = [
    Route("/s/{ref}", show_session),
    Route("/s/{ref}/window/{n:int}", send_window),
    Route("/s/{ref}/agent/{agent}", show_session),
    Route("/s/{ref}/agent/{agent}/window/{n:int}", send_agent_window),
    Route("/s/{ref}/agent/{agent}/context", remember_answers(show_context_chart)),
    Route("/s/{ref}/agent/{agent}/item", send_item_text),
    Route("/s/{ref}/context", remember_answers(show_context_chart)),
    Route("/s/{ref}/item", send_item_text),
    Route("/s/{ref}/raw/{offset:int}", show_raw_entry),
    Route("/s/{ref}/picture/{offset:int}/{place:int}", send_picture),
    Route("/api/s/{ref}", remember_answers(send_outline)),
    Route("/api/s/{ref}/turns", send_turns),
    Route("/api/s/{ref}/steps", send_steps),
    Route("/api/s/{ref}/find", send_text_hits),
    Route("/api/s/{ref}/locate", locate_item),
    Route("/api/s/{ref}/errors", send_next_error),
]
