"""The Wizard's Library: shelves, tall windows and a long carpet."""

from __future__ import annotations

import math

from sprites.grid import Chance
from sprites.tile import WIDTH, Tile

BOOKS = ("b8434e", "3f6fb0", "4d9a5c", "c98f3a", "7a4fa0", "2f8a8a", "d9d0b8", "8a3b52")


def draw_library() -> list[Tile]:
    far, mid, near, ground, front = Tile(150), Tile(132), Tile(128), Tile(54), Tile(18)
    draw_hall(far)
    for number in range(4):
        draw_shelves(mid, number * 80 + 6, 18, 56, 113, number)
    for number in range(4):
        draw_pillar(near, number * 80 + 72)
    draw_globe(near, 24)
    draw_candles(near, 112, 96)
    draw_lectern(near, 190)
    draw_candles(near, 272, 92)
    draw_floor(ground)
    chance = Chance(91)
    for number in range(7):
        x = number * 46 + chance.pick(18)
        for layer in range(2 + number % 3):
            colour = BOOKS[(number * 3 + layer) % len(BOOKS)]
            front.fill_rect(x + layer % 2, 14 - layer * 4, 13, 4, colour)
            front.fill_rect(x + layer % 2 + 10, 15 - layer * 4, 3, 2, "f4ecd8")
    return [far, mid, near, ground, front]


