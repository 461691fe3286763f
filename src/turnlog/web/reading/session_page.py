"""The session page and everything that it loads: windows, sub-agents, raw entries, the outline and the chart."""

from __future__ import annotations

from collections.abc import Callable
from weakref import WeakKeyDictionary

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from turnlog.demo import is_demo
from turnlog.entries.resume_command import build_resume_command, find_resume_folder
from turnlog.errors import NotFound
from turnlog.render.client_totals import describe_client_totals
from turnlog.render.html_escape import escape_to_markup
from turnlog.render.markdown import render_markdown as as_markdown
from turnlog.render.render_options import SHOW_EVERYTHING
from turnlog.render.text import render_text as as_text
from turnlog.render.tree import render_tree
from turnlog.store.timelines.kept_timeline import KeptTimeline
from turnlog.web.abandonment import stop_when_abandoned
from turnlog.web.answers import build_html_response, build_json_response, get_machine, render_page
from turnlog.web.reading import windows
from turnlog.web.reading.branch_choices import list_branch_choices
from turnlog.web.reading.item_parts import build_page_views, render_item_part
from turnlog.web.reading.links import key_prefix
from turnlog.web.reading.outline import MAX_TURNS, build_agent_tree, build_outline, build_turn_filter, list_turns
from turnlog.web.reading.overview import send_next_error, show_context_chart
from turnlog.web.reading.pictures import send_picture
from turnlog.web.reading.text_search import find_text
from turnlog.web.reading.transcript_lines import open_transcript_line
from turnlog.web.reading.transcript_view import TranscriptView, open_transcript_view
from turnlog.web.reading.windows import TEMPLATE_FUNCTIONS

RouteHandler = Callable[[Request], Response]
_MAX_REMEMBERED = 16
"""Responses to remember for each timeline."""
_REMEMBERED_ANSWERS: WeakKeyDictionary[KeptTimeline, dict[str, Response]] = WeakKeyDictionary()


def remember_answers(handler: RouteHandler) -> RouteHandler:
    """Wrap a handler so that it computes the answer for each address only once while the session is unchanged."""

    def answer(request: Request) -> Response:
        responses = _REMEMBERED_ANSWERS.setdefault(open_transcript_view(request).timeline, {})
        address = f"{request.url.path}?{request.url.query}"
        response = responses.get(address)
        if response is None:
            response = handler(request)
            if len(responses) < _MAX_REMEMBERED:
                responses[address] = response
        return Response(response.body, response.status_code, media_type=response.media_type)

    return answer


_TEXT_MEDIA_TYPE = "text/plain; charset=utf-8"
_MAX_SHOWN_BYTES = 2 << 20
"""The dialog shows at most this much of an entry; the entry's own address sends all of it."""


def show_raw_entry(request: Request) -> Response:
    """GET /s/{ref}/raw/{offset}: send the bytes of an entry; with `format=html`, a fragment that shows them."""
    line = open_transcript_line(request)
    data, excerpt = line.read_bytes(), line.read_excerpt()
    entry = line.find_entry(excerpt)
    if request.query_params.get("format") != "html":
        return Response(data, media_type="application/json" if entry else _TEXT_MEDIA_TYPE)
    return render_page(
        request,
        "session_raw.html",
        **TEMPLATE_FUNCTIONS,
        tree=render_tree(excerpt.session.read_body(entry)) if entry else None,
        bytes=escape_to_markup(data[:_MAX_SHOWN_BYTES].decode("utf-8", "replace")),
        is_cut=len(data) > _MAX_SHOWN_BYTES,
        offset=line.place.offset,
        size=len(data),
        address=line.address,
        name=" ".join(filter(None, (entry.type, entry.kind))) if entry else "broken line",
    )


def send_item_text(request: Request) -> Response:
    """GET /s/{ref}/item: send an item as Markdown; with `format`, as plain `text` or as `html` for the page."""
    transcript = open_transcript_view(request)
    key = request.query_params.get("key", "")
    position = transcript.timeline.find_position(transcript.leaf, key.removeprefix(key_prefix(transcript.agent)))
    if position is None:
        raise NotFound("this branch has no such message")
    items = transcript.read_items(position, 1)
    if request.query_params.get("format") == "html":
        part = request.query_params.get("part", "")
        number = int(part) if part.isdecimal() and len(part) < 7 else 0
        return build_html_response(
            render_item_part(transcript, items[0], number, is_whole="whole" in request.query_params)
        )
    (view,) = build_page_views(transcript, items, transcript.timeline.read_excerpt(items))
    render = as_text if request.query_params.get("format") == "text" else as_markdown
    return Response(render(view, SHOW_EVERYTHING).encode("utf-8", "replace"), media_type=_TEXT_MEDIA_TYPE)


