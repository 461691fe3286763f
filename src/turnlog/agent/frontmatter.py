"""Parse the frontmatter of a Markdown file: `---`, fields, `---`. Only the YAML that such files use is supported.

name: reviewer              text, with or without quotation marks
tools: [Read, Grep]         a list; also `Read, Grep`, or items on lines that start with `- `
description: >              text that spans several lines (`|` keeps the line breaks)
"""

from __future__ import annotations

import re
from typing import NamedTuple

_FRONTMATTER_PATTERN = re.compile(r"\A\ufeff?---[ \t]*\r?\n(.*?)^---[ \t]*(?:\r?\n|\Z)", re.DOTALL | re.MULTILINE)
_FIELD_PATTERN = re.compile(r"([A-Za-z_][\w-]*)[ \t]*:(?:[ \t]+(.*)|)\Z")
_LIST_ITEM_PATTERN = re.compile(r"\s*-[ \t]+(.*)\Z")


class FrontmatterDocument(NamedTuple):
    fields: dict[str, str | list[str]]
    body: str

    def get_text(self, name: str) -> str:
        value = self.fields.get(name, "")
        return value if isinstance(value, str) else ", ".join(value)

    def get_items(self, name: str) -> list[str] | None:
        """Return a field as a list, or None if it is missing."""
        value = self.fields.get(name)
        parts = value.split(",") if isinstance(value, str) else value
        return None if parts is None else [part.strip() for part in parts if part.strip()]


def split_frontmatter(text: str) -> FrontmatterDocument:
    """Split a file into frontmatter and body; without frontmatter, the whole file is the body."""
    head = _FRONTMATTER_PATTERN.match(text)
    if head is None:
        return FrontmatterDocument({}, text)
    return FrontmatterDocument(_parse_fields(head[1].splitlines()), text[head.end() :])


def _parse_fields(lines: list[str]) -> dict[str, str | list[str]]:
    fields: dict[str, str | list[str]] = {}
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
        fields[field[1]] = _parse_value((field[2] or "").strip(), below)
    return fields


def _parse_value(value: str, below: list[str]) -> str | list[str]:
    items = [found[1] for line in below if (found := _LIST_ITEM_PATTERN.match(line))]
    if not value and items:
        return [_unquote_text(item) for item in items]
    if value[:1] in ("|", ">") and len(value) <= 2:
        return (" " if value[0] == ">" else "\n").join(line.strip() for line in below).strip()
    if value[:1] == "[" and value[-1:] == "]":
        return [_unquote_text(item) for item in value[1:-1].split(",") if item.strip()]
    return _unquote_text(" ".join([value, *(line.strip() for line in below)]).strip())


def _unquote_text(text: str) -> str:
    text = text.strip()
    if len(text) >= 2 and text[0] == text[-1] and text[0] in "\"'":
        inner = text[1:-1]
        return inner.replace("\\n", "\n").replace('\\"', '"') if text[0] == '"' else inner.replace("''", "'")
    return text
