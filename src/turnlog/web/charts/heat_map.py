"""A grid of hours and weekdays; the more happened in an hour, the darker its cell."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from math import ceil, sqrt

from markupsafe import Markup

from turnlog.store.usage.usage_slices import DAY_NAMES
from turnlog.web.charts.svg_elements import build_element, join_markup, to_percent

SHADE_COUNT = 6
_ROW_HEIGHT_PX = 22
_AXIS_WIDTH_PX = 52
_BOTTOM_MARGIN_PX = 20


def render_heat_map(
    title: str,
    counts: Sequence[Sequence[int]],
    describe: Callable[[int, int, int], str],
    link: Callable[[int, int], str | None] = lambda _day, _hour: None,
    description: str = "",
) -> Markup:
    """Render counts by day and hour; `describe` returns the tooltip of a cell, and `link` its address."""
    high = _ROW_HEIGHT_PX * len(counts) + _BOTTOM_MARGIN_PX
    names = join_markup(
        build_element(
            "text",
            DAY_NAMES[day],
            x=_AXIS_WIDTH_PX - 8,
            y=day * _ROW_HEIGHT_PX + _ROW_HEIGHT_PX / 2 + 4,
            text_anchor="end",
        )
        for day in range(len(counts))
    )
    axis = build_element("svg", names, class_="axis", width=_AXIS_WIDTH_PX, height=high, aria_hidden="true")
    highest = max((value for row in counts for value in row), default=0)
    fields = join_markup(
        _render_field(day, hour, value, highest, describe(day, hour, value), link(day, hour))
        for day, row in enumerate(counts)
        for hour, value in enumerate(row)
    )
    words = ". ".join(word for word in (title, description) if word)
    inner = fields + join_markup(_render_hour_labels(high))
    plot = build_element("svg", inner, class_="plot", width="100%", height=high, role="img", aria_label=words)
    field = build_element("div", plot, class_="field-of-marks", data_across="24")
    return build_element("div", axis + field, class_="chart heat")


def _render_field(day: int, hour: int, value: int, highest: int, words: str, href: str | None) -> Markup:
    # By the square root, since a few busy hours would leave all others pale.
    shade = min(ceil(sqrt(value / highest) * SHADE_COUNT), SHADE_COUNT) if value and highest else 0
    rect = build_element(
        "rect",
        class_=f"h{shade}",
        x=to_percent(hour / 24 + 0.0015),
        y=day * _ROW_HEIGHT_PX + 1,
        width=to_percent(1 / 24 - 0.003),
        height=_ROW_HEIGHT_PX - 2,
        rx=2,
    )
    return build_element("g", rect + build_element("title", words), class_="mark", data_words=words, data_href=href)


def _render_hour_labels(high: int) -> Iterator[Markup]:
    for hour in range(0, 24, 3):
        kind = "label minor" if hour % 6 else "label"
        yield build_element(
            "text", f"{hour:02}", class_=kind, x=to_percent((hour + 0.5) / 24), y=high - 5, text_anchor="middle"
        )
