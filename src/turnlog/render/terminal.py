"""Text for a terminal: which characters may be written, how wide they are, and how they are coloured.

Transcripts contain web pages and tool output from strangers. Characters that could move the cursor, reverse text or
hide in it are spelled out (`\\x1b`, `\\u202e`); all untrusted text goes through `make_visible`.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from typing import NamedTuple

STYLE_CODES = {
    "bold": "1",
    "dim": "2",
    "italic": "3",
    "underline": "4",
    "strike": "9",
    "red": "31",
    "green": "32",
    "yellow": "33",
    "blue": "34",
    "cyan": "36",
}

_ZERO_WIDTH_JOINER, _EMOJI_SELECTOR, _KEYCAP = "\u200d", "\ufe0f", "\u20e3"
# Characters that count as printable but are invisible: fillers, variation selectors, grapheme joiners.
_UNSEEN_CHARS = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]"
)
# This many combining marks on one letter would overlap the lines above and below.
_HEAPED_MARKS = re.compile("[\u0300-\u036f\u0483-\u0489\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f]{5,}")
_COLOUR_ESCAPES = re.compile("\x1b\\[[0-9;:]*m")
# All controls but tabs and line ends; line and paragraph separators; everything that changes the direction of text.
_CONTROLS = re.compile("[\0-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u206f\ud800-\udfff]")
_STYLE_CODE = f"(?:{'|'.join(STYLE_CODES.values())})"
_OWN_STYLE = re.compile(f"(\x1b\\[(?:0|{_STYLE_CODE}(?:;{_STYLE_CODE})*)m)")
_WORD_PATTERN = re.compile(" +|[^ ]+")
_EMOJI_PART = re.compile(f"[{_ZERO_WIDTH_JOINER}{_EMOJI_SELECTOR}]")


class _CharSpelling(dict[int, str | int]):
    """Maps each character to itself or to its spelling, computed on first use."""

    def __missing__(self, code: int) -> str | int:
        char = chr(code)
        if char.isprintable() and not _UNSEEN_CHARS.match(char):
            spelling: str | int = code
        elif unicodedata.category(char) == "Zs":
            spelling = " "
        else:
            spelling = _spell_out(char)
        self[code] = spelling
        return spelling


_CHAR_SPELLING = _CharSpelling()


def make_visible(text: str) -> str:
    """Spell out all characters that a terminal would interpret or hide; the result is one line."""
    if text.isascii() and text.isprintable():
        return text
    text = _HEAPED_MARKS.sub(lambda marks: _spell_out(marks[0]), text)
    if _ZERO_WIDTH_JOINER not in text and _EMOJI_SELECTOR not in text:
        return text.translate(_CHAR_SPELLING)
    parts, position = [], 0
    for part in _EMOJI_PART.finditer(text):
        if _is_emoji(text, part.start()):
            parts += [text[position : part.start()].translate(_CHAR_SPELLING), part[0]]
            position = part.end()
    return "".join(parts) + text[position:].translate(_CHAR_SPELLING)


def _is_emoji(text: str, at: int) -> bool:
    """Return whether an invisible character is part of an emoji, where it is legitimate and hides nothing."""
    before, after = text[at - 1 : at] if at else "", text[at + 1 : at + 2]
    if text[at] == _EMOJI_SELECTOR:
        return _is_symbol(before) or after == _KEYCAP
    return (_is_symbol(before) or before == _EMOJI_SELECTOR) and _is_symbol(after)


def _is_symbol(char: str) -> bool:
    return bool(char) and char >= "\u2000" and unicodedata.category(char)[0] == "S"


def _spell_out(text: str) -> str:
    return text.encode("unicode_escape").decode()


def spell_controls(text: str) -> str:
    """Spell out what a terminal acts on, in text of any number of lines; tabs and line ends stay.

    This is the last door of all text for people, on a terminal and in a pipe, whatever its parts have passed before.
    Unlike `make_visible`, it keeps what is merely invisible, such as the joiners that some scripts need.
    """
    return text if text.isprintable() else _CONTROLS.sub(_spell_control, text.replace("\r\n", "\n"))


def spell_unstyled_controls(text: str) -> str:
    """Spell out the controls in text, except for the styles that `TerminalScreen.paint` writes."""
    if text.isprintable():
        return text
    parts = _OWN_STYLE.split(text)
    return "".join(part if at % 2 else spell_controls(part) for at, part in enumerate(parts))


def _spell_control(found: re.Match[str]) -> str:
    return _spell_out(found[0])


def to_visible_line(text: str) -> str:
    """Put text on one line, collapsing each run of white space to one space."""
    return make_visible(" ".join(text.split()))


def to_visible_lines(text: str) -> list[str]:
    """Split text into visible lines, with tabs expanded and colours removed."""
    plain = _COLOUR_ESCAPES.sub("", text).replace("\r\n", "\n").expandtabs(4)
    return [make_visible(part.rstrip(" \r")) for part in plain.rstrip("\r\n").split("\n")]


def take_first_lines(text: str, limit: int, max_chars: int) -> tuple[list[str], int]:
    """Return the first lines of text, each shortened, and the number of omitted lines; read no more than needed."""
    parts = text.rstrip().split("\n", limit)
    left = parts[limit].count("\n") + 1 if len(parts) > limit else 0
    lines = (part if len(part) <= max_chars else part[:max_chars] + "…" for part in parts[:limit])
    return to_visible_lines("\n".join(lines)), left


def measure_width(text: str) -> int:
    """Return the number of terminal cells that visible text takes."""
    return len(text) if text.isascii() else sum(map(_count_cells, text))


def _count_cells(char: str) -> int:
    if char in (_ZERO_WIDTH_JOINER, _EMOJI_SELECTOR) or unicodedata.category(char) in ("Mn", "Me"):
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1


def cut_to_cells(text: str, cells: int) -> str:
    """Cut visible text to a number of cells, with an ellipsis where it was cut."""
    if measure_width(text) <= cells:
        return text
    end, used = 0, 1
    for end, char in enumerate(text):  # noqa: B007 - the position where the loop ended is needed
        used += _count_cells(char)
        if used > cells:
            break
    return text[:end].rstrip() + "…" if cells > 0 else ""


def wrap_words(text: str, cells: int, indent: int = 0) -> list[str]:
    """Wrap visible text between words; split longer words, and begin every row but the first with `indent` spaces."""
    rows, row, space, cells = list[str](), "", "", max(cells, indent + 2)
    for piece in _WORD_PATTERN.findall(text):
        if piece[0] == " ":
            space = piece
            continue
        is_splittable = measure_width(piece) > cells - indent  # a row of its own would not help
        if row.strip() and measure_width(row + space + piece) > cells and not is_splittable:
            rows.append(row)
            row, space = " " * indent, ""
        row, space = row + space + piece, ""
        while measure_width(row) > cells:
            end = _count_fitting_chars(row, cells)
            rows.append(row[:end])
            row = " " * indent + row[end:]
    return [*rows, row]


def _count_fitting_chars(text: str, cells: int) -> int:
    used = 0
    for count, char in enumerate(text):
        used += _count_cells(char)
        if used > cells:
            return count
    return len(text)


def pad_to_cells(text: str, cells: int) -> str:
    """Cut or pad visible text to an exact number of cells."""
    if text.isascii() and len(text) <= cells:
        return text.ljust(cells)
    fitting = cut_to_cells(text, cells)
    return fitting + " " * (cells - measure_width(fitting))


class TerminalScreen(NamedTuple):
    """The width and colours of the output."""

    color: bool = False
    width: int | None = None
    """The number of cells per line; None if the output is not a terminal, so that nothing needs to be cut."""

    def paint(self, text: str, *styles: str) -> str:
        """Return visible text in the given styles."""
        if not self.color or not text or not styles:
            return text
        return f"\x1b[{';'.join(STYLE_CODES[style] for style in styles)}m{text}\x1b[0m"

    def wrap_prose(self, text: str, *styles: str) -> Iterator[str]:
        """Wrap visible text between words; yield one line if the output is not a terminal."""
        line = ""
        for word in text.split(" "):
            if line and self.width is not None and measure_width(line) + 1 + measure_width(word) > self.width:
                yield self.paint(line, *styles)
                line = word
            else:
                line = f"{line} {word}" if line else word
        yield self.paint(line, *styles)

    def fit(self, text: str, taken: int = 0) -> str:
        """Cut visible text to the rest of the line."""
        return text if self.width is None else cut_to_cells(text, max(self.width - taken, 10))
