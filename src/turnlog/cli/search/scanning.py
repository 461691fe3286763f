"""A scan as `turnlog search` runs it: with a bar that says how far it is."""

from __future__ import annotations

import sys
import time

import apsw

from turnlog.cli.config import data_dir
from turnlog.store.search.needle import Needle
from turnlog.store.search.query import Query
from turnlog.store.search.scanning import LookedFor, Outcome
from turnlog.store.search.scanning import scanned as scanned_files
from turnlog.store.search.search import Wish
from turnlog.store.search.source import Source

_PATIENCE = 0.4


def scanned(db: apsw.Connection, needle: Needle, query: Query | None, wish: Wish) -> Outcome:
    """Look through the files that the filters of a query name."""
    bar = _Bar()
    try:
        return scanned_files(db, Source(data_dir()), LookedFor(needle, query), wish, bar.show)
    finally:
        bar.clear()


class _Bar:
    """How far the scan is, on a terminal."""

    def __init__(self) -> None:
        self.start = time.monotonic()
        self.is_shown = False

    def show(self, done: int, total: int) -> None:
        if sys.stderr is None or not sys.stderr.isatty() or time.monotonic() - self.start < _PATIENCE:
            return
        words = f"{done / 1e6:,.0f} of {total / 1e6:,.0f} MB searched  (Ctrl-C shows what was found)"
        sys.stderr.write(f"\r\x1b[2K{words}")
        sys.stderr.flush()
        self.is_shown = True

    def clear(self) -> None:
        if self.is_shown:
            sys.stderr.write("\r\x1b[2K")
            sys.stderr.flush()
