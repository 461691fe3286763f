"""Builds the SVG elements of charts, with escaped attributes and text."""

from __future__ import annotations

from collections.abc import Iterable

from markupsafe import Markup, escape


def build_element(name: str, inner: Markup | str = "", /, **attributes: str | float | None) -> Markup:
    """Build an element; `_` in an attribute's name becomes `-`, and attributes that are None are omitted."""
    pairs = Markup("").join(
        Markup(' {}="{}"').format(key.rstrip("_").replace("_", "-"), _format_number(value))
        for key, value in attributes.items()
        if value is not None
    )
    return Markup("<{name}{pairs}>{inner}</{name}>").format(name=Markup(name), pairs=pairs, inner=escape(inner))


def join_markup(parts: Iterable[Markup]) -> Markup:
    return Markup("").join(parts)


def to_percent(part: float) -> str:
    return f"{_format_number(part * 100)}%"


def _format_number(value: str | float) -> str:
    return value if isinstance(value, str) else f"{value:.3f}".rstrip("0").rstrip(".")
