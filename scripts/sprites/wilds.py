"""The wild biomes: the Enchanted Forest, the Mountain Journey and the Midnight Quest."""

from __future__ import annotations

import math

from sprites.grid import Chance
from sprites.tile import (
    WIDTH,
    Tile,
    build_ridge,
    draw_crown,
    draw_pine,
    draw_trunk,
    fill_bands,
    fill_ridge,
    scatter_flowers,
    scatter_grass,
)


def draw_forest() -> list[Tile]:
    far, mid, near, ground, front = Tile(96), Tile(100), Tile(124), Tile(54), Tile(22)
    fill_ridge(far, build_ridge(3, 40, 14), ("8fc7b8", "7ab5a8", "69a59a"), 14)
    chance = Chance(11)
    for number in range(26):
        x = number * 12.3 + chance.spread(-3, 3)
        draw_trunk(far, x, 8 + chance.pick(18), 95, 3, ("5b978f", "67a399", "79b5a9"))
        draw_crown(far, x, 22 + chance.pick(14), 12 + chance.pick(5), ("5f9d92", "6fae9f", "86c2b0"), number)
    for number in range(13):
        x = number * 24.6 + chance.spread(-6, 6)
        draw_trunk(mid, x, 30, 99, 5, ("2c5348", "3c6a58", "4f836a"))
        draw_crown(mid, x, 30 + chance.pick(14), 19 + chance.pick(6), ("2d6a50", "3f8a60", "62ad74"), 50 + number)
    fill_ridge(mid, build_ridge(5, 88, 5), ("2f7054", "28624c", "215444"), 5)
    for number in range(5):
        x = 20 + number * 64 + chance.spread(-9, 9)
        draw_trunk(near, x, 40, 123, 9, ("33221f", "553a2c", "7b573c"))
        draw_crown(near, x, 36 + chance.pick(10), 27 + chance.pick(6), ("1d5138", "2f7a46", "69b04f"), 90 + number)
        near.fill_ellipse(x + 1, 80, 2, 3, "241615")
    for number in range(16):
        x = chance.pick(WIDTH)
        draw_crown(near, x, 119, 7 + chance.pick(4), ("1b4a36", "2b6c42", "4f9a4c"), 130 + number)
    for number in range(9):
        draw_mushroom(near, chance.pick(WIDTH), 121, 3 + chance.pick(3), ("7ef2ff", "ff8ad0", "ffd65a")[number % 3])
    fill_bands(ground, ("3f8a4a", "4a9a4c", "58aa50", "4d9c49"))
    draw_path(ground, 14, 40, ("b89a6a", "a5875a", "c9ae7e"), 21)
    scatter_grass(ground, 2, 12, ("6fc05a", "2f7a46"), 90, 22)
    scatter_grass(ground, 42, 53, ("7fd062", "2f7a46", "99dd70"), 90, 23)
    scatter_flowers(ground, 3, 11, ("ff8ad0", "ffffff", "b08aff"), 22, 24)
    scatter_flowers(ground, 43, 52, ("ff8ad0", "ffe36e", "ffffff", "b08aff"), 26, 25)
    scatter_grass(front, 10, 22, ("1d5138", "2f7a46", "4c9a4c"), 320, 26)
    return [far, mid, near, ground, front]


def draw_mushroom(tile: Tile, x: float, foot: float, size: float, colour: str) -> None:
    tile.fill_rect(x - 1, foot - size, 2, size, "f2ead8")
    tile.fill_ellipse(x, foot - size, size * 0.8, size * 0.5, colour)
    tile.put(x - 1, foot - size - 1, "ffffff")


def draw_path(tile: Tile, top: int, bottom: int, colours: tuple[str, str, str], seed: int) -> None:
    """Draw a trodden path with pebbles."""
    chance = Chance(seed)
    upper, lower = build_ridge(seed, top, 2), build_ridge(seed + 1, bottom, 2)
    for x in range(WIDTH):
        for y in range(int(upper[x]), int(lower[x]) + 1):
            edge = min(y - upper[x], lower[x] - y)
            tile.put(x, y, colours[1] if edge < 1.5 or (x * 13 + y * 29) % 31 == 0 else colours[0])
    for _ in range(90):
        x, y = chance.pick(WIDTH), top + 2 + chance.pick(bottom - top - 3)
        wide = 1 + chance.pick(3) + (y - top) // 10
        tile.draw_line(x, y, x + wide, y, colours[2])
        tile.draw_line(x, y + 1, x + wide, y + 1, colours[1])


