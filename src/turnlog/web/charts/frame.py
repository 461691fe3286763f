"""What all charts have around them: an axis with its lines, labels below, a legend, and words for who can't see it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from markupsafe import Markup

from turnlog.web.charts.marks import element, joined, percent
from turnlog.web.charts.scale import Scale, spread

HEIGHT = 200
TOP = 10
BOTTOM = 24
_AXIS = 52
_LABELS = 8
"""So many labels stand below a chart; every second one is left out where it is narrow."""


class Frame(NamedTuple):
    """A chart without its frame."""

    title: str
    description: str
    axis: Scale
    labels: Sequence[str]
    series: tuple[str, ...]
    marks: Markup
    written: Callable[[float], str]
    under: Markup = Markup("")
    """What lies between the lines of the axis and the marks."""


def framed(frame: Frame) -> Markup:
    """The chart; `insights.js` lets arrows go from mark to mark, and Enter follow where one leads."""
    axis = element("svg", joined(_numbers(frame)), class_="axis", width=_AXIS, height=HEIGHT, aria_hidden="true")
    words = ". ".join(word for word in (frame.title, frame.description) if word)
    inner = joined([*_lines(frame), frame.under, *_labels(frame.labels), frame.marks])
    plot = element("svg", inner, class_="plot", width="100%", height=HEIGHT, role="img", aria_label=words)
    field = element("div", plot, class_="field-of-marks")
    return element("div", axis + field, class_="chart") + _legend(frame.series)


def _y(frame: Frame, value: float) -> float:
    return HEIGHT - BOTTOM - frame.axis.part(value) * (HEIGHT - TOP - BOTTOM)


def _numbers(frame: Frame) -> Iterator[Markup]:
    for tick in frame.axis.ticks:
        yield element("text", frame.written(tick), x=_AXIS - 6, y=_y(frame, tick) + 4, text_anchor="end")


def _lines(frame: Frame) -> Iterator[Markup]:
    for tick in frame.axis.ticks:
        y = _y(frame, tick)
        yield element("line", class_="base" if tick == 0 else "grid", x1="0%", x2="100%", y1=y, y2=y)


def _labels(labels: Sequence[str]) -> Iterator[Markup]:
    for number, place in enumerate(spread(len(labels), _LABELS)):
        where = (place + 0.5) / len(labels)
        anchor = "start" if where < 0.06 else "end" if where > 0.94 else "middle"
        kind = "label minor" if number % 2 else "label"
        yield element("text", labels[place], class_=kind, x=percent(where), y=HEIGHT - 7, text_anchor=anchor)


def _legend(series: Sequence[str]) -> Markup:
    if len(series) < 2:
        return Markup("")
    items = (
        element(
            "li",
            element(
                "svg", element("rect", class_=f"s{place}", width=10, height=10), width=10, height=10, aria_hidden="true"
            )
            + name,
        )
        for place, name in enumerate(series)
    )
    return element("ul", joined(items), class_="legend")
