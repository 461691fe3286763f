"""A bar for a table cell. The number is in the next cell, so the bar needs no text of its own."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup

from turnlog.web.charts.svg_elements import build_element, join_markup, to_percent


def render_meter(values: Sequence[float], highest: float, kind: str = "") -> Markup:
    """Render a bar with several parts; its length is their sum relative to `highest`."""
    parts, left = [], 0.0
    for place, value in enumerate(values):
        wide = max(value, 0) / highest if highest > 0 else 0.0
        if wide > 0:
            parts.append(
                build_element("rect", class_=f"s{place}", x=to_percent(left), y=0, width=to_percent(wide), height=10)
            )
            left += wide
    return build_element(
        "svg", join_markup(parts), class_=f"meter {kind}".strip(), width="100%", height=10, aria_hidden="true"
    )
