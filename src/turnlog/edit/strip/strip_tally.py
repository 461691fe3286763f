"""Counts of what was stripped, by rule."""

from __future__ import annotations

from collections import Counter

STRIP_RULES = {
    "duplicates": "results that a later call repeats",
    "stale_reads": "reads that are out of date",
    "removed": "calls and results removed",
    "shortened": "calls and results shortened",
    "copies": "the client's own copies of results",
    "images": "images",
    "thinking": "thinking",
    "noise": "noise",
}
"""The label of each rule, in the order in which the report lists them."""
COUNTED_KINDS = ("calls", "results", "copies", "images", "thinking", "rows", "bytes")


class StripTally:
    """Counts of what has been stripped so far."""

    def __init__(self) -> None:
        self.counts: Counter[tuple[str, str]] = Counter()
        """Counts by rule and kind; `bytes` is one of the kinds."""

    def count_block(self, rule: str, kind: str, saved: int) -> None:
        self.counts[rule, kind] += 1
        self.counts[rule, "bytes"] += saved

    def count_row(self, rule: str, size: int) -> None:
        """Count a row that was removed; `size` is the part of the row that has not been counted yet."""
        self.counts[rule, "rows"] += 1
        self.counts[rule, "bytes"] += size

    def count_saved_bytes(self) -> int:
        return sum(size for (_, kind), size in self.counts.items() if kind == "bytes")

    def add_tally(self, other: StripTally) -> None:
        self.counts.update(other.counts)
