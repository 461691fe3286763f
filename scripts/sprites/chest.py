"""The treasure chests of 32x32 pixels, and the props of the camp: a tent and a fire."""

from __future__ import annotations

import math

from sprites.colours import GOLD, ORANGE, RED, WHITE, YELLOW
from sprites.grid import Grid
from sprites.poses import ease, swing
from sprites.puppet import draw_star

SIZE = 32
FRAMES = 8
KINDS = {
    "level": ("a5622e", "7a431d", "c98445", GOLD, "b8861f"),
    "bonus": ("4a5fae", "303f80", "6f86d6", "e4ecf8", "95a5c2"),
}
ROWS = (*(f"{kind}-{state}" for kind in KINDS for state in ("closed", "wobble", "opening", "open")), "fire")


def draw_chest(name: str, s: float) -> Grid:
    kind, state = name.split("-")
    grid = Grid(SIZE, SIZE)
    wood, shade, light, metal, metal_shade = KINDS[kind]
    lift = {"closed": 0.0, "wobble": 0.0, "opening": ease(s, 0, 0.9), "open": 1.0}[state]
    tilt = swing(s, 2) * 1.6 if state == "wobble" else 0
    if lift > 0.1:
        draw_rays(grid, s, lift)
    box = Grid(SIZE, SIZE)
    box.fill_rect(6 + tilt * 0.3, 20, 20, 10, wood)
    box.fill_rect(6 + tilt * 0.3, 27, 20, 3, shade)
    for x in (8, 22):
        box.fill_rect(x + tilt * 0.3, 20, 2, 10, metal)
        box.fill_rect(x + 1 + tilt * 0.3, 20, 1, 10, metal_shade)
    box.fill_rect(6, 20, 20, 1, metal_shade)
    if lift > 0.3:
        box.fill_rect(7, 18, 18, 3, "5b2b10")
        for x, y in ((9, 18), (12, 17), (15, 18), (18, 17), (21, 18)):
            box.fill_rect(x, y, 3, 3, YELLOW)
            box.put(x, y, WHITE)
    lid = 13 - lift * 8 + abs(tilt) * -0.8
    box.fill_rect(6 + tilt, lid, 20, 7 - lift * 3, wood)
    box.fill_rect(7 + tilt, lid - 2, 18, 3, light)
    for x in (8, 22):
        box.fill_rect(x + tilt, lid - 2, 2, 9 - lift * 3, metal)
    if lift < 0.5:
        box.fill_rect(14 + tilt * 0.5, 18, 4, 5, metal)
        box.fill_rect(15 + tilt * 0.5, 20, 2, 2, "1b1325")
    box.add_outline()
    grid.paste(box)
    if state == "open":
        for number in range(4):
            rise = (s + number / 4) % 1
            draw_star(grid, 9 + number * 5, 16 - rise * 13)
    return grid


def draw_rays(grid: Grid, s: float, lift: float) -> None:
    for number in range(7):
        turn = math.radians(-160 + number * 23 + swing(s) * 5)
        colour = ("fff3b0b0", "ffe36e90")[number % 2]
        grid.draw_line(16, 18, 16 + math.cos(turn) * 15 * lift, 18 + math.sin(turn) * 15 * lift, colour, 2)


def draw_fire(s: float) -> Grid:
    grid = Grid(SIZE, SIZE)
    fire = Grid(SIZE, SIZE)
    for dx, height, width, colour in ((0, 13, 5, RED), (-1, 9, 4, ORANGE), (1, 7, 3, YELLOW), (0, 4, 2, WHITE)):
        top = height + swing(s, 1, dx * 0.3) * 2
        sway = swing(s, 2, height * 0.1) * 1.5
        fire.fill_polygon(
            [
                (16 + dx - width, 27),
                (16 + dx + width, 27),
                (16 + dx + width * 0.5, 27 - top * 0.5),
                (16 + dx + sway, 27 - top),
                (16 + dx - width * 0.8, 27 - top * 0.4),
            ],
            colour,
        )
    grid.paste(fire)
    logs = Grid(SIZE, SIZE)
    logs.draw_line(9, 29, 22, 27, "7a4a26", 2)
    logs.draw_line(10, 27, 23, 29, "9a6233", 2)
    logs.add_outline()
    grid.paste(logs)
    for number in range(3):
        rise = (s + number / 3) % 1
        grid.put(13 + number * 3 + swing(rise, 1) * 1.5, 14 - rise * 10, ORANGE if number % 2 else YELLOW)
    return grid


def draw_sheet() -> Grid:
    """Draw the chests and the fire, a row each."""
    sheet = Grid(FRAMES * SIZE, len(ROWS) * SIZE)
    for row, name in enumerate(ROWS):
        for number in range(FRAMES):
            s = number / FRAMES
            cell = draw_fire(s) if name == "fire" else draw_chest(name, s)
            sheet.paste(cell, number * SIZE, row * SIZE)
    return sheet
