"""A web page as text that a model reads well: Markdown, without scripts, styles and other things nobody sees.

Pages are hostile input. The tags are found by hand, in one pass whose time grows with the length of the page and
nothing else; the standard library's parser takes minutes for a page of 300 KB that is made for it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from html import unescape

_HIDDEN = frozenset({"script", "style", "noscript", "template", "svg", "iframe", "object", "title"})
_BLOCKS = frozenset(
    "address article aside blockquote body dd details div dl dt fieldset figcaption figure footer form h1 h2 h3 h4 h5"
    " h6 header hr html li main nav ol p pre section summary table tbody tfoot thead ul".split()
)
_LINES = frozenset({"li", "dt", "dd", "tbody", "thead", "tfoot"})
_LISTS = frozenset({"ul", "ol"})
_MARKS = {"b": "**", "strong": "**", "i": "_", "em": "_", "code": "`"}
_OPENING = {**_MARKS, "hr": "* * *", "tr": "| ", **{f"h{level}": "#" * level + " " for level in range(1, 7)}}
_CLOSING = {**_MARKS, "td": " | ", "th": " | "}
_TAG = re.compile(r"(/?)([a-zA-Z][a-zA-Z0-9]*)")
_GIVEN = re.compile(r"""\b(href|src|alt)\s*=\s*("[^"]*"|'[^']*'|[^\s"']+)""", re.IGNORECASE)
_SPACES = re.compile(r"[ \t\r\n\f]+")
_GAPS = re.compile(r"\n{3,}")
_LONGEST_TAG = 10_000
_DEEPEST = 8
"""Lists and quotes are indented so far, and no further."""


def text_of(html: str) -> str:
    """The text of a page."""
    reader = _Reader()
    for text, tag, given in _tokens(html):
        if tag is None:
            reader.data(_plain(text))
        elif tag == "title":
            reader.title = reader.title or _SPACES.sub(" ", _plain(text)).strip()
        elif tag.startswith("/"):
            reader.end(tag[1:])
        elif tag not in _HIDDEN:
            reader.begin(tag, given)
    return reader.text()


def _tokens(html: str) -> Iterator[tuple[str, str | None, dict[str, str]]]:
    """Texts (no tag), tags with what they say, and hidden elements with what is in them."""
    at = 0
    while (begin := html.find("<", at)) >= 0:
        yield html[at:begin], None, {}
        found = _TAG.match(html, begin + 1)
        is_comment = html.startswith("<!--", begin)
        if not (found or html.startswith(("!", "?", "/"), begin + 1)):
            yield "<", None, {}  # a sign in the text, as in a < b
            at = begin + 1
            continue
        end = html.find("-->" if is_comment else ">", begin)
        if end < 0:
            return
        at = end + (3 if is_comment else 1)
        if found is None:
            continue
        tag = (found[1] + found[2]).lower()
        if tag in _HIDDEN:
            close = re.compile(rf"</{tag}\b", re.IGNORECASE).search(html, at)
            yield html[at : close.start() if close else len(html)], tag, {}
            at = close.start() if close else len(html)
        else:
            yield "", tag, _given(html[found.end() : min(end, begin + _LONGEST_TAG)])
    yield html[at:], None, {}


def _given(text: str) -> dict[str, str]:
    return {name.lower(): _plain(value.strip("\"'")) for name, value in _GIVEN.findall(text)}


def _plain(text: str) -> str:
    try:
        return unescape(text)
    except ValueError:  # a number with thousands of digits
        return text


class _Reader:
    def __init__(self) -> None:
        self.title = ""
        self._parts: list[str] = []
        self._lists: list[int | None] = []
        self._quotes = 0
        self._pre = 0
        self._link: tuple[str, int] | None = None

    def text(self) -> str:
        """What was read."""
        lines = (line.rstrip() for line in "".join(self._parts).split("\n"))
        body = _GAPS.sub("\n\n", "\n".join(lines)).strip("\n")
        return f"{self.title}\n\n{body}".strip()

    def begin(self, tag: str, given: dict[str, str]) -> None:
        """An element begins."""
        if tag in _BLOCKS or tag in ("br", "tr"):
            self._break(2 if tag in _BLOCKS and tag not in _LINES else 1)
        if tag in _LISTS:
            self._lists.append(0 if tag == "ol" else None)
        elif tag == "li":
            self._item()
        elif tag == "blockquote":
            self._quotes += 1
        elif tag == "pre":
            self._put("```\n")
            self._pre += 1
        elif tag == "a":
            self._link = (given.get("href", ""), len(self._parts))
        elif tag == "img" and given.get("alt"):
            self._put(f"![{given['alt']}]({given.get('src', '')})")
        else:
            self._mark(_OPENING, tag)
        if tag == "hr":
            self._break(2)

    def end(self, tag: str) -> None:
        """An element ends."""
        if tag in _LISTS and self._lists:
            self._lists.pop()
        elif tag == "blockquote" and self._quotes:
            self._quotes -= 1
        elif tag == "pre" and self._pre:
            self._pre -= 1
            self._break(1)
            self._put("```")
        elif tag == "a":
            self._end_link()
        else:
            self._mark(_CLOSING, tag)
        if tag in _BLOCKS and tag != "li":
            self._break(1 if tag in _LINES or (tag in _LISTS and self._lists) else 2)

    def _mark(self, marks: Mapping[str, str], tag: str) -> None:
        if tag in marks and not (self._pre and tag in _MARKS):
            self._put(marks[tag])

    def data(self, text: str) -> None:
        """Some text."""
        if not self._pre:
            text = _SPACES.sub(" ", text)
            if not self._parts or self._parts[-1].endswith(("\n", " ")):
                text = text.lstrip(" ")
        if text:
            self._put(text)

    def _put(self, text: str) -> None:
        if self._quotes and (not self._parts or self._parts[-1].endswith("\n")):
            text = "> " * min(self._quotes, _DEEPEST) + text
        self._parts.append(text)

    def _break(self, lines: int) -> None:
        """Begin a new line, or a new paragraph."""
        if self._parts:
            there = len(self._parts[-1]) - len(self._parts[-1].rstrip("\n"))
            if there < lines:
                self._parts.append("\n" * lines)

    def _item(self) -> None:
        indent = "    " * (min(len(self._lists), _DEEPEST) - 1)
        number = self._lists[-1] if self._lists else None
        if number is None:
            self._put(f"{indent}*   ")
        else:
            self._lists[-1] = number + 1
            self._put(f"{indent}{number + 1}.  ")

    def _end_link(self) -> None:
        href, begin = self._link or ("", 0)
        self._link = None
        inner = "".join(self._parts[begin:]).strip() if href else ""
        if inner and not href.startswith(("javascript:", "#")):
            self._parts[begin:] = [f"[{inner}]({href})"]
