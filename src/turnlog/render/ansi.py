"""Program output as HTML: colours become classes, and progress bars look as they do on a terminal.

Colours are reduced to the sixteen named ones, so that each is readable on light and dark backgrounds. All other escapes
are removed. Rendering takes one pass over the text, no matter how hostile it is.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

from markupsafe import Markup

from turnlog.render.html_escape import escape_text, escape_to_markup, normalise_line_ends

COLOUR_NAMES = ("black", "red", "green", "yellow", "blue", "magenta", "cyan", "white")
COLOURS = COLOUR_NAMES + tuple(f"bright-{name}" for name in COLOUR_NAMES)
# The colours of the terminal that most programs target.
_PALETTE = (
    (0, 0, 0), (205, 0, 0), (0, 205, 0), (205, 205, 0), (60, 60, 238), (205, 0, 205), (0, 205, 205), (229, 229, 229),
    (127, 127, 127), (255, 80, 80), (80, 255, 80), (255, 255, 80), (92, 92, 255), (255, 80, 255), (80, 255, 255),
    (255, 255, 255),
)  # fmt: skip
_ESCAPE = re.compile(
    "(?:\x1b\\[|\x9b)(?P<parameters>[0-?]*+)[ -/]*+(?P<final>[@-~]?)"
    # Titles, links, notifications: up to their end, which may be missing.
    "|(?:\x1b[\\]PX^_]|[\x90\x98\x9d-\x9f])[^\x07\x1b\x9c\n]*+(?:\x07|\x1b\\\\|\x9c)?"
    "|\x1b[ -/]*+[0-~]?"
)
_ACTIVE_CHARS = re.compile("[\x1b\r\b\x90\x98\x9b-\x9f]")
_CURSOR_MOVES = re.compile("[\r\b]|(?:\x1b\\[|\x9b)[0-9;]*+[CDGK]")
_STYLE_FLAGS = {1: "bold", 2: "dim", 3: "italic", 4: "underline", 7: "inverse", 9: "strike"}
_STYLE_ENDS = {22: ("bold", "dim"), 23: ("italic",), 24: ("underline",), 27: ("inverse",), 29: ("strike",)}
_MAX_CURSOR_COLUMN = 500
"""The furthest right that a cursor can move over empty cells."""


class AnsiStyle(NamedTuple):
    """The colours and flags of characters."""

    foreground: str = ""
    background: str = ""
    flags: frozenset[str] = frozenset()

    @property
    def classes(self) -> str:
        """The CSS classes of the style."""
        names = [f"ansi-{flag}" for flag in sorted(self.flags)]
        names += [f"fg-{self.foreground}"] if self.foreground else []
        names += [f"bg-{self.background}"] if self.background else []
        return " ".join(names)


PLAIN_STYLE = AnsiStyle()


_BLANK_CELL = (" ", PLAIN_STYLE)


class AnsiRun(NamedTuple):
    """A run of characters with the same style."""

    text: str
    style: AnsiStyle


def render_ansi(text: str, style: AnsiStyle = PLAIN_STYLE) -> tuple[Markup, AnsiStyle]:
    """Render text with ANSI escapes as HTML, starting in the given style; also return the style at the end."""
    text = normalise_line_ends(text)
    if style == PLAIN_STYLE and not _ACTIVE_CHARS.search(text):
        return escape_to_markup(text), style
    parts, style = split_ansi_runs(text, style)
    return Markup("".join(_render_run(run) for run in parts)), style


def strip_ansi(text: str) -> str:
    """Return the readable part of text with ANSI escapes."""
    text = normalise_line_ends(text)
    return "".join(run.text for run in split_ansi_runs(text)[0]) if _ACTIVE_CHARS.search(text) else text


def split_ansi_runs(text: str, style: AnsiStyle = PLAIN_STYLE) -> tuple[list[AnsiRun], AnsiStyle]:
    """Split text into runs of one style, merging equal neighbours; also return the style at the end."""
    runs: list[AnsiRun] = []
    waiting: list[str] = []
    look = style
    for line in _split_lines(text):
        parts, style = _replay_line(line, style) if _CURSOR_MOVES.search(line) else _split_coloured_line(line, style)
        for part in parts:
            if part.style != look and waiting:
                runs.append(AnsiRun("".join(waiting), look))
                waiting = []
            look = part.style
            waiting.append(part.text)
    return [*runs, AnsiRun("".join(waiting), look)] if waiting else runs, style


def _split_lines(text: str) -> list[str]:
    parts = text.split("\n")
    return [part + "\n" for part in parts[:-1]] + ([parts[-1]] if parts[-1] else [])


def _render_run(run: AnsiRun) -> str:
    classes = run.style.classes
    return f'<span class="{classes}">{escape_text(run.text)}</span>' if classes else escape_text(run.text)


def _split_coloured_line(line: str, style: AnsiStyle) -> tuple[list[AnsiRun], AnsiStyle]:
    """Split a line in which the cursor only moves forward."""
    if not _ACTIVE_CHARS.search(line):
        return [AnsiRun(line, style)], style
    parts, position = [], 0
    for escape in _ESCAPE.finditer(line):
        if escape.start() > position:
            parts.append(AnsiRun(line[position : escape.start()], style))
        position = escape.end()
        style = _apply_escape(escape, style)
    if position < len(line):
        parts.append(AnsiRun(line[position:], style))
    return parts, style


def _apply_escape(escape: re.Match[str], style: AnsiStyle) -> AnsiStyle:
    return _apply_style(style, escape["parameters"]) if escape["final"] == "m" else style


def _replay_line(line: str, style: AnsiStyle) -> tuple[list[AnsiRun], AnsiStyle]:
    """Split a line in which the cursor moves back and overwrites characters."""
    cells: list[tuple[str, AnsiStyle]] = []
    end = "\n" if line.endswith("\n") else ""
    at, position, body = 0, 0, line.removesuffix("\n")
    for escape in _ESCAPE.finditer(body):
        at = _write_cells(cells, at, body[position : escape.start()], style)
        position = escape.end()
        at = _move_cursor(cells, at, escape)
        style = _apply_escape(escape, style)
    _write_cells(cells, at, body[position:], style)
    while cells and cells[-1] == _BLANK_CELL:
        cells.pop()
    parts = [AnsiRun(char, look) for char, look in cells]
    return [*parts, AnsiRun(end, style)] if end else parts, style


def _write_cells(cells: list[tuple[str, AnsiStyle]], at: int, text: str, style: AnsiStyle) -> int:
    for char in text:
        if char == "\r":
            at = 0
        elif char == "\b":
            at = max(at - 1, 0)
        else:
            if at > len(cells):
                cells.extend([_BLANK_CELL] * (at - len(cells)))
            cells[at : at + 1] = [(char, style)]
            at += 1
    return at


def _move_cursor(cells: list[tuple[str, AnsiStyle]], at: int, escape: re.Match[str]) -> int:
    """Return the new column of the cursor within its line, and erase cells if the escape requires it."""
    final, first = escape["final"], (escape["parameters"] or "").split(";")[0]
    if not final or final not in "CDGK" or not (first.isdigit() or not first):
        return at
    number = int(first[:6] or 0)
    if final == "K":
        if number != 1:
            del cells[at if number == 0 else 0 :]
        return min(at, max(_MAX_CURSOR_COLUMN, len(cells)))
    count = max(number, 1)
    to = {"C": at + count, "D": at - count, "G": count - 1}[final]
    return max(0, min(to, max(_MAX_CURSOR_COLUMN, len(cells))))


@lru_cache(maxsize=4096)
def _apply_style(style: AnsiStyle, parameters: str) -> AnsiStyle:
    """Apply a sequence of Select Graphic Rendition codes to a style."""
    codes = [int(part[:4]) if part.isdigit() else 0 for part in parameters.replace(":", ";").split(";")[:64]]
    foreground, background, flags = style
    index = 0
    while index < len(codes):
        code = codes[index]
        index += 1
        if code == 0:
            foreground, background, flags = PLAIN_STYLE
        elif code in _STYLE_FLAGS:
            flags |= {_STYLE_FLAGS[code]}
        elif code in _STYLE_ENDS:
            flags -= set(_STYLE_ENDS[code])
        elif code in (38, 48):
            colour, index = _read_extended_colour(codes, index)
            foreground, background = (colour, background) if code == 38 else (foreground, colour)
        else:
            foreground, background = _apply_basic_colour(code, foreground, background)
    return AnsiStyle(foreground, background, flags)


def _apply_basic_colour(code: int, foreground: str, background: str) -> tuple[str, str]:
    if code in (39, 49):
        return ("", background) if code == 39 else (foreground, "")
    for first, offset in ((30, 0), (90, 8)):
        if first <= code < first + 8:
            return COLOURS[code - first + offset], background
        if first + 10 <= code < first + 18:
            return foreground, COLOURS[code - first - 10 + offset]
    return foreground, background


def _read_extended_colour(codes: list[int], index: int) -> tuple[str, int]:
    """Return the colour in `38;5;N` or `38;2;R;G;B`, and the index at which it ends."""
    mode = codes[index] if index < len(codes) else 0
    if mode == 5 and index + 1 < len(codes):
        return _find_indexed_colour(codes[index + 1]), index + 2
    if mode == 2 and index + 3 < len(codes):
        return _find_nearest_colour((codes[index + 1], codes[index + 2], codes[index + 3])), index + 4
    return "", len(codes)


def _find_indexed_colour(number: int) -> str:
    if number < 16:
        return COLOURS[number]
    if number < 232:
        steps = (0, 95, 135, 175, 215, 255)
        rest = number - 16
        return _find_nearest_colour((steps[rest // 36], steps[rest // 6 % 6], steps[rest % 6]))
    grey = 8 + 10 * min(number - 232, 23)
    return _find_nearest_colour((grey, grey, grey))


def _find_nearest_colour(colour: tuple[int, int, int]) -> str:
    """Find the most similar named colour; greys are always mapped to grey."""
    red, green, blue = (min(value, 255) for value in colour)
    if max(red, green, blue) - min(red, green, blue) < 24:
        return COLOURS[0 if red < 64 else 8 if red < 160 else 7 if red < 240 else 15]
    hues = [index for index in range(16) if index % 8 not in (0, 7)]
    return COLOURS[min(hues, key=lambda index: _measure_distance((red, green, blue), _PALETTE[index]))]


def _measure_distance(one: tuple[int, int, int], other: tuple[int, int, int]) -> int:
    return sum(weight * (a - b) ** 2 for weight, a, b in zip((3, 4, 2), one, other, strict=True))
