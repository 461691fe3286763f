"""A treemap: rectangles whose areas are in proportion to their values, grouped."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from markupsafe import Markup

from turnlog.web.charts.svg_elements import build_element, join_markup, to_percent

_HEIGHT_PX = 260
_MIN_LABEL_WIDTH, _MIN_LABEL_HEIGHT_PX, _LINE_HEIGHT_PX = 0.03, 36.0, 16
_SERIES_COUNT = 8


class TreemapLeaf(NamedTuple):
    labels: tuple[str, ...]
    """Its names, from the general to the special."""
    value: float
    figure: str
    words: str
    """The tooltip."""
    group: int
    """The number of its colour."""
    href: str | None = None


class _Box(NamedTuple):
    x: float
    y: float
    width: float
    height: float


def render_treemap(title: str, leaves: Sequence[TreemapLeaf]) -> Markup:
    """Render the leaves with a value, largest first."""
    ordered = sorted((leaf for leaf in leaves if leaf.value > 0), key=lambda leaf: -leaf.value)
    marks = join_markup(_render_leaf(leaf, box) for leaf, box in _place_leaves(ordered, _Box(0, 0, 1, 1)))
    plot = build_element("svg", marks, class_="plot", width="100%", height=_HEIGHT_PX, role="img", aria_label=title)
    return build_element("div", build_element("div", plot, class_="field-of-marks"), class_="chart treemap")


def _place_leaves(leaves: Sequence[TreemapLeaf], box: _Box) -> Iterator[tuple[TreemapLeaf, _Box]]:
    """Divide a box by halving the values until one leaf is left, along the longer side."""
    if not leaves:
        return
    if len(leaves) == 1:
        yield leaves[0], box
        return
    total = sum(leaf.value for leaf in leaves)
    at, passed = 1, leaves[0].value
    while at < len(leaves) - 1 and passed + leaves[at].value / 2 < total / 2:
        passed += leaves[at].value
        at += 1
    share = passed / total
    if box.width * 3 >= box.height:  # the chart is about three times as wide as it is high
        first = box._replace(width=box.width * share)
        rest = box._replace(x=box.x + first.width, width=box.width - first.width)
    else:
        first = box._replace(height=box.height * share)
        rest = box._replace(y=box.y + first.height, height=box.height - first.height)
    yield from _place_leaves(leaves[:at], first)
    yield from _place_leaves(leaves[at:], rest)


def _render_leaf(leaf: TreemapLeaf, box: _Box) -> Markup:
    top, high = box.y * _HEIGHT_PX, box.height * _HEIGHT_PX
    inner = build_element(
        "rect",
        class_=f"s{leaf.group % _SERIES_COUNT}",
        x=to_percent(box.x),
        y=top,
        width=to_percent(box.width),
        height=high,
    )
    if box.width > _MIN_LABEL_WIDTH and high > _MIN_LABEL_HEIGHT_PX:
        has_room = high > _MIN_LABEL_HEIGHT_PX + _LINE_HEIGHT_PX * (len(leaf.labels) - 1)
        lines = [*leaf.labels, leaf.figure] if has_room else [" · ".join(leaf.labels), leaf.figure]
        text = join_markup(
            build_element("text", line, x=8, y=top + _LINE_HEIGHT_PX * number) for number, line in enumerate(lines, 1)
        )
        # `chart_marks.js` shortens lines that are too long for the width that the chart turns out to have.
        inner += build_element(
            "svg", text, class_="label", x=to_percent(box.x), y=0, width=to_percent(box.width), height=_HEIGHT_PX
        )
    return build_element("g", inner, class_="mark", data_words=leaf.words, data_href=leaf.href)
