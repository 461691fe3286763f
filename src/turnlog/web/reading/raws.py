"""What stands behind what is shown: the raw entry, and an item as text to take along."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

from turnlog.entries.entry import Entry
from turnlog.entries.reader import FileSource
from turnlog.errors import NotFound
from turnlog.render.markdown import render_markdown as as_markdown
from turnlog.render.text import render_text as as_text
from turnlog.render.tree import render_tree
from turnlog.render.visible import escape_to_markup
from turnlog.render.wishes import SHOW_EVERYTHING
from turnlog.session.timeline.timeline import TimelineItem
from turnlog.web.answers import render_page
from turnlog.web.reading.links import key_prefix
from turnlog.web.reading.transcript import open_transcript_view
from turnlog.web.reading.windows import TEMPLATE_FUNCTIONS
from turnlog.web.reading.windows import build_page_views as views_of

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
