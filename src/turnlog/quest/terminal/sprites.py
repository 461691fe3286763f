"""Reads the sheets of sprites: PNG files with a palette, as `scripts/draw_sprites.py` writes them."""

from __future__ import annotations

import json
import struct
import zlib
from functools import cache
from pathlib import Path
from typing import Any

SHEETS_FOLDER = Path(__file__).parent.parent / "sheets"
TRANSPARENT = -1
Pixels = list[list[int]]
"""Rows of colours: 0xRRGGBB, or TRANSPARENT."""
_SIGNATURE = b"\x89PNG\r\n\x1a\n"
_MIN_ALPHA = 96
"""Pixels with less are left out: a terminal has no shades of transparency."""


def decode_sheet(data: bytes) -> Pixels:
    """Decode a PNG with a palette, without filters and interlacing; raise ValueError for any other."""
    chunks = _split_chunks(data)
    width, height, depth, kind, _, _, interlaced = struct.unpack(">IIBBBBB", chunks[b"IHDR"])
    if kind != 3 or interlaced:
        raise ValueError("not a PNG with a palette")
    colours = _read_palette(chunks[b"PLTE"], chunks.get(b"tRNS", b""))
    packed = zlib.decompress(chunks[b"IDAT"])
    row_bytes = (width * depth + 7) // 8
    rows: Pixels = []
    for start in range(0, height * (row_bytes + 1), row_bytes + 1):
        if packed[start]:
            raise ValueError("a filtered row")
        row = packed[start + 1 : start + 1 + row_bytes]
        rows.append([colours[number] for number in _unpack_row(row, depth)[:width]])
    return rows


def _split_chunks(data: bytes) -> dict[bytes, bytes]:
    if not data.startswith(_SIGNATURE):
        raise ValueError("not a PNG")
    chunks: dict[bytes, bytes] = {}
    at = len(_SIGNATURE)
    while at < len(data):
        (size,) = struct.unpack_from(">I", data, at)
        name = data[at + 4 : at + 8]
        chunks[name] = chunks.get(name, b"") + data[at + 8 : at + 8 + size]
        at += size + 12
    return chunks


def _read_palette(colours: bytes, alphas: bytes) -> list[int]:
    count = len(colours) // 3
    alphas = alphas.ljust(count, b"\xff")
    return [
        int.from_bytes(colours[3 * number : 3 * number + 3]) if alphas[number] >= _MIN_ALPHA else TRANSPARENT
        for number in range(count)
    ]


def _unpack_row(row: bytes, depth: int) -> list[int]:
    if depth == 8:
        return list(row)
    mask = (1 << depth) - 1
    return [byte >> shift & mask for byte in row for shift in range(8 - depth, -1, -depth)]


def _recolour(pixels: Pixels, changes: dict[str, str]) -> Pixels:
    """Replace colours, which are given as RRGGBB."""
    numbers = {int(old, 16): int(new, 16) for old, new in changes.items()}
    return [[numbers.get(colour, colour) for colour in row] for row in pixels] if numbers else pixels


class SpriteBook:
    """All sheets and their layout; each sheet is read when it is first used."""

    def __init__(self, folder: Path = SHEETS_FOLDER) -> None:
        self._folder = folder
        self.layout: dict[str, Any] = json.loads((folder / "sheets.json").read_bytes())
        self._sheets: dict[str, Pixels] = {}
        self._frames: dict[tuple[str, str, int, int], Pixels] = {}
        self._clothes: dict[str, int] = {}
        """The clothes of each hero, in the order in which they came."""

    def read_sheet(self, file: str) -> Pixels:
        """Return a whole sheet."""
        if file not in self._sheets:
            self._sheets[file] = decode_sheet((self._folder / file).read_bytes())
        return self._sheets[file]

    def choose_hero_variant(self, session: str) -> int:
        """Return the clothes of a hero, so that those of a party differ."""
        return self._clothes.setdefault(session, len(self._clothes) % len(self.layout["variants"]["hero"]))

    def choose_companion_variant(self, kind: str) -> int:
        """Return the colours of the companions of a type, the same as on the page."""
        number = 2166136261
        for char in kind:
            number = (number ^ ord(char)) * 16777619 & 0xFFFF_FFFF
        return (number ^ number >> 15) % len(self.layout["variants"]["companion"])

    def get_frame(self, sheet: str, row: str, frame: int, variant: int = 0) -> Pixels:
        """Return one frame of an animation, in the colours of a variant."""
        key = sheet, row, frame, variant
        if key not in self._frames:
            facts = self.layout["sheets"][sheet]
            place = facts["rows"][row]
            left, top = frame % place["frames"] * facts["width"], place["row"] * facts["height"]
            changes = dict(self.layout["variants"][sheet][variant]) if variant else {}
            self._frames[key] = _recolour(self._cut(sheet, left, top), changes)
        return self._frames[key]

    def get_cell(self, sheet: str, column: int) -> Pixels:
        """Return a picture from a sheet with one row."""
        key = sheet, "", column, 0
        if key not in self._frames:
            self._frames[key] = self._cut(sheet, column * self.layout["sheets"][sheet]["width"], 0)
        return self._frames[key]

    def _cut(self, sheet: str, left: int, top: int) -> Pixels:
        facts = self.layout["sheets"][sheet]
        rows = self.read_sheet(facts["file"])[top : top + facts["height"]]
        return [row[left : left + facts["width"]] for row in rows]


@cache
def load_sprites() -> SpriteBook:
    """Return the sprites of this package."""
    return SpriteBook()
