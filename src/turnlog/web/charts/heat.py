"""A grid whose fields are the darker the more is in them: hours of the day by days of the week."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from math import ceil, sqrt

from markupsafe import Markup

from turnlog.web.charts.marks import element, joined, percent

DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
SHADES = 6
_ROW = 22
_LEFT = 52
_BELOW = 20


def heat(
    title: str, found: Sequence[Sequence[int]], said: Callable[[int, int, int], str], description: str = ""
) -> Markup:
    """A grid of days and hours; `said` puts a field into words."""
    high = _ROW * len(found) + _BELOW
    names = joined(
        element("text", DAYS[day], x=_LEFT - 8, y=day * _ROW + _ROW / 2 + 4, text_anchor="end")
        for day in range(len(found))
    )
    axis = element("svg", names, class_="axis", width=_LEFT, height=high, aria_hidden="true")
    highest = max((value for row in found for value in row), default=0)
    fields = joined(
        _field(day, hour, value, highest, said) for day, row in enumerate(found) for hour, value in enumerate(row)
    )
    words = ". ".join(word for word in (title, description) if word)
    inner = fields + joined(_hours(high))
    plot = element("svg", inner, class_="plot", width="100%", height=high, role="img", aria_label=words)
    field = element("div", plot, class_="field-of-marks", data_across="24")
    return element("div", axis + field, class_="chart heat")


def _field(day: int, hour: int, value: int, highest: int, said: Callable[[int, int, int], str]) -> Markup:
    # By the square root, since a few busy hours would leave all others pale.
    shade = min(ceil(sqrt(value / highest) * SHADES), SHADES) if value and highest else 0
    words = said(day, hour, value)
    rect = element(
        "rect",
        class_=f"h{shade}",
        x=percent(hour / 24 + 0.0015),
        y=day * _ROW + 1,
        width=percent(1 / 24 - 0.003),
        height=_ROW - 2,
        rx=2,
    )
    return element("g", rect + element("title", words), class_="mark", data_words=words)


def _hours(high: int) -> Iterator[Markup]:
    for hour in range(0, 24, 3):
        kind = "label minor" if hour % 6 else "label"
        yield element("text", f"{hour:02}", class_=kind, x=percent((hour + 0.5) / 24), y=high - 5, text_anchor="middle")
