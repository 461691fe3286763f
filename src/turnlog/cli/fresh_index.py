"""The index for the commands that need it: with a progress bar, and remarks on standard error."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from turnlog.api import index
from turnlog.api.config import Config
from turnlog.cli.output import print_remark
from turnlog.store.index.file_changes import TranscriptLister
from turnlog.store.index.refresh import RefreshResult
from turnlog.store.store import Store

_BAR_DELAY_SECONDS = 0.4
"""What takes less time than this is done before anybody wonders."""


@contextmanager
def open_fresh_index(config: Config, *, fresh: bool = True) -> Iterator[Store]:
    """Open the index and bring it up to date; on a machine without sessions, that of the demo."""
    with open_refreshed_index(config, fresh=fresh) as (found, _):
        yield found


@contextmanager
def open_refreshed_index(config: Config, *, fresh: bool = True) -> Iterator[tuple[Store, RefreshResult]]:
    """The same, with what was done to bring it up to date."""
    bar = IndexBar()
    with index.open_index(config, fresh=fresh, notify=bar.notify, progress=bar.show) as found:
        bar.clear()
        yield found


@contextmanager
def open_refreshed_others(config: Config) -> Iterator[tuple[Store, RefreshResult]]:
    """Open the index of the `.jsonl` files whose names are not session ids, up to date."""
    bar = IndexBar()
    with index.open_other_index(config, notify=bar.notify, progress=bar.show) as found:
        bar.clear()
        yield found


def refresh_index_with_bar(found: Store, folders: list[Path], lister: TranscriptLister | None = None) -> RefreshResult:
    """Bring an index up to date, with a bar if it takes a while; says what is not in it."""
    bar = IndexBar()
    done = index.refresh_index(found, folders, lister, notify=bar.notify, progress=bar.show)
    bar.clear()
    return done


@contextmanager
def show_index_bar() -> Iterator[IndexBar]:
    """Give a bar and a place for remarks to a function of the API that opens the index."""
    bar = IndexBar()
    try:
        yield bar
    finally:
        bar.clear()


class IndexBar:
    """How far the work is, on a terminal."""

    def __init__(self) -> None:
        self.start = time.monotonic()
        self.shown = 0.0

    def show(self, done: int, total: int) -> None:
        """Draw the bar, if the work has taken a while already."""
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
        """Take the bar off the screen."""
        if self.shown:
            sys.stderr.write("\r\x1b[2K")
            sys.stderr.flush()
            self.shown = 0.0

    @staticmethod
    def _is_stderr_terminal() -> bool:
        return sys.stderr is not None and sys.stderr.isatty()
