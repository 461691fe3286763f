"""The templates: how they are loaded, and what they can do with the values that they are given."""

from __future__ import annotations

import re
from functools import lru_cache
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined, Template
from markupsafe import Markup, escape

from turnlog.render.figures import format_cost_usd, format_count, format_duration, format_thousands
from turnlog.render.html_escape import escape_to_markup, name_hidden_chars
from turnlog.session.clock import parse_timestamp


@lru_cache(maxsize=64)
def load_template(name: str) -> Template:
    """A template by its file's name; they are few, and stay."""
    return load_template_environment().get_template(name)


@lru_cache(maxsize=1)
def load_template_environment() -> Environment:
    """The templates. What they print is escaped, and what can't be seen is marked, whatever a template says."""
    made = Environment(
        loader=FileSystemLoader(Path(__file__).with_name("templates")),
        autoescape=True,
        auto_reload=False,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_finalize_value,
    )
    made.filters |= {
        "attr": lambda value: escape(name_hidden_chars(str(value))),
        "call_id": build_card_element_id,
        "clock": _render_clock,
        "count": format_count,
        "dollars": format_cost_usd,
        "duration": format_duration,
        "item_id": build_item_element_id,
        "thousands": format_thousands,
        "word": _to_class_word,
    }
    made.globals |= {
        name: getattr(made.get_template(file).module, name)
        for file, name in (("fold.html", "fold"), ("item.html", "attributes"), ("item.html", "foot"))
    }
    return made


def build_item_element_id(key: str) -> str:
    """The id of an item's element."""
    return "i-" + re.sub(r"[^A-Za-z0-9_@.:-]", "-", key[:200])


def build_card_element_id(call: str) -> str:
    """The id of a card's element."""
    return "c-" + re.sub(r"[^A-Za-z0-9_-]", "-", call[:200])


def _finalize_value(value: object) -> object:
    if value is None:
        return ""
    return escape_to_markup(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def _to_class_word(value: str) -> str:
    """A word of a transcript as part of a class."""
    return re.sub(r"[^a-z0-9-]", "-", value.lower()[:40])


def _render_clock(time: str | None) -> Markup:
    """A time as an element: the hour to be seen, the whole to be read and to be worked on."""
    found = parse_timestamp(time)
    if found is None:
        return Markup('<span class="time">{}</span>').format(escape_to_markup(time[:40])) if time else Markup("")
    full = f"{found:%Y-%m-%d %H:%M:%S} UTC"
    return Markup(f'<time datetime="{found:%Y-%m-%dT%H:%M:%S.%fZ}" title="{full}">{found:%H:%M:%S}</time>')
