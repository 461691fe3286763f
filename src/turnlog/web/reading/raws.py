"""What stands behind what is shown: the raw entry, and an item as text to take along."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

from turnlog.entries.entry import Entry
from turnlog.entries.reader import FileSource
from turnlog.errors import NotFound
from turnlog.render.markdown import markdown as as_markdown
from turnlog.render.text import text as as_text
from turnlog.render.tree import tree
from turnlog.render.visible import shown
from turnlog.render.wishes import EVERYTHING
from turnlog.session.timeline.timeline import Item
from turnlog.web.answers import page
from turnlog.web.reading.links import key_prefix
from turnlog.web.reading.transcript import transcript
from turnlog.web.reading.windows import WORDS
from turnlog.web.reading.windows import shown as views_of

_TEXT = "text/plain; charset=utf-8"
_LARGE = 2 << 20
"""Above this, the dialog shows only the beginning of an entry's bytes; the address has them all."""


def raw(request: Request) -> Response:
    """GET /s/{ref}/raw/{offset}: the bytes of an entry, or with `format=html` a fragment that shows them."""
    found = transcript(request)
    place = found.place(request.path_params["offset"])
    source = FileSource(found.kept.path)
    try:
        data = source.read(*place).rstrip(b"\r\n")
    finally:
        source.close()
    excerpt = found.kept.excerpt([Item("", "meta", None, [place])])
    entry = excerpt.at(place.offset)
    is_json = isinstance(entry, Entry)
    if request.query_params.get("format") != "html":
        return Response(data, media_type="application/json" if is_json else _TEXT)
    return page(
        request,
        "session_raw.html",
        **WORDS,
        tree=tree(excerpt.session.body(entry)) if isinstance(entry, Entry) else None,
        bytes=shown(data[:_LARGE].decode("utf-8", "replace")),
        is_cut=len(data) > _LARGE,
        offset=place.offset,
        size=len(data),
        address=f"/s/{found.known.ref}/raw/{place.offset}{found.inside()}",
        name=" ".join(filter(None, (entry.type, entry.kind))) if isinstance(entry, Entry) else "broken line",
    )


def markdown(request: Request) -> Response:
    """GET /s/{ref}/item: an item as Markdown, or with `format=text` as plain text."""
    found = transcript(request)
    key = request.query_params.get("key", "")
    position = found.kept.position(found.leaf, key.removeprefix(key_prefix(found.agent)))
    if position is None:
        raise NotFound("there is no such message on this branch")
    items = found.items(position, 1)
    (view,) = views_of(found, items, found.kept.excerpt(items))
    written = as_text if request.query_params.get("format") == "text" else as_markdown
    return Response(written(view, EVERYTHING).encode("utf-8", "replace"), media_type=_TEXT)
