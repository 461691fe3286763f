"""What a program printed, as HTML: its colours as classes, its progress bars as a terminal would leave them.

Colours are brought down to the sixteen that have names, so that each is readable on light and on dark. All other
escapes are taken out and never passed on. One pass over the text, however hostile.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

from markupsafe import Markup

from turnlog.render.visible import shown, spelled, unified

NAMES = ("black", "red", "green", "yellow", "blue", "magenta", "cyan", "white")
COLOURS = NAMES + tuple(f"bright-{name}" for name in NAMES)
# Of the terminal that most programs are made for.
_PALETTE = (
    (0, 0, 0), (205, 0, 0), (0, 205, 0), (205, 205, 0), (60, 60, 238), (205, 0, 205), (0, 205, 205), (229, 229, 229),
    (127, 127, 127), (255, 80, 80), (80, 255, 80), (255, 255, 80), (92, 92, 255), (255, 80, 255), (80, 255, 255),
    (255, 255, 255),
)  # fmt: skip
_ESCAPE = re.compile(
    "(?:\x1b\\[|\x9b)(?P<parameters>[0-?]*+)[ -/]*+(?P<final>[@-~]?)"
    # Titles, links, notifications: to their end, which may be missing.
    "|(?:\x1b[\\]PX^_]|[\x90\x98\x9d-\x9f])[^\x07\x1b\x9c\n]*+(?:\x07|\x1b\\\\|\x9c)?"
    "|\x1b[ -/]*+[0-~]?"
)
_ACTIVE = re.compile("[\x1b\r\b\x90\x98\x9b-\x9f]")
_MOVES = re.compile("[\r\b]|(?:\x1b\\[|\x9b)[0-9;]*+[CDGK]")
_FLAGS = {1: "bold", 2: "dim", 3: "italic", 4: "underline", 7: "inverse", 9: "strike"}
_ENDS = {22: ("bold", "dim"), 23: ("italic",), 24: ("underline",), 27: ("inverse",), 29: ("strike",)}
_WIDEST = 500
"""A cursor that is moved over nothing goes no further to the right than this."""


class Style(NamedTuple):
    """How characters look."""

    foreground: str = ""
    background: str = ""
    flags: frozenset[str] = frozenset()

    @property
    def classes(self) -> str:
        """Its classes."""
        names = [f"ansi-{flag}" for flag in sorted(self.flags)]
        names += [f"fg-{self.foreground}"] if self.foreground else []
        names += [f"bg-{self.background}"] if self.background else []
        return " ".join(names)


PLAIN = Style()


_BLANK = (" ", PLAIN)


class Run(NamedTuple):
    """Characters of one look."""

    text: str
    style: Style


def ansi(text: str, style: Style = PLAIN) -> tuple[Markup, Style]:
    """A text with ANSI escapes as HTML, from one look to another."""
    text = unified(text)
    if style == PLAIN and not _ACTIVE.search(text):
        return shown(text), style
    parts, style = runs(text, style)
    return Markup("".join(_written(run) for run in parts)), style


def plain(text: str) -> str:
    """What is left to read of a text with ANSI escapes."""
    text = unified(text)
    return "".join(run.text for run in runs(text)[0]) if _ACTIVE.search(text) else text


def runs(text: str, style: Style = PLAIN) -> tuple[list[Run], Style]:
    """The parts of a text, each of one look (neighbours of one look are one part), and the look at its end."""
    done: list[Run] = []
    waiting: list[str] = []
    look = style
    for line in _lines(text):
        parts, style = _overwritten(line, style) if _MOVES.search(line) else _coloured(line, style)
        for part in parts:
            if part.style != look and waiting:
                done.append(Run("".join(waiting), look))
                waiting = []
            look = part.style
            waiting.append(part.text)
    return [*done, Run("".join(waiting), look)] if waiting else done, style


def _lines(text: str) -> list[str]:
    parts = text.split("\n")
    return [part + "\n" for part in parts[:-1]] + ([parts[-1]] if parts[-1] else [])


def _written(run: Run) -> str:
    classes = run.style.classes
    return f'<span class="{classes}">{spelled(run.text)}</span>' if classes else spelled(run.text)


def _coloured(line: str, style: Style) -> tuple[list[Run], Style]:
    """The parts of a line in which the cursor only goes forward."""
    if not _ACTIVE.search(line):
        return [Run(line, style)], style
    parts, done = [], 0
    for found in _ESCAPE.finditer(line):
        if found.start() > done:
            parts.append(Run(line[done : found.start()], style))
        done = found.end()
        style = _after(found, style)
    if done < len(line):
        parts.append(Run(line[done:], style))
    return parts, style


def _after(found: re.Match[str], style: Style) -> Style:
    return _styled(style, found["parameters"]) if found["final"] == "m" else style


def _overwritten(line: str, style: Style) -> tuple[list[Run], Style]:
    """The parts of a line in which the cursor goes back and writes over what was there."""
    cells: list[tuple[str, Style]] = []
    end = "\n" if line.endswith("\n") else ""
    at, done, body = 0, 0, line.removesuffix("\n")
    for found in _ESCAPE.finditer(body):
        at = _put(cells, at, body[done : found.start()], style)
        done = found.end()
        at = _moved(cells, at, found)
        style = _after(found, style)
    _put(cells, at, body[done:], style)
    while cells and cells[-1] == _BLANK:
        cells.pop()
    parts = [Run(char, look) for char, look in cells]
    return [*parts, Run(end, style)] if end else parts, style


def _put(cells: list[tuple[str, Style]], at: int, text: str, style: Style) -> int:
    for char in text:
        if char == "\r":
            at = 0
        elif char == "\b":
            at = max(at - 1, 0)
        else:
            if at > len(cells):
                cells.extend([_BLANK] * (at - len(cells)))
            cells[at : at + 1] = [(char, style)]
            at += 1
    return at


def _moved(cells: list[tuple[str, Style]], at: int, found: re.Match[str]) -> int:
    """Where the cursor goes within its line; what it erases is gone."""
    final, first = found["final"], (found["parameters"] or "").split(";")[0]
    if not final or final not in "CDGK" or not (first.isdigit() or not first):
        return at
    number = int(first[:6] or 0)
    if final == "K":
        if number != 1:
            del cells[at if number == 0 else 0 :]
        return min(at, max(_WIDEST, len(cells)))
    count = max(number, 1)
    to = {"C": at + count, "D": at - count, "G": count - 1}[final]
    return max(0, min(to, max(_WIDEST, len(cells))))


@lru_cache(maxsize=4096)
def _styled(style: Style, parameters: str) -> Style:
    """The look after a sequence of Select Graphic Rendition."""
    codes = [int(part[:4]) if part.isdigit() else 0 for part in parameters.replace(":", ";").split(";")[:64]]
    foreground, background, flags = style
    index = 0
    while index < len(codes):
        code = codes[index]
        index += 1
        if code == 0:
            foreground, background, flags = PLAIN
        elif code in _FLAGS:
            flags |= {_FLAGS[code]}
        elif code in _ENDS:
            flags -= set(_ENDS[code])
        elif code in (38, 48):
            colour, index = _extended(codes, index)
            foreground, background = (colour, background) if code == 38 else (foreground, colour)
        else:
            foreground, background = _basic(code, foreground, background)
    return Style(foreground, background, flags)


def _basic(code: int, foreground: str, background: str) -> tuple[str, str]:
    if code in (39, 49):
        return ("", background) if code == 39 else (foreground, "")
    for first, offset in ((30, 0), (90, 8)):
        if first <= code < first + 8:
            return COLOURS[code - first + offset], background
        if first + 10 <= code < first + 18:
            return foreground, COLOURS[code - first - 10 + offset]
    return foreground, background


def _extended(codes: list[int], index: int) -> tuple[str, int]:
    """The colour of `38;5;N` or `38;2;R;G;B`, and where it ends."""
    mode = codes[index] if index < len(codes) else 0
    if mode == 5 and index + 1 < len(codes):
        return _indexed(codes[index + 1]), index + 2
    if mode == 2 and index + 3 < len(codes):
        return _nearest((codes[index + 1], codes[index + 2], codes[index + 3])), index + 4
    return "", len(codes)


def _indexed(number: int) -> str:
    if number < 16:
        return COLOURS[number]
    if number < 232:
        steps = (0, 95, 135, 175, 215, 255)
        rest = number - 16
        return _nearest((steps[rest // 36], steps[rest // 6 % 6], steps[rest % 6]))
    grey = 8 + 10 * min(number - 232, 23)
    return _nearest((grey, grey, grey))


def _nearest(colour: tuple[int, int, int]) -> str:
    """The named colour that is nearest to the eye; greys stay grey."""
    red, green, blue = (min(value, 255) for value in colour)
    if max(red, green, blue) - min(red, green, blue) < 24:
        return COLOURS[0 if red < 64 else 8 if red < 160 else 7 if red < 240 else 15]
    hues = [index for index in range(16) if index % 8 not in (0, 7)]
    return COLOURS[min(hues, key=lambda index: _distance((red, green, blue), _PALETTE[index]))]


def _distance(one: tuple[int, int, int], other: tuple[int, int, int]) -> int:
    return sum(weight * (a - b) ** 2 for weight, a, b in zip((3, 4, 2), one, other, strict=True))