def draw_mountain() -> list[Tile]:
    far, mid, near, ground, front = Tile(112), Tile(90), Tile(90), Tile(54), Tile(18)
    for x, top, wide in ((30, 26, 66), (118, 10, 84), (205, 30, 62), (278, 16, 74)):
        draw_peak(far, x, top, wide, ("8a9cc4", "6f80ae", "f4f8ff", "cfdcf2"))
    for x, top, wide in ((74, 48, 50), (160, 54, 48), (244, 46, 54), (316, 52, 46)):
        draw_peak(far, x, top, wide, ("7486b4", "5c6d9d", "e6eefc", "b9c8e6"))
    fill_ridge(mid, build_ridge(31, 44, 18, 0.7), ("5f8a86", "527d7c", "466f70", "3c6366"), 11)
    chance = Chance(32)
    for number in range(40):
        place = number * 8 + chance.spread(-2, 2)
        draw_pine(mid, place, 70 + chance.pick(16), 15 + chance.pick(9), ("2f3f44", "2d565a", "3a6b68", "54897c"))
    fill_ridge(near, build_ridge(33, 78, 5), ("4d6b4a", "42603f", "385436"), 5)
    for number in range(15):
        place = number * 21.4 + chance.spread(-6, 6)
        draw_pine(near, place, 86, 38 + chance.pick(28), ("3b2a22", "1c4038", "28584a", "4f8f66"))
    for _ in range(10):
        draw_rock(near, chance.pick(WIDTH), 89, 5 + chance.pick(6), ("5d6476", "7d869a", "a9b3c6"))
    fill_bands(ground, ("5f8a54", "6f9a5c", "7aa864", "6d9a58"))
    draw_path(ground, 13, 41, ("a99a8c", "8d8074", "c4b8aa"), 35)
    for number in range(12):
        draw_rock(
            ground,
            chance.pick(WIDTH),
            9 + chance.pick(5) if number % 2 else 48 + chance.pick(5),
            3 + chance.pick(3),
            ("5d6476", "7d869a", "b9c3d6"),
        )
    scatter_grass(ground, 2, 12, ("8fc06a", "4f7a46"), 80, 36)
    scatter_grass(ground, 43, 53, ("9fd072", "4f7a46"), 90, 37)
    scatter_flowers(ground, 43, 52, ("ffffff", "9ab8ff", "ffe36e"), 14, 38)
    for number in range(9):
        draw_rock(front, number * 36 + chance.pick(20), 20, 6 + chance.pick(6), ("3d4354", "565e72", "7d869a"))
    scatter_grass(front, 10, 18, ("35563a", "4f7a46"), 160, 39)
    return [far, mid, near, ground, front]


def draw_peak(tile: Tile, x: float, top: float, wide: float, colours: tuple[str, str, str, str]) -> None:
    """Draw a mountain with a lit and a shaded side; the colours are both sides of rock and both of snow."""
    light, dark, snow, shade = colours
    chance = Chance(int(x * 7 + top))
    ridge = x
    slope = wide / (tile.height - top)
    for y in range(int(top), tile.height):
        ridge += chance.spread(-1.1, 1.0)
        half = (y - top) * slope * 0.72 + 1
        line = top + 26 + 6 * math.sin(y * 0.7)
        for column in range(int(x - half), int(x + half) + 1):
            jag = 5 * math.sin(column * 0.55) + 4 * math.sin(column * 0.23 + 1)
            is_snow = y < line + jag - 4
            is_lit = column < ridge + 2 * math.sin(y * 0.4)
            tile.put(column, y, (snow if is_lit else shade) if is_snow else (light if is_lit else dark))


def draw_rock(tile: Tile, x: float, foot: float, size: float, colours: tuple[str, str, str]) -> None:
    dark, stone, light = colours
    tile.fill_polygon(
        [
            (x - size, foot),
            (x - size * 0.6, foot - size * 0.8),
            (x + size * 0.3, foot - size),
            (x + size, foot - size * 0.3),
            (x + size, foot),
        ],
        stone,
    )
    tile.fill_polygon(
        [(x + size * 0.2, foot), (x + size * 0.4, foot - size * 0.8), (x + size, foot - size * 0.3), (x + size, foot)],
        dark,
    )
    tile.draw_line(x - size * 0.5, foot - size * 0.8, x + size * 0.2, foot - size, light)


