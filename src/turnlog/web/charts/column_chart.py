"""Columns over a row of days, or of whatever follows each other: one colour, or several on top of each other."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from markupsafe import Markup

from turnlog.web.charts.frame import BOTTOM_MARGIN_PX, CHART_HEIGHT_PX, TOP_MARGIN_PX, ChartFrame, render_frame
from turnlog.web.charts.scale import AxisScale, build_axis_scale
from turnlog.web.charts.svg_elements import build_element, join_markup, to_percent

_COLUMN_GAP_SHARE = 0.18
"""Of the width of a column's place, at most."""


class ChartColumn(NamedTuple):
    """One column."""

    label: str
    """Below it."""
    values: tuple[float, ...]
    """Of each series, from the bottom up."""
    words: str
    """What it says when somebody points at it."""
    href: str | None = None
    """Where it leads."""


def render_column_chart(
    title: str,
    series: Sequence[str],
    found: Sequence[ChartColumn],
    written: Callable[[float], str],
    description: str = "",
) -> Markup:
    """A chart of columns; `series` names the colours, `written` is how the axis says a value."""
    axis = build_axis_scale(max((sum(max(value, 0) for value in column.values) for column in found), default=0))
    marks = join_markup(_render_column(number, len(found), column, axis) for number, column in enumerate(found))
    labels = [column.label for column in found]
    return render_frame(ChartFrame(title, description, axis, labels, tuple(series), marks, written))


def _render_column(number: int, total: int, column: ChartColumn, axis: AxisScale) -> Markup:
    """A column with a field behind it that is as high as the chart, so that low ones can be pointed at."""
    left, wide = number / total, 1 / total
    field = build_element(
        "rect",
        class_="field",
        x=to_percent(left),
        y=0,
        width=to_percent(wide),
        height=CHART_HEIGHT_PX - BOTTOM_MARGIN_PX,
    )
    gap = _COLUMN_GAP_SHARE * wide if total < 200 else 0
    parts = join_markup(_render_column_parts(column.values, axis, to_percent(left + gap / 2), to_percent(wide - gap)))
    said = build_element("title", column.words)
    return build_element("g", field + parts + said, class_="mark", data_words=column.words, data_href=column.href)


def _render_column_parts(values: Sequence[float], axis: AxisScale, x: str, width: str) -> Iterator[Markup]:
    room = CHART_HEIGHT_PX - TOP_MARGIN_PX - BOTTOM_MARGIN_PX
    floor = float(CHART_HEIGHT_PX - BOTTOM_MARGIN_PX)
    for place, value in enumerate(values):
        high = axis.to_share(value) * room
        if value > 0:
            high = max(high, 1.0)
            floor -= high
            yield build_element("rect", class_=f"s{place}", x=x, y=floor, width=width, height=high)
