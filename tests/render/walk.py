"""Reads HTML as a browser does, and tells what in it could act."""

from __future__ import annotations

import re
from html.parser import HTMLParser

ELEMENTS = frozenset(
    "a article blockquote br button code dd del details div dl dt em figcaption figure footer h3 h4 h5 h6 hr img input"
    " label li ol p pre span strong sub summary sup table tbody td th time tr ul".split()
)
VOID = frozenset({"br", "hr", "img", "input"})
ATTRIBUTES = frozenset(
    "alt aria-hidden aria-label class colspan data-agent data-first data-key data-language data-src data-time data-tool"
    " data-turn datetime decoding download href id loading open rel src start tabindex target title type".split()
)
_LINK = re.compile(r"https?://|mailto:|/|#")
_SOURCE = re.compile(r"data:image/(png|jpeg|gif|webp);base64,|/|https?://")
_CLASS = re.compile(r"[A-Za-z0-9 _-]*\Z")


class Walk(HTMLParser):
    """What was found in a page: its text, and everything that should not be there."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.faults: list[str] = []
        self.ids: list[str] = []
        self._texts: list[str] = []
        self.classes: set[str] = set()
        self._open: list[str] = []
        self.feed(html)
        self.close()
        self.text = "".join(self._texts)
        if self._open:
            self.faults.append(f"never closed: {self._open}")

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in ELEMENTS:
            self.faults.append(f"element {tag}")
        if tag not in VOID:
            self._open.append(tag)
        for name, value in attrs:
            self._attribute(tag, name, value or "")

    def _attribute(self, tag: str, name: str, value: str) -> None:
        if name not in ATTRIBUTES:
            self.faults.append(f"attribute {name} of {tag}")
        if name == "href" and not _LINK.match(value):
            self.faults.append(f"link {value!r}")
        if name == "src" and not _SOURCE.match(value):
            self.faults.append(f"source {value!r}")
        if name == "class":
            self.classes.update(value.split())
            if not _CLASS.match(value):
                self.faults.append(f"class {value!r}")
        if name == "id":
            self.ids.append(value)
            if any(char.isspace() for char in value):
                self.faults.append(f"id {value!r}")
        if "hidden-char" in value and name != "class":
            self.faults.append(f"markup in the attribute {name}: {value!r}")
        if tag == "a" and ("target", "_blank") in [(name, value)]:
            self.classes.add("opens-elsewhere")

    def handle_endtag(self, tag: str) -> None:
        if not self._open or self._open.pop() != tag:
            self.faults.append(f"end of {tag} out of place")

    def handle_data(self, data: str) -> None:
        self._texts.append(data)

    def handle_comment(self, data: str) -> None:
        self.faults.append(f"comment {data!r}")

    def handle_decl(self, decl: str) -> None:
        self.faults.append(f"declaration {decl!r}")

    def handle_pi(self, data: str) -> None:
        self.faults.append(f"instruction {data!r}")

    def unknown_decl(self, data: str) -> None:
        self.faults.append(f"declaration {data!r}")
