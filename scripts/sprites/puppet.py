"""The hero as a puppet of 32x32 pixels, drawn in a pose."""

from __future__ import annotations

import math
from collections.abc import Callable

from sprites.colours import (
    BLUSH,
    BOOT,
    BOOT_SHADE,
    CAPE,
    CAPE_LIGHT,
    CAPE_SHADE,
    COVER,
    CYAN,
    CYAN_SHADE,
    EYE,
    GOLD,
    HAIR,
    HAIR_LIGHT,
    HAIR_SHADE,
    PAPER,
    PAPER_SHADE,
    RED,
    SKIN,
    SKIN_SHADE,
    STEEL,
    STEEL_SHADE,
    TUNIC,
    TUNIC_LIGHT,
    TUNIC_SHADE,
    WHITE,
    WOOD,
    YELLOW,
)
from sprites.grid import Grid
from sprites.poses import Pose, swing

SIZE = 32


class Frame:
    """A grid with the puppet on it, and where its head is."""

    def __init__(self, pose: Pose) -> None:
        self.grid = Grid(SIZE, SIZE)
        self.pose = pose
        self.foot = 30.0
        self.hip = (14.5 + pose.x, 24.0 + pose.y)
        self.shoulder = (14.5 + pose.x + pose.lean * 0.7, 18.0 + pose.y)
        self.neck = (15 + pose.x + pose.lean * 1.3, 10.4 + pose.y + pose.head)

    def draw(self) -> Grid:
        self.add_layer(self.draw_cape)
        self.add_layer(self.draw_off_arm)
        self.add_layer(self.draw_leg_back)
        self.add_layer(self.draw_leg_front)
        self.add_layer(self.draw_body)
        is_raised = self.pose.hand[1] < -2
        if is_raised:
            self.draw_front()
        self.add_layer(self.draw_head)
        self.draw_face()
        if not is_raised:
            self.draw_front()
        self.draw_glow()
        return self.grid

    def draw_front(self) -> None:
        if self.pose.prop:
            self.add_layer(self.draw_prop)
        self.add_layer(self.draw_arm)

    def add_layer(self, draw: Callable[[Grid], None]) -> None:
        layer = Grid(SIZE, SIZE)
        draw(layer)
        layer.add_outline()
        self.grid.paste(layer)

    def draw_cape(self, grid: Grid) -> None:
        (x, y), sway = self.shoulder, self.pose.cape
        bottom = min(self.foot - 1, y + 10.5)
        tail = x - 5.5 - sway * 1.7
        grid.fill_polygon(
            [(x - 3, y - 2), (x + 2, y - 2), (x + 1, bottom - 1), (tail + 2, bottom), (tail - 1, bottom - 1.5)], CAPE
        )
        grid.draw_line(x - 3, y, tail, bottom - 2, CAPE_LIGHT)
        grid.draw_line(x - 1, y + 2, tail + 4, bottom - 1, CAPE_SHADE, 2)

    def draw_leg_back(self, grid: Grid) -> None:
        self.draw_leg(grid, -2, self.pose.back, TUNIC_SHADE, BOOT_SHADE)

    def draw_leg_front(self, grid: Grid) -> None:
        self.draw_leg(grid, 2, self.pose.front, TUNIC_SHADE, BOOT)

    def draw_leg(self, grid: Grid, side: float, foot: tuple[float, float], cloth: str, boot: str) -> None:
        x, y = self.hip[0] + side * 0.8, self.hip[1]
        fx, fy = x + foot[0], self.foot - 1 - foot[1] + min(0.0, self.pose.y)
        grid.draw_line(x, y, (x + fx) / 2, (y + fy) / 2, cloth, 3)
        grid.draw_line((x + fx) / 2, (y + fy) / 2, fx, fy, boot, 3)
        grid.fill_rect(fx - 1, fy, 4, 2, boot)

    def draw_body(self, grid: Grid) -> None:
        (sx, sy), (hx, hy) = self.shoulder, self.hip
        grid.fill_polygon([(sx - 3.4, sy - 2), (sx + 3.4, sy - 2), (hx + 4.4, hy + 1), (hx - 4.4, hy + 1)], TUNIC)
        grid.draw_line(sx - 3, sy - 1, hx - 4, hy + 1, TUNIC_SHADE, 2)
        grid.draw_line(sx + 2, sy - 1, hx + 3, hy - 3, TUNIC_LIGHT)
        grid.fill_rect(hx - 4, hy - 2, 9, 2, BOOT_SHADE)
        grid.fill_rect(hx, hy - 2, 2, 2, GOLD)
        grid.draw_line(sx - 3, sy - 2, sx + 3, sy - 2, CAPE_LIGHT, 2)

    def draw_arm(self, grid: Grid) -> None:
        x, y = self.shoulder[0] + 1.5, self.shoulder[1] - 0.5
        hand = self.find_hand()
        grid.draw_line(x, y, (x + hand[0]) / 2, (y + hand[1]) / 2, TUNIC_LIGHT, 3)
        grid.draw_line((x + hand[0]) / 2, (y + hand[1]) / 2, *hand, TUNIC, 2)
        grid.fill_rect(hand[0] - 1, hand[1] - 1, 3, 3, SKIN)

    def draw_off_arm(self, grid: Grid) -> None:
        x, y = self.shoulder[0] - 2, self.shoulder[1] - 0.5
        hx, hy = x + self.pose.off_hand[0], y + self.pose.off_hand[1]
        grid.draw_line(x, y, hx, hy, TUNIC_SHADE, 2)
        grid.fill_rect(hx - 1, hy - 1, 2, 2, SKIN_SHADE)

    def find_hand(self) -> tuple[float, float]:
        return self.shoulder[0] + 1.5 + self.pose.hand[0], self.shoulder[1] - 0.5 + self.pose.hand[1]

    def draw_head(self, grid: Grid) -> None:
        x, y = self.neck
        grid.fill_ellipse(x, y, 6, 5.2, SKIN)
        grid.fill_ellipse(x - 0.6, y - 3, 6, 2.7, HAIR)
        grid.fill_ellipse(x - 4.8, y - 0.5, 1.9, 4, HAIR)
        grid.fill_polygon(
            [(x - 3, y - 2), (x + 6, y - 3), (x + 5, y - 1), (x + 3, y - 2), (x - 1, y - 0.4), (x - 3, y)], HAIR
        )
        grid.draw_line(x - 4, y - 4, x + 1, y - 5, HAIR_LIGHT)
        grid.draw_line(x - 6, y, x - 5, y + 3, HAIR_SHADE)
        grid.draw_line(x - 2, y + 5, x + 3, y + 5, SKIN_SHADE)
        grid.put(x - 3, y + 1, SKIN_SHADE)
        grid.put(x - 3, y + 2, SKIN_SHADE)

    def draw_face(self) -> None:
        x, y = self.neck
        grid = self.grid
        look = self.pose.eyes
        for eye in (x + 0.5, x + 4):
            draw_eye(grid, eye, y + 1, look)
        grid.put(x - 0.6, y + 3, BLUSH)
        grid.put(x + 5, y + 3, BLUSH)
        if self.pose.mouth == "open":
            grid.fill_rect(x + 2, y + 3, 2, 2, "8d2b3a")
        elif self.pose.mouth == "smile":
            grid.draw_line(x + 2, y + 3.6, x + 3, y + 3.6, "a85a4a")

    def draw_prop(self, grid: Grid) -> None:
        x, y = self.find_hand()
        ax, ay = math.cos(math.radians(self.pose.angle)), -math.sin(math.radians(self.pose.angle))
        if self.pose.prop == "sword":
            grid.draw_line(x + ax * 2, y + ay * 2, x + ax * 11, y + ay * 11, STEEL, 2)
            grid.draw_line(x + ax * 3, y + ay * 3 + 1, x + ax * 11, y + ay * 11 + 1, STEEL_SHADE)
            grid.draw_line(
                x + ax * 2 - ay * 2.5, y + ay * 2 + ax * 2.5, x + ax * 2 + ay * 2.5, y + ay * 2 - ax * 2.5, GOLD, 2
            )
            grid.draw_line(x - ax * 2, y - ay * 2, x, y, WOOD, 2)
        elif self.pose.prop == "staff":
            grid.draw_line(x - ax * 9, y - ay * 9, x + ax * 6, y + ay * 6, WOOD, 2)
            grid.fill_ellipse(x + ax * 8, y + ay * 8, 2.2, 2.2, CYAN)
            grid.put(x + ax * 8 - 1, y + ay * 8 - 1, WHITE)
            grid.put(x + ax * 8 + 1, y + ay * 8 + 1, CYAN_SHADE)
        elif self.pose.prop == "book":
            bx, by = self.shoulder[0] + 8, self.shoulder[1] + 5
            grid.fill_polygon([(bx - 5, by - 1), (bx + 5, by - 3), (bx + 6, by + 1), (bx - 4, by + 3)], COVER)
            grid.fill_polygon([(bx - 4, by - 2), (bx, by - 1), (bx, by + 1), (bx - 4, by + 1)], PAPER)
            grid.fill_polygon([(bx + 1, by - 2), (bx + 5, by - 4), (bx + 5, by - 1), (bx + 1, by + 1)], PAPER_SHADE)
            grid.draw_line(x + 1, y - 1, x + ax * 7 + 1, y + ay * 7 - 1, WHITE, 2)
        elif self.pose.prop == "flag":
            grid.draw_line(x - ax * 8, y - ay * 8, x + ax * 9, y + ay * 9, WOOD, 2)
            top = (x + ax * 9, y + ay * 9)
            sway = swing(self.pose.share, 2) * 1.5
            grid.fill_polygon(
                [
                    (top[0] + 1, top[1]),
                    (top[0] + 8, top[1] + 1 + sway),
                    (top[0] + 6, top[1] + 3 + sway / 2),
                    (top[0] + 8, top[1] + 5 + sway),
                    (top[0] + 1, top[1] + 6),
                ],
                YELLOW,
            )
            grid.fill_rect(top[0] + 3, top[1] + 2 + sway / 2, 2, 2, RED)

    def draw_glow(self) -> None:
        """Draw light over everything: sparks of the staff, the cut of the sword, ink, dust."""
        pose, grid = self.pose, self.grid
        if pose.glow <= 0.05:
            return
        x, y = self.find_hand()
        ax, ay = math.cos(math.radians(pose.angle)), -math.sin(math.radians(pose.angle))
        if pose.prop == "staff":
            for number in range(8):
                turn = pose.share * 1.5 + number / 8
                reach = (2 + 5 * ((pose.share * 3 + number * 0.37) % 1)) * pose.glow
                colour = (CYAN, WHITE, CYAN_SHADE)[number % 3]
                grid.put(
                    x + ax * 8 + math.cos(turn * math.tau) * reach,
                    y + ay * 8 + math.sin(turn * math.tau) * reach,
                    colour,
                )
        elif pose.prop == "sword" and pose.eyes == "angry":
            for number in range(26):
                turn = math.radians(115 - number * 6.4)
                reach = 12.5 - abs(number - 10) * 0.12
                colour = WHITE if number > 14 else STEEL if number > 7 else YELLOW
                for depth in range(max(1, number // 8)):
                    px, py = (
                        self.shoulder[0] + 3 + math.cos(turn) * (reach - depth),
                        self.shoulder[1] - math.sin(turn) * (reach - depth),
                    )
                    grid.put(px, py, colour)
        elif pose.eyes == "cross":
            for number in range(6):
                turn = number / 6 + 0.08
                reach = 6 + pose.share * 9
                grid.put(
                    self.neck[0] + math.cos(turn * math.tau) * reach,
                    self.neck[1] + math.sin(turn * math.tau) * reach,
                    YELLOW,
                )
        elif pose.eyes == "happy":
            for number in range(5):
                turn = number / 5 + pose.share * 0.5
                at = (16 + math.cos(turn * math.tau) * 13, 14 + math.sin(turn * math.tau) * 12)
                if (number + int(pose.share * 10)) % 2:
                    draw_star(grid, *at)
        elif pose.prop == "book":
            grid.put(x + 3, y + 2, CYAN_SHADE)


def draw_star(grid: Grid, x: float, y: float) -> None:
    for dx, dy in ((0, 0), (1, 0), (-1, 0), (0, 1), (0, -1)):
        grid.put(x + dx, y + dy, WHITE if not dx and not dy else YELLOW)


def draw_eye(grid: Grid, x: float, y: float, look: str) -> None:
    if look == "closed" or look == "down":
        grid.put(x, y + 1, EYE)
        grid.put(x - 1, y + 1, EYE)
    elif look == "happy":
        grid.put(x - 1, y + 1, EYE)
        grid.put(x, y, EYE)
        grid.put(x + 1, y + 1, EYE)
    elif look == "cross":
        for dx, dy in ((-1, -1), (0, 0), (1, 1), (1, -1), (-1, 1)):
            grid.put(x + dx * 0.8, y + dy * 0.8, EYE)
    else:
        top = y - (1 if look == "up" else 0)
        grid.fill_rect(x - 1, top, 2, 2, EYE)
        grid.fill_rect(x - 1, top + 2, 1 if look == "up" else 2, 1, EYE if look != "up" else SKIN)
        grid.put(x - 1 if look == "up" else x, top, WHITE)
        if look == "angry":
            grid.draw_line(x - 1.5, y - 2, x + 0.5, y - 1, EYE)
