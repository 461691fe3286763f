"""Serves the images and documents of a transcript; only data whose bytes prove it to be an image is shown as one.

The transcript's own claims are hostile input: an SVG or an HTML page that claims to be a PNG would run where it is
shown. Therefore, the type is detected from the first bytes, and everything else is sent as a download.
"""

from __future__ import annotations

import base64
import binascii
import re
from typing import NamedTuple

from starlette.requests import Request
from starlette.responses import Response

from turnlog.errors import NotFound
from turnlog.render.card import Picture
from turnlog.render.pictures import find_picture as held_picture
from turnlog.web.reading.transcript_lines import open_transcript_line

_PDF_MAGIC = b"%PDF-"
_INTACT_BASE64 = re.compile(r"[A-Za-z0-9+/]*")
_UNSAFE_CHARS = re.compile(r"[^A-Za-z0-9._ -]+")
_FILE_ENDINGS = {
    "image/png": "png",
    "image/jpeg": "jpg",
    "image/gif": "gif",
    "image/webp": "webp",
    "application/pdf": "pdf",
}


class PictureFile(NamedTuple):
    """The bytes of a picture or document and their type."""

    data: bytes
    media_type: str
    """Detected from the bytes; `application/octet-stream` if unknown."""
    name: str

    @property
    def is_image(self) -> bool:
        """True if a browser may show it."""
        return self.media_type.startswith("image/")


def detect_media_type(data: bytes) -> str:
    """Detect the type of data from its first bytes."""
    if data.startswith(b"\x89PNG\r\n\x1a\n"):
        return "image/png"
    if data.startswith(b"\xff\xd8\xff"):
        return "image/jpeg"
    if data.startswith((b"GIF87a", b"GIF89a")):
        return "image/gif"
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "image/webp"
    return "application/pdf" if data.startswith(_PDF_MAGIC) else "application/octet-stream"


def looks_like_image(picture: Picture) -> bool:
    """Return whether the first bytes of a picture show that it can be displayed."""
    head = _decode_base64(picture.data[:64])
    return picture.kind == "image" and head is not None and detect_media_type(head).startswith("image/")


def to_picture_file(picture: Picture) -> PictureFile | None:
    """Convert a picture or document to a file; None if its data is neither base64 nor text."""
    data = _decode_base64(picture.data)
    if data is None and looks_like_image(picture):
        data = _decode_damaged_base64(picture.data)
    if data is None and picture.kind == "document" and picture.media_type.startswith("text/"):
        data = picture.data.encode("utf-8", "replace")
    if not data:
        return None
    kind = detect_media_type(data)
    return PictureFile(data, kind, build_safe_name(picture, kind))


def build_safe_name(picture: Picture, kind: str) -> str:
    """Build a file name that is harmless on any system, with an extension that matches the bytes."""
    last = re.split(r"[/\\]", picture.name)[-1]
    stem = _UNSAFE_CHARS.sub("_", last).strip(". _-").rpartition(".")[0] or _UNSAFE_CHARS.sub("_", last).strip(". _-")
    ending = _FILE_ENDINGS.get(kind) or ("txt" if picture.media_type.startswith("text/") else "bin")
    return f"{stem[:80] or picture.kind or 'file'}.{ending}"


def _decode_base64(data: str) -> bytes | None:
    try:
        return base64.b64decode("".join(data.split()), validate=True)
    except (binascii.Error, ValueError):
        return None


def _decode_damaged_base64(data: str) -> bytes:
    """Decode the part before the damage: a page that saw the start of an image links to it."""
    whole = _INTACT_BASE64.match("".join(data.split()))
    letters = whole[0] if whole else ""
    return base64.b64decode(letters[: len(letters) // 4 * 4])


def send_picture(request: Request) -> Response:
    line = open_transcript_line(request)
    entry = line.find_entry(excerpt := line.read_excerpt())
    body = excerpt.session.read_body(entry) if entry else {}
    picture = held_picture(body, line.place.offset, request.path_params["place"])
    file = to_picture_file(picture) if picture is not None else None
    if file is None:
        raise NotFound("no picture at this offset")
    disposition = "inline" if file.is_image else "attachment"
    headers = {"content-disposition": f'{disposition}; filename="{file.name}"'}
    kind = file.media_type if file.is_image else "application/octet-stream"
    return Response(file.data, media_type=kind, headers=headers)
