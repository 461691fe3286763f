r"""A text as the rules see it: without the escapes that colour it, with the way back to the original.

A secret in the output of a terminal may be cut by escapes: real ones, or as JSON in a text has them (`\u001b[31m`).
"""

from __future__ import annotations

import re
from bisect import bisect_right
from itertools import accumulate

_UNSEEN = "\u200b\u200c\u200d\u2060\ufeff"
_COLOUR = r"\[[0-9;:<=>?]{0,32}+[@-~]"
# Alternatives that begin with one fixed character each: `re` then skips all others.
_ESCAPE = re.compile(rf"\x1b{_COLOUR}|\\\\*(?:u001[bB]|x1[bB]|033|e){_COLOUR}|" + "|".join(_UNSEEN))
_WRITTEN = ("1b[", "1B[", "\\033[", "\\e[")
_KELVIN = "\u212a"
"""The sign whose small letter is that of `K`. The dotted capital I becomes two characters: it stays."""
RUN = 20
"""A run has so many letters, digits and signs of base64, at least."""
_IN_RUN = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/_-")
_SHAPE = bytes(ord("x" if byte in _IN_RUN else " ") for byte in range(256))
_LONG_ENOUGH = b"x" * RUN


class View:
    """A text and what the rules need of it more than once."""

    def __init__(self, raw: str) -> None:
        self.raw = raw
        self.text = raw
        self._starts: list[int] = []
        self._shifts: list[int] = []
        if (
            "\x1b" in raw
            or ("\\" in raw and any(map(raw.__contains__, _WRITTEN)))
            or (not raw.isascii() and any(map(raw.__contains__, _UNSEEN)))
        ):
            self._cut([match.span() for match in _ESCAPE.finditer(raw)])
        self.lower = _lowered(self.text)
        self.runs = _runs(self.text)
        self._says: dict[str, bool] = {}

    def says(self, word: str) -> bool:
        """Whether a word stands in it, in small letters; for what several rules ask."""
        if (says := self._says.get(word)) is None:
            says = self._says[word] = word in self.lower
        return says

    def origin(self, start: int, end: int) -> tuple[int, int]:
        """Where in the original the characters from `start` to `end` stand, with all that cuts them."""
        return (self._origin(start), self._origin(end - 1) + 1) if self._starts else (start, end)

    def _origin(self, index: int) -> int:
        at = bisect_right(self._starts, index)
        return index + (self._shifts[at - 1] if at else 0)

    def _cut(self, spans: list[tuple[int, int]]) -> None:
        if not spans:
            return
        kept, at = [], 0
        for start, end in spans:
            kept.append(self.raw[at:start])
            at = end
        self.text = "".join([*kept, self.raw[at:]])
        self._starts = [*accumulate(map(len, kept))]
        self._shifts = [*accumulate(end - start for start, end in spans)]


def _lowered(text: str) -> str:
    """A text with ASCII's letters as small ones, character for character, and with all that become ASCII's by that."""
    if text.isascii():
        return text.lower()
    if _KELVIN in text and len(lower := text.lower()) == len(text):
        return lower
    # Bytes know ASCII's letters only, which are all that the rules look for, and are twice as quick.
    return text.encode("utf-8", "surrogatepass").lower().decode("utf-8", "surrogatepass")


def _runs(text: str) -> list[tuple[int, int]]:
    """Where the runs of a text are: as `[A-Za-z0-9+/_-]{20,}+` finds them, several times as fast."""
    shape = text.encode("ascii", "replace").translate(_SHAPE)
    found, start = [], shape.find(_LONG_ENOUGH)
    while start >= 0:
        end = shape.find(b" ", start)
        end = end if end >= 0 else len(shape)
        found.append((start, end))
        start = shape.find(_LONG_ENOUGH, end)
    return found
