"""Enemies of 24x24 pixels: four bugs for failed calls, a fiery skull for the API, and a ghost that eats mana."""

from __future__ import annotations

import math
from collections.abc import Callable

from sprites.colours import ORANGE, RED, WHITE, YELLOW
from sprites.grid import Grid
from sprites.poses import swing

SIZE = 24
FRAMES = 8
_EYE = "1b1325"


def draw_beetle(grid: Grid, s: float) -> None:
    flap = swing(s, 2)
    for side in (-1, 1):
        grid.fill_ellipse(12 + 3, 8 - flap * 2 * side, 5, 2.4, "cfe8ff")
    for number in range(3):
        grid.draw_line(8 + number * 4, 15, 6 + number * 4 + flap, 19, "3b2140")
    grid.fill_ellipse(13, 13, 7, 4.6, "9b3fb5")
    grid.fill_ellipse(12, 11.5, 5, 2.2, "c86be0")
    grid.draw_line(13, 9, 14, 17, "6a2680")
    grid.fill_ellipse(5, 13, 3.2, 3.2, "4a2256")
    grid.draw_line(3, 10, 1, 7, "4a2256")
    grid.put(4, 12, RED)
    grid.put(3, 12, YELLOW)


def draw_spider(grid: Grid, s: float) -> None:
    for number in range(4):
        lift = swing(s, 1, number * 0.25) * 2
        grid.draw_line(11, 13, 3 + number * 2, 9 + lift - number, "33283f")
        grid.draw_line(3 + number * 2, 9 + lift - number, 1 + number * 2, 17 + lift, "33283f")
        grid.draw_line(13, 13, 21 - number * 2, 9 - lift - number, "33283f")
        grid.draw_line(21 - number * 2, 9 - lift - number, 23 - number * 2, 17 - lift, "33283f")
    grid.fill_ellipse(14, 13, 5, 4.4, "4d3b63")
    grid.fill_ellipse(14, 11.6, 3, 2, "6f5890")
    grid.fill_polygon([(13, 12), (15, 12), (14, 14)], RED)
    grid.fill_ellipse(8, 14, 3, 2.8, "3a2c4c")
    for dx, dy in ((-2, -1), (0, -1), (-2, 1)):
        grid.put(8 + dx, 14 + dy, RED)


def draw_bat(grid: Grid, s: float) -> None:
    flap = swing(s, 1) * 5
    for side in (-1, 1):
        tip = (12 + side * 11, 10 - flap)
        grid.fill_polygon(
            [
                (12, 10),
                (12 + side * 5, 8 - flap * 0.7),
                tip,
                (12 + side * 8, 13 - flap * 0.4),
                (12 + side * 5, 12),
                (12, 15),
            ],
            "5b4a9c",
        )
        grid.draw_line(12, 11, *tip, "3f3274")
    grid.fill_ellipse(12, 13, 3.6, 4, "453684")
    grid.fill_polygon([(9, 10), (9, 6), (11, 9)], "453684")
    grid.fill_polygon([(15, 10), (15, 6), (13, 9)], "453684")
    for x in (10, 13):
        grid.fill_rect(x, 12, 2, 1, YELLOW)
    grid.put(10, 15, WHITE)
    grid.put(13, 15, WHITE)


def draw_germ(grid: Grid, s: float) -> None:
    pulse = swing(s) * 0.6
    for number in range(8):
        turn = number / 8 + s * 0.125
        x, y = 12 + math.cos(turn * math.tau) * (9 + pulse), 12 + math.sin(turn * math.tau) * (9 + pulse)
        grid.draw_line(12, 12, x, y, "3e8f3a", 2)
        grid.fill_rect(x - 1, y - 1, 3, 3, "b5f25a")
    grid.fill_ellipse(12, 12, 6.4 + pulse, 6.4 + pulse, "5fbf46")
    grid.fill_ellipse(10.5, 10, 3, 2.4, "a5ea70")
    for x in (9, 13):
        grid.fill_rect(x, 11, 2, 3, _EYE)
        grid.put(x, 11, WHITE)
    grid.draw_line(9, 9, 11, 10, _EYE)
    grid.draw_line(15, 9, 13, 10, _EYE)
    grid.fill_rect(10, 16, 4, 1, _EYE)


def draw_skull(grid: Grid, s: float) -> None:
    for number in range(9):
        height = 5 + 4 * abs(swing(s, 1, number * 0.29))
        x = 5 + number * 1.8
        grid.fill_polygon([(x - 2, 9), (x + 2, 9), (x + 1, 9 - height)], RED if number % 2 else ORANGE)
    grid.fill_ellipse(12, 12, 7.4, 6, "f4ecd8")
    grid.fill_ellipse(11, 9, 4, 2, WHITE)
    grid.fill_rect(8, 17, 8, 4, "d8caa8")
    for x in (9, 12, 14):
        grid.draw_line(x, 18, x, 20, _EYE)
    for x in (8.5, 14.5):
        grid.fill_ellipse(x, 13, 2, 2, _EYE)
        grid.put(x - 0.5 + swing(s) * 0.8, 13, RED)
    grid.put(11, 16, _EYE)
    grid.put(12, 16, _EYE)


def draw_ghost(grid: Grid, s: float) -> None:
    sway = swing(s)
    grid.fill_ellipse(12, 9, 7, 6.5, "3558b8")
    points = [
        (5, 9),
        (19, 9),
        (19 + sway, 19),
        (16, 16),
        (14 + sway, 21),
        (11, 17),
        (8 + sway, 21),
        (7, 16),
        (4 + sway, 19),
    ]
    grid.fill_polygon(points, "3558b8")
    grid.fill_ellipse(10, 6, 3.4, 2.2, "6f93ea")
    for x in (8.5, 14.5):
        grid.fill_ellipse(x, 9.5, 1.8, 2.2, WHITE)
        grid.fill_rect(x - 1.5, 9, 2, 2, _EYE)
    grid.fill_ellipse(11, 14.5, 2.2, 1.6, "14245c")
    grid.put(11, 14 + sway, "7ef2ff")


KINDS: dict[str, Callable[[Grid, float], None]] = {
    "bug0": draw_beetle,
    "bug1": draw_spider,
    "bug2": draw_bat,
    "bug3": draw_germ,
    "error": draw_skull,
    "low": draw_ghost,
}


def draw_sheet() -> Grid:
    """Draw all enemies, a row a kind; they look to the left, where their target stands."""
    sheet = Grid(FRAMES * SIZE, len(KINDS) * SIZE)
    for row, draw in enumerate(KINDS.values()):
        for number in range(FRAMES):
            cell = Grid(SIZE, SIZE)
            draw(cell, number / FRAMES)
            cell.add_outline()
            sheet.paste(cell, number * SIZE, row * SIZE)
    return sheet