def draw_hall(tile: Tile) -> None:
    """Draw a wall of stone with tall windows; their panes are left open for the sky."""
    for y in range(tile.height):
        for x in range(WIDTH):
            joint = y % 12 == 0 or (x + (y // 12 % 2) * 13) % 26 == 0
            tone = (x // 26 * 7 + y // 12 * 5) % 5
            tile.put(x, y, "2e2440" if joint else ("3b2f52", "3f3358", "382c4e", "43365e", "3d3155")[tone])
    for number in range(4):
        x = number * 80 + 74
        tile.fill_rect(x - 12, 26, 25, 70, "574878")
        tile.fill_ellipse(x, 26, 12, 14, "574878")
        for y in range(16, 92):
            for column in range(x - 9, x + 10):
                if (column - x) ** 2 / 81 + (min(0, y - 26)) ** 2 / 110 <= 1:
                    tile.put(column, y, "")
        tile.fill_rect(x, 15, 1, 78, "574878")
        for y in (40, 58, 76):
            tile.fill_rect(x - 9, y, 19, 1, "574878")
        tile.fill_rect(x - 14, 93, 29, 4, "6d5c92")


def draw_shelves(tile: Tile, left: int, top: int, width: int, height: int, seed: int) -> None:
    chance = Chance(300 + seed)
    tile.fill_rect(left, top, width, height, "3a2115")
    tile.fill_rect(left, top - 4, width, 5, "7a4a2a")
    tile.fill_polygon([(left + 4, top - 4), (left + width - 5, top - 4), (left + width / 2, top - 13)], "7a4a2a")
    tile.fill_ellipse(left + width / 2, top - 7, 2, 2, "f5c542")
    for side in (left, left + width - 3):
        tile.fill_rect(side, top, 3, height, "6a3e22")
        tile.fill_rect(side, top, 1, height, "8f5a34")
    for shelf in range(height // 19 + 1):
        y = top + 18 + shelf * 19
        tile.fill_rect(left + 3, y, width - 6, 3, "8f5a34")
        tile.fill_rect(left + 3, y + 2, width - 6, 1, "5a341d")
        x = left + 4
        while x < left + width - 8:
            wide, tall = 2 + chance.pick(4), 9 + chance.pick(6)
            colour = BOOKS[chance.pick(len(BOOKS))]
            if chance.pick(9) == 0:
                draw_trinket(tile, x, y, chance.pick(3))
                x += 8
                continue
            tile.fill_rect(x, y - tall, wide, tall, colour)
            tile.fill_rect(x + wide - 1, y - tall, 1, tall, "24141c")
            if wide > 3:
                tile.fill_rect(x, y - tall + 2, wide - 1, 1, "f5c542")
                tile.fill_rect(x, y - 4, wide - 1, 1, "f5c542")
            x += wide


def draw_trinket(tile: Tile, x: int, y: int, kind: int) -> None:
    if kind == 0:
        tile.fill_ellipse(x + 3, y - 4, 2.6, 3, "7ef2ff")
        tile.put(x + 2, y - 6, "ffffff")
    elif kind == 1:
        tile.fill_ellipse(x + 3, y - 4, 2.4, 2.4, "f4ecd8")
        tile.put(x + 2, y - 4, "24141c")
        tile.put(x + 4, y - 4, "24141c")
    else:
        tile.fill_polygon([(x + 1, y - 1), (x + 5, y - 1), (x + 4, y - 5), (x + 2, y - 5)], "b07aff")
        tile.fill_rect(x + 2, y - 8, 2, 3, "d8c8ff")


def draw_pillar(tile: Tile, x: int) -> None:
    tile.fill_rect(x, 0, 12, 128, "6d5c92")
    tile.fill_rect(x, 0, 3, 128, "8f7cb8")
    tile.fill_rect(x + 8, 0, 4, 128, "4e4070")
    for y in (8, 112):
        tile.fill_rect(x - 3, y, 18, 5, "8f7cb8")
        tile.fill_rect(x - 3, y + 4, 18, 2, "4e4070")
    tile.fill_rect(x - 4, 118, 20, 10, "7a689f")
    tile.fill_polygon([(x + 1, 30), (x + 11, 30), (x + 11, 62), (x + 6, 56), (x + 1, 62)], "a8324a")
    tile.fill_polygon([(x + 6, 40), (x + 9, 44), (x + 6, 48), (x + 3, 44)], "f5c542")


def draw_globe(tile: Tile, x: int) -> None:
    tile.fill_rect(x - 1, 106, 3, 18, "7a4a2a")
    tile.fill_rect(x - 7, 123, 15, 4, "5a341d")
    tile.fill_ellipse(x, 96, 11, 11, "3f7fc0")
    tile.fill_ellipse(x - 3, 92, 4, 5, "6cba54")
    tile.fill_ellipse(x + 5, 100, 3, 4, "6cba54")
    tile.fill_rect(x - 6, 88, 2, 2, "a9d4ff")
    for turn in range(40):
        at = math.radians(-60 + turn * 6)
        tile.put(x + math.cos(at) * 13, 96 + math.sin(at) * 13, "f5c542")


def draw_candles(tile: Tile, x: int, top: int) -> None:
    tile.fill_rect(x, top + 4, 2, 128 - top - 6, "c9a14a")
    tile.fill_rect(x - 5, 124, 12, 3, "9a7430")
    tile.fill_rect(x - 8, top + 4, 18, 2, "c9a14a")
    for dx in (-8, 0, 8):
        tile.fill_rect(x + dx, top - 4, 2, 8, "fbf3dc")
        tile.fill_ellipse(x + dx + 0.5, top - 7, 1, 2, "ff9d3b")
        tile.put(x + dx, top - 7, "fff3b0")


def draw_lectern(tile: Tile, x: int) -> None:
    tile.fill_polygon([(x - 3, 104), (x + 4, 104), (x + 7, 127), (x - 6, 127)], "7a4a2a")
    tile.fill_polygon([(x - 10, 100), (x + 11, 96), (x + 12, 101), (x - 9, 105)], "5a341d")
    tile.fill_polygon([(x - 9, 97), (x, 97), (x, 101), (x - 9, 103)], "fbf3dc")
    tile.fill_polygon([(x + 1, 97), (x + 10, 94), (x + 10, 99), (x + 1, 101)], "e6dcc0")


def draw_floor(tile: Tile) -> None:
    """Draw a floor of planks with a long carpet."""
    chance = Chance(95)
    for y in range(tile.height):
        for x in range(WIDTH):
            plank = y // 6
            joint = y % 6 == 0 or (x + plank * 37) % 80 == 0
            tile.put(
                x,
                y,
                "3c2418"
                if joint
                else ("6b4329", "64402a", "734a2e", "5f3c26")[(plank * 3 + (x + plank * 37) // 80) % 4],
            )
    for _ in range(70):
        x, y = chance.pick(WIDTH), chance.pick(54)
        tile.draw_line(x, y, x + 5, y, "553320")
    tile.fill_rect(0, 14, WIDTH, 27, "8f2a40")
    for y in (14, 16, 38, 40):
        tile.fill_rect(0, y, WIDTH, 1, "f5c542" if y in (16, 38) else "6a1c30")
    for number in range(16):
        x = number * 20 + 10
        tile.fill_polygon([(x, 22), (x + 6, 27), (x, 32), (x - 6, 27)], "b03a52")
        tile.fill_polygon([(x, 25), (x + 2, 27), (x, 29), (x - 2, 27)], "f5c542")