def draw_midnight() -> list[Tile]:
    far, mid, near, ground, front = Tile(104), Tile(90), Tile(92), Tile(54), Tile(20)
    fill_ridge(far, build_ridge(51, 70, 16), ("2c2a5e", "262552", "211f48"), 12)
    draw_castle(far, 92)
    draw_castle(far, 262, is_small=True)
    fill_ridge(mid, build_ridge(52, 52, 14, 0.6), ("221d45", "1e193c", "1a1634"), 12)
    chance = Chance(53)
    for number in range(11):
        draw_bare_tree(mid, number * 29 + chance.spread(-8, 8), 72, 26 + chance.pick(16), "15112b", 60 + number)
    fill_ridge(near, build_ridge(54, 82, 4), ("1b1733", "17132c"), 5)
    for number in range(5):
        x = 24 + number * 64 + chance.spread(-10, 10)
        draw_bare_tree(near, x, 90, 56 + chance.pick(16), "0d0a1c", 80 + number)
        draw_lantern(near, x + 26, 91)
    for number in range(11):
        draw_grave(near, number * 29 + chance.pick(16), 91, number % 3)
    fill_bands(ground, ("2a2550", "322b5c", "3a3268", "322b5c"))
    draw_path(ground, 14, 40, ("565080", "48426e", "6a649a"), 55)
    scatter_grass(ground, 2, 12, ("4a4484", "1f1a3c"), 80, 56)
    scatter_grass(ground, 43, 53, ("544d92", "1f1a3c", "3f7a86"), 100, 57)
    for number in range(10):
        draw_mushroom(ground, chance.pick(WIDTH), 49 + chance.pick(4), 3, ("7ef2ff", "b07aff")[number % 2])
    scatter_grass(front, 8, 20, ("120e24", "1a1533", "231c44"), 320, 58)
    return [far, mid, near, ground, front]


def draw_castle(tile: Tile, x: int, is_small: bool = False) -> None:
    """Draw a castle against the night; some windows are lit."""
    dark, edge = "191538", "2c2760"
    towers = ((-22, 34, 9), (-8, 14, 13), (8, 26, 9), (20, 40, 11)) if not is_small else ((-8, 44, 7), (4, 34, 9))
    for dx, top, wide in towers:
        left = x + dx
        tile.fill_rect(left, top, wide, 104 - top, dark)
        tile.fill_rect(left, top, 1, 60, edge)
        tile.fill_polygon([(left - 2, top), (left + wide + 1, top), (left + wide / 2, top - wide * 1.1)], "120f2a")
        tile.draw_line(left + wide / 2, top - wide * 1.1 - 4, left + wide / 2, top - wide * 1.1, edge)
        for row in range(2):
            tile.fill_rect(left + wide / 2 - 1, top + 6 + row * 11, 2, 3, "ffd65a" if (dx + row) % 3 else "ff9d3b")
    if not is_small:
        tile.fill_rect(x - 22, 58, 52, 46, dark)
        for step in range(9):
            tile.fill_rect(x - 22 + step * 6, 55, 3, 3, dark)
        tile.fill_rect(x + 1, 66, 6, 10, "ff9d3b")


def draw_bare_tree(tile: Tile, x: float, foot: float, size: float, colour: str, seed: int) -> None:
    """Draw a tree without leaves: a trunk that forks and forks again."""
    chance = Chance(seed)

    def grow(px: float, py: float, turn: float, length: float, width: float) -> None:
        nx, ny = px + math.cos(turn) * length, py - math.sin(turn) * length
        tile.draw_line(px, py, nx, ny, colour, max(1, int(width)))
        if length > 4:
            for side in (-1, 1):
                grow(nx, ny, turn + side * chance.spread(0.25, 0.7), length * chance.spread(0.6, 0.78), width * 0.6)

    grow(x, foot, math.pi / 2 + chance.spread(-0.15, 0.15), size * 0.36, size / 11)


def draw_lantern(tile: Tile, x: float, foot: float) -> None:
    tile.fill_rect(x, foot - 24, 1, 24, "0d0a1c")
    tile.fill_rect(x, foot - 24, 6, 1, "0d0a1c")
    tile.fill_rect(x + 3, foot - 23, 5, 7, "0d0a1c")
    tile.fill_rect(x + 4, foot - 22, 3, 5, "ffd65a")
    tile.put(x + 5, foot - 20, "ffffff")


def draw_grave(tile: Tile, x: float, foot: float, kind: int) -> None:
    stone, light = "3a3560", "565090"
    if kind == 2:
        tile.fill_rect(x, foot - 10, 2, 10, stone)
        tile.fill_rect(x - 3, foot - 8, 8, 2, stone)
        tile.put(x, foot - 10, light)
        return
    tile.fill_rect(x - 3, foot - 6, 7, 6, stone)
    tile.fill_ellipse(x, foot - 6, 3, 3, stone)
    tile.draw_line(x - 3, foot - 6, x - 3, foot - 1, light)
    if kind:
        tile.fill_rect(x - 1, foot - 6, 3, 1, "211d40")
