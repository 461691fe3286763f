"""Finds blocks that the Messages API rejects: unsigned thinking, unreadable images and invalid tool names."""

from __future__ import annotations

import base64
import binascii
import re
from typing import Any

from turnlog.session.picture_tokens import read_image_size

Json = dict[str, Any]

MAX_TOOL_NAME_CHARS = 200
MAX_IMAGE_SIDE_PIXELS = 8000
"""The maximum width and height of an image."""
MAX_SIDE_PIXELS_OF_MANY = 2000
MANY_IMAGES = 20
"""If a request contains more images than this, the smaller limit applies to each of them."""
MAX_IMAGE_BASE64_CHARS = 5 * 1024 * 1024
"""The maximum base64 length of an image."""
_MAGIC_BYTES = {
    "image/png": (b"\x89PNG\r\n\x1a\n",),
    "image/jpeg": (b"\xff\xd8\xff",),
    "image/gif": (b"GIF87a", b"GIF89a"),
    "image/webp": (b"RIFF",),
}
_TOOL_NAME = re.compile(rf"[a-zA-Z0-9_-]{{1,{MAX_TOOL_NAME_CHARS}}}")
_BASE64_TEXT = re.compile(r"[A-Za-z0-9+/_-]+={0,2}")
_HEAD_SIZE = 64 * 1024
THINKING_TYPES = ("thinking", "redacted_thinking")


def find_thinking_fault(block: Json) -> str | None:
    """Return what is wrong with a thinking block. The newest models leave its text empty but never its signature."""
    if block.get("type") == "redacted_thinking":
        data = block.get("data")
        return None if isinstance(data, str) and data else "redacted thinking without its data"
    signature = block.get("signature")
    if not isinstance(signature, str) or not signature:
        return "thinking without a signature"
    return None if _BASE64_TEXT.fullmatch(signature) else "thinking with an invalid signature"


def find_tool_name_fault(name: str | None) -> str | None:
    if name is None or _TOOL_NAME.fullmatch(name):
        return None
    if len(name) > MAX_TOOL_NAME_CHARS:
        return f"a tool name of {len(name):,} characters"
    return "a tool name with characters that the API does not accept" if name else "a call without a tool name"


def find_image_fault(block: Json, *, of_many: bool = False) -> str | None:
    """Return what is wrong with an image block; images referenced by URL or file id are not checked."""
    source = block.get("source")
    if not isinstance(source, dict):
        return "an image without a source"
    if source.get("type") != "base64":
        return None
    kind, data = source.get("media_type"), source.get("data")
    if not isinstance(kind, str) or kind not in _MAGIC_BYTES:
        return f"an image of type {str(kind)[:40]!r}"
    if not isinstance(data, str) or not data:
        return "an image without data"
    return _find_data_fault(data, kind) or _find_size_fault(
        data, MAX_SIDE_PIXELS_OF_MANY if of_many else MAX_IMAGE_SIDE_PIXELS
    )


def _find_data_fault(data: str, kind: str) -> str | None:
    try:
        head = base64.b64decode(data.encode("ascii"), validate=True)[:_HEAD_SIZE]
    except (binascii.Error, ValueError):
        return "an image with damaged data"
    return (
        None if head.startswith(_MAGIC_BYTES[kind]) else f"an image that is not {kind.removeprefix('image/').upper()}"
    )


def _find_size_fault(data: str, max_side: int) -> str | None:
    if len(data) > MAX_IMAGE_BASE64_CHARS:
        return f"an image of {len(data) / 1024 / 1024:.1f} MB, more than 5 MB"
    sides = read_image_size(base64.b64decode(data[:_HEAD_SIZE]))
    if max(sides) <= max_side:
        return None
    limit = f"{max_side:,} pixels" + (
        f", the limit with more than {MANY_IMAGES} images" if max_side == MAX_SIDE_PIXELS_OF_MANY else ""
    )
    return f"an image of {sides[0]:,} × {sides[1]:,} pixels, more than {limit}"
