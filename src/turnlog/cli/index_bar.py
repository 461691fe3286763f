"""The progress bar for commands that need the index, with remarks on standard error."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

from turnlog.cli.output import print_remark

_BAR_DELAY_SECONDS = 0.4
"""Work that takes less time than this needs no progress bar."""


@contextmanager
def show_index_bar() -> Iterator[IndexBar]:
    """Provide a progress bar and remarks for an API function that opens the index."""
    bar = IndexBar()
    try:
        yield bar
    finally:
        bar.clear()


class IndexBar:
    """A progress bar on a terminal."""

    def __init__(self) -> None:
        self.start = time.monotonic()
        self.shown = 0.0

    def show(self, done: int, total: int) -> None:
        """Draw the bar once the work has taken a while."""
        now = time.monotonic()
        if now - self.start < _BAR_DELAY_SECONDS or now - self.shown < 0.1 or not self._is_stderr_terminal():
            return
        self.shown = now
        share = min(done / total, 1) if total else 1
        filled = int(share * 24)
        words = f"{done / 1e6:,.0f} of {total / 1e6:,.0f} MB"
        sys.stderr.write(f"\r\x1b[2KIndexing [{'#' * filled}{'.' * (24 - filled)}] {words}  (Ctrl-C stops here)")
        sys.stderr.flush()

    def notify(self, text: str) -> None:
        """Print a remark in place of the bar."""
        self.clear()
        print_remark(text)

    def clear(self) -> None:
        """Remove the bar from the screen."""
        if self.shown:
            sys.stderr.write("\r\x1b[2K")
            sys.stderr.flush()
            self.shown = 0.0

    @staticmethod
    def _is_stderr_terminal() -> bool:
        return sys.stderr is not None and sys.stderr.isatty()
