r"""A text as the rules see it: without the escapes that colour it, with the way back to the original.

A secret in the output of a terminal may be cut by escapes: real ones, or as JSON in a text has them (`\u001b[31m`).
"""

from __future__ import annotations

import re
from bisect import bisect_right
from functools import cached_property
from itertools import accumulate

_ESCAPE = re.compile(r"(?:\x1b|\\+(?:u001[bB]|x1[bB]|033|e))\[[0-9;:<=>?]{0,32}+[@-~]|[\u200b\u200c\u200d\u2060\ufeff]")
_WRITTEN = ("1b[", "1B[", "\\033[", "\\e[")
_UNSEEN = "\u200b\u200c\u200d\u2060\ufeff"
_CAPITALS = {code: code + 32 for code in range(ord("A"), ord("Z") + 1)}


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

    @cached_property
    def lower(self) -> str:
        """The text in small letters, character for character."""
        lower = self.text.lower()
        # A dotted capital I becomes two characters.
        return lower if len(lower) == len(self.text) else self.text.translate(_CAPITALS)

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
