"""The images and documents in an entry, in a fixed order that both the pages and the server rely on.

They are in the prompt, in an answer, in results from calls, in text typed while the model was working, or only in
Claude Code's own record of a result.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from turnlog.entries.entry import Body
from turnlog.render.card import Picture

_PICTURE_KINDS = ("image", "document")
_PDF_TYPE = "application/pdf"
_MAX_NESTING = 3
"""A result contains blocks, and so may a block in a result; deeper levels are ignored."""


class OwnedPicture(NamedTuple):
    """A picture and the call whose result contains it."""

    picture: Picture
    owner: str | None
    """The id of the call; None outside results."""


def find_pictures(body: Body, offset: int) -> list[OwnedPicture]:
    """List all pictures in an entry in a fixed order; `offset` is the entry's position in its file."""
    message, attachment = body.get("message"), body.get("attachment")
    found = list(_iter_pictures(message.get("content") if isinstance(message, dict) else None, None, _MAX_NESTING))
    found += _iter_pictures(attachment.get("prompt") if isinstance(attachment, dict) else None, None, _MAX_NESTING)
    owners = {item.owner for item in found}
    if owners <= {None}:  # otherwise the record only repeats them
        owner = _find_only_call(message)
        found += (
            OwnedPicture(picture, owner) for picture in _iter_recorded_pictures(body.get("toolUseResult")) if owner
        )
    return [OwnedPicture(_place_picture(item.picture, offset, place), item.owner) for place, item in enumerate(found)]


def find_picture(body: Body, offset: int, place: int) -> Picture | None:
    """Return one picture in an entry by its index."""
    found = find_pictures(body, offset)
    return found[place].picture if 0 <= place < len(found) else None


def to_picture(block: object) -> Picture | None:
    """Convert a block to a picture; None for any other block."""
    if not isinstance(block, dict) or block.get("type") not in _PICTURE_KINDS:
        return None
    source = block.get("source")
    fields = source if isinstance(source, dict) else block  # MCP servers don't send `source`
    name = _to_text(block.get("title")) or _to_text(fields.get("url")) or _to_text(fields.get("file_id"))
    kind = _to_text(fields.get("media_type")) or _to_text(fields.get("mimeType"))
    return Picture(str(block["type"]), kind, _to_text(fields.get("data")), name)


def _iter_pictures(content: object, owner: str | None, depth: int) -> Iterator[OwnedPicture]:
    for block in content if isinstance(content, list) else ():
        if not isinstance(block, dict):
            continue
        if (found := to_picture(block)) is not None:
            yield OwnedPicture(found, owner)
        elif block.get("type") == "tool_result" and depth:
            yield from _iter_pictures(block.get("content"), _to_text(block.get("tool_use_id")), depth - 1)


def _find_only_call(message: object) -> str | None:
    """If an entry has a single result, return the id of its call, to which the entry's `toolUseResult` belongs."""
    content = message.get("content") if isinstance(message, dict) else None
    blocks = [block for block in content if isinstance(block, dict)] if isinstance(content, list) else []
    calls = [_to_text(block.get("tool_use_id")) for block in blocks if block.get("type") == "tool_result"]
    return calls[0] if len(calls) == 1 else None


def _iter_recorded_pictures(structured: Any) -> Iterator[Picture]:
    """Yield the contents of Claude Code's record of a Read: an image, a PDF, or pages of a PDF."""
    fields = structured if isinstance(structured, dict) else {}
    file = fields.get("file")
    if isinstance(file, dict) and (data := _to_text(file.get("base64"))):
        is_pdf = fields.get("type") == "pdf"
        kind = _PDF_TYPE if is_pdf else _to_text(file.get("type"))
        yield Picture("document" if is_pdf else "image", kind, data, _to_text(file.get("filePath")))
    pages = fields.get("pages")
    for page in pages if isinstance(pages, list) else ():
        if isinstance(page, dict) and (data := _to_text(page.get("base64"))):
            yield Picture("image", _to_text(page.get("mediaType")), data)


def _place_picture(picture: Picture, offset: int, place: int) -> Picture:
    return Picture(picture.kind, picture.media_type, picture.data, picture.name, offset, place)


def _to_text(value: object) -> str:
    return value if isinstance(value, str) else ""
