"""Ten faces, each in a cell of 18x14 pixels whose point (8, 6) lies on the middle of the head."""

from __future__ import annotations

from sprites.grid import Grid

WIDTH, HEIGHT = 18, 14
_COLOURS = {
    "k": "1b1325", "b": "5f3019", "r": "e8364a", "w": "ffffff", "g": "f5c542", "c": "5ad8f0", "n": "c07a52",
    "d": "3a3f4e", "s": "b8bccb", "p": "e9e6f2", "o": "8b5e34", "y": "fff3b0", "m": "c9c4dc",
}  # fmt: skip
_ART: dict[str, tuple[int, int, tuple[str, ...]]] = {
    "mustache": (8, 9, ("b.bb.b", "bbbbbb")),
    "shades": (5, 6, ("kkkkkkkkk", ".kckkkcck", ".kkkk.kkk")),
    "monocle": (10, 5, (".ggg", "gccwg", "gcccg", ".ggg.", "...g", "....g", "...g")),
    "pipe": (11, 9, ("oo....", ".ooo.o", "..oooo", "...oo.")),
    "freckles": (6, 8, ("n.n..n.n", ".n....n.")),
    "eyepatch": (3, 3, ("kk......", "..kk....", "....kkkk", ".....kkk", ".....kkk", "......k.")),
    "glasses3d": (5, 6, ("wwwwwwwww", ".wrrwwccw", ".wrrw.ccw", ".www..www")),
    "clownnose": (11, 7, (".rr", "rwrr", "rrrr", ".rr")),
    "mask": (3, 7, ("dddddddddd", "sddddddddd", "dddddddddd", ".dddddddd.", "..dddddd..")),
    "beard": (5, 8, ("pp......pp", "pppp..pppp", "pppppppppp", ".mppppppm.", "..mppppm..", "...mppm...")),
}
"""Left, top and rows of each face."""
FACES = tuple(_ART)


def draw_sheet() -> Grid:
    sheet = Grid(len(_ART) * WIDTH, HEIGHT)
    for column, (left, top, rows) in enumerate(_ART.values()):
        sheet.draw_text(column * WIDTH + left - 1, top - 1, rows, _COLOURS)
    return sheet
