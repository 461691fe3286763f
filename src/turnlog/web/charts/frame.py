"""The parts that all charts share: an axis with grid lines, labels, a legend, and a description for screen readers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from markupsafe import Markup

from turnlog.web.charts.scale import AxisScale, pick_label_places
from turnlog.web.charts.svg_elements import build_element, join_markup, to_percent

CHART_HEIGHT_PX = 200
TOP_MARGIN_PX = 10
BOTTOM_MARGIN_PX = 24
_AXIS_WIDTH_PX = 52
_MAX_LABELS = 8
"""The maximum number of labels below a chart; a narrow chart shows every second, or of long ones every third."""
_MAX_SHORT_LABEL_CHARS = 8
_MAX_LABEL_PLACE = 0.94
"""A label further to the right would not fit beside the edge; on the left, there is room below the axis."""


class ChartFrame(NamedTuple):
    """A chart's marks and what is needed to draw the frame around them."""

    title: str
    description: str
    axis: AxisScale
    labels: Sequence[str]
    series: tuple[str, ...]
    marks: Markup
    format_value: Callable[[float], str]
    under: Markup = Markup("")
    """Drawn between the grid lines and the marks."""
    has_all_labels: bool = False


def render_frame(frame: ChartFrame) -> Markup:
    """Render the whole chart; `insights.js` adds tooltips and keyboard navigation."""
    axis = build_element(
        "svg",
        join_markup(_render_axis_numbers(frame)),
        class_="axis",
        width=_AXIS_WIDTH_PX,
        height=CHART_HEIGHT_PX,
        aria_hidden="true",
    )
    description = ". ".join(word for word in (frame.title, frame.description) if word)
    inner = join_markup([*_render_axis_lines(frame), frame.under, *_render_labels(frame), frame.marks])
    plot = build_element(
        "svg", inner, class_="plot", width="100%", height=CHART_HEIGHT_PX, role="img", aria_label=description
    )
    field = build_element("div", plot, class_="field-of-marks")
    return build_element("div", axis + field, class_="chart") + _render_legend(frame.series)


def _to_y(frame: ChartFrame, value: float) -> float:
    return (
        CHART_HEIGHT_PX
        - BOTTOM_MARGIN_PX
        - frame.axis.to_share(value) * (CHART_HEIGHT_PX - TOP_MARGIN_PX - BOTTOM_MARGIN_PX)
    )


def _render_axis_numbers(frame: ChartFrame) -> Iterator[Markup]:
    for tick in frame.axis.ticks:
        yield build_element(
            "text", frame.format_value(tick), x=_AXIS_WIDTH_PX - 6, y=_to_y(frame, tick) + 4, text_anchor="end"
        )


def _render_axis_lines(frame: ChartFrame) -> Iterator[Markup]:
    for tick in frame.axis.ticks:
        y = _to_y(frame, tick)
        yield build_element("line", class_="base" if tick == 0 else "grid", x1="0%", x2="100%", y1=y, y2=y)


def _render_labels(frame: ChartFrame) -> Iterator[Markup]:
    labels = frame.labels
    is_short = max(map(len, labels), default=0) <= _MAX_SHORT_LABEL_CHARS
    most, kept = (_MAX_LABELS, 2) if is_short else (_MAX_LABELS - 2, 3)
    for number, place in enumerate(pick_label_places(len(labels), len(labels) if frame.has_all_labels else most)):
        x = (place + 0.5) / len(labels)
        if x > _MAX_LABEL_PLACE and not frame.has_all_labels:
            continue
        kind = "label minor" if number % kept else "label"
        yield build_element(
            "text", labels[place], class_=kind, x=to_percent(x), y=CHART_HEIGHT_PX - 7, text_anchor="middle"
        )


def _render_legend(series: Sequence[str]) -> Markup:
    if len(series) < 2:
        return Markup("")
    items = (
        build_element(
            "li",
            build_element(
                "svg",
                build_element("rect", class_=f"s{place}", width=10, height=10),
                width=10,
                height=10,
                aria_hidden="true",
            )
            + name,
        )
        for place, name in enumerate(series)
    )
    return build_element("ul", join_markup(items), class_="legend")
