"""A year as a grid: one column for each week, one cell for each day; the more a day cost, the darker its cell."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import date, timedelta
from math import ceil, sqrt
from typing import NamedTuple

from markupsafe import Markup

from turnlog.store.usage.usage_slices import DAY_NAMES
from turnlog.web.charts.heat_map import SHADE_COUNT
from turnlog.web.charts.svg_elements import build_element, join_markup, to_percent

_ROW_HEIGHT_PX = 14
_TOP_MARGIN_PX = 18
_AXIS_WIDTH_PX = 32
_GAP_PX = 2
_MIN_LABEL_GAP = 0.055
"""The smallest distance between two names of months, as a share of the width."""

_YEAR_WIDTH = 0.03
"""How much wider the name of a month is with its year."""


class YearDay(NamedTuple):
    day: date
    value: float
    words: str
    """The tooltip."""
    href: str | None = None


def render_year_map(title: str, days: Sequence[YearDay]) -> Markup:
    """Render consecutive days."""
    first = days[0].day - timedelta(days=days[0].day.weekday())
    weeks = (days[-1].day - first).days // 7 + 1
    high = _TOP_MARGIN_PX + 7 * _ROW_HEIGHT_PX
    names = join_markup(
        build_element("text", DAY_NAMES[number], x=0, y=_TOP_MARGIN_PX + number * _ROW_HEIGHT_PX + 10)
        for number in (0, 2, 4)
    )
    axis = build_element("svg", names, class_="axis", width=_AXIS_WIDTH_PX, height=high, aria_hidden="true")
    highest = max(item.value for item in days)
    cells = join_markup(_render_day(item, first, weeks, highest) for item in days)
    months = join_markup(_render_months(days, first, weeks))
    words = f"{title}, from {days[0].day} to {days[-1].day}"
    plot = build_element("svg", months + cells, class_="plot", width="100%", height=high, role="img", aria_label=words)
    field = build_element("div", plot, class_="field-of-marks", data_down="7")
    return build_element("div", axis + field, class_="chart heat year")


def _render_day(item: YearDay, first: date, weeks: int, highest: float) -> Markup:
    week, weekday = divmod((item.day - first).days, 7)
    # By the square root, since a few expensive days would leave all others pale.
    shade = max(ceil(sqrt(item.value / highest) * SHADE_COUNT), 1) if item.value > 0 and highest > 0 else 0
    rect = build_element(
        "rect",
        class_=f"h{min(shade, SHADE_COUNT)}",
        x=to_percent(week / weeks),
        y=_TOP_MARGIN_PX + weekday * _ROW_HEIGHT_PX,
        width=to_percent(0.86 / weeks),
        height=_ROW_HEIGHT_PX - _GAP_PX,
        rx=2,
    )
    return build_element("g", rect, class_="mark", data_words=item.words, data_href=item.href)


def _render_months(days: Sequence[YearDay], first: date, weeks: int) -> Iterator[Markup]:
    before = -1.0
    for item in days:
        place = (item.day - first).days // 7 / weeks
        if item.day.day == 1 and place - before >= _MIN_LABEL_GAP and place < 0.97:
            # A year before the name of December would leave no room for that of January, which tells more.
            has_year = item.day.month == 1 or (before < 0 and item.day.month != 12)
            name = f"{item.day:%b %Y}" if has_year else f"{item.day:%b}"
            kind = "label minor" if item.day.month % 2 == 0 and before >= 0 else "label"
            yield build_element("text", name, class_=kind, x=to_percent(place), y=10)
            before = place + (_YEAR_WIDTH if len(name) > len("Jan") else 0.0)
