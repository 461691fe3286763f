"""Text for a terminal: what may be written to it, how wide it is there, and its colours.

Transcripts hold web pages and tool output that strangers wrote. What could move the cursor, turn the text around or
hide in it is spelled out (`\\x1b`, `\\u202e`) wherever a text of theirs is shown: `visible` is the one door.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from typing import NamedTuple

STYLE_CODES = {"bold": "1", "dim": "2", "red": "31", "green": "32", "yellow": "33", "blue": "34", "cyan": "36"}

_ZERO_WIDTH_JOINER, _EMOJI_SELECTOR, _KEYCAP = "\u200d", "\ufe0f", "\u20e3"
# Characters that count as printable and can't be seen: fillers, selectors of variants, joiners of graphemes.
_UNSEEN_CHARS = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]"
)
# So many marks on one letter would reach over the lines above and below.
_HEAPED_MARKS = re.compile("[\u0300-\u036f\u0483-\u0489\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f]{5,}")
_COLOUR_ESCAPES = re.compile("\x1b\\[[0-9;:]*m")
_EMOJI_PART = re.compile(f"[{_ZERO_WIDTH_JOINER}{_EMOJI_SELECTOR}]")


class _CharSpelling(dict[int, str | int]):
    """For each character itself, or how it is spelled out; found out when it is first met."""

    def __missing__(self, code: int) -> str | int:
        char = chr(code)
        if char.isprintable() and not _UNSEEN_CHARS.match(char):
            found: str | int = code
        elif unicodedata.category(char) == "Zs":
            found = " "
        else:
            found = _spell_out(char)
        self[code] = found
        return found


_CHAR_SPELLING = _CharSpelling()


def make_visible(text: str) -> str:
    """A text with everything spelled out that a terminal would act on or not show; it stays on one line."""
    if text.isascii() and text.isprintable():
        return text
    text = _HEAPED_MARKS.sub(lambda found: _spell_out(found[0]), text)
    if _ZERO_WIDTH_JOINER not in text and _EMOJI_SELECTOR not in text:
        return text.translate(_CHAR_SPELLING)
    parts, done = [], 0
    for found in _EMOJI_PART.finditer(text):
        if _is_emoji(text, found.start()):
            parts += [text[done : found.start()].translate(_CHAR_SPELLING), found[0]]
            done = found.end()
    return "".join(parts) + text[done:].translate(_CHAR_SPELLING)


def _is_emoji(text: str, at: int) -> bool:
    """Whether an invisible character is part of a picture, where it is at home, and hides nothing."""
    before, after = text[at - 1 : at] if at else "", text[at + 1 : at + 2]
    if text[at] == _EMOJI_SELECTOR:
        return _is_symbol(before) or after == _KEYCAP
    return (_is_symbol(before) or before == _EMOJI_SELECTOR) and _is_symbol(after)


def _is_symbol(char: str) -> bool:
    return bool(char) and char >= "\u2000" and unicodedata.category(char)[0] == "S"


def _spell_out(text: str) -> str:
    return text.encode("unicode_escape").decode()


def to_visible_line(text: str) -> str:
    """A text on one line: line ends and other runs of white space become one space."""
    return make_visible(" ".join(text.split()))


def to_visible_lines(text: str) -> list[str]:
    """The lines of a text, each visible; tabs are expanded, colours left out."""
    plain = _COLOUR_ESCAPES.sub("", text).replace("\r\n", "\n").expandtabs(4)
    return [make_visible(part.rstrip(" \r")) for part in plain.rstrip("\r\n").split("\n")]


def take_first_lines(text: str, limit: int, longest: int) -> tuple[list[str], int]:
    """The first lines of a text, none too long, and how many more it has; looks no further than needed."""
    parts = text.rstrip().split("\n", limit)
    left = parts[limit].count("\n") + 1 if len(parts) > limit else 0
    kept = (part if len(part) <= longest else part[:longest] + "…" for part in parts[:limit])
    return to_visible_lines("\n".join(kept)), left


def measure_width(text: str) -> int:
    """How many cells of a terminal a visible text takes."""
    return len(text) if text.isascii() else sum(map(_count_cells, text))


def _count_cells(char: str) -> int:
    if char in (_ZERO_WIDTH_JOINER, _EMOJI_SELECTOR) or unicodedata.category(char) in ("Mn", "Me"):
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1


def cut_to_cells(text: str, cells: int) -> str:
    """A visible text in at most so many cells, with a sign where something is left out."""
    if measure_width(text) <= cells:
        return text
    kept, used = 0, 1
    for kept, char in enumerate(text):  # noqa: B007 - where the loop ended is what is wanted
        used += _count_cells(char)
        if used > cells:
            break
    return text[:kept].rstrip() + "…" if cells > 0 else ""


def pad_to_cells(text: str, cells: int) -> str:
    """A visible text in exactly so many cells."""
    if text.isascii() and len(text) <= cells:
        return text.ljust(cells)
    fitting = cut_to_cells(text, cells)
    return fitting + " " * (cells - measure_width(fitting))


class TerminalScreen(NamedTuple):
    """What the output goes to."""

    color: bool = False
    width: int | None = None
    """How many cells a line has; None when the output is no terminal, and nothing needs to be cut."""

    def paint(self, text: str, *styles: str) -> str:
        """A visible text in the given styles."""
        if not self.color or not text or not styles:
            return text
        return f"\x1b[{';'.join(STYLE_CODES[style] for style in styles)}m{text}\x1b[0m"

    def wrap_prose(self, text: str, *styles: str) -> Iterator[str]:
        """A visible text as lines that end between words; one line where the output is no terminal."""
        found = ""
        for word in text.split(" "):
            if found and self.width is not None and measure_width(found) + 1 + measure_width(word) > self.width:
                yield self.paint(found, *styles)
                found = word
            else:
                found = f"{found} {word}" if found else word
        yield self.paint(found, *styles)

    def fit(self, text: str, taken: int = 0) -> str:
        """A visible text cut to what is left of the line."""
        return text if self.width is None else cut_to_cells(text, max(self.width - taken, 10))
