"""A panel of the insights: a chart, the table with the same figures, and a line that says what is counted."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple
from urllib.parse import urlencode

from markupsafe import Markup

from turnlog.web.charts.meter import render_meter
from turnlog.web.search.query_filters import quote_filter_value


class PanelHead(NamedTuple):
    """The head of a column."""

    words: str
    is_number: bool = True
    kind: str = ""


class PanelCell(NamedTuple):
    """A cell of a table."""

    words: str
    href: str | None = None
    title: str | None = None
    bar: Markup | None = None
    """In place of words that stand in another cell."""
    kind: str = ""


class PanelTable(NamedTuple):
    """A table; the first cell of a row names it."""

    heads: list[PanelHead]
    rows: list[list[PanelCell]]
    total: list[PanelCell] | None = None
    left: int = 0
    """How many more rows there are than are shown."""


class Panel(NamedTuple):
    """One thing that the insights tell."""

    key: str
    title: str
    table: PanelTable | None = None
    charts: tuple[tuple[str, Markup], ...] = ()
    """Charts, and what stands above each."""
    definition: str = ""
    note: str = ""
    is_folded: bool = False
    """Whether the table is shown only on request: the chart tells most of it."""
    is_wide: bool = False
    empty: str = ""
    """What to say where there is nothing to show."""


def build_bar_cells(values: Sequence[float], kind: str = "") -> list[PanelCell]:
    """A cell with a bar for each of some values, by the largest of them."""
    highest = max(values, default=0)
    return [PanelCell("", bar=render_meter([value], highest, kind), kind="bar") for value in values]


def build_search_address(*filters: tuple[str, str]) -> str:
    """The address of a search by filters alone."""
    return "/search?" + urlencode({"q": " ".join(f"{name}:{quote_filter_value(value)}" for name, value in filters)})


def build_text_cells(items: Iterable[str]) -> list[PanelCell]:
    """Cells with nothing but words."""
    return [PanelCell(item) for item in items]
