"""The Kingdom Road: a town, windmills, fields and a paved road."""

from __future__ import annotations

import math

from sprites.grid import Chance
from sprites.tile import (
    WIDTH,
    Tile,
    build_ridge,
    draw_crown,
    draw_trunk,
    fill_bands,
    fill_ridge,
    scatter_flowers,
    scatter_grass,
)
from sprites.wilds import draw_path


def draw_kingdom() -> list[Tile]:
    far, mid, near, ground, front = Tile(108), Tile(84), Tile(84), Tile(54), Tile(18)
    fill_ridge(far, build_ridge(71, 76, 12), ("a9cfa0", "98c292", "88b486"), 10)
    draw_town(far, 108)
    draw_keep(far, 270)
    fill_ridge(mid, build_ridge(73, 40, 14), ("8fc46a", "7fb660", "70a857", "629a50"), 10)
    draw_fields(mid)
    draw_windmill(mid, 60, 48)
    draw_windmill(mid, 232, 44)
    chance = Chance(75)
    for number in range(16):
        x = number * 20 + chance.spread(-6, 6)
        draw_trunk(mid, x, 58, 70, 2, ("4f3a28", "6a4e34", "86683f"))
        draw_crown(mid, x, 56 + chance.pick(8), 6 + chance.pick(4), ("3f7d44", "57994c", "85bf5e"), 100 + number)
    fill_ridge(near, build_ridge(76, 74, 3), ("5fa04e", "549246", "49853f"), 5)
    for number in range(4):
        x = 34 + number * 80 + chance.spread(-10, 10)
        draw_trunk(near, x, 30, 82, 6, ("4a3020", "6e4a2e", "926a40"))
        draw_crown(near, x, 26, 20 + chance.pick(6), ("35763c", "4f9a44", "90cc5a"), 140 + number)
    draw_fence(near)
    draw_signpost(near, 152)
    draw_lamp(near, 250)
    draw_lamp(near, 90)
    fill_bands(ground, ("5fae4c", "6cba54", "79c45c", "6ab652"))
    draw_cobbles(ground, 13, 42)
    scatter_grass(ground, 1, 11, ("8ad862", "3f8a3e"), 80, 78)
    scatter_grass(ground, 45, 53, ("96e06a", "3f8a3e"), 90, 79)
    scatter_flowers(ground, 45, 52, ("ff5a6a", "ffe36e", "ffffff", "5aa8ff"), 30, 80)
    scatter_flowers(ground, 2, 10, ("ff5a6a", "ffe36e", "ffffff"), 18, 81)
    scatter_grass(front, 8, 18, ("2f7034", "3f8a3e", "5fae4c"), 260, 82)
    scatter_flowers(front, 8, 14, ("ff5a6a", "ffe36e"), 12, 83)
    return [far, mid, near, ground, front]


def draw_town(tile: Tile, x: int) -> None:
    """Draw the towers and walls of a town with blue roofs and flags."""
    wall, shade, roof, roof_shade = "e2d8c4", "bfb298", "4a72b8", "365792"
    for dx, top, wide in ((-44, 52, 12), (-28, 34, 12), (-12, 14, 16), (8, 28, 12), (24, 42, 14), (40, 56, 10)):
        left = x + dx
        tile.fill_rect(left, top, wide, 108 - top, wall)
        tile.fill_rect(left + wide * 0.6, top, wide * 0.4, 108 - top, shade)
        peak = top - wide * 1.2
        tile.fill_polygon([(left - 2, top), (left + wide + 1, top), (left + wide / 2, peak)], roof)
        tile.fill_polygon([(left + wide / 2, peak), (left + wide + 1, top), (left + wide / 2, top)], roof_shade)
        tile.draw_line(left + wide / 2, peak - 7, left + wide / 2, peak, "6a5a48")
        tile.fill_polygon(
            [(left + wide / 2 + 1, peak - 7), (left + wide / 2 + 6, peak - 5), (left + wide / 2 + 1, peak - 4)],
            "e8505b",
        )
        for row in range(2):
            tile.fill_rect(left + wide / 2 - 1, top + 6 + row * 12, 2, 4, "5a4a5e")
    tile.fill_rect(x - 52, 66, 110, 42, wall)
    for step in range(14):
        tile.fill_rect(x - 52 + step * 8, 62, 5, 4, wall)
    for number in range(36):
        chance = Chance(number + 900)
        left, y = x - 50 + chance.pick(102), 68 + chance.pick(26)
        tile.fill_rect(left, y, 4, 2, shade)
    tile.fill_rect(x - 4, 76, 10, 32, "6a4a36")
    tile.fill_ellipse(x + 1, 76, 5, 5, "6a4a36")


