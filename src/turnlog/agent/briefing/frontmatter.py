"""The head of a Markdown file: `---`, fields, `---`. Only as much of YAML as such heads use.

name: reviewer              a text, with or without quotation marks
tools: [Read, Grep]         a list; also `Read, Grep`, or items below with `- `
description: >              a text over several lines (`|` keeps their ends)
"""

from __future__ import annotations

import re
from typing import NamedTuple

_HEAD = re.compile(r"\A\ufeff?---[ \t]*\r?\n(.*?)^---[ \t]*(?:\r?\n|\Z)", re.DOTALL | re.MULTILINE)
_FIELD = re.compile(r"([A-Za-z_][\w-]*)[ \t]*:(?:[ \t]+(.*)|)\Z")
_ITEM = re.compile(r"\s*-[ \t]+(.*)\Z")


class Document(NamedTuple):
    """A file with its head taken off."""

    fields: dict[str, str | list[str]]
    body: str

    def text(self, name: str) -> str:
        """A field as one text."""
        value = self.fields.get(name, "")
        return value if isinstance(value, str) else ", ".join(value)

    def items(self, name: str) -> list[str] | None:
        """A field as a list; None if it is not there."""
        value = self.fields.get(name)
        parts = value.split(",") if isinstance(value, str) else value
        return None if parts is None else [part.strip() for part in parts if part.strip()]


def read(text: str) -> Document:
    """Take the head off a file; one without a head is all body."""
    head = _HEAD.match(text)
    if head is None:
        return Document({}, text)
    return Document(_fields(head[1].splitlines()), text[head.end() :])


def _fields(lines: list[str]) -> dict[str, str | list[str]]:
    found: dict[str, str | list[str]] = {}
    at = 0
    while at < len(lines):
        field = _FIELD.match(lines[at])
        at += 1
        if field is None:
            continue
        below: list[str] = []
        while at < len(lines) and (lines[at][:1] in " \t" or _ITEM.match(lines[at]) or not lines[at].strip()):
            below.append(lines[at])
            at += 1
        found[field[1]] = _value((field[2] or "").strip(), below)
    return found


def _value(given: str, below: list[str]) -> str | list[str]:
    items = [found[1] for line in below if (found := _ITEM.match(line))]
    if not given and items:
        return [_plain(item) for item in items]
    if given[:1] in ("|", ">") and len(given) <= 2:
        return (" " if given[0] == ">" else "\n").join(line.strip() for line in below).strip()
    if given[:1] == "[" and given[-1:] == "]":
        return [_plain(item) for item in given[1:-1].split(",") if item.strip()]
    return _plain(" ".join([given, *(line.strip() for line in below)]).strip())


def _plain(text: str) -> str:
    text = text.strip()
    if len(text) >= 2 and text[0] == text[-1] and text[0] in "\"'":
        inner = text[1:-1]
        return inner.replace("\\n", "\n").replace('\\"', '"') if text[0] == '"' else inner.replace("''", "'")
    return text
