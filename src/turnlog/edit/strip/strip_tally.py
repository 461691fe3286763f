"""Counting what was stripped, by rule."""

from __future__ import annotations

from collections import Counter

STRIP_RULES = {
    "duplicates": "results that a later call has again",
    "stale_reads": "reads that are out of date",
    "removed": "calls and results removed",
    "shortened": "calls and results shortened",
    "copies": "the client's own copies of results",
    "images": "images",
    "thinking": "thinking",
    "noise": "noise",
}
"""Each rule with its words, in the order in which they are told."""
COUNTED_KINDS = ("calls", "results", "copies", "images", "thinking", "rows", "bytes")


class StripTally:
    """What was stripped so far."""

    def __init__(self) -> None:
        self.counts: Counter[tuple[str, str]] = Counter()
        """By rule and what was counted; `bytes` among it."""

    def count_block(self, rule: str, what: str, saved: int) -> None:
        """A block was shortened or went."""
        self.counts[rule, what] += 1
        self.counts[rule, "bytes"] += saved

    def count_row(self, rule: str, size: int) -> None:
        """A row went as a whole; `size` is what of it was not counted yet."""
        self.counts[rule, "rows"] += 1
        self.counts[rule, "bytes"] += size

    def count_saved_bytes(self) -> int:
        """All bytes that were counted."""
        return sum(size for (_, what), size in self.counts.items() if what == "bytes")

    def add_tally(self, other: StripTally) -> None:
        """What another one has counted too."""
        self.counts.update(other.counts)