SESSION_ACTIONS = (
    ("export", "Export…", "One file to keep or share: HTML, Markdown, PDF, JSON"),
    ("clone", "Clone…", "A copy to try something else in"),
    ("fork", "Fork…", "A copy that ends at a point you choose"),
    ("strip", "Strip…", "A copy with a smaller context"),
    ("redact", "Redact…", "A copy without secrets"),
    ("repair", "Repair…", "Fix what keeps Claude Code from resuming it"),
    ("rename", "Rename…", "Give it another title"),
    ("tag", "Tag…", "Label it, to find it again"),
    ("archive", "Archive…", "Keep a copy that Claude Code's cleanup can't reach"),
    ("pack", "Pack…", "One file with everything, to continue on another machine"),
    ("move", "Move project…", "Its folder has a new path: make all its sessions follow"),
    ("delete", "Delete…", "Move it to the trash, from where it can be restored"),
)
"""The actions of the menu: verb, label, and what it does."""


def show_session(request: Request) -> Response:
    """GET /s/{ref} and GET /s/{ref}/agent/{agent}: render the page with one window."""
    is_at_start = not request.query_params.keys() & {"at", "turn", "window"}
    transcript = open_transcript_view(request, soon=is_at_start)
    n = _find_first_window(request, transcript)
    head = transcript.head
    return render_page(
        request,
        "session.html",
        **windows.TEMPLATE_FUNCTIONS,
        transcript=transcript,
        head=head,
        title=choose_title(transcript),
        helper=transcript.helper,
        window=windows.build_window(transcript, n),
        windows=windows.count_windows(transcript),
        size=windows.ITEMS_PER_WINDOW,
        turns=transcript.turn_total,
        branch_turns=len(transcript.turns),
        agents=build_agent_tree(transcript),
        actions=SESSION_ACTIONS,
        branches=list_branch_choices(head, transcript.timeline.get_branch(transcript.leaf).leaf),
        is_made_up=is_demo(transcript.session.path),
        client_totals=list(describe_client_totals(head.client_totals)),
        resume=_build_resume_command(transcript),
    )


def _build_resume_command(transcript: TranscriptView) -> str:
    session, folders = transcript.session, transcript.head.folders
    known = folders or ([session.cwd] if session.cwd else [])
    return build_resume_command(session.uuid, find_resume_folder(session.path, known))


def choose_title(transcript: TranscriptView) -> str:
    if transcript.agent and (helper := transcript.helper):
        return helper.description or helper.type or f"Sub-agent {helper.agent_id}"
    return transcript.head.title or transcript.session.title or "(no title)"


