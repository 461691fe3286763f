"""A text in pieces that can stand or go as a whole: code, headings, items of lists, tables, sentences.

The pieces and the blanks between them are the text, letter by letter.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple

Kind = Literal["code", "heading", "item", "table", "sentence"]

_LINE = re.compile(r"[^\n]*\n|[^\n]+\Z")
_FENCE = re.compile(r"\s*(`{3,}(?=[^`]*$)|~{3,})")
_HEADING = re.compile(r" {0,3}#{1,6}\s+\S")
_ITEM = re.compile(r"\s*(?:[-*+•]|\d{1,4}[.)])\s+\S")
_TABLE = re.compile(r"\s*\|.*\|\s*$")
_END = re.compile(r"[.!?…]{1,20}[\"'”’)\]*_]{0,9}(?=\s)|[。！？]+[」』”’）]*|\n(?=\s*\n)")
_NEXT = re.compile(r"\s*\S")
_SHORT_FORMS = re.compile(r"(?:\b(?:e\.g|i\.e|z\.B|d\.h|u\.a|etc|vs|cf|ca|bzw|Mr|Mrs|Dr|St|No|Nr|[A-Z]))\.$")


class Unit(NamedTuple):
    """A piece of a text."""

    kind: Kind
    start: int
    end: int


def units(text: str) -> list[Unit]:
    """The pieces of a text in order; all between them is blank."""
    found: list[Unit] = []
    for kind, start, end in _blocks(text):
        if kind == "sentence":
            found += _sentences(text, start, end)
        elif piece := _trimmed(text, kind, start, end):
            found.append(piece)
    return found


def joined(text: str, kept: Sequence[Unit], every: Sequence[Unit]) -> str:
    """The text of some units, with what stood between them; where some are left out, the widest of the blanks there."""
    wanted, parts = set(kept), list[str]()
    blanks, last = list[str](), 0
    for unit in every:
        blanks.append(text[last : unit.start])
        last = unit.end
        if unit in wanted:
            parts += [_widest(blanks) if parts else "", text[unit.start : unit.end]]
            blanks = []
    return "".join(parts)


def _widest(blanks: Sequence[str]) -> str:
    if len(blanks) == 1:
        return blanks[0]
    lines = max(blank.count("\n") for blank in blanks)
    return "\n" * min(2, lines) if lines else " " if any(blanks) else ""


def _blocks(text: str) -> Iterator[Unit]:
    """Lines that belong together."""
    kind: Kind | None = None
    start, end, fence = 0, 0, ""
    for line in _LINE.finditer(text):
        words = line[0]
        if fence:
            end = line.end()
            if words.strip().startswith(fence) and not words.strip().strip(fence[0]):
                yield Unit("code", start, end)
                kind, fence = None, ""
            continue
        now = _kind(words, kind)
        if kind is not None and (now != kind or (now in ("heading", "item") and not _goes_on(words, kind))):
            yield Unit(kind, start, end)
            kind = None
        if now is None:
            continue
        if kind is None:
            kind, start = now, line.start()
        end = line.end()
        if now == "code" and (opened := _FENCE.match(words)):
            fence = opened[1]
    if kind is not None:
        yield Unit(kind, start, end)


def _kind(line: str, before: Kind | None) -> Kind | None:
    """What a line is; None for a blank one."""
    if not line.strip():
        return None
    if _FENCE.match(line):
        return "code"
    if _HEADING.match(line):
        return "heading"
    if _TABLE.match(line):
        return "table"
    if _ITEM.match(line) or _goes_on(line, before):
        return "item"
    return "sentence"


def _goes_on(line: str, before: Kind | None) -> bool:
    """Whether a line belongs to the item of a list above it."""
    return before == "item" and line[:1] in " \t" and not _ITEM.match(line)


def _sentences(text: str, start: int, end: int) -> Iterator[Unit]:
    """The sentences of a paragraph."""
    begin, ticks, seen = start, 0, start
    for found in _END.finditer(text, start, end):
        ticks, seen = ticks + text.count("`", seen, found.end()), found.end()
        if ticks % 2 or _is_short_form(text, found.start(), found.end()) or _goes_on_small(text, found.end()):
            continue
        if piece := _trimmed(text, "sentence", begin, found.end()):
            yield piece
        begin, ticks = found.end(), 0
    if piece := _trimmed(text, "sentence", begin, end):
        yield piece


def _is_short_form(text: str, start: int, end: int) -> bool:
    return text[start] == "." and _SHORT_FORMS.search(text, max(0, end - 12), end) is not None


def _goes_on_small(text: str, at: int) -> bool:
    """Whether the next letter is a small one: then no sentence ends here."""
    found = _NEXT.match(text, at)
    return found is not None and found[0][-1].islower()


def _trimmed(text: str, kind: Kind, start: int, end: int) -> Unit | None:
    """A unit without the blanks around it; what is indented stays so."""
    words = text[start:end]
    right = end - (len(words) - len(words.rstrip()))
    left = start if kind in ("item", "code", "table") else start + len(words) - len(words.lstrip())
    return Unit(kind, left, right) if left < right else None
