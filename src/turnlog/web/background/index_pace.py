"""How far an update of the index is, and how long it will take."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import apsw

_MIN_SECONDS = 2.0
"""An earlier estimate would be a guess."""


class IndexPace:
    """Estimates the time left from the bytes that were read since the update began."""

    def __init__(self) -> None:
        self._begin = time.monotonic()

    def estimate_seconds_left(self, done: int, total: int) -> float | None:
        """Return the time left at the pace so far; None if it is too early to tell."""
        passed = time.monotonic() - self._begin
        if passed < _MIN_SECONDS or not 0 < done <= total:
            return None
        return passed * (total - done) / done


def count_index_files(db: apsw.Connection) -> tuple[int, int]:
    """Count the files in the index that exist, and those that it has read at least once."""
    row = db.execute("SELECT count(*), coalesce(sum(head_hash != ''), 0) FROM file WHERE gone IS NULL").fetchone()
    files, read = row or (0, 0)
    return int(files), int(read)
