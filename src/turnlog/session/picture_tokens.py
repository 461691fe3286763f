"""Token counts of images and documents according to the API's published rule: by image pixels and PDF pages."""

from __future__ import annotations

import base64
import binascii
from typing import Any

Json = dict[str, Any]

PIXELS_PER_TOKEN = 750
MAX_IMAGE_TOKENS = 1_600
"""The tokens of a large image, which the API scales down to this limit; also assumed for images of unknown size."""
TOKENS_PER_PAGE = 2_000
"""The tokens of a PDF page as text and as an image; the real range is 1,500 to 3,000."""
_HEAD_CHARS = 64 * 1024
"""How many characters of an image's data to inspect: JPEG files may start with a long preview."""
_JPEG_SIZE_MARKERS = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
"""The JPEG segments that state the size."""


def estimate_picture_tokens(block: Json) -> int:
    """Estimate how many tokens an `image` or `document` block uses."""
    source = block.get("source")
    data = source.get("data") if isinstance(source, dict) else None
    if block.get("type") == "document":
        return TOKENS_PER_PAGE * max(1, _count_pages(data))
    width, height = read_image_size(_decode_base64(data[:_HEAD_CHARS])) if isinstance(data, str) else (0, 0)
    return min(MAX_IMAGE_TOKENS, max(1, width * height // PIXELS_PER_TOKEN)) if width and height else MAX_IMAGE_TOKENS


def _count_pages(data: object) -> int:
    content = _decode_base64(data) if isinstance(data, str) else b""
    return sum(content.count(name) - content.count(name + b"s") for name in (b"/Type /Page", b"/Type/Page"))


def _decode_base64(data: str) -> bytes:
    try:
        return base64.b64decode(data[: len(data) // 4 * 4].encode("ascii", "replace"))
    except (binascii.Error, ValueError):
        return b""


def read_image_size(data: bytes) -> tuple[int, int]:
    """Read the size of a PNG, GIF, WebP or JPEG image from its first bytes; return zeros for anything else."""
    if data.startswith(b"\x89PNG\r\n\x1a\n"):
        return _read_big_endian(data[16:20]), _read_big_endian(data[20:24])
    if data.startswith((b"GIF87a", b"GIF89a")):
        return _read_little_endian(data[6:8]), _read_little_endian(data[8:10])
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return _read_webp_size(data)
    return _read_jpeg_size(data) if data.startswith(b"\xff\xd8") else (0, 0)


def _read_webp_size(data: bytes) -> tuple[int, int]:
    if data[12:16] == b"VP8X":
        return _read_little_endian(data[24:27]) + 1, _read_little_endian(data[27:30]) + 1
    if data[12:16] == b"VP8L":
        bits = _read_little_endian(data[21:25])
        return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
    return _read_little_endian(data[26:28]) & 0x3FFF, _read_little_endian(data[28:30]) & 0x3FFF


def _read_jpeg_size(data: bytes) -> tuple[int, int]:
    offset = 2
    while offset + 9 <= len(data) and data[offset] == 0xFF:
        if data[offset + 1] in _JPEG_SIZE_MARKERS:
            return _read_big_endian(data[offset + 7 : offset + 9]), _read_big_endian(data[offset + 5 : offset + 7])
        offset += 2 + _read_big_endian(data[offset + 2 : offset + 4])
    return 0, 0


def _read_big_endian(data: bytes) -> int:
    return int.from_bytes(data, "big")


def _read_little_endian(data: bytes) -> int:
    return int.from_bytes(data, "little")
