"""A grid of pixels: shapes with whole coordinates, outlines, and PNG files that are the same everywhere.

A colour is a string of six or eight hexadecimal digits; an empty string is transparent.
"""

from __future__ import annotations

import math
import struct
import zlib
from collections.abc import Callable, Iterable, Iterator

OUTLINE = "1b1325"
_BAYER = ((0, 8, 2, 10), (12, 4, 14, 6), (3, 11, 1, 9), (15, 7, 13, 5))


class Grid:
    """A rectangle of pixels."""

    def __init__(self, width: int, height: int) -> None:
        self.width, self.height = width, height
        self.rows = [[""] * width for _ in range(height)]

    def put(self, x: float, y: float, colour: str) -> None:
        """Set a pixel; one outside the grid is ignored."""
        column, row = math.floor(x + 0.5), math.floor(y + 0.5)
        if 0 <= column < self.width and 0 <= row < self.height:
            self.rows[row][column] = colour

    def get(self, x: int, y: int) -> str:
        return self.rows[y][x] if 0 <= x < self.width and 0 <= y < self.height else ""

    def fill_rect(self, x: float, y: float, width: float, height: float, colour: str) -> None:
        left, top = math.floor(x + 0.5), math.floor(y + 0.5)
        for row in range(top, top + math.floor(height + 0.5)):
            for column in range(left, left + math.floor(width + 0.5)):
                self.put(column, row, colour)

    def fill_ellipse(self, x: float, y: float, rx: float, ry: float, colour: str) -> None:
        """Fill an ellipse around a centre."""
        for row in range(math.floor(y - ry), math.ceil(y + ry) + 1):
            for column in range(math.floor(x - rx), math.ceil(x + rx) + 1):
                if ((column - x) / (rx + 0.3)) ** 2 + ((row - y) / (ry + 0.3)) ** 2 <= 1:
                    self.put(column, row, colour)

    def fill_polygon(self, points: Iterable[tuple[float, float]], colour: str) -> None:
        """Fill a polygon; its edges belong to it."""
        corners = list(points)
        ys = [y for _, y in corners]
        for row in range(math.floor(min(ys)), math.ceil(max(ys)) + 1):
            cuts = sorted(find_cuts(corners, row + 0.01))
            for left, right in zip(cuts[::2], cuts[1::2], strict=False):
                for column in range(math.floor(left + 0.5), math.floor(right + 0.5) + 1):
                    self.put(column, row, colour)

    def draw_line(self, x0: float, y0: float, x1: float, y1: float, colour: str, width: int = 1) -> None:
        steps = max(1, math.ceil(max(abs(x1 - x0), abs(y1 - y0))))
        for number in range(steps + 1):
            x, y = x0 + (x1 - x0) * number / steps, y0 + (y1 - y0) * number / steps
            self.fill_rect(x - (width - 1) / 2, y - (width - 1) / 2, width, width, colour)

    def draw_text(self, x: int, y: int, rows: Iterable[str], colours: dict[str, str]) -> None:
        """Draw a picture made of letters; letters without a colour are transparent."""
        for down, row in enumerate(rows):
            for right, letter in enumerate(row):
                if letter in colours:
                    self.put(x + right, y + down, colours[letter])

    def add_outline(self, colour: str = OUTLINE) -> None:
        """Surround what is drawn with pixels of a colour."""
        edge = [
            (x, y)
            for y in range(self.height)
            for x in range(self.width)
            if not self.rows[y][x] and any(self.get(x + dx, y + dy) for dx, dy in ((1, 0), (-1, 0), (0, 1), (0, -1)))
        ]
        for x, y in edge:
            self.rows[y][x] = colour

    def paste(self, other: Grid, x: int = 0, y: int = 0) -> None:
        """Put another grid's pixels over this one's."""
        for row in range(other.height):
            for column in range(other.width):
                if colour := other.rows[row][column]:
                    self.put(x + column, y + row, colour)

    def recolour(self, change: Callable[[int, int, str], str]) -> None:
        """Replace each pixel that is drawn."""
        for y, row in enumerate(self.rows):
            for x, colour in enumerate(row):
                if colour:
                    row[x] = change(x, y, colour)

    def encode_png(self) -> bytes:
        """Encode the pixels as a PNG with a palette of up to 256 colours."""
        palette = sorted({colour for row in self.rows for colour in row} | {""})
        place = {colour: number for number, colour in enumerate(palette)}
        if len(palette) > 256:
            raise ValueError(f"{len(palette)} colours; a palette holds 256")
        depth = next(bits for bits in (1, 2, 4, 8) if len(palette) <= 1 << bits)
        lines = b"".join(b"\0" + pack_row([place[colour] for colour in row], depth) for row in self.rows)
        header = struct.pack(">IIBBBBB", self.width, self.height, depth, 3, 0, 0, 0)
        colours = b"".join(bytes.fromhex(colour[:6] or "000000") for colour in palette)
        alphas = bytes(int(colour[6:] or "ff", 16) if colour else 0 for colour in palette)
        chunks = ((b"IHDR", header), (b"PLTE", colours), (b"tRNS", alphas.rstrip(b"\xff") or b"\xff"))
        packed = zlib.compressobj(9, zlib.DEFLATED, 15, 9)
        data = packed.compress(lines) + packed.flush()
        return b"\x89PNG\r\n\x1a\n" + b"".join(
            build_chunk(*chunk) for chunk in (*chunks, (b"IDAT", data), (b"IEND", b""))
        )


def pack_row(numbers: list[int], depth: int) -> bytes:
    """Pack palette numbers of 1, 2, 4 or 8 bits."""
    each = 8 // depth
    numbers = numbers + [0] * (-len(numbers) % each)
    packed = bytearray()
    for start in range(0, len(numbers), each):
        byte = 0
        for number in numbers[start : start + each]:
            byte = byte << depth | number
        packed.append(byte)
    return bytes(packed)


def build_chunk(name: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))


def find_cuts(corners: list[tuple[float, float]], y: float) -> Iterator[float]:
    """Find where a horizontal line cuts a polygon."""
    for (x0, y0), (x1, y1) in zip(corners, corners[1:] + corners[:1], strict=True):
        if (y0 <= y) != (y1 <= y):
            yield x0 + (y - y0) * (x1 - x0) / (y1 - y0)


def mix(first: str, second: str, share: float) -> str:
    """Mix two colours; a share of 0 is the first."""
    pairs = ((int(first[at : at + 2], 16), int(second[at : at + 2], 16)) for at in (0, 2, 4))
    return "".join(f"{math.floor(a + (b - a) * share + 0.5):02x}" for a, b in pairs)


def is_dithered(x: int, y: int, share: float) -> bool:
    """Whether a pixel of an ordered pattern is set, if a share of all is."""
    return share * 16 > _BAYER[y % 4][x % 4]


class Chance:
    """Numbers that look random and are the same everywhere."""

    def __init__(self, seed: int) -> None:
        self._state = seed * 2654435761 % 2**32

    def pick(self, count: int) -> int:
        """Return a whole number below `count`."""
        self._state = (self._state * 1664525 + 1013904223) % 2**32
        return (self._state >> 8) % count

    def spread(self, low: float, high: float) -> float:
        return low + (high - low) * self.pick(4096) / 4095
