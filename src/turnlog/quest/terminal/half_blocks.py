"""Turns pixels into lines of half blocks: each character shows two pixels, one above the other."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from turnlog.quest.terminal.scene import SceneCaption
from turnlog.quest.terminal.sprites import Pixels
from turnlog.render.terminal import measure_width

_RESET = "\x1b[0m"
_MAX_ABOVE, _MAX_BESIDE = 24, 12
"""Captions that are at most this far outside the picture move into it."""
_CUBE_STEPS = (0, 95, 135, 175, 215, 255)


class _Cell:
    """A letter of a caption."""

    __slots__ = ("char", "colour")

    def __init__(self, char: str, colour: int) -> None:
        self.char, self.colour = char, colour


def render_half_blocks(pixels: Pixels, captions: Sequence[SceneCaption] = (), *, true_colour: bool = True) -> list[str]:
    """Render an even number of rows of pixels; captions are written over them."""
    letters = _place_letters(captions, len(pixels) // 2, len(pixels[0]) if pixels else 0)
    return [
        _render_row(pixels[2 * row], pixels[2 * row + 1], letters.get(row, {}), true_colour=true_colour)
        for row in range(len(pixels) // 2)
    ]


def _place_letters(captions: Sequence[SceneCaption], rows: int, columns: int) -> dict[int, dict[int, _Cell]]:
    """Find the cell of each letter; a caption moves inside the picture if it would not fit."""
    placed: dict[int, dict[int, _Cell]] = {}
    for caption in captions:
        text = "".join(map(_to_cell_char, filter(str.isprintable, caption.text)))[:columns]
        row = max(caption.y // 2, 0)
        if caption.y < -_MAX_ABOVE or row >= rows or not -_MAX_BESIDE < caption.x < columns + _MAX_BESIDE:
            continue
        left = max(0, min(caption.x - len(text) // 2, columns - len(text)))
        for column, char in enumerate(text, left):
            placed.setdefault(row, {})[column] = _Cell(char, caption.colour)
    return placed


def _render_row(upper: list[int], lower: list[int], letters: dict[int, _Cell], *, true_colour: bool) -> str:
    parts: list[str] = []
    before: tuple[int, int] | None = None
    for column, (above, below) in enumerate(zip(upper, lower, strict=True)):
        letter = letters.get(column)
        fore, back, char = (above, below, "▀") if letter is None else (letter.colour, _darken(below), letter.char)
        if letter is None and above == below:
            char = " "
            fore = before[0] if before else above
        if (fore, back) != before:
            parts.append(_select_colours(fore, back, true_colour=true_colour))
            before = fore, back
        parts.append(char)
    return "".join(parts) + _RESET


def _to_cell_char(char: str) -> str:
    """Return a character that takes exactly one cell."""
    return char if measure_width(char) == 1 else "?"


def _darken(colour: int) -> int:
    return colour >> 1 & 0x7F7F7F


@lru_cache(8192)
def _select_colours(fore: int, back: int, *, true_colour: bool) -> str:
    if not true_colour:
        return f"\x1b[38;5;{to_cube_colour(fore)};48;5;{to_cube_colour(back)}m"
    front = f"{fore >> 16};{fore >> 8 & 0xFF};{fore & 0xFF}"
    return f"\x1b[38;2;{front};48;2;{back >> 16};{back >> 8 & 0xFF};{back & 0xFF}m"


def to_cube_colour(colour: int) -> int:
    """Return the nearest of the 216 colours of terminals without true colour."""
    parts = (colour >> 16, colour >> 8 & 0xFF, colour & 0xFF)
    red, green, blue = (
        min(range(6), key=lambda step, part=part: abs(_CUBE_STEPS[step] - part))  # type: ignore[misc]
        for part in parts
    )
    return 16 + 36 * red + 6 * green + blue
