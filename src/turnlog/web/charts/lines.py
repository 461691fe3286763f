"""A line over a row of days, with what is unknown left open."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from markupsafe import Markup

from turnlog.web.charts.frame import BOTTOM, HEIGHT, TOP, Frame, framed
from turnlog.web.charts.marks import element, joined, percent
from turnlog.web.charts.scale import Scale, scale


class Point(NamedTuple):
    """One place of a line."""

    label: str
    value: float | None
    words: str
    href: str | None = None


def line(
    title: str,
    found: Sequence[Point],
    written: Callable[[float], str],
    description: str = "",
    highest: float | None = None,
) -> Markup:
    """A chart of one line; the axis ends at `highest`, or at a round number above all values."""
    axis = scale(highest if highest is not None else max((point.value or 0 for point in found), default=0))
    marks = joined(_field(number, len(found), point, axis) for number, point in enumerate(found))
    under = element(
        "svg",
        joined(_strokes(found, axis)),
        class_="strokes",
        x="0%",
        y=TOP,
        width="100%",
        height=HEIGHT - TOP - BOTTOM,
        viewBox="0 0 100 100",
        preserveAspectRatio="none",
    )
    labels = [point.label for point in found]
    return framed(Frame(title, description, axis, labels, (title,), marks, written, under))


def _strokes(found: Sequence[Point], axis: Scale) -> Iterator[Markup]:
    """One stroke for each run of known values."""
    run: list[str] = []
    for number, point in enumerate([*found, Point("", None, "")]):
        if point.value is not None:
            run.append(f"{(number + 0.5) / len(found) * 100:.3f},{100 - axis.part(point.value) * 100:.3f}")
        elif run:
            yield element("polyline", class_="stroke", points=" ".join(run), vector_effect="non-scaling-stroke")
            run = []


def _field(number: int, total: int, point: Point, axis: Scale) -> Markup:
    left, wide = number / total, 1 / total
    inner = element("rect", class_="field", x=percent(left), y=0, width=percent(wide), height=HEIGHT - BOTTOM)
    if point.value is not None:
        y = HEIGHT - BOTTOM - axis.part(point.value) * (HEIGHT - TOP - BOTTOM)
        inner += element("circle", class_="dot", cx=percent(left + wide / 2), cy=y, r=2.5 if total < 100 else 1.5)
    inner += element("title", point.words)
    return element("g", inner, class_="mark", data_words=point.words, data_href=point.href)
