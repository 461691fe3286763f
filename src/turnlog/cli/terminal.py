"""The terminal that standard output may be; how texts are written to one is told in `turnlog.render.terminal`."""

from __future__ import annotations

import os
import sys

from turnlog.render.terminal import STYLES, Screen, cut, first_lines, line, lines, pad, visible, width

__all__ = [
    "STYLES",
    "Screen",
    "cut",
    "first_lines",
    "line",
    "lines",
    "on_terminal",
    "pad",
    "screen",
    "visible",
    "width",
]


def screen(color: bool | None = None) -> Screen:
    """What standard output is; `color` is what the user chose, None leaves it to the terminal."""
    if not on_terminal():
        return Screen(color=bool(color))
    import shutil

    if color is None:
        color = os.environ.get("TERM") != "dumb"
    if color and os.name == "nt":
        os.system("")  # old consoles understand colours only after this
    return Screen(color, shutil.get_terminal_size().columns)


def on_terminal() -> bool:
    """Whether somebody watches standard output."""
    return sys.stdout is not None and sys.stdout.isatty()
