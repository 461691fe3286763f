"""The sheet of the hero: a row for each animation."""

from __future__ import annotations

import math
from dataclasses import replace

from sprites.colours import BLANKET, BLANKET_SHADE, CYAN, WHITE
from sprites.grid import Grid
from sprites.poses import POSES, ease, pose_idle, swing
from sprites.puppet import SIZE, Frame, draw_eye, draw_star


def draw_rest(s: float) -> Frame:
    """A camp: the hero sleeps in a blanket."""
    frame = Frame(replace(pose_idle(s), eyes="closed"))
    frame.neck = (8.0, 23.0)
    breath = 0.5 + 0.5 * swing(s)
    frame.add_layer(lambda grid: grid.fill_polygon([(1, 26), (15, 26), (15, 30), (0, 30)], "eef6ea"))
    frame.add_layer(frame.draw_head)
    draw_eye(frame.grid, 8.5, 24, "closed")
    draw_eye(frame.grid, 12, 24, "closed")
    frame.grid.put(10, 26, "a85a4a")
    frame.add_layer(lambda grid: draw_blanket(grid, breath))
    return frame


def draw_blanket(grid: Grid, breath: float) -> None:
    top = 22.5 - breath
    grid.fill_polygon([(14, top + 3), (18, top), (25, top + 1), (30, 27), (30, 30), (12, 30)], BLANKET)
    grid.draw_line(16, top + 2, 25, top + 1, "74c08d")
    for x in (18, 22, 26):
        grid.draw_line(x, top + 3, x + 1, 29, BLANKET_SHADE)
    grid.draw_line(14, top + 3, 12, 29, "eef6ea", 2)


def draw_poof(s: float) -> Frame:
    """The hero vanishes in a cloud."""
    frame = Frame(pose_idle(0))
    if s < 0.3:
        frame.draw()
    chances = ((-6, 4, 1.0), (5, 5, 0.9), (-3, -4, 1.1), (6, -3, 0.8), (0, 0, 1.3), (-7, -1, 0.7), (3, -8, 0.7))
    cloud = Grid(SIZE, SIZE)
    for dx, dy, size in chances:
        grow = ease(s, 0, 0.35) * (1 - ease(s, 0.45, 1))
        radius = 5.5 * size * grow
        if radius > 0.8:
            spread = 0.5 + s * 0.9
            cloud.fill_ellipse(
                16 + dx * spread, 19 + dy * spread - s * 5, radius, radius, "e8e4f4" if dy < 0 else "c9c2e0"
            )
    cloud.add_outline("8f86b4")
    frame.grid.paste(cloud)
    for number in range(6):
        turn = number / 6
        reach = 4 + s * 12
        if 0.2 < s < 0.95:
            draw_star(frame.grid, 16 + math.cos(turn * math.tau) * reach, 17 + math.sin(turn * math.tau) * reach * 0.8)
    return frame


def draw_frame(name: str, number: int) -> Frame:
    """Draw one frame of an animation."""
    count, pose = POSES[name]
    share = number / count
    if name == "rest":
        return draw_rest(share)
    if name == "poof":
        return draw_poof(share)
    frame = Frame(replace(pose(share), share=share))
    frame.draw()
    if name == "enter":
        draw_beam(frame.grid, frame.pose.glow, share)
    if name == "thinking":
        draw_dots(frame, share)
    return frame


def draw_beam(grid: Grid, glow: float, share: float) -> None:
    """Draw the light in which the hero comes down."""
    for y in range(SIZE):
        for x in range(8, 24):
            if not grid.rows[y][x] and (x * 5 + y * 3 + int(share * 20) * 7) % 16 < glow * 6 * (1 - abs(x - 15.5) / 9):
                grid.rows[y][x] = (CYAN, WHITE, "b8f7ff")[(x + y) % 3]


def draw_dots(frame: Frame, share: float) -> None:
    """Draw the small bubbles that lead up to a thought."""
    x, y = frame.neck
    for number, (dx, dy, size) in enumerate(((7, -4, 0.6), (9.5, -7, 1.0), (12.5, -10, 1.6))):
        if share * 4 > number * 0.6:
            frame.grid.fill_ellipse(x + dx, y + dy + swing(share, 1, number * 0.2) * 0.6, size, size, WHITE)


COLUMNS = 20


def draw_sheet() -> tuple[Grid, dict[str, list[list[int]]]]:
    """Draw all frames, a row an animation; also return the place of the head in each."""
    sheet = Grid(COLUMNS * SIZE, len(POSES) * SIZE)
    heads: dict[str, list[list[int]]] = {}
    for row, (name, (count, _)) in enumerate(POSES.items()):
        heads[name] = []
        for number in range(count):
            frame = draw_frame(name, number)
            sheet.paste(frame.grid, number * SIZE, row * SIZE)
            heads[name].append([math.floor(frame.neck[0] + 0.5), math.floor(frame.neck[1] + 0.5)])
    return sheet, heads
