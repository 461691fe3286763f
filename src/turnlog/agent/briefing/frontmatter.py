"""The head of a Markdown file: `---`, fields, `---`. Only as much of YAML as such heads use.

name: reviewer              a text, with or without quotation marks
tools: [Read, Grep]         a list; also `Read, Grep`, or items below with `- `
description: >              a text over several lines (`|` keeps their ends)
"""

from __future__ import annotations

import re
from typing import NamedTuple

_FRONTMATTER_PATTERN = re.compile(r"\A\ufeff?---[ \t]*\r?\n(.*?)^---[ \t]*(?:\r?\n|\Z)", re.DOTALL | re.MULTILINE)
_FIELD_PATTERN = re.compile(r"([A-Za-z_][\w-]*)[ \t]*:(?:[ \t]+(.*)|)\Z")
_LIST_ITEM_PATTERN = re.compile(r"\s*-[ \t]+(.*)\Z")


class FrontmatterDocument(NamedTuple):
    """A file with its head taken off."""

    fields: dict[str, str | list[str]]
    body: str

    def get_text(self, name: str) -> str:
        """A field as one text."""
        value = self.fields.get(name, "")
        return value if isinstance(value, str) else ", ".join(value)

    def get_items(self, name: str) -> list[str] | None:
        """A field as a list; None if it is not there."""
        value = self.fields.get(name)
        parts = value.split(",") if isinstance(value, str) else value
        return None if parts is None else [part.strip() for part in parts if part.strip()]


def split_frontmatter(text: str) -> FrontmatterDocument:
    """Take the head off a file; one without a head is all body."""
    head = _FRONTMATTER_PATTERN.match(text)
    if head is None:
        return FrontmatterDocument({}, text)
    return FrontmatterDocument(_parse_fields(head[1].splitlines()), text[head.end() :])


def _parse_fields(lines: list[str]) -> dict[str, str | list[str]]:
    found: dict[str, str | list[str]] = {}
    at = 0
    while at < len(lines):
        field = _FIELD_PATTERN.match(lines[at])
        at += 1
        if field is None:
            continue
        below: list[str] = []
        while at < len(lines) and (
            lines[at][:1] in " \t" or _LIST_ITEM_PATTERN.match(lines[at]) or not lines[at].strip()
        ):
            below.append(lines[at])
            at += 1
        found[field[1]] = _parse_value((field[2] or "").strip(), below)
    return found


def _parse_value(given: str, below: list[str]) -> str | list[str]:
    items = [found[1] for line in below if (found := _LIST_ITEM_PATTERN.match(line))]
    if not given and items:
        return [_unquote_text(item) for item in items]
    if given[:1] in ("|", ">") and len(given) <= 2:
        return (" " if given[0] == ">" else "\n").join(line.strip() for line in below).strip()
    if given[:1] == "[" and given[-1:] == "]":
        return [_unquote_text(item) for item in given[1:-1].split(",") if item.strip()]
    return _unquote_text(" ".join([given, *(line.strip() for line in below)]).strip())


def _unquote_text(text: str) -> str:
    text = text.strip()
    if len(text) >= 2 and text[0] == text[-1] and text[0] in "\"'":
        inner = text[1:-1]
        return inner.replace("\\n", "\n").replace('\\"', '"') if text[0] == '"' else inner.replace("''", "'")
    return text
