"""The marks that charts are made of: SVG elements with escaped attributes and texts."""

from __future__ import annotations

from collections.abc import Iterable

from markupsafe import Markup, escape


def build_element(name: str, inner: Markup | str = "", /, **attributes: str | float | None) -> Markup:
    """An element; `_` in the name of an attribute stands for `-`, and one that is None is left out."""
    given = Markup("").join(
        Markup(' {}="{}"').format(key.rstrip("_").replace("_", "-"), _format_number(value))
        for key, value in attributes.items()
        if value is not None
    )
    return Markup("<{name}{given}>{inner}</{name}>").format(name=Markup(name), given=given, inner=escape(inner))


def join_markup(parts: Iterable[Markup]) -> Markup:
    """Several elements one after the other."""
    return Markup("").join(parts)


def to_percent(part: float) -> str:
    """A part of the whole as a percentage."""
    return f"{_format_number(part * 100)}%"


def _format_number(value: str | float) -> str:
    return value if isinstance(value, str) else f"{value:.3f}".rstrip("0").rstrip(".")
