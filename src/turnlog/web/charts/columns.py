"""Columns over a row of days, or of whatever follows each other: one colour, or several on top of each other."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from markupsafe import Markup

from turnlog.web.charts.frame import BOTTOM, HEIGHT, TOP, Frame, framed
from turnlog.web.charts.marks import element, joined, percent
from turnlog.web.charts.scale import Scale, scale

_GAP = 0.18
"""Of the width of a column's place, at most."""


class Column(NamedTuple):
    """One column."""

    label: str
    """Below it."""
    values: tuple[float, ...]
    """Of each series, from the bottom up."""
    words: str
    """What it says when somebody points at it."""
    href: str | None = None
    """Where it leads."""


def columns(
    title: str, series: Sequence[str], found: Sequence[Column], written: Callable[[float], str], description: str = ""
) -> Markup:
    """A chart of columns; `series` names the colours, `written` is how the axis says a value."""
    axis = scale(max((sum(max(value, 0) for value in column.values) for column in found), default=0))
    marks = joined(_column(number, len(found), column, axis) for number, column in enumerate(found))
    labels = [column.label for column in found]
    return framed(Frame(title, description, axis, labels, tuple(series), marks, written))


def _column(number: int, total: int, column: Column, axis: Scale) -> Markup:
    """A column with a field behind it that is as high as the chart, so that low ones can be pointed at."""
    left, wide = number / total, 1 / total
    field = element("rect", class_="field", x=percent(left), y=0, width=percent(wide), height=HEIGHT - BOTTOM)
    gap = _GAP * wide if total < 200 else 0
    parts = joined(_parts(column.values, axis, percent(left + gap / 2), percent(wide - gap)))
    said = element("title", column.words)
    return element("g", field + parts + said, class_="mark", data_words=column.words, data_href=column.href)


def _parts(values: Sequence[float], axis: Scale, x: str, width: str) -> Iterator[Markup]:
    room = HEIGHT - TOP - BOTTOM
    floor = float(HEIGHT - BOTTOM)
    for place, value in enumerate(values):
        high = axis.part(value) * room
        if value > 0:
            high = max(high, 1.0)
            floor -= high
            yield element("rect", class_=f"s{place}", x=x, y=floor, width=width, height=high)
