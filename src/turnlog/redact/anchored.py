"""Searches that are as quick as that for a fixed text.

`str.find` passes over a text several times as fast as `re` does, and hardly any text holds what a rule looks for.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cached_property


class Anchored:
    """An expression whose matches all begin with a fixed text, the anchor.

    Where most texts lack it, ask `anchor in text` first: that costs less than an iterator that gives nothing.
    """

    def __init__(self, anchor: str, rest: str) -> None:
        self.anchor = anchor
        self._rest = rest

    @cached_property
    def expression(self) -> re.Pattern[str]:
        """The whole expression; it is made when an anchor was found."""
        return re.compile(f"{re.escape(self.anchor)}(?:{self._rest})")

    def finditer(self, text: str) -> Iterator[re.Match[str]]:
        """Give what `expression.finditer` gives."""
        at = text.find(self.anchor)
        while at >= 0:
            match = self.expression.match(text, at)
            if match:
                yield match
            at = text.find(self.anchor, match.end() if match else at + 1)
