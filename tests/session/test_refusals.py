"""What the API refuses of a single block."""

from __future__ import annotations

import base64
import zlib
from typing import Any

import pytest

from turnlog.session.resume.refusals import (
    MAX_IMAGE_BASE64_CHARS,
    find_image_fault,
    find_thinking_fault,
    find_tool_name_fault,
)


def png(width: int = 10, height: int = 10, weight: int = 0) -> str:
    """An image of a size, with so many bytes behind its head."""
    head = b"IHDR" + width.to_bytes(4, "big") + height.to_bytes(4, "big") + b"\x08\x02\0\0\0"
    data = b"\x89PNG\r\n\x1a\n\0\0\0\x0d" + head + zlib.crc32(head).to_bytes(4, "big") + b"\0" * weight
    return base64.b64encode(data).decode()


def image(data: Any, kind: Any = "image/png", **source: Any) -> dict[str, Any]:
    return {"type": "image", "source": {"type": "base64", "media_type": kind, "data": data, **source}}


@pytest.mark.parametrize(
    ("block", "words"),
    [
        (image(png()), None),
        (image(png(8000, 8000)), None),
        (image(png(8001, 10)), "8,001 × 10 pixels, more than 8,000"),
        (image(png(weight=MAX_IMAGE_BASE64_CHARS)), "6.7 MB, more than 5 MB"),
        (image(png(), "image/jpeg"), "not JPEG"),
        (image(png(), "image/tiff"), "'image/tiff'"),
        (image(png(), ["x"]), "of type"),
        (image(""), "without data"),
        (image(None), "without data"),
        (image(png()[:-1] + "!"), "damaged"),
        (image("é"), "damaged"),
        ({"type": "image"}, "without a source"),
        ({"type": "image", "source": {"type": "url", "url": "https://example.org/1.png"}}, None),
    ],
)
def test_an_image_is_judged_by_kind_data_and_size(block: dict[str, Any], words: str | None) -> None:
    fault = find_image_fault(block)
    assert fault is None if words is None else words in (fault or "")


def test_among_many_images_each_must_be_smaller() -> None:
    assert find_image_fault(image(png(2000, 100)), of_many=True) is None
    assert "with more than 20 images" in (find_image_fault(image(png(2001, 100)), of_many=True) or "")


@pytest.mark.parametrize(
    ("block", "is_sound"),
    [
        ({"type": "thinking", "thinking": "", "signature": "EqQB+/=="}, True),
        ({"type": "thinking", "thinking": "hm", "signature": ""}, False),
        ({"type": "thinking", "thinking": "hm", "signature": 5}, False),
        ({"type": "thinking", "thinking": "hm", "signature": "[cut]"}, False),
        ({"type": "redacted_thinking", "data": "abc"}, True),
        ({"type": "redacted_thinking", "data": ""}, False),
        ({"type": "redacted_thinking"}, False),
    ],
)
def test_thinking_is_judged_by_its_signature(block: dict[str, Any], is_sound: bool) -> None:
    assert (find_thinking_fault(block) is None) is is_sound


def test_a_tools_name_has_at_most_200_plain_letters() -> None:
    assert find_tool_name_fault("mcp__server__tool-1") is None
    assert find_tool_name_fault(None) is None
    assert find_tool_name_fault("x" * 200) is None
    assert "201 characters" in (find_tool_name_fault("x" * 201) or "")
    assert "characters that" in (find_tool_name_fault("no spaces") or "")
    assert "without" in (find_tool_name_fault("") or "")
