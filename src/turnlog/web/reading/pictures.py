"""Images and documents of a transcript as files: only what their bytes prove to be an image is shown as one.

What the transcript says about their type is hostile input, as is everything in it: an SVG or a page that claims to be a
PNG would run where it is shown. So the type comes from the first bytes, and everything else is a download.
"""

from __future__ import annotations

import base64
import binascii
import re
from typing import NamedTuple

from starlette.requests import Request
from starlette.responses import Response

from turnlog.entries.entry import Entry
from turnlog.errors import NotFound
from turnlog.render.card import Picture
from turnlog.render.pictures import picture as held_picture
from turnlog.session.timeline.excerpt import Excerpt
from turnlog.session.timeline.timeline import Item
from turnlog.web.reading.transcript import Transcript, transcript

_PDF = b"%PDF-"
_UNSAFE = re.compile(r"[^A-Za-z0-9._ -]+")
_ENDINGS = {"image/png": "png", "image/jpeg": "jpg", "image/gif": "gif", "image/webp": "webp", "application/pdf": "pdf"}


class File(NamedTuple):
    """The bytes of a picture or document, and what they are."""

    data: bytes
    media_type: str
    """By the bytes; `application/octet-stream` for what is not known."""
    name: str

    @property
    def is_image(self) -> bool:
        """Whether a browser may show it."""
        return self.media_type.startswith("image/")


def media_type(data: bytes) -> str:
    """What some bytes are, by how they begin."""
    if data.startswith(b"\x89PNG\r\n\x1a\n"):
        return "image/png"
    if data.startswith(b"\xff\xd8\xff"):
        return "image/jpeg"
    if data.startswith((b"GIF87a", b"GIF89a")):
        return "image/gif"
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "image/webp"
    return "application/pdf" if data.startswith(_PDF) else "application/octet-stream"


def looks_like_image(picture: Picture) -> bool:
    """Whether a picture of a transcript can be shown, judged by its first bytes."""
    head = _decoded(picture.data[:64])
    return picture.kind == "image" and head is not None and media_type(head).startswith("image/")


def file_of(picture: Picture) -> File | None:
    """A picture or document as a file; None where its data is no base64, nor text."""
    data = _decoded(picture.data)
    if data is None and picture.kind == "document" and picture.media_type.startswith("text/"):
        data = picture.data.encode("utf-8", "replace")
    if not data:
        return None
    kind = media_type(data)
    return File(data, kind, safe_name(picture, kind))


def safe_name(picture: Picture, kind: str) -> str:
    """A file name that means nothing to any system but a name, with the ending that its bytes deserve."""
    last = re.split(r"[/\\]", picture.name)[-1]
    stem = _UNSAFE.sub("_", last).strip(". _-").rpartition(".")[0] or _UNSAFE.sub("_", last).strip(". _-")
    ending = _ENDINGS.get(kind) or ("txt" if picture.media_type.startswith("text/") else "bin")
    return f"{stem[:80] or picture.kind or 'file'}.{ending}"


def _decoded(data: str) -> bytes | None:
    try:
        return base64.b64decode("".join(data.split()), validate=True)
    except (binascii.Error, ValueError):
        return None


def picture(request: Request) -> Response:
    """GET /s/{ref}/picture/{offset}/{place}."""
    found = transcript(request)
    shown = _held(found, request.path_params["offset"], request.path_params["place"])
    file = file_of(shown) if shown is not None else None
    if file is None:
        raise NotFound("there is no picture at this place")
    disposition = "inline" if file.is_image else "attachment"
    headers = {"content-disposition": f'{disposition}; filename="{file.name}"'}
    kind = file.media_type if file.is_image else "application/octet-stream"
    return Response(file.data, media_type=kind, headers=headers)


def _held(found: Transcript, offset: int, place: int) -> Picture | None:
    item = Item("", "meta", None, [found.place(offset)])
    excerpt: Excerpt = found.kept.excerpt([item])
    entry = excerpt.at(offset)
    return held_picture(excerpt.session.body(entry), offset, place) if isinstance(entry, Entry) else None
