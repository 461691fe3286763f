"""The terminal behind standard output; `turnlog.render.terminal` escapes text for it."""

from __future__ import annotations

import os
import sys

from turnlog.render.terminal import (
    STYLE_CODES,
    TerminalScreen,
    cut_to_cells,
    make_visible,
    measure_width,
    pad_to_cells,
    spell_unstyled_controls,
    take_first_lines,
    to_visible_line,
    to_visible_lines,
)

__all__ = [
    "STYLE_CODES",
    "TerminalScreen",
    "cut_to_cells",
    "detect_screen",
    "is_on_terminal",
    "make_visible",
    "measure_width",
    "pad_to_cells",
    "spell_unstyled_controls",
    "take_first_lines",
    "to_visible_line",
    "to_visible_lines",
]


def detect_screen(color: bool | None = None) -> TerminalScreen:
    """Detect the width and colours of standard output; `color` is the user's choice, or None to detect it."""
    if not is_on_terminal():
        return TerminalScreen(color=bool(color))
    import shutil

    if color is None:
        color = os.environ.get("TERM") != "dumb" and not os.environ.get("NO_COLOR")
    if color and os.name == "nt":
        os.system("")  # old consoles support colours only after this
    return TerminalScreen(color, shutil.get_terminal_size().columns)


def is_on_terminal() -> bool:
    return sys.stdout is not None and sys.stdout.isatty()
