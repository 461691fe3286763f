"""Sixteen hats, each in a cell of 24x20 pixels whose point (12, 15) lies on the hairline."""

from __future__ import annotations

from collections.abc import Callable

from sprites.grid import Grid

WIDTH, HEIGHT = 24, 20


def draw_wizard(g: Grid) -> None:
    g.fill_polygon([(6, 13), (18, 13), (14, 6), (10, 1), (8, 1), (9, 5)], "4b3fb0")
    g.draw_line(15, 12, 12, 5, "6f62dc", 2)
    g.fill_polygon([(3, 14), (21, 14), (19, 16), (5, 16)], "3a2f90")
    g.fill_rect(6, 12, 12, 1, "f5c542")
    for x, y in ((10, 8), (13, 10), (9, 4)):
        g.put(x, y, "ffe36e")


def draw_party(g: Grid) -> None:
    g.fill_polygon([(7, 15), (17, 15), (12, 2)], "ef5a8f")
    for y, colour in ((13, "ffe36e"), (10, "7ef2ff"), (7, "8be07a")):
        g.draw_line(12 - (y - 2) * 0.38, y, 12 + (y - 2) * 0.38, y - 1, colour)
    g.fill_ellipse(12, 2, 1.6, 1.6, "ffffff")


def draw_headphones(g: Grid) -> None:
    for x in range(5, 20):
        y = 9 + ((x - 12) ** 2) * 0.09
        g.fill_rect(x, y, 1, 2, "3a3f4e")
    for x in (4, 18):
        g.fill_rect(x, 14, 3, 5, "e8505b")
        g.fill_rect(x, 14, 1, 5, "ff8a90")


def draw_beret(g: Grid) -> None:
    g.fill_ellipse(10, 12, 8, 3, "b03048")
    g.fill_ellipse(8, 11, 5, 1.6, "d84a62")
    g.fill_rect(7, 14, 11, 2, "7a1f33")
    g.fill_rect(10, 7, 2, 2, "7a1f33")


def draw_tophat(g: Grid) -> None:
    g.fill_rect(7, 3, 11, 11, "2b2b3a")
    g.fill_rect(8, 4, 2, 9, "4a4a62")
    g.fill_rect(7, 11, 11, 2, "c8364a")
    g.fill_rect(4, 14, 17, 2, "1e1e2a")


def draw_laurel(g: Grid) -> None:
    for x in range(5, 20, 2):
        y = 11 + abs(12 - x) * 0.35
        g.fill_polygon([(x, y), (x + 1, y - 3), (x + 2, y)], "5fae4a")
        g.put(x, y + 1, "3b7a34")
        g.put(x + 1, y - 2, "a6e07a")
    g.fill_rect(11, 12, 2, 2, "f5c542")


def draw_catears(g: Grid) -> None:
    for x, inner in ((5, 7), (15, 16)):
        g.fill_polygon([(x, 14), (x + 5, 13), (x + 2, 6)], "3f3a4f")
        g.fill_polygon([(inner, 13), (inner + 2, 12), (inner, 9)], "f29ab0")
    g.draw_line(7, 13, 18, 13, "3f3a4f", 2)


def draw_crown(g: Grid) -> None:
    g.fill_polygon([(6, 15), (18, 15), (19, 7), (15, 11), (12, 5), (9, 11), (5, 7)], "f5c542")
    g.fill_rect(6, 13, 13, 2, "c8932a")
    g.fill_rect(11, 10, 2, 3, "ff4d57")
    for x, y in ((5, 6), (12, 4), (19, 6)):
        g.put(x, y, "ffffff")
    g.put(8, 13, "7ef2ff")
    g.put(16, 13, "7ef2ff")


def draw_propeller(g: Grid) -> None:
    g.fill_ellipse(12, 14, 7, 4, "3a86d8")
    g.fill_polygon([(10, 10), (14, 10), (16, 15), (8, 15)], "ffd23f")
    g.fill_rect(17, 15, 5, 1, "ff4d57")
    g.fill_rect(11, 7, 2, 3, "c8364a")
    g.fill_rect(4, 6, 8, 2, "8be07a")
    g.fill_rect(12, 5, 8, 2, "ff7ab0")


