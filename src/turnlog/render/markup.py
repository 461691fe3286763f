"""Markdown events as HTML tags.

Raw HTML is written as text and pictures as links; only web and mail addresses become links.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any

from markupsafe import Markup, escape

from turnlog.render.html_escape import escape_text, name_hidden_chars

SAFE_SCHEMES = ("http://", "https://", "mailto:")
CodeWriter = Callable[[str, str], Markup]
"""Writes a block of code: (text, language) -> HTML."""
BRACKET_STANDINS = {"(": "\ue0f0", ")": "\ue0f1", "[": "\ue0f2", "]": "\ue0f3"}
"""Placeholders for `\\(` and the like inside the parser, which would remove the backslashes."""
BRACKET_RESTORATION = str.maketrans({char: f"\\{sign}" for sign, char in BRACKET_STANDINS.items()})

_SIMPLE_TAGS = {
    "Paragraph": "p",
    "Emphasis": "em",
    "Strong": "strong",
    "Strikethrough": "del",
    "TableRow": "tr",
    "Superscript": "sup",
    "Subscript": "sub",
}
# Headings in a text rank below those of the page.
_HEADING_TAGS = {"H1": "h3", "H2": "h4", "H3": "h5", "H4": "h6", "H5": "h6", "H6": "h6"}
_MAX_NESTING = 60
_WEB_ADDRESS = re.compile(r"https?://[^\s<>\"'`\]}|\ue0f0-\ue0f3]{3,2000}")


def is_safe_link(url: str) -> bool:
    """Return whether an address may become a link: a web or mail address."""
    return url.lower().startswith(SAFE_SCHEMES) and url.isprintable()


class MarkupWriter:
    """Writes events as HTML. Code blocks are kept separately, because they are already safe and cleaning is slow."""

    def __init__(self, code: CodeWriter) -> None:
        self.blocks: list[str] = []
        self._code = code
        self._out: list[str] = []
        self._captured: list[str] | None = None
        self._language = ""
        self._alignments: tuple[str, ...] = ()
        self._cell = 0
        self._head = False
        self._depth = 0
        self._links: list[str] = []

    def write_events(self, events: Iterable[Any]) -> str:
        """Write the tags of all events; `blocks` then contains the code for the placeholders."""
        for event in events:
            if isinstance(event, str):
                self._out.append({"SoftBreak": "\n", "HardBreak": "<br>\n", "Rule": "<hr>\n"}[event])
                continue
            ((kind, value),) = event.items()
            getattr(self, f"_on_{kind}")(value)
        return "".join(self._out)

    # -- texts

    def _on_Text(self, text: str) -> None:  # noqa: N802 - named as the event is
        if self._captured is not None:
            self._captured.append(text)
        elif self._links or "://" not in text:
            self._out.append(_escape_text(text))
        else:
            self._out.append(_link_addresses(text))

    def _on_Code(self, text: str) -> None:  # noqa: N802
        self._out.append(f"<code>{_escape_text(text)}</code>")

    def _on_Html(self, text: str) -> None:  # noqa: N802
        self._out.append(_escape_text(text))

    def _on_InlineHtml(self, text: str) -> None:  # noqa: N802
        self._out.append(f'<span class="html">{_escape_text(text)}</span>')

    def _on_InlineMath(self, text: str) -> None:  # noqa: N802
        self._out.append(f'<span class="math">${_escape_text(text)}$</span>')

    def _on_DisplayMath(self, text: str) -> None:  # noqa: N802
        self._out.append(f'<span class="math">$${_escape_text(text)}$$</span>')

    def _on_FootnoteReference(self, label: str) -> None:  # noqa: N802
        self._out.append(f"<sup>[{_escape_text(label)}]</sup>")

    def _on_TaskListMarker(self, done: bool) -> None:  # noqa: N802
        self._out.append(f'<span class="task">{"☑" if done else "☐"}</span> ')

    # -- containers

    def _on_Start(self, tag: Any) -> None:  # noqa: N802
        name, value = (tag, None) if isinstance(tag, str) else next(iter(tag.items()))
        self._depth += 1
        if name in _SIMPLE_TAGS:
            self._open_tag(_SIMPLE_TAGS[name])
        elif name == "Item":
            self._open_tag("li")
        else:
            getattr(self, f"_start_{name.lower()}")(value)

    def _on_End(self, tag: Any) -> None:  # noqa: N802
        name, value = (tag, None) if isinstance(tag, str) else next(iter(tag.items()))
        if name in _SIMPLE_TAGS:
            self._close_tag(_SIMPLE_TAGS[name])
        elif name == "Item":
            self._close_tag("li")
        else:
            getattr(self, f"_end_{name.lower()}")(value)
        self._depth -= 1

    def _open_tag(self, tag: str, attributes: str = "") -> None:
        # A page nested as deeply as hostile text would overflow the stack of a browser.
        if self._depth <= _MAX_NESTING:
            self._out.append(f"<{tag}{attributes}>")

    def _close_tag(self, tag: str) -> None:
        if self._depth <= _MAX_NESTING:
            self._out.append(
                f"</{tag}>" if tag in ("em", "strong", "del", "sup", "sub", "a", "span") else f"</{tag}>\n"
            )

    def _start_heading(self, value: Any) -> None:
        self._open_tag(_HEADING_TAGS[value["level"]])

    def _end_heading(self, level: str) -> None:
        self._close_tag(_HEADING_TAGS[level])

    def _start_blockquote(self, kind: str | None) -> None:
        self._open_tag("blockquote", f' class="alert {kind.lower()}"' if kind else "")

    def _end_blockquote(self, kind: str | None) -> None:
        self._close_tag("blockquote")

    def _start_list(self, first: int | None) -> None:
        self._open_tag("ul" if first is None else "ol", f' start="{first}"' if first not in (None, 1) else "")

    def _end_list(self, ordered: bool) -> None:
        self._close_tag("ol" if ordered else "ul")

    def _start_htmlblock(self, value: None) -> None:
        self._open_tag("div", ' class="html"')

    def _end_htmlblock(self, value: None) -> None:
        self._close_tag("div")

    def _start_footnotedefinition(self, label: str) -> None:
        self._open_tag("div", ' class="footnote"')
        self._out.append(f"<sup>[{_escape_text(label)}]</sup> ")

    def _end_footnotedefinition(self, value: None) -> None:
        self._close_tag("div")

    # -- code

    def _start_codeblock(self, kind: Any) -> None:
        info = "" if isinstance(kind, str) else kind["Fenced"]
        self._language = info.split()[0].split(",")[0] if info.split() else ""
        self._captured = []

    def _end_codeblock(self, value: None) -> None:
        text = "".join(self._captured or ()).removesuffix("\n").translate(BRACKET_RESTORATION)
        self._captured = None
        self._out.append(f'<pre data-code="{len(self.blocks)}"></pre>\n')
        self.blocks.append(str(self._code(text, self._language)))

    # -- tables

    def _start_table(self, alignments: tuple[str, ...]) -> None:
        self._alignments = alignments
        self._open_tag("div", ' class="table" tabindex="0"')
        self._open_tag("table")

    def _end_table(self, value: None) -> None:
        self._close_tag("table")
        self._close_tag("div")

    def _start_tablehead(self, value: None) -> None:
        self._cell, self._head = 0, True
        self._open_tag("tr")

    def _end_tablehead(self, value: None) -> None:
        self._head = False
        self._close_tag("tr")

    def _start_tablecell(self, value: None) -> None:
        side = self._alignments[self._cell % len(self._alignments)].lower()
        self._cell += 1
        self._open_tag("th" if self._head else "td", f' class="{side}"' if side in ("center", "right") else "")

    def _end_tablecell(self, value: None) -> None:
        self._close_tag("th" if self._head else "td")

    # -- links

    def _start_link(self, value: Any) -> None:
        self._open_link(value["dest_url"], value["title"], "", value["link_type"] == "Email")

    def _end_link(self, value: None) -> None:
        self._out.append(self._links.pop())

    def _start_image(self, value: Any) -> None:
        self._open_link(value["dest_url"], value["title"], ' class="picture-link"', False)

    def _end_image(self, value: None) -> None:
        self._out.append(self._links.pop())

    def _open_link(self, url: str, title: str, kind: str, mail: bool) -> None:
        url = f"mailto:{url}" if mail and not url.startswith("mailto:") else url
        hint = f' title="{escape(name_hidden_chars(title.translate(BRACKET_RESTORATION)))}"' if title else ""
        if is_safe_link(url) and not self._links:
            self._out.append(
                f'<span{kind}><a href="{escape(url)}"{hint}>' if kind else f'<a href="{escape(url)}"{hint}>'
            )
            self._links.append("</a></span>" if kind else "</a>")
        else:
            where = escape(name_hidden_chars(url[:500].translate(BRACKET_RESTORATION)))
            self._out.append(f'<span class="{"picture-link" if kind else "dead-link"}" title="{where}">')
            self._links.append("</span>")


def _escape_text(text: str) -> str:
    return escape_text(text if text.isascii() else text.translate(BRACKET_RESTORATION))


def _link_addresses(text: str) -> str:
    """Turn web addresses in text into links."""
    parts, position = [], 0
    for found in _WEB_ADDRESS.finditer(text):
        url = found[0].rstrip(".,;:!?*_")
        if url.endswith(")") and "(" not in url:
            url = url.rstrip(")")
        if is_safe_link(url):
            parts += [_escape_text(text[position : found.start()]), f'<a href="{escape(url)}">{_escape_text(url)}</a>']
            position = found.start() + len(url)
    return "".join(parts) + _escape_text(text[position:])
