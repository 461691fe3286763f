"""Eight auras of 48x48 pixels around a hero, and six trails of 12x12 pixels behind one; eight frames each."""

from __future__ import annotations

import math
from collections.abc import Callable

from sprites.grid import Chance, Grid
from sprites.poses import swing

AURA, TRAIL, FRAMES = 48, 12, 8
_RAINBOW = ("ff4d57", "ff9d3b", "ffe36e", "6ee07a", "5ab8ff", "b07aff")
_HEART = (".h.h.", "hhhhh", "hhhhh", ".hhh.", "..h..")


def draw_dust(g: Grid, s: float) -> None:
    chance = Chance(5)
    for number in range(22):
        x, y, phase = chance.pick(40) + 4, chance.pick(36) + 8, chance.pick(8) / 8
        if (s + phase) % 1 < 0.6:
            g.fill_rect(
                x, y - ((s + phase) % 1) * 4, 1 + number % 2, 1 + number % 2, ("fff3b0", "f5c542", "ffffff")[number % 3]
            )


def draw_flame(g: Grid, s: float) -> None:
    for number in range(11):
        x = 4 + number * 4
        height = 10 + 14 * (1 - abs(x - 24) / 24) + swing(s, 1, number * 0.37) * 5
        colour = "ff4d57" if number % 2 else "ff9d3b"
        g.fill_polygon([(x - 4, 46), (x + 4, 46), (x + swing(s, 1, number * 0.2) * 2, 46 - height)], colour)
        g.fill_polygon([(x - 2, 46), (x + 2, 46), (x, 46 - height * 0.5)], "ffe36e")


def draw_frost(g: Grid, s: float) -> None:
    for number in range(6):
        turn = number / 6 + s / 6
        x, y = 24 + math.cos(turn * math.tau) * 19, 25 + math.sin(turn * math.tau) * 17
        for arm in range(3):
            ax, ay = math.cos(arm * math.pi / 3) * 4, math.sin(arm * math.pi / 3) * 4
            g.draw_line(x - ax, y - ay, x + ax, y + ay, "bfefff" if arm else "ffffff")


def draw_spark(g: Grid, s: float) -> None:
    for number in range(5):
        chance = Chance(40 + number + int(s * 8) * 7)
        turn = number / 5 + chance.spread(-0.05, 0.05)
        x, y = 24 + math.cos(turn * math.tau) * 9, 25 + math.sin(turn * math.tau) * 9
        for reach in (14, 18, 22):
            nx = 24 + math.cos(turn * math.tau) * reach + chance.spread(-3, 3)
            ny = 25 + math.sin(turn * math.tau) * reach + chance.spread(-3, 3)
            g.draw_line(x, y, nx, ny, "ffe36e" if reach < 18 else "ffffff")
            x, y = nx, ny


def draw_shadow(g: Grid, s: float) -> None:
    for number in range(9):
        turn = number / 9 + s / 9
        wave = 2 * swing(s, 1, number * 0.3)
        x, y = 24 + math.cos(turn * math.tau) * (14 + wave), 27 + math.sin(turn * math.tau) * (14 + wave)
        g.fill_ellipse(x, y, 5, 5, "2b1840c0")
    for number in range(3):
        g.fill_rect(8 + number * 15, 12 + swing(s, 1, number * 0.3) * 3, 2, 2, "b04dff")


def draw_heart(g: Grid, s: float) -> None:
    for number in range(6):
        rise = (s + number * 0.37) % 1
        x = 6 + number * 7 + swing(rise, 1, number * 0.2) * 2
        g.draw_text(int(x), int(42 - rise * 38), _HEART, {"h": "ff5a8a" if number % 2 else "ff9abf"})


def draw_code(g: Grid, s: float) -> None:
    chance = Chance(77)
    for column in range(9):
        start, length = chance.pick(48), 4 + chance.pick(4)
        for down in range(length):
            y = (start + s * 48 + down * 4) % 48
            bits = chance.pick(8)
            colour = "d8ffd8" if down == length - 1 else "4ee06a" if down > length // 2 else "1f8a3a"
            for bit in range(3):
                if bits >> bit & 1:
                    g.fill_rect(3 + column * 5 + bit % 2, y + bit, 2, 1, colour)


