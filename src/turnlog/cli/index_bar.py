"""The progress bar for commands that need the index, with remarks on standard error."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from turnlog.cli.output import print_remark
from turnlog.cli.progress import show_progress


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
        self._report = show_progress("Indexing [{bar}] {done_mb:,.0f} of {total_mb:,.0f} MB (Ctrl-C stops here)")

    def show(self, done: int, total: int) -> None:
        """Show how many bytes are indexed."""
        if self._report is not None:
            self._report(done, total)

    def notify(self, text: str) -> None:
        """Print a remark in place of the bar."""
        self.clear()
        print_remark(text)

    def clear(self) -> None:
        """Remove the bar from the screen."""
        if self._report is not None:
            self._report(1, 1)
