"""The pages of a long session: where one ends, and how they lead to each other.

The first page has the name that was asked for; the others stand in a folder beside it: `x.html`, `x-pages/page-2.html`.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from types import TracebackType
from typing import NamedTuple
from urllib.parse import quote

MAX_PAGE_BYTES = 5_000_000
MAX_PAGE_ITEMS = 2_000
"""A page that holds so much ends where the next stretch begins."""
_READ_BYTES = 1 << 20


class PageNames(NamedTuple):
    """The names of the pages of one session."""

    file: str
    """That of the first page."""

    @property
    def folder(self) -> str:
        """Where the others stand, beside the first."""
        return f"{self.file.removesuffix('.html')}-pages"

    def name_page(self, page: int) -> str:
        """The name of a page in its folder."""
        return self.file if page == 1 else f"page-{page}.html"

    def href(self, here: int, there: int) -> str:
        """How one page leads to another; nothing for itself."""
        if here == there:
            return ""
        if here == 1:
            return quote(f"{self.folder}/page-{there}.html")
        return "../" + quote(self.file) if there == 1 else f"page-{there}.html"


class PageSpool:
    """The bodies of the pages, one behind the other in a nameless file: what leads to them is known only at the end."""

    def __init__(self, *, paged: bool) -> None:
        self._paged = paged
        self._file = tempfile.TemporaryFile("w+b")  # noqa: SIM115 - closed by __exit__
        self._starts = [0]
        self._items = 0
        self._size = 0
        self.turns: dict[int, int] = {}
        """The page on which each turn begins."""

    def __enter__(self) -> PageSpool:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._file.close()

    @property
    def count(self) -> int:
        """How many pages there are."""
        return len(self._starts)

    @property
    def is_full(self) -> bool:
        """Whether the page should end here."""
        return self._paged and (self._items >= MAX_PAGE_ITEMS or self._size - self._starts[-1] >= MAX_PAGE_BYTES)

    def end_page(self) -> None:
        """Go on with the next page."""
        self._starts.append(self._size)
        self._items = 0

    def add(self, text: str, items: int = 0) -> None:
        """Add to the page."""
        data = text.encode("utf-8", "replace")
        self._file.write(data)
        self._size += len(data)
        self._items += items

    def read_page(self, number: int) -> Iterator[bytes]:
        """The body of a page, piece by piece."""
        self._file.seek(self._starts[number - 1])
        left = (self._starts[number] if number < self.count else self._size) - self._starts[number - 1]
        while left > 0 and (piece := self._file.read(min(left, _READ_BYTES))):
            left -= len(piece)
            yield piece
