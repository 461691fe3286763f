"""A panel of the insights page: a chart, a table with the same figures, and a line that defines them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple
from urllib.parse import urlencode

from markupsafe import Markup

from turnlog.web.charts.meter import render_meter
from turnlog.web.search.query_filters import quote_filter_value

_INSIGHTS_PATH = "/insights"
_OTHER_CHART_LINK = re.compile(rf' data-href="(?!{_INSIGHTS_PATH})[^"]*"')


class PanelHead(NamedTuple):
    """A column's header."""

    words: str
    is_number: bool = True
    kind: str = ""


class PanelCell(NamedTuple):
    words: str
    href: str | None = None
    title: str | None = None
    bar: Markup | None = None
    """Shown instead of words; the figure is in another cell."""
    kind: str = ""


class PanelTable(NamedTuple):
    """A table whose first column names the rows."""

    heads: list[PanelHead]
    rows: list[list[PanelCell]]
    total: list[PanelCell] | None = None
    left: int = 0
    """How many more rows there are."""


class Panel(NamedTuple):
    """One topic of the insights page."""

    key: str
    title: str
    table: PanelTable | None = None
    charts: tuple[tuple[str, Markup], ...] = ()
    """Each with its caption."""
    definition: str = ""
    note: str = ""
    is_folded: bool = False
    """Whether the table is folded, because the chart shows most of it."""
    is_wide: bool = False
    empty: str = ""
    """The text to show if there is no data."""


def build_bar_cells(values: Sequence[float], kind: str = "") -> list[PanelCell]:
    """Build a bar for each value, scaled to the largest."""
    highest = max(values, default=0)
    return [PanelCell("", bar=render_meter([value], highest, kind), kind="bar") for value in values]


def build_search_address(*filters: tuple[str, str]) -> str:
    """Build the address of a search that has only filters."""
    return "/search?" + urlencode({"q": " ".join(f"{name}:{quote_filter_value(value)}" for name, value in filters)})


def keep_insights_links(panel: Panel) -> Panel:
    """Drop the links that lead to other pages."""
    table = panel.table
    if table is not None:
        total = table.total and [_keep_insights_link(cell) for cell in table.total]
        table = table._replace(rows=[[_keep_insights_link(cell) for cell in row] for row in table.rows], total=total)
    charts = tuple((caption, Markup(_OTHER_CHART_LINK.sub("", chart))) for caption, chart in panel.charts)
    return panel._replace(table=table, charts=charts)


def _keep_insights_link(cell: PanelCell) -> PanelCell:
    return cell if (cell.href or "").startswith(_INSIGHTS_PATH) else cell._replace(href=None)
