"""A bar for the cell of a table: the number stands beside it, so it needs no words of its own."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup

from turnlog.web.charts.marks import element, joined, percent


def meter(values: Sequence[float], highest: float, kind: str = "") -> Markup:
    """One bar of several parts, as long as they are together against the highest."""
    parts, left = [], 0.0
    for place, value in enumerate(values):
        wide = max(value, 0) / highest if highest > 0 else 0.0
        if wide > 0:
            parts.append(element("rect", class_=f"s{place}", x=percent(left), y=0, width=percent(wide), height=10))
            left += wide
    return element("svg", joined(parts), class_=f"meter {kind}".strip(), width="100%", height=10, aria_hidden="true")
