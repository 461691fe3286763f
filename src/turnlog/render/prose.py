"""Markdown as HTML that is safe: written from the parser's events, then cleaned by an allow list.

Raw HTML is shown as the text that it is. Pictures are not loaded: they become links. Formulas stay as they were typed.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

from markupsafe import Markup

from turnlog.render.markup import STANDINS, CodeWriter, Writer, is_safe_link
from turnlog.render.visible import sound

__all__ = ["LARGEST", "is_safe_link", "prose"]

if TYPE_CHECKING:
    from nh3 import Cleaner
    from pyromark import Markdown

LARGEST = 200_000
"""A longer text is no prose, and is shown as it is."""

_PLACE = re.compile('<pre data-code="([0-9]+)"></pre>')
_TAGS = frozenset(
    "p br hr h3 h4 h5 h6 em strong del sup sub code pre blockquote ul ol li table tbody tr th td a span div".split()
)
_CLASSES = {
    "span": {"hidden-char", "html", "math", "picture-link", "task", "dead-link"},
    "div": {"table", "footnote", "html"},
    "blockquote": {"alert", "note", "tip", "important", "warning", "caution"},
    "th": {"center", "right"},
    "td": {"center", "right"},
}
# `\\(x\\)` would lose its backslashes. They go through the parser as characters that mean nothing.
_FORMULA = re.compile(r"\\([()])|(?m:^[ \t]*)\\(\[)|\\(\])(?=[ \t]*(?m:$))")


def prose(text: str, code: CodeWriter) -> Markup:
    """A Markdown text as HTML."""
    writer = Writer(code)
    html = writer.written(_parser().events(_protected(sound(text))))
    clean = _cleaner().clean(html)
    return Markup(_PLACE.sub(lambda found: writer.blocks[int(found[1])], clean))


def _protected(text: str) -> str:
    if "\\(" not in text and "\\[" not in text:
        return text
    return _FORMULA.sub(lambda found: STANDINS[found[1] or found[2] or found[3]], text)


@lru_cache(maxsize=1)
def _parser() -> Markdown:
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
def _cleaner() -> Cleaner:
    from nh3 import Cleaner

    return Cleaner(
        tags=set(_TAGS),
        clean_content_tags=set(),
        attributes={
            "a": {"href", "title"},
            "span": {"title"},
            "ol": {"start"},
            "pre": {"data-code"},
            "div": {"tabindex"},
        },
        allowed_classes=_CLASSES,
        url_schemes={"http", "https", "mailto"},
        url_relative="deny",
        link_rel="noopener noreferrer",
        set_tag_attribute_values={"a": {"target": "_blank"}},
    )
