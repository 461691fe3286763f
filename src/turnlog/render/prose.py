"""Markdown as HTML that is safe: written from the parser's events, then cleaned by an allow list.

Raw HTML is shown as the text that it is. Pictures are not loaded: they become links. Formulas stay as they were typed.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

from markupsafe import Markup

from turnlog.render.markup import BRACKET_STANDINS, CodeWriter, MarkupWriter, is_safe_link
from turnlog.render.visible import replace_unencodable

__all__ = ["MAX_PROSE_CHARS", "is_safe_link", "render_prose"]

if TYPE_CHECKING:
    from nh3 import Cleaner
    from pyromark import Markdown

MAX_PROSE_CHARS = 200_000
"""A longer text is no prose, and is shown as it is."""

_CODE_PLACE = re.compile('<pre data-code="([0-9]+)"></pre>')
_ALLOWED_TAGS = frozenset(
    "p br hr h3 h4 h5 h6 em strong del sup sub code pre blockquote ul ol li table tbody tr th td a span div".split()
)
_ALLOWED_CLASSES = {
    "span": {"hidden-char", "html", "math", "picture-link", "task", "dead-link"},
    "div": {"table", "footnote", "html"},
    "blockquote": {"alert", "note", "tip", "important", "warning", "caution"},
    "th": {"center", "right"},
    "td": {"center", "right"},
}
# `\\(x\\)` would lose its backslashes. They go through the parser as characters that mean nothing.
_FORMULA = re.compile(r"\\([()])|(?m:^[ \t]*)\\(\[)|\\(\])(?=[ \t]*(?m:$))")


def render_prose(text: str, code: CodeWriter) -> Markup:
    """A Markdown text as HTML."""
    writer = MarkupWriter(code)
    html = writer.write_events(_build_parser().events(_protect_formulas(replace_unencodable(text))))
    clean = _build_cleaner().clean(html)
    return Markup(_CODE_PLACE.sub(lambda found: writer.blocks[int(found[1])], clean))


def _protect_formulas(text: str) -> str:
    if "\\(" not in text and "\\[" not in text:
        return text
    return _FORMULA.sub(lambda found: BRACKET_STANDINS[found[1] or found[2] or found[3]], text)


@lru_cache(maxsize=1)
def _build_parser() -> Markdown:
    from pyromark import Markdown, Options

    return Markdown(
        options=Options.ENABLE_TABLES
        | Options.ENABLE_STRIKETHROUGH
        | Options.ENABLE_TASKLISTS
        | Options.ENABLE_FOOTNOTES
        | Options.ENABLE_MATH
        | Options.ENABLE_GFM
    )


@lru_cache(maxsize=1)
def _build_cleaner() -> Cleaner:
    from nh3 import Cleaner

    return Cleaner(
        tags=set(_ALLOWED_TAGS),
        clean_content_tags=set(),
        attributes={
            "a": {"href", "title"},
            "span": {"title"},
            "ol": {"start"},
            "pre": {"data-code"},
            "div": {"tabindex"},
        },
        allowed_classes=_ALLOWED_CLASSES,
        url_schemes={"http", "https", "mailto"},
        url_relative="deny",
        link_rel="noopener noreferrer",
        set_tag_attribute_values={"a": {"target": "_blank"}},
    )
