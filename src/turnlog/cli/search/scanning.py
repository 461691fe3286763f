"""A scan as `turnlog search` runs it: with a bar that says how far it is."""

from __future__ import annotations

import sys
import time

import apsw

from turnlog.cli.config import data_dir
from turnlog.store.search.needle import SearchNeedle
from turnlog.store.search.query import SearchQuery
from turnlog.store.search.scanning import ScanOutcome, ScanRequest
from turnlog.store.search.scanning import scan_indexed_files as scanned_files
from turnlog.store.search.search import SearchOptions
from turnlog.store.search.source import IndexSource

_BAR_DELAY_SECONDS = 0.4


def scan_with_progress(
    db: apsw.Connection, needle: SearchNeedle, query: SearchQuery | None, wish: SearchOptions
) -> ScanOutcome:
    """Look through the files that the filters of a query name."""
    bar = _ScanBar()
    try:
        return scanned_files(db, IndexSource(data_dir()), ScanRequest(needle, query), wish, bar.show)
    finally:
        bar.clear()


class _ScanBar:
    """How far the scan is, on a terminal."""

    def __init__(self) -> None:
        self.start = time.monotonic()
        self.is_shown = False

    def show(self, done: int, total: int) -> None:
        if sys.stderr is None or not sys.stderr.isatty() or time.monotonic() - self.start < _BAR_DELAY_SECONDS:
            return
        words = f"{done / 1e6:,.0f} of {total / 1e6:,.0f} MB searched  (Ctrl-C shows what was found)"
        sys.stderr.write(f"\r\x1b[2K{words}")
        sys.stderr.flush()
        self.is_shown = True

    def clear(self) -> None:
        if self.is_shown:
            sys.stderr.write("\r\x1b[2K")
            sys.stderr.flush()
