"""Builds the SVG elements of charts, with escaped attributes and text."""

from __future__ import annotations

from collections.abc import Iterable

from markupsafe import Markup, escape

from turnlog.render.html_escape import name_hidden_chars
from turnlog.web.amounts import MAX_VALUE_CHARS, shorten_name

_NAME_ATTRIBUTES = frozenset({"aria_label", "data_href", "data_words", "href", "title"})
"""Attributes with names of a session, which may have any length; others, such as points, are complete or useless."""


def build_element(name: str, inner: Markup | str = "", /, **attributes: str | float | None) -> Markup:
    """Build an element; `_` in an attribute's name becomes `-`, and attributes that are None are omitted.

    Names in the text may contain invisible characters, which would reverse what follows them; they are spelled out.
    """
    pairs = Markup("").join(
        Markup(' {}="{}"').format(key.rstrip("_").replace("_", "-"), _format_attribute(key, value))
        for key, value in attributes.items()
        if value is not None
    )
    return Markup("<{name}{pairs}>{inner}</{name}>").format(name=Markup(name), pairs=pairs, inner=_format_inner(inner))


def join_markup(parts: Iterable[Markup]) -> Markup:
    return Markup("").join(parts)


def to_percent(part: float) -> str:
    return f"{_format_value(part * 100)}%"


def _format_inner(inner: Markup | str) -> Markup:
    return inner if isinstance(inner, Markup) else escape(name_hidden_chars(shorten_name(inner)))


def _format_attribute(name: str, value: str | float) -> str:
    if isinstance(value, str) and name in _NAME_ATTRIBUTES:
        value = shorten_name(value, MAX_VALUE_CHARS)
    return _format_value(value)


def _format_value(value: str | float) -> str:
    return name_hidden_chars(value) if isinstance(value, str) else f"{value:.3f}".rstrip("0").rstrip(".")
