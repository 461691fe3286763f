"""How many tokens images and documents take."""

from __future__ import annotations

import base64
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnlog.session.picture_tokens import MAX_IMAGE_TOKENS, TOKENS_PER_PAGE, estimate_picture_tokens


def image(data: bytes) -> dict[str, Any]:
    return {"type": "image", "source": {"type": "base64", "data": base64.b64encode(data).decode()}}


PNG = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + (300).to_bytes(4, "big") + (250).to_bytes(4, "big")
GIF = b"GIF89a" + (300).to_bytes(2, "little") + (250).to_bytes(2, "little") + b"\0\0"
JPEG = b"\xff\xd8\xff\xe0\0\x04ab\xff\xc0\0\x11\x08" + (250).to_bytes(2, "big") + (300).to_bytes(2, "big") + b"\3\0\0"
WEBP = b"RIFF\0\0\0\0WEBP"
EXTENDED = WEBP + b"VP8X" + b"\0" * 8 + (299).to_bytes(3, "little") + (249).to_bytes(3, "little")
LOSSLESS = WEBP + b"VP8L" + b"\0" * 4 + b"\x2f" + (299 | 249 << 14).to_bytes(4, "little")
LOSSY = WEBP + b"VP8 " + b"\0" * 10 + (300).to_bytes(2, "little") + (250).to_bytes(2, "little")


@pytest.mark.parametrize("data", [PNG, GIF, JPEG, EXTENDED, LOSSLESS, LOSSY])
def test_an_image_takes_one_token_for_750_pixels(data: bytes) -> None:
    assert estimate_picture_tokens(image(data)) == 100


def test_a_large_image_is_scaled_down() -> None:
    assert estimate_picture_tokens(image(PNG[:16] + b"\0\0\xff\xff" * 2)) == MAX_IMAGE_TOKENS


@pytest.mark.parametrize("data", [b"", b"hello there", PNG[:10], b"\xff\xd8\xff\xc4", b"\xff\xd8\xff\xe0\0\x02ab"])
def test_an_image_whose_size_cannot_be_read_counts_as_a_large_one(data: bytes) -> None:
    assert estimate_picture_tokens(image(data)) == MAX_IMAGE_TOKENS


@pytest.mark.parametrize("source", [None, [], {}, {"data": 7}, {"data": "ünlesbar"}, {"type": "url", "url": "x"}])
def test_an_image_without_data_counts_as_a_large_one(source: object) -> None:
    assert estimate_picture_tokens({"type": "image", "source": source}) == MAX_IMAGE_TOKENS


def test_a_document_takes_tokens_for_each_page() -> None:
    pdf = b"<< /Type /Pages /Count 2 >> << /Type /Page >> <</Type/Page>>"
    data = base64.b64encode(pdf).decode()
    assert estimate_picture_tokens({"type": "document", "source": {"data": data}}) == 2 * TOKENS_PER_PAGE
    assert estimate_picture_tokens({"type": "document"}) == TOKENS_PER_PAGE


@given(st.sampled_from([b"", PNG[:8], b"GIF89a", b"\xff\xd8", WEBP + b"VP8X", WEBP + b"VP8L", WEBP]), st.binary())
def test_any_data_has_a_number_of_tokens(start: bytes, rest: bytes) -> None:
    assert 1 <= estimate_picture_tokens(image(start + rest)) <= MAX_IMAGE_TOKENS