def draw_pirate(g: Grid) -> None:
    g.fill_polygon([(2, 15), (22, 15), (20, 10), (16, 6), (8, 6), (4, 10)], "26222f")
    g.draw_line(3, 14, 21, 14, "e8c35a")
    g.fill_ellipse(12, 9, 2, 2, "ffffff")
    g.fill_rect(11, 11, 3, 1, "ffffff")
    g.put(11, 9, "26222f")
    g.put(13, 9, "26222f")


def draw_horned(g: Grid) -> None:
    g.fill_ellipse(12, 13, 7, 4.5, "9aa6b8")
    g.fill_rect(11, 8, 2, 8, "6b7789")
    g.fill_rect(5, 15, 14, 2, "c9a14a")
    for x, tip in ((5, 1), (19, 23)):
        g.fill_polygon([(x - 1, 14), (x + 1, 11), (tip, 4), ((x + tip) / 2 + (1 if tip > x else -1), 11)], "f6ead0")


def draw_chef(g: Grid) -> None:
    for x, y, r in ((8, 6, 4), (16, 6, 4), (12, 4, 4.4)):
        g.fill_ellipse(x, y, r, r - 0.6, "ffffff")
    g.fill_rect(7, 8, 11, 7, "f2f2f8")
    g.fill_rect(7, 13, 11, 2, "c8ccda")
    for x in (9, 12, 15):
        g.draw_line(x, 9, x, 12, "d9dce6")


def draw_halo(g: Grid) -> None:
    for x in range(5, 20):
        rise = (1 - ((x - 12) / 7.5) ** 2) ** 0.5 * 2.4
        g.put(x, 6 - rise, "fff3b0")
        g.put(x, 6 + rise, "f5c542")
        g.put(x, 7 + rise, "f5c542")


def draw_jester(g: Grid) -> None:
    g.fill_polygon([(6, 15), (12, 15), (11, 8), (4, 5), (1, 10), (5, 10)], "c8364a")
    g.fill_polygon([(12, 15), (18, 15), (19, 10), (23, 10), (20, 5), (13, 8)], "3a86d8")
    g.fill_polygon([(9, 11), (15, 11), (12, 1)], "f5c542")
    for x, y in ((1, 11), (23, 11), (12, 1)):
        g.fill_rect(x - 1, y - 1, 2, 2, "ffffff")


def draw_cowboy(g: Grid) -> None:
    g.fill_polygon([(7, 14), (18, 14), (17, 6), (13, 7), (12, 8), (11, 7), (8, 6)], "8b5e34")
    g.draw_line(9, 8, 9, 12, "ab7a48", 2)
    g.fill_polygon([(1, 12), (6, 15), (18, 15), (23, 12), (20, 17), (4, 17)], "6e4826")
    g.fill_rect(7, 12, 11, 2, "2b1a10")


def draw_mushroom(g: Grid) -> None:
    g.fill_ellipse(12, 9, 9, 6.4, "d83a3a")
    g.fill_rect(3, 12, 19, 4, "")
    g.fill_ellipse(12, 13, 9, 1.6, "f2dcc0")
    for x, y, r in ((7, 8, 1.6), (13, 6, 2), (18, 10, 1.4)):
        g.fill_ellipse(x, y, r, r, "ffffff")


HATS: dict[str, Callable[[Grid], None]] = {
    "wizard": draw_wizard,
    "party": draw_party,
    "headphones": draw_headphones,
    "beret": draw_beret,
    "tophat": draw_tophat,
    "laurel": draw_laurel,
    "catears": draw_catears,
    "crown": draw_crown,
    "propeller": draw_propeller,
    "pirate": draw_pirate,
    "horned": draw_horned,
    "chef": draw_chef,
    "halo": draw_halo,
    "jester": draw_jester,
    "cowboy": draw_cowboy,
    "mushroom": draw_mushroom,
}


def draw_sheet() -> Grid:
    sheet = Grid(len(HATS) * WIDTH, HEIGHT)
    for column, draw in enumerate(HATS.values()):
        cell = Grid(WIDTH, HEIGHT)
        draw(cell)
        cell.add_outline()
        sheet.paste(cell, column * WIDTH, 0)
    return sheet
