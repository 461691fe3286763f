"""A strip of scenery 320 pixels wide whose right edge goes on at its left edge, and what grows and stands on it."""

from __future__ import annotations

import math
from collections.abc import Sequence

from sprites.grid import Chance, Grid, is_dithered

WIDTH = 320


class Tile(Grid):
    """A grid that goes around."""

    def __init__(self, height: int) -> None:
        super().__init__(WIDTH, height)

    def put(self, x: float, y: float, colour: str) -> None:
        super().put((math.floor(x + 0.5)) % WIDTH, y, colour)

    def get(self, x: int, y: int) -> str:
        return super().get(x % WIDTH, y)


def build_ridge(seed: int, base: float, height: float, roughness: float = 0.5) -> list[float]:
    """Return the height of a skyline at each column; it is the same at both ends."""
    chance = Chance(seed)
    waves = [
        (number, chance.spread(0, 1), height * roughness ** (index * 0.9))
        for index, number in enumerate((1, 2, 3, 5, 8, 13))
    ]
    total = sum(size for *_, size in waves)
    return [
        base
        + sum(size * math.sin((x / WIDTH * count + phase) * math.tau) for count, phase, size in waves) / total * height
        for x in range(WIDTH)
    ]


def fill_ridge(tile: Tile, tops: Sequence[float], colours: Sequence[str], band: float = 10) -> None:
    """Fill what is under a skyline; from the top down, one colour fades into the next."""
    for x in range(WIDTH):
        for y in range(max(0, math.floor(tops[x] + 0.5)), tile.height):
            depth = (y - tops[x]) / band
            place = min(len(colours) - 1, math.floor(depth))
            following = min(len(colours) - 1, place + 1)
            tile.put(x, y, colours[following if is_dithered(x, y, depth - place) else place])


def draw_pine(tile: Tile, x: float, foot: float, size: float, colours: Sequence[str]) -> None:
    """Draw a conifer; the colours are trunk, shade, leaf and light."""
    trunk, shade, leaf, light = colours
    tile.fill_rect(x - 1, foot - size * 0.2, 2, size * 0.2 + 1, trunk)
    for level in range(3):
        top = foot - size + level * size * 0.24
        wide = size * (0.16 + 0.08 * level)
        bottom = top + size * 0.36
        tile.fill_polygon([(x, top), (x + wide, bottom), (x - wide, bottom)], leaf)
        tile.fill_polygon([(x, top + 1), (x + wide, bottom), (x + wide * 0.2, bottom)], shade)
        tile.draw_line(x - 1, top + size * 0.1, x - wide + 1, bottom - 1, light)


def draw_crown(tile: Tile, x: float, y: float, size: float, colours: Sequence[str], seed: int) -> None:
    """Draw the crown of a leafy tree; the colours are shade, leaf and light."""
    shade, leaf, light = colours
    chance = Chance(seed)
    blobs = [
        (chance.spread(-1, 1) * size * 0.75, chance.spread(-0.7, 0.6) * size * 0.55, chance.spread(0.4, 0.62) * size)
        for _ in range(7)
    ]
    for dx, dy, radius in blobs:
        tile.fill_ellipse(x + dx, y + dy + 2, radius, radius * 0.85, shade)
    for dx, dy, radius in blobs:
        tile.fill_ellipse(x + dx - 1, y + dy, radius * 0.86, radius * 0.7, leaf)
    for dx, dy, radius in blobs:
        for number in range(int(radius * 3)):
            turn = chance.spread(0.5, 0.85) * math.tau
            reach = radius * chance.spread(0.3, 0.8)
            tile.put(
                x + dx + math.cos(turn) * reach, y + dy + math.sin(turn) * reach * 0.7, light if number % 3 else leaf
            )


def draw_trunk(tile: Tile, x: float, top: float, foot: float, width: float, colours: Sequence[str]) -> None:
    """Draw a trunk that is wider at its foot; the colours are dark, bark and light."""
    dark, bark, light = colours
    for y in range(int(top), int(foot) + 1):
        flare = max(0.0, 1 - (foot - y) / 8) ** 2 * width * 0.7
        half = width / 2 + flare
        tile.draw_line(x - half, y, x + half, y, bark)
        tile.draw_line(x + half * 0.2, y, x + half, y, dark)
        if y % 3:
            tile.put(x - half * 0.6, y, light)
        if (y * 7 + int(x)) % 11 < 3:
            tile.put(x - half * 0.1, y, dark)


def scatter_grass(tile: Tile, top: int, bottom: int, colours: Sequence[str], count: int, seed: int) -> None:
    """Draw blades of grass; further down they are longer."""
    chance = Chance(seed)
    for _ in range(count):
        x, y = chance.pick(WIDTH), top + chance.pick(max(1, bottom - top))
        size = 1 + (y - top) * 3 // max(1, bottom - top)
        colour = colours[chance.pick(len(colours))]
        tile.draw_line(x, y, x, y - size, colour)
        tile.put(x + 1, y - size + 1, colour)


def scatter_flowers(tile: Tile, top: int, bottom: int, colours: Sequence[str], count: int, seed: int) -> None:
    chance = Chance(seed)
    for _ in range(count):
        x, y = chance.pick(WIDTH), top + chance.pick(max(1, bottom - top))
        colour = colours[chance.pick(len(colours))]
        tile.put(x, y + 1, "2f6b3a")
        for dx, dy in ((-1, 0), (1, 0), (0, -1)):
            tile.put(x + dx, y + dy, colour)
        tile.put(x, y, "fff3b0")


def fill_bands(tile: Tile, colours: Sequence[str], top: int = 0) -> None:
    """Fill a ground: one colour after the other, nearer ones wider."""
    heights = [(index + 1.6) ** 1.3 for index in range(len(colours))]
    scale = (tile.height - top) / sum(heights)
    y = float(top)
    for index, height in enumerate(heights):
        end = y + height * scale
        for row in range(int(y), min(tile.height, int(end) + 1)):
            share = (row - y) / max(1.0, end - y)
            following = colours[min(index + 1, len(colours) - 1)]
            for x in range(WIDTH):
                tile.put(x, row, following if is_dithered(x, row, share * 0.9 - 0.3) else colours[index])
        y = end
