"""A line chart over a series of days, with gaps where values are unknown."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from markupsafe import Markup

from turnlog.web.charts.frame import BOTTOM_MARGIN_PX, CHART_HEIGHT_PX, TOP_MARGIN_PX, ChartFrame, render_frame
from turnlog.web.charts.scale import AxisScale, build_axis_scale
from turnlog.web.charts.svg_elements import build_element, join_markup, to_percent


class LinePoint(NamedTuple):
    label: str
    value: float | None
    words: str
    href: str | None = None


def render_line_chart(
    title: str,
    points: Sequence[LinePoint],
    format_value: Callable[[float], str],
    description: str = "",
    highest: float | None = None,
) -> Markup:
    """Render one line; the axis ends at `highest`, or at a round number above all values."""
    axis = build_axis_scale(highest if highest is not None else max((point.value or 0 for point in points), default=0))
    marks = join_markup(_render_point(number, len(points), point, axis) for number, point in enumerate(points))
    under = build_element(
        "svg",
        join_markup(_render_strokes(points, axis)),
        class_="strokes",
        x="0%",
        y=TOP_MARGIN_PX,
        width="100%",
        height=CHART_HEIGHT_PX - TOP_MARGIN_PX - BOTTOM_MARGIN_PX,
        viewBox="0 0 100 100",
        preserveAspectRatio="none",
    )
    labels = [point.label for point in points]
    return render_frame(ChartFrame(title, description, axis, labels, (title,), marks, format_value, under))


def _render_strokes(points: Sequence[LinePoint], axis: AxisScale) -> Iterator[Markup]:
    """Render one stroke for each run of known values."""
    run: list[str] = []
    for number, point in enumerate([*points, LinePoint("", None, "")]):
        if point.value is not None:
            run.append(f"{(number + 0.5) / len(points) * 100:.3f},{100 - axis.to_share(point.value) * 100:.3f}")
        elif run:
            yield build_element("polyline", class_="stroke", points=" ".join(run), vector_effect="non-scaling-stroke")
            run = []


def _render_point(number: int, total: int, point: LinePoint, axis: AxisScale) -> Markup:
    left, wide = number / total, 1 / total
    inner = build_element(
        "rect",
        class_="field",
        x=to_percent(left),
        y=0,
        width=to_percent(wide),
        height=CHART_HEIGHT_PX - BOTTOM_MARGIN_PX,
    )
    if point.value is not None:
        y = (
            CHART_HEIGHT_PX
            - BOTTOM_MARGIN_PX
            - axis.to_share(point.value) * (CHART_HEIGHT_PX - TOP_MARGIN_PX - BOTTOM_MARGIN_PX)
        )
        inner += build_element(
            "circle", class_="dot", cx=to_percent(left + wide / 2), cy=y, r=2.5 if total < 100 else 1.5
        )
    inner += build_element("title", point.words)
    return build_element("g", inner, class_="mark", data_words=point.words, data_href=point.href)
