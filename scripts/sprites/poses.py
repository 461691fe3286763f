"""How the hero stands in each frame: from the share of an animation that has passed to a pose."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Pose:
    """How the puppet stands in one frame."""

    x: float = 0
    y: float = 0
    lean: float = 0
    """How far the head is ahead of the feet."""
    head: float = 0
    """How far the head nods down."""
    front: tuple[float, float] = (0, 0)
    """The front foot: forward, and up."""
    back: tuple[float, float] = (0, 0)
    hand: tuple[float, float] = (3, 4)
    """The front hand from the shoulder: forward, and down."""
    off_hand: tuple[float, float] = (-2, 4)
    cape: float = 0
    eyes: str = "open"
    mouth: str = ""
    prop: str = ""
    angle: float = 0
    """The direction of the prop in degrees; 0 is ahead, 90 is up."""
    glow: float = 0
    share: float = 0
    """How far the animation has come, from 0 to 1."""


def swing(share: float, turns: float = 1, offset: float = 0) -> float:
    return math.sin((share * turns + offset) * math.tau)


def ease(share: float, start: float, end: float) -> float:
    """Return 0 before a span, 1 after it, and a smooth rise within it."""
    value = min(1.0, max(0.0, (share - start) / (end - start)))
    return value * value * (3 - 2 * value)


# -- animations: from the share of the animation that has passed to a pose


def pose_idle(s: float) -> Pose:
    blinks = 0.55 < s < 0.66
    return Pose(
        y=swing(s) * 0.6 + 0.5,
        head=swing(s, offset=-0.1) * 0.5,
        cape=swing(s, offset=0.2) * 0.8,
        hand=(3, 4 + swing(s) * 0.5),
        eyes="closed" if blinks else "open",
        mouth="smile",
    )


def pose_enter(s: float) -> Pose:
    fall = ease(s, 0, 0.4)
    land = ease(s, 0.4, 0.5) - ease(s, 0.55, 0.75)
    wave = ease(s, 0.65, 0.75)
    return Pose(
        y=-22 * (1 - fall) ** 1.5 + land * 2.5,
        head=land * 1.5,
        front=(2 + land, 2 * (1 - fall)),
        back=(-2 - land, 3 * (1 - fall)),
        hand=(4, 4) if not wave else (4 + 3 * wave + swing(s, 5) * 1.6, 4 - 12 * wave),
        cape=-3 * (1 - fall) + land,
        mouth="smile" if wave else "",
        glow=1 - ease(s, 0.3, 0.7),
    )


def pose_walk(s: float) -> Pose:
    stride = swing(s)
    return Pose(
        y=-abs(swing(s, 1, 0.25)) * 1.2 + 0.6,
        lean=0.6,
        front=(stride * 3.4, max(0.0, swing(s, 1, 0.25)) * 2.2),
        back=(-stride * 3.4, max(0.0, swing(s, 1, 0.75)) * 2.2),
        hand=(2 - stride * 2.4, 4 - abs(stride) * 0.6),
        off_hand=(-1 + stride * 2.4, 4 - abs(stride) * 0.6),
        cape=1.5 + swing(s, 2) * 0.9,
        mouth="smile",
    )


def pose_casting(s: float) -> Pose:
    up = ease(s, 0, 0.25) - ease(s, 0.85, 1)
    return Pose(
        y=-up * 1.2 + swing(s, 2) * 0.4,
        head=-up,
        hand=(5 + up * 1.5, 3 - up * 6),
        off_hand=(1 + up * 2, 3 - up * 2),
        cape=up * 2 + swing(s, 3) * 0.6,
        prop="staff",
        angle=60 + up * 28,
        glow=up,
        eyes="closed" if 0.3 < s < 0.45 else "open",
        mouth="open" if up > 0.6 else "",
    )


def pose_attack(s: float) -> Pose:
    wind, cut = ease(s, 0, 0.3), ease(s, 0.34, 0.5)
    back = ease(s, 0.72, 1)
    return Pose(
        x=(-3 * wind + 2 * cut) * (1 - back),
        y=-1.5 * wind * (1 - cut),
        lean=(-1 * wind + 3 * cut) * (1 - back),
        front=((2 + 2 * cut) * (1 - back), 1.5 * wind * (1 - cut)),
        back=((-2 - 2 * cut) * (1 - back), 0),
        hand=(3 - 5 * wind * (1 - cut) + 2 * cut * (1 - back), 4 - 9 * wind * (1 - cut) * (1 - back)),
        cape=-1 + 4 * cut * (1 - back),
        prop="sword",
        angle=60 + 75 * wind - 150 * cut * (1 - back * 0.5),
        glow=cut * (1 - ease(s, 0.5, 0.7)),
        eyes="angry",
        mouth="open" if cut > 0 and s < 0.7 else "",
    )


def pose_writing(s: float) -> Pose:
    stroke = swing(s, 4)
    return Pose(
        y=0.6 + swing(s) * 0.3,
        head=1.2 + stroke * 0.3,
        lean=0.6,
        hand=(5 + stroke * 1.3, 3 + abs(swing(s, 8)) * 0.8),
        off_hand=(5, 5),
        prop="book",
        angle=70 + stroke * 12,
        eyes="down",
        glow=0.5 + 0.5 * swing(s, 2),
    )


def pose_thinking(s: float) -> Pose:
    return Pose(
        y=0.5 + swing(s) * 0.4,
        head=-0.6 + swing(s) * 0.4,
        hand=(4.5, -1.5 + swing(s, 2) * 0.5),
        off_hand=(2, 4),
        cape=swing(s) * 0.5,
        eyes="up",
        prop="dots",
    )


def pose_hurt(s: float) -> Pose:
    hit = 1 - ease(s, 0.25, 1)
    shake = (1 if int(s * 16) % 2 else -1) * hit
    return Pose(
        x=-4 * hit + shake,
        y=-2 * max(0.0, swing(s, 0.5)) * hit,
        lean=-2.4 * hit,
        head=hit,
        front=(2 * hit, 2.5 * hit),
        back=(-2 * hit, 0),
        hand=(3 + 2 * hit, 4 - 6 * hit),
        off_hand=(-3 - 2 * hit, 3 - 4 * hit),
        cape=-2.5 * hit,
        eyes="cross" if s < 0.8 else "closed",
        mouth="open",
        glow=hit,
    )


def pose_victory(s: float) -> Pose:
    jump = max(0.0, swing(s, 1, 0)) if s < 0.5 else max(0.0, swing(s, 1, 0.5)) * 0.7
    return Pose(
        y=-3.5 * jump + (1.5 if jump < 0.1 else 0.5),
        head=-1,
        front=(1.5, 2 * jump),
        back=(-1.5, 3 * jump),
        hand=(6.5, -7),
        off_hand=(-4, -3 - 3 * jump),
        cape=-1 - jump * 2,
        prop="sword",
        angle=80 + swing(s, 2) * 10,
        glow=1,
        eyes="happy",
        mouth="open",
    )


def pose_triumph(s: float) -> Pose:
    up = ease(s, 0, 0.2)
    return Pose(
        y=0.4 * swing(s, 2),
        head=-up,
        lean=-0.4 * up,
        front=(3 * up, 0),
        back=(-3 * up, 0),
        hand=(3 + 3 * up, 4 - 11 * up),
        off_hand=(-4 * up, 4 - 1 * up),
        cape=2 * up + swing(s, 3) * 1.4,
        prop="flag",
        angle=88 + swing(s, 1) * 4,
        eyes="happy",
        mouth="open",
        glow=up,
    )


def pose_waiting(s: float) -> Pose:
    hop = max(0.0, swing(s, 2)) if s < 0.5 else 0
    wave = swing(s, 5)
    return Pose(
        y=-3 * hop,
        head=-0.5,
        front=(1, 1.5 * hop),
        back=(-1, 1.5 * hop),
        hand=(7 + wave * 2, -9),
        off_hand=(-3, 2),
        cape=swing(s, 2) * 0.8,
        eyes="open" if s < 0.9 else "closed",
        mouth="open" if hop else "smile",
    )


POSES: Mapping[str, tuple[int, Callable[[float], Pose]]] = {
    "idle": (16, pose_idle),
    "enter": (20, pose_enter),
    "walk": (16, pose_walk),
    "casting": (16, pose_casting),
    "attack": (16, pose_attack),
    "writing": (16, pose_writing),
    "thinking": (16, pose_thinking),
    "hurt": (16, pose_hurt),
    "victory": (20, pose_victory),
    "pose": (20, pose_triumph),
    "rest": (20, pose_idle),
    "waiting": (20, pose_waiting),
    "poof": (16, pose_idle),
}
"""Frames and poses of each animation, in the order of the rows of the sheet."""