def _find_first_window(request: Request, transcript: TranscriptView) -> int:
    """Return the number of the window that the page initially contains."""
    params = request.query_params
    if key := params.get("at"):
        position = transcript.timeline.find_position(transcript.leaf, key)
    elif params.get("turn", "").isdecimal():
        number = int(params["turn"][:9])
        position = next((position for position, chapter in transcript.chapters if chapter.turn == number), None)
    else:
        position = int(params["window"][:9]) * windows.ITEMS_PER_WINDOW if params.get("window", "").isdecimal() else 0
    return min((position or 0) // windows.ITEMS_PER_WINDOW, windows.count_windows(transcript) - 1)


def show_agent_tree(request: Request) -> Response:
    """GET /s/{ref}/agents and GET /s/{ref}/agent/{agent}/agents: send a page of the sub-agents as a fragment."""
    transcript = open_transcript_view(request)
    text = request.query_params.get("first", "")
    first = int(text) if text.isdecimal() and len(text) < 9 else 0
    return render_page(
        request,
        "session_agents.html",
        **windows.TEMPLATE_FUNCTIONS,
        transcript=transcript,
        agents=build_agent_tree(transcript, min(first, len(transcript.main.agents))),
    )


def send_window(request: Request) -> Response:
    """GET /s/{ref}/window/{n}: send a window of items as a fragment."""
    transcript = open_transcript_view(request)
    return build_html_response(windows.render_window(transcript, _read_window_number(request, transcript)))


def send_agent_window(request: Request) -> Response:
    """GET /s/{ref}/agent/{agent}/window/{n}: send a sub-agent's window; the first window has a header."""
    transcript = open_transcript_view(request)
    n = _read_window_number(request, transcript)
    if n or "plain" in request.query_params:
        return build_html_response(windows.render_window(transcript, n, level=3))
    return render_page(
        request,
        "session_agent.html",
        **windows.TEMPLATE_FUNCTIONS,
        transcript=transcript,
        helper=transcript.helper,
        window=windows.build_window(transcript, 0, level=3),
        windows=windows.count_windows(transcript),
        size=windows.ITEMS_PER_WINDOW,
    )


def _read_window_number(request: Request, transcript: TranscriptView) -> int:
    n: int = request.path_params["n"]
    if n >= windows.count_windows(transcript):
        raise NotFound(f"no window {n}; the session has {windows.count_windows(transcript)} windows")
    return n


def send_outline(request: Request) -> Response:
    """GET /api/s/{ref}: send the structure of a session."""
    return build_json_response(build_outline(open_transcript_view(request)))


def send_turns(request: Request) -> Response:
    """GET /api/s/{ref}/turns: send one page of the branch's turns, or of those that match a filter."""
    transcript, params = open_transcript_view(request), request.query_params
    turn_filter = build_turn_filter(
        transcript, params.get("words", ""), params.get("file", ""), failed="failed" in params
    )
    first, count = (int(text[:9]) if (text := params.get(name, "")).isdecimal() else 0 for name in ("first", "count"))
    return build_json_response(list_turns(transcript, turn_filter, first, count or MAX_TURNS))


def send_steps(request: Request) -> Response:
    """GET /api/s/{ref}/steps: send how full the context window was at each message."""
    fields = ("item", "time", "context", "cache_read", "output", "cost_usd")
    rows = [
        {name: getattr(step, name) for name in fields} for step in open_transcript_view(request).timeline.read_steps()
    ]
    return build_json_response({"steps": rows})


def send_text_hits(request: Request) -> Response:
    """GET /api/s/{ref}/find: send the items that contain the given text."""
    params = request.query_params
    query = params.get("q", "").strip()
    return build_json_response(
        find_text(get_machine(request), open_transcript_view(request), query, params.get("start", ""))
    )


def locate_item(request: Request) -> Response:
    """GET /api/s/{ref}/locate: send the position of an item, given its key or its offset in the file."""
    transcript = open_transcript_view(request)
    key, offset = request.query_params.get("key"), request.query_params.get("offset", "")
    if key is None and not offset.isdecimal():
        raise HTTPException(400, "either key= or offset= is required")
    if key is None:
        key = f"@{offset[:18]}"
    for leaf in (transcript.leaf, *(line.leaf for line in transcript.head.branches)):
        position = transcript.timeline.find_position(leaf, key)
        if position is not None:
            item = transcript.timeline.read_items(leaf, position, 1)[0]
            is_here = leaf == transcript.leaf
            address = transcript.permalink(item.key, leaf)
            return build_json_response({"key": item.key, "position": position if is_here else None, "address": address})
    raise NotFound("this session has no such message")


routes: list[BaseRoute] = [
    Route("/s/{ref}", stop_when_abandoned(show_session)),
    Route("/s/{ref}/window/{n:int}", stop_when_abandoned(send_window)),
    Route("/s/{ref}/agents", show_agent_tree),
    Route("/s/{ref}/agent/{agent}", stop_when_abandoned(show_session)),
    Route("/s/{ref}/agent/{agent}/agents", show_agent_tree),
    Route("/s/{ref}/agent/{agent}/window/{n:int}", stop_when_abandoned(send_agent_window)),
    Route("/s/{ref}/agent/{agent}/context", remember_answers(show_context_chart)),
    Route("/s/{ref}/agent/{agent}/item", stop_when_abandoned(send_item_text)),
    Route("/s/{ref}/context", remember_answers(show_context_chart)),
    Route("/s/{ref}/item", stop_when_abandoned(send_item_text)),
    Route("/s/{ref}/raw/{offset:int}", show_raw_entry),
    Route("/s/{ref}/picture/{offset:int}/{place:int}", send_picture),
    Route("/api/s/{ref}", remember_answers(send_outline)),
    Route("/api/s/{ref}/turns", send_turns),
    Route("/api/s/{ref}/steps", send_steps),
    Route("/api/s/{ref}/find", send_text_hits),
    Route("/api/s/{ref}/locate", locate_item),
    Route("/api/s/{ref}/errors", send_next_error),
]
