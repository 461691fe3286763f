"""The templates: how they are loaded and which filters they can use."""

from __future__ import annotations

import re
from functools import lru_cache
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined, Template
from markupsafe import Markup, escape

from turnlog.render.figures import (
    describe_text_tokens,
    format_cost_usd,
    format_count,
    format_duration,
    format_thousands,
)
from turnlog.render.html_escape import escape_to_markup, name_hidden_chars
from turnlog.render.text_folds import split_long_text
from turnlog.session.clock import parse_timestamp

MAX_NAME_CHARS = 400
"""The longest name that is shown in full."""
MAX_ATTRIBUTE_CHARS = 8_000
"""The longest attribute, such as an address; browsers and servers refuse addresses that are much longer."""


@lru_cache(maxsize=64)
def load_template(name: str) -> Template:
    """Load a template by its file name, and cache it."""
    template = load_template_environment().get_template(name)
    # Each rendering copies the globals, which takes several times as long from the chain of mappings that Jinja builds.
    template.globals = dict(template.globals)
    return template


@lru_cache(maxsize=1)
def load_template_environment() -> Environment:
    """Load the templates. Their output is always escaped, and invisible characters are marked."""
    environment = Environment(
        loader=FileSystemLoader(Path(__file__).with_name("templates")),
        autoescape=True,
        auto_reload=False,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_finalize_value,
    )
    environment.filters |= {
        "attr": lambda value: escape(name_hidden_chars(str(value)[:MAX_ATTRIBUTE_CHARS])),
        "call_id": build_card_element_id,
        "clock": _render_clock,
        "count": format_count,
        "dollars": format_cost_usd,
        "text_tokens": describe_text_tokens,
        "duration": format_duration,
        "item_id": build_item_element_id,
        "name": shorten_name,
        "thousands": format_thousands,
        "word": _to_class_word,
    }
    environment.globals |= {
        name: getattr(environment.get_template(file).module, name)
        for file, name in (("fold.html", "fold"), ("item.html", "attributes"), ("item.html", "foot"))
    }
    return environment


def build_item_element_id(key: str) -> str:
    return "i-" + re.sub(r"[^A-Za-z0-9_@.:-]", "-", key[:200])


def build_card_element_id(call: str) -> str:
    return "c-" + re.sub(r"[^A-Za-z0-9_-]", "-", call[:200])


def render_pieces(text: str) -> Markup:
    """Escape text; long text is divided into blocks, so that a browser lays out only those that can be seen."""
    pieces = split_long_text(text)
    if len(pieces) < 2:
        return escape_to_markup(text)
    return Markup("").join(
        Markup('<span class="chunk">{}</span>').format(escape_to_markup(piece.removesuffix("\n"))) for piece in pieces
    )


def shorten_name(name: str) -> str:
    """Cut a name that belongs on one line, such as that of a tool; any string of a file can be megabytes long."""
    return name if len(name) <= MAX_NAME_CHARS else f"{name[:MAX_NAME_CHARS]}…"


def _finalize_value(value: object) -> object:
    if value is None:
        return ""
    return render_pieces(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def _to_class_word(value: str) -> str:
    """Convert a word from a transcript to part of a class name."""
    return re.sub(r"[^a-z0-9-]", "-", value.lower()[:40])


def _render_clock(time: str | None) -> Markup:
    """Render a time as an element that shows the clock time and contains the full timestamp."""
    moment = parse_timestamp(time)
    if moment is None:
        return Markup('<span class="time">{}</span>').format(escape_to_markup(time[:40])) if time else Markup("")
    full = f"{moment:%Y-%m-%d %H:%M:%S} UTC"
    return Markup(f'<time datetime="{moment:%Y-%m-%dT%H:%M:%S.%fZ}" title="{full}">{moment:%H:%M:%S}</time>')
