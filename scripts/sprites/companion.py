"""The companions that stand for sub-agents: sprouts of 16x16 pixels with the same animations as the hero."""

from __future__ import annotations

import math

from sprites.colours import CYAN, WHITE, YELLOW
from sprites.grid import Grid
from sprites.hero import COLUMNS
from sprites.poses import POSES, ease, swing
from sprites.puppet import draw_star

SIZE = 16
BODY, BODY_SHADE, BODY_LIGHT = "58c46a", "34894c", "9be89a"
LEAF, LEAF_SHADE = "ffd65a", "d99a2b"
CHEEK, EYE = "ef8a96", "23182f"
BLADE, PAPER, BLANKET = "dfe8f2", "fbf3dc", "4e72b8"


def draw_body(grid: Grid, x: float, y: float, squash: float = 0, look: str = "open", lean: float = 0) -> None:
    """Draw a sprout that stands at a place; squashed, it is wider and lower."""
    body = Grid(SIZE, SIZE)
    rx, ry = 4.2 + squash * 0.7, 3.9 - squash
    middle = y - ry
    body.fill_rect(x - 3, y, 2, 1, BODY_SHADE)
    body.fill_rect(x + 1, y, 2, 1, BODY_SHADE)
    body.fill_ellipse(x, middle, rx, ry, BODY)
    body.fill_ellipse(x - 0.6, middle + 1.6, rx - 1, ry - 2, BODY_SHADE)
    body.fill_ellipse(x + 0.6, middle + 0.2, rx - 1.2, ry - 1, BODY)
    body.fill_rect(x - 2, middle - ry + 1, 3, 1, BODY_LIGHT)
    top = middle - ry
    body.draw_line(x + lean * 0.4, top, x + lean, top - 2, BODY_SHADE)
    body.fill_rect(x + lean, top - 3, 3, 2, LEAF)
    body.fill_rect(x + lean - 2, top - 3, 2, 1, LEAF_SHADE)
    body.add_outline()
    grid.paste(body)
    for eye in (x, x + 3):
        draw_small_eye(grid, eye, middle, look)
    grid.put(x - 1.4, middle + 2, CHEEK)


def draw_small_eye(grid: Grid, x: float, y: float, look: str) -> None:
    if look == "closed":
        grid.put(x, y + 1, EYE)
    elif look == "happy":
        grid.put(x, y, EYE)
        grid.put(x - 1, y + 1, EYE)
    elif look == "cross":
        grid.fill_rect(x - 1, y, 2, 2, EYE)
        grid.put(x - 1, y, WHITE)
        grid.put(x, y + 1, WHITE)
    else:
        grid.fill_rect(x, y - (1 if look == "up" else 0), 1, 2, EYE)


def draw_frame(name: str, s: float) -> Grid:
    """Draw a companion at a share of an animation."""
    grid = Grid(SIZE, SIZE)
    if name in ("idle", "thinking"):
        draw_body(
            grid,
            7,
            14,
            0.4 + 0.4 * swing(s),
            "up" if name == "thinking" else "closed" if 0.5 < s < 0.6 else "open",
            swing(s),
        )
    elif name == "walk":
        hop = abs(swing(s))
        draw_body(grid, 7, 14 - hop * 3, 0.9 * (1 - hop) if hop < 0.4 else -0.3, "open", -hop)
    elif name == "enter":
        grow = ease(s, 0.15, 0.7)
        draw_body(grid, 7, 14 - 4 * max(0.0, swing(s, 0.5)) * grow, 1.8 * (1 - grow), "happy" if s > 0.6 else "open")
    elif name == "poof":
        draw_cloud(grid, s)
    elif name == "hurt":
        shake = (1 if int(s * 16) % 2 else -1) * (1 - s)
        draw_body(grid, 7 + shake, 14 - 2 * max(0.0, swing(s, 0.5)), 0.6, "cross", -2)
    elif name in ("victory", "pose"):
        hop = abs(swing(s, 1))
        draw_body(grid, 7, 14 - hop * 4, 0.5 - hop, "happy", swing(s, 2))
    elif name == "rest":
        draw_body(grid, 7, 15, 1.2 + 0.4 * swing(s), "closed")
        grid.fill_rect(2, 13, 11, 2, BLANKET)
    elif name == "waiting":
        hop = max(0.0, swing(s, 2))
        draw_body(grid, 6, 14 - hop * 3, 0.3, "open", swing(s, 4))
    else:
        draw_body(grid, 6, 14, 0.3 + 0.3 * swing(s, 2), "open", swing(s, 2))
    draw_work(grid, name, s)
    return grid


def draw_work(grid: Grid, name: str, s: float) -> None:
    """Draw what a companion holds."""
    if name == "casting":
        for number in range(4):
            turn = s + number / 4
            grid.put(
                12 + math.cos(turn * math.tau) * 2.4, 6 + math.sin(turn * math.tau) * 2.4, (CYAN, WHITE)[number % 2]
            )
        grid.put(12, 6, WHITE)
    elif name == "attack":
        turn = math.radians(120 - 150 * ease(s, 0.2, 0.5) * (1 - ease(s, 0.7, 1)))
        grid.draw_line(10, 10, 10 + math.cos(turn) * 5, 10 - math.sin(turn) * 5, BLADE)
        grid.put(10, 10, YELLOW)
    elif name == "writing":
        grid.fill_rect(10, 10, 5, 4, PAPER)
        for line in range(3):
            if s * 4 > line:
                grid.draw_line(11, 11 + line, 11 + min(2, int(s * 12) - line * 3), 11 + line, "6a5a86")
    elif name == "waiting":
        lift = 1 if int(s * 10) % 2 else 0
        grid.fill_rect(12, 2 - lift, 2, 5, YELLOW)
        grid.fill_rect(12, 8 - lift, 2, 2, YELLOW)
    elif name == "thinking":
        for number in range(3):
            if int(s * 6) % 4 > number:
                grid.put(10 + number * 2, 3 - number % 2, WHITE)


def draw_cloud(grid: Grid, s: float) -> None:
    if s < 0.3:
        draw_body(grid, 7, 14, s * 3, "closed")
    grow = ease(s, 0, 0.35) * (1 - ease(s, 0.4, 0.95))
    cloud = Grid(SIZE, SIZE)
    for dx, dy, size in ((-3, 2, 2.6), (3, 2, 2.4), (0, -2, 3.0), (-1, 1, 3.2)):
        if size * grow > 0.7:
            cloud.fill_ellipse(
                7 + dx * (0.6 + s), 9 + dy - s * 3, size * grow, size * grow, "e8e4f4" if dy < 1 else "c9c2e0"
            )
    cloud.add_outline("8f86b4")
    grid.paste(cloud)
    if s > 0.3:
        for turn in (0.1, 0.45, 0.8):
            draw_star(grid, 7 + math.cos(turn * math.tau) * s * 7, 8 + math.sin(turn * math.tau) * s * 6)


def draw_sheet() -> Grid:
    """Draw all frames; rows and columns are those of the hero."""
    sheet = Grid(COLUMNS * SIZE, len(POSES) * SIZE)
    for row, (name, (count, _)) in enumerate(POSES.items()):
        for number in range(count):
            sheet.paste(draw_frame(name, number / count), number * SIZE, row * SIZE)
    return sheet
