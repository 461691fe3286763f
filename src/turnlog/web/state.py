"""What is being done in the background, for people to see."""

from __future__ import annotations

from typing import NamedTuple


class IndexState(NamedTuple):
    """The state of the index."""

    phase: str = "idle"
    """idle, indexing, timelines (those of large sessions are made ahead), or failed."""
    done: int = 0
    """Bytes, while indexing; sessions, while timelines are made."""
    total: int = 0
    generation: int = 0
    """Grows when the index has changed: what a page shows may be old."""
    failure: str = ""

    @property
    def is_busy(self) -> bool:
        """Whether the index is not yet what it will be."""
        return self.phase == "indexing"

    @property
    def words(self) -> str:
        """The state in a few words; nothing while there is nothing to say."""
        if self.phase == "failed":
            return f"not up to date: {self.failure}"
        if not self.is_busy:
            return ""
        return f"indexing {min(100 * self.done // self.total, 99)} %" if self.total else "indexing"