def draw_keep(tile: Tile, x: int) -> None:
    tile.fill_rect(x - 10, 44, 20, 64, "d2c6b0")
    tile.fill_rect(x + 3, 44, 7, 64, "b0a488")
    for step in range(4):
        tile.fill_rect(x - 11 + step * 6, 40, 4, 5, "d2c6b0")
    tile.fill_rect(x - 1, 54, 3, 5, "5a4a5e")
    tile.draw_line(x, 28, x, 40, "6a5a48")
    tile.fill_polygon([(x + 1, 28), (x + 8, 31), (x + 1, 34)], "f5c542")


def draw_fields(tile: Tile) -> None:
    """Draw the furrows of fields on the hills."""
    for start, colour in ((10, "d8c45a"), (120, "a8cf5c"), (176, "d8c45a"), (270, "b8d46a")):
        for row in range(6):
            for x in range(start, start + 44 - row * 2):
                y = 58 + row * 3 + math.sin(x / WIDTH * math.tau * 2) * 3
                tile.put(x, y, colour)


def draw_windmill(tile: Tile, x: int, top: int) -> None:
    tile.fill_polygon([(x - 4, top), (x + 4, top), (x + 7, top + 26), (x - 7, top + 26)], "efe6d2")
    tile.fill_polygon([(x + 1, top), (x + 4, top), (x + 7, top + 26), (x + 2, top + 26)], "cfc3a8")
    tile.fill_polygon([(x - 6, top + 1), (x + 6, top + 1), (x, top - 8)], "b8434e")
    for number in range(4):
        turn = math.radians(28 + number * 90)
        ax, ay = math.cos(turn), -math.sin(turn)
        tile.draw_line(x, top, x + ax * 15, top + ay * 15, "6a4e34")
        tile.fill_polygon(
            [
                (x + ax * 4, top + ay * 4),
                (x + ax * 15, top + ay * 15),
                (x + ax * 15 - ay * 4, top + ay * 15 + ax * 4),
                (x + ax * 5 - ay * 4, top + ay * 5 + ax * 4),
            ],
            "fbf6e8",
        )
    tile.fill_rect(x - 2, top + 18, 4, 8, "6a4a36")


def draw_fence(tile: Tile) -> None:
    for x in range(0, WIDTH, 10):
        if 136 < x < 172:
            continue
        tile.fill_rect(x, 68, 3, 14, "9a7448")
        tile.fill_rect(x, 68, 1, 14, "c49a62")
        tile.fill_rect(x + 3, 71, 7, 2, "b08654")
        tile.fill_rect(x + 3, 76, 7, 2, "8a6840")


def draw_signpost(tile: Tile, x: int) -> None:
    tile.fill_rect(x, 56, 3, 27, "7a5634")
    tile.fill_polygon([(x - 8, 58), (x + 9, 58), (x + 13, 61), (x + 9, 64), (x - 8, 64)], "c49a62")
    tile.fill_polygon([(x + 10, 66), (x - 7, 66), (x - 11, 69), (x - 7, 72), (x + 10, 72)], "b08654")
    tile.draw_line(x - 5, 61, x + 6, 61, "5a3e24")
    tile.draw_line(x - 5, 69, x + 6, 69, "5a3e24")


def draw_lamp(tile: Tile, x: int) -> None:
    tile.fill_rect(x, 48, 2, 35, "3a3444")
    tile.fill_rect(x - 2, 40, 6, 8, "3a3444")
    tile.fill_rect(x - 1, 41, 4, 6, "ffe9a0")
    tile.fill_polygon([(x - 3, 40), (x + 4, 40), (x + 0.5, 36)], "3a3444")


def draw_cobbles(tile: Tile, top: int, bottom: int) -> None:
    """Draw a paved road: rows of stones, nearer ones larger."""
    draw_path(tile, top, bottom, ("b7ab9c", "8f8375", "b7ab9c"), 84)
    y, row = top + 1, 0
    chance = Chance(85)
    while y < bottom - 2:
        height = 3 + (y - top) // 9
        wide = height * 2 + 3
        for number in range(WIDTH // wide + 1):
            x = number * WIDTH / (WIDTH // wide) + (row % 2) * wide / 2
            tone = ("cdc2b2", "bfb3a3", "d9cfc0", "b3a797")[chance.pick(4)]
            tile.fill_rect(x + 1, y + 1, wide - 2, height - 1, tone)
            tile.draw_line(x + 1, y + 1, x + wide - 3, y + 1, "e6ddd0")
        y, row = y + height, row + 1
