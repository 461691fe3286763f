"""A text in pieces that can stand or go as a whole: code, headings, items of lists, tables, sentences.

The pieces and the blanks between them are the text, letter by letter.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple

UnitKind = Literal["code", "heading", "item", "table", "sentence"]

_LINE_PATTERN = re.compile(r"[^\n]*\n|[^\n]+\Z")
_FENCE_PATTERN = re.compile(r"\s*(`{3,}(?=[^`]*$)|~{3,})")
_HEADING_PATTERN = re.compile(r" {0,3}#{1,6}\s+\S")
_LIST_ITEM_PATTERN = re.compile(r"\s*(?:[-*+•]|\d{1,4}[.)])\s+\S")
_TABLE_PATTERN = re.compile(r"\s*\|.*\|\s*$")
_SENTENCE_END_PATTERN = re.compile(r"[.!?…]{1,20}[\"'”’)\]*_]{0,9}(?=\s)|[。！？]+[」』”’）]*|\n(?=\s*\n)")
_NEXT_CHARACTER_PATTERN = re.compile(r"\s*\S")
_ABBREVIATION_PATTERN = re.compile(r"(?:\b(?:e\.g|i\.e|z\.B|d\.h|u\.a|etc|vs|cf|ca|bzw|Mr|Mrs|Dr|St|No|Nr|[A-Z]))\.$")


class TextUnit(NamedTuple):
    """A piece of a text."""

    kind: UnitKind
    start: int
    end: int


def split_units(text: str) -> list[TextUnit]:
    """The pieces of a text in order; all between them is blank."""
    found: list[TextUnit] = []
    for kind, start, end in _split_blocks(text):
        if kind == "sentence":
            found += _split_sentences(text, start, end)
        elif piece := _trim_unit(text, kind, start, end):
            found.append(piece)
    return found


def join_units(text: str, kept: Sequence[TextUnit], every: Sequence[TextUnit]) -> str:
    """The text of some units, with what stood between them; where some are left out, the widest of the blanks there."""
    wanted, parts = set(kept), list[str]()
    blanks, last = list[str](), 0
    for unit in every:
        blanks.append(text[last : unit.start])
        last = unit.end
        if unit in wanted:
            parts += [_choose_widest_blank(blanks) if parts else "", text[unit.start : unit.end]]
            blanks = []
    return "".join(parts)


def _choose_widest_blank(blanks: Sequence[str]) -> str:
    if len(blanks) == 1:
        return blanks[0]
    lines = max(blank.count("\n") for blank in blanks)
    return "\n" * min(2, lines) if lines else " " if any(blanks) else ""


def _split_blocks(text: str) -> Iterator[TextUnit]:
    """Lines that belong together."""
    kind: UnitKind | None = None
    start, end, fence = 0, 0, ""
    for line in _LINE_PATTERN.finditer(text):
        words = line[0]
        if fence:
            end = line.end()
            if words.strip().startswith(fence) and not words.strip().strip(fence[0]):
                yield TextUnit("code", start, end)
                kind, fence = None, ""
            continue
        now = _classify_line(words, kind)
        if kind is not None and (now != kind or (now in ("heading", "item") and not _continues_item(words, kind))):
            yield TextUnit(kind, start, end)
            kind = None
        if now is None:
            continue
        if kind is None:
            kind, start = now, line.start()
        end = line.end()
        if now == "code" and (opened := _FENCE_PATTERN.match(words)):
            fence = opened[1]
    if kind is not None:
        yield TextUnit(kind, start, end)


def _classify_line(line: str, before: UnitKind | None) -> UnitKind | None:
    """What a line is; None for a blank one."""
    if not line.strip():
        return None
    if _FENCE_PATTERN.match(line):
        return "code"
    if _HEADING_PATTERN.match(line):
        return "heading"
    if _TABLE_PATTERN.match(line):
        return "table"
    if _LIST_ITEM_PATTERN.match(line) or _continues_item(line, before):
        return "item"
    return "sentence"


def _continues_item(line: str, before: UnitKind | None) -> bool:
    """Whether a line belongs to the item of a list above it."""
    return before == "item" and line[:1] in " \t" and not _LIST_ITEM_PATTERN.match(line)


def _split_sentences(text: str, start: int, end: int) -> Iterator[TextUnit]:
    """The sentences of a paragraph."""
    begin, ticks, seen = start, 0, start
    for found in _SENTENCE_END_PATTERN.finditer(text, start, end):
        ticks, seen = ticks + text.count("`", seen, found.end()), found.end()
        if ticks % 2 or _is_abbreviation(text, found.start(), found.end()) or _is_lowercase_next(text, found.end()):
            continue
        if piece := _trim_unit(text, "sentence", begin, found.end()):
            yield piece
        begin, ticks = found.end(), 0
    if piece := _trim_unit(text, "sentence", begin, end):
        yield piece


def _is_abbreviation(text: str, start: int, end: int) -> bool:
    return text[start] == "." and _ABBREVIATION_PATTERN.search(text, max(0, end - 12), end) is not None


def _is_lowercase_next(text: str, at: int) -> bool:
    """Whether the next letter is a small one: then no sentence ends here."""
    found = _NEXT_CHARACTER_PATTERN.match(text, at)
    return found is not None and found[0][-1].islower()


def _trim_unit(text: str, kind: UnitKind, start: int, end: int) -> TextUnit | None:
    """A unit without the blanks around it; what is indented stays so."""
    words = text[start:end]
    right = end - (len(words) - len(words.rstrip()))
    left = start if kind in ("item", "code", "table") else start + len(words) - len(words.lstrip())
    return TextUnit(kind, left, right) if left < right else None