def draw_rainbow(g: Grid, s: float) -> None:
    for number in range(6):
        radius = 22 - number * 1.6
        for part in range(90):
            turn = part / 90
            if (part + int(s * 30) + number * 2) % 15 < 11:
                g.put(
                    24 + math.cos(turn * math.tau) * radius, 25 + math.sin(turn * math.tau) * radius, _RAINBOW[number]
                )


AURAS: dict[str, Callable[[Grid, float], None]] = {
    "dust": draw_dust, "flame": draw_flame, "frost": draw_frost, "spark": draw_spark, "shadow": draw_shadow,
    "heart": draw_heart, "code": draw_code, "rainbow": draw_rainbow,
}  # fmt: skip


# -- trails: one frame after the other, until nothing is left


def draw_sparkle_trail(g: Grid, s: float) -> None:
    size = 4 * (1 - s)
    g.draw_line(6 - size, 6, 6 + size, 6, "fff3b0")
    g.draw_line(6, 6 - size, 6, 6 + size, "fff3b0")
    g.put(6, 6, "ffffff")


def draw_ember_trail(g: Grid, s: float) -> None:
    g.fill_polygon([(6 - 3 * (1 - s), 9), (6 + 3 * (1 - s), 9), (6, 2 + s * 5)], "ff9d3b" if s < 0.5 else "b0382a")
    g.put(6, 8, "ffe36e")


def draw_ice_trail(g: Grid, s: float) -> None:
    size = 4 * (1 - s * 0.8)
    g.fill_polygon([(6, 6 - size), (6 + size * 0.6, 6), (6, 6 + size), (6 - size * 0.6, 6)], "bfefff")
    g.draw_line(6, 6 - size, 6, 6, "ffffff")


def draw_petals_trail(g: Grid, s: float) -> None:
    turn = s * 0.6
    for number in range(4):
        at = turn + number / 4
        reach = 2.4 * (1 - s * 0.7)
        g.fill_ellipse(
            6 + math.cos(at * math.tau) * reach,
            6 + math.sin(at * math.tau) * reach,
            1.6 * (1 - s),
            1.6 * (1 - s),
            "ff9abf",
        )
    g.put(6, 6, "ffe36e")


def draw_pixel_trail(g: Grid, s: float) -> None:
    for number, (x, y) in enumerate(((2, 2), (6, 1), (3, 6), (7, 6), (5, 4))):
        if number < 5 * (1 - s):
            g.fill_rect(x, y, 3, 3, _RAINBOW[(number + int(s * 8)) % 6])


def draw_rainbow_trail(g: Grid, s: float) -> None:
    for number, colour in enumerate(_RAINBOW):
        g.fill_rect(0, 1 + number * 1.6 + swing(s, 1) * 0.8, 12 * (1 - s * 0.4), 2, colour)


TRAILS: dict[str, Callable[[Grid, float], None]] = {
    "sparkle": draw_sparkle_trail, "ember": draw_ember_trail, "ice": draw_ice_trail, "petals": draw_petals_trail,
    "pixel": draw_pixel_trail, "rainbow": draw_rainbow_trail,
}  # fmt: skip


def draw_strip(kinds: dict[str, Callable[[Grid, float], None]], size: int) -> Grid:
    """Draw a row of frames for each kind."""
    sheet = Grid(FRAMES * size, len(kinds) * size)
    for row, draw in enumerate(kinds.values()):
        for number in range(FRAMES):
            cell = Grid(size, size)
            draw(cell, number / FRAMES)
            sheet.paste(cell, number * size, row * size)
    return sheet


def draw_aura_sheet() -> Grid:
    return draw_strip(AURAS, AURA)


def draw_trail_sheet() -> Grid:
    return draw_strip(TRAILS, TRAIL)
