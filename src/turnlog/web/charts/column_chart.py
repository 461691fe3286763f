"""A column chart over a series of days or other periods, plain or stacked."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import zip_longest
from typing import NamedTuple

from markupsafe import Markup

from turnlog.web.charts.frame import BOTTOM_MARGIN_PX, CHART_HEIGHT_PX, TOP_MARGIN_PX, ChartFrame, render_frame
from turnlog.web.charts.scale import AxisScale, build_axis_scale
from turnlog.web.charts.svg_elements import build_element, join_markup, to_percent

_COLUMN_GAP_SHARE = 0.18
"""The gap's share of a column's width."""


class ColumnPart(NamedTuple):
    """The tooltip of a part of a stacked column, and the address that a click on it opens."""

    words: str
    href: str | None = None


class ChartColumn(NamedTuple):
    label: str
    """Shown below the column."""
    values: tuple[float, ...]
    """One for each series, from the bottom up."""
    words: str
    """The tooltip."""
    href: str | None = None
    """The address that a click opens."""
    parts: tuple[ColumnPart, ...] = ()
    """What the parts of a stacked column say, one for each value; without any, they say the same as the column."""


def render_column_chart(
    title: str,
    series: Sequence[str],
    columns: Sequence[ChartColumn],
    format_value: Callable[[float], str],
    description: str = "",
    *,
    has_all_labels: bool = False,
) -> Markup:
    """Render columns; `series` names the colours, and `format_value` formats the axis labels.

    `has_all_labels` is for columns that are things rather than times.
    """
    axis = build_axis_scale(max((sum(max(value, 0) for value in column.values) for column in columns), default=0))
    marks = join_markup(_render_column(number, len(columns), column, axis) for number, column in enumerate(columns))
    labels = [column.label for column in columns]
    frame = ChartFrame(title, description, axis, labels, tuple(series), marks, format_value)
    return render_frame(frame._replace(has_all_labels=has_all_labels))


def _render_column(number: int, total: int, column: ChartColumn, axis: AxisScale) -> Markup:
    """Render a column on an area as tall as the chart, so that short columns are easy to point at."""
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
    parts = join_markup(_render_column_parts(column, axis, to_percent(left + gap / 2), to_percent(wide - gap)))
    title = build_element("title", column.words)
    return build_element("g", field + parts + title, class_="mark", data_words=column.words, data_href=column.href)


def _render_column_parts(column: ChartColumn, axis: AxisScale, x: str, width: str) -> Iterator[Markup]:
    room = CHART_HEIGHT_PX - TOP_MARGIN_PX - BOTTOM_MARGIN_PX
    floor = float(CHART_HEIGHT_PX - BOTTOM_MARGIN_PX)
    for place, (value, part) in enumerate(zip_longest(column.values, column.parts)):
        high = axis.to_share(value) * room
        if value > 0:
            high = max(high, 1.0)
            floor -= high
            words, href = part or (None, None)
            yield build_element(
                "rect", class_=f"s{place}", x=x, y=floor, width=width, height=high, data_words=words, data_href=href
            )
