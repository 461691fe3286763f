"""Shows the progress of a long operation on a terminal: one line that is overwritten and finally erased."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

ProgressCallback = Callable[[int, int], None]
"""Called with the number of finished steps and the total."""
_REFRESH_SECONDS = 0.1


def show_progress(words: str) -> ProgressCallback | None:
    """Return a callback that shows progress such as `archiving {done:,} of {total:,} …`, or None without a terminal."""
    if sys.stderr is None or not sys.stderr.isatty():
        return None
    shown = 0.0

    def tell(done: int, total: int) -> None:
        nonlocal shown
        if done == total:
            sys.stderr.write("\r\x1b[K")
        elif time.monotonic() - shown > _REFRESH_SECONDS:
            shown = time.monotonic()
            sys.stderr.write("\r" + words.format(done=done, total=total))
            sys.stderr.flush()

    return tell
