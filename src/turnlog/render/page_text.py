"""Converts a web page to text that a model reads well: Markdown without scripts, styles or other invisible content.

Pages are hostile input. This parser makes a single pass in linear time; the standard library's parser takes minutes for
a malicious 300 KB page.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from html import unescape

_HIDDEN_TAGS = frozenset({"script", "style", "noscript", "template", "svg", "iframe", "object", "title"})
_BLOCK_TAGS = frozenset(
    "address article aside blockquote body dd details div dl dt fieldset figcaption figure footer form h1 h2 h3 h4 h5"
    " h6 header hr html li main nav ol p pre section summary table tbody tfoot thead ul".split()
)
_LINE_TAGS = frozenset({"li", "dt", "dd", "tbody", "thead", "tfoot"})
_LIST_TAGS = frozenset({"ul", "ol"})
_INLINE_MARKS = {"b": "**", "strong": "**", "i": "_", "em": "_", "code": "`"}
_OPENING_MARKS = {
    **_INLINE_MARKS,
    "hr": "* * *",
    "tr": "| ",
    **{f"h{level}": "#" * level + " " for level in range(1, 7)},
}
_CLOSING_MARKS = {**_INLINE_MARKS, "td": " | ", "th": " | "}
_TAG_NAME = re.compile(r"(/?)([a-zA-Z][a-zA-Z0-9]*)")
_TAG_ATTRIBUTE = re.compile(r"""\b(href|src|alt)\s*=\s*("[^"]*"|'[^']*'|[^\s"']+)""", re.IGNORECASE)
_SPACES = re.compile(r"[ \t\r\n\f]+")
_GAPS = re.compile(r"\n{3,}")
_MAX_TAG_CHARS = 10_000
_MAX_INDENT_LEVELS = 8
"""The deepest indentation of lists and quotes."""


def convert_html_to_text(html: str) -> str:
    builder = _PageTextBuilder()
    for text, tag, attributes in _iter_tokens(html):
        if tag is None:
            builder.add_text(_unescape_text(text))
        elif tag == "title":
            builder.title = builder.title or _SPACES.sub(" ", _unescape_text(text)).strip()
        elif tag.startswith("/"):
            builder.end_element(tag[1:])
        elif tag not in _HIDDEN_TAGS:
            builder.begin_element(tag, attributes)
    return builder.build_text()


def _iter_tokens(html: str) -> Iterator[tuple[str, str | None, dict[str, str]]]:
    """Yield text (without a tag), tags with their attributes, and hidden elements with their content."""
    at = 0
    while (begin := html.find("<", at)) >= 0:
        yield html[at:begin], None, {}
        found = _TAG_NAME.match(html, begin + 1)
        is_comment = html.startswith("<!--", begin)
        if not (found or html.startswith(("!", "?", "/"), begin + 1)):
            yield "<", None, {}  # a character of the text, as in a < b
            at = begin + 1
            continue
        end = html.find("-->" if is_comment else ">", begin)
        if end < 0:
            return
        at = end + (3 if is_comment else 1)
        if found is None:
            continue
        tag = (found[1] + found[2]).lower()
        if tag in _HIDDEN_TAGS:
            close = re.compile(rf"</{tag}\b", re.IGNORECASE).search(html, at)
            yield html[at : close.start() if close else len(html)], tag, {}
            at = close.start() if close else len(html)
        else:
            yield "", tag, _parse_attributes(html[found.end() : min(end, begin + _MAX_TAG_CHARS)])
    yield html[at:], None, {}


def _parse_attributes(text: str) -> dict[str, str]:
    return {name.lower(): _unescape_text(value.strip("\"'")) for name, value in _TAG_ATTRIBUTE.findall(text)}


def _unescape_text(text: str) -> str:
    try:
        return unescape(text)
    except ValueError:  # a number with thousands of digits
        return text


class _PageTextBuilder:
    def __init__(self) -> None:
        self.title = ""
        self._parts: list[str] = []
        self._lists: list[int | None] = []
        self._quotes = 0
        self._pre = 0
        self._link: tuple[str, int] | None = None

    def build_text(self) -> str:
        """Return the text that has been collected so far."""
        lines = (line.rstrip() for line in "".join(self._parts).split("\n"))
        body = _GAPS.sub("\n\n", "\n".join(lines)).strip("\n")
        return f"{self.title}\n\n{body}".strip()

    def begin_element(self, tag: str, attributes: dict[str, str]) -> None:
        if tag in _BLOCK_TAGS or tag in ("br", "tr"):
            self._break_lines(2 if tag in _BLOCK_TAGS and tag not in _LINE_TAGS else 1)
        if tag in _LIST_TAGS:
            self._lists.append(0 if tag == "ol" else None)
        elif tag == "li":
            self._begin_item()
        elif tag == "blockquote":
            self._quotes += 1
        elif tag == "pre":
            self._append_text("```\n")
            self._pre += 1
        elif tag == "a":
            self._link = (attributes.get("href", ""), len(self._parts))
        elif tag == "img" and attributes.get("alt"):
            self._append_text(f"![{attributes['alt']}]({attributes.get('src', '')})")
        else:
            self._add_mark(_OPENING_MARKS, tag)
        if tag == "hr":
            self._break_lines(2)

    def end_element(self, tag: str) -> None:
        if tag in _LIST_TAGS and self._lists:
            self._lists.pop()
        elif tag == "blockquote" and self._quotes:
            self._quotes -= 1
        elif tag == "pre" and self._pre:
            self._pre -= 1
            self._break_lines(1)
            self._append_text("```")
        elif tag == "a":
            self._end_link()
        else:
            self._add_mark(_CLOSING_MARKS, tag)
        if tag in _BLOCK_TAGS and tag != "li":
            self._break_lines(1 if tag in _LINE_TAGS or (tag in _LIST_TAGS and self._lists) else 2)

    def _add_mark(self, marks: Mapping[str, str], tag: str) -> None:
        if tag in marks and not (self._pre and tag in _INLINE_MARKS):
            self._append_text(marks[tag])

    def add_text(self, text: str) -> None:
        if not self._pre:
            text = _SPACES.sub(" ", text)
            if not self._parts or self._parts[-1].endswith(("\n", " ")):
                text = text.lstrip(" ")
        if text:
            self._append_text(text)

    def _append_text(self, text: str) -> None:
        if self._quotes and (not self._parts or self._parts[-1].endswith("\n")):
            text = "> " * min(self._quotes, _MAX_INDENT_LEVELS) + text
        self._parts.append(text)

    def _break_lines(self, lines: int) -> None:
        """Start a new line, or a new paragraph."""
        if self._parts:
            existing = len(self._parts[-1]) - len(self._parts[-1].rstrip("\n"))
            if existing < lines:
                self._parts.append("\n" * lines)

    def _begin_item(self) -> None:
        indent = "    " * (min(len(self._lists), _MAX_INDENT_LEVELS) - 1)
        number = self._lists[-1] if self._lists else None
        if number is None:
            self._append_text(f"{indent}*   ")
        else:
            self._lists[-1] = number + 1
            self._append_text(f"{indent}{number + 1}.  ")

    def _end_link(self) -> None:
        href, begin = self._link or ("", 0)
        self._link = None
        inner = "".join(self._parts[begin:]).strip() if href else ""
        if inner and not href.startswith(("javascript:", "#")):
            self._parts[begin:] = [f"[{inner}]({href})"]
