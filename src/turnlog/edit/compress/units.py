"""Splits text into units that are kept or left out as a whole: code, headings, list items, tables and sentences.

The units and the whitespace between them add up exactly to the original text.
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
    """A unit, given by its position in the text."""

    kind: UnitKind
    start: int
    end: int


def split_units(text: str) -> list[TextUnit]:
    """Split text into units, in order, with only whitespace between them."""
    units: list[TextUnit] = []
    for kind, start, end in _split_blocks(text):
        if kind == "sentence":
            units += _split_sentences(text, start, end)
        elif unit := _trim_unit(text, kind, start, end):
            units.append(unit)
    return units


def join_units(text: str, kept: Sequence[TextUnit], units: Sequence[TextUnit]) -> str:
    """Join units with the whitespace between them; where units were left out, use the widest gap."""
    kept_set, parts = set(kept), list[str]()
    blanks, last = list[str](), 0
    for unit in units:
        blanks.append(text[last : unit.start])
        last = unit.end
        if unit in kept_set:
            parts += [_choose_widest_blank(blanks) if parts else "", text[unit.start : unit.end]]
            blanks = []
    return "".join(parts)


def _choose_widest_blank(blanks: Sequence[str]) -> str:
    if len(blanks) == 1:
        return blanks[0]
    lines = max(blank.count("\n") for blank in blanks)
    return "\n" * min(2, lines) if lines else " " if any(blanks) else ""


def _split_blocks(text: str) -> Iterator[TextUnit]:
    kind: UnitKind | None = None
    start, end, fence = 0, 0, ""
    for line in _LINE_PATTERN.finditer(text):
        content = line[0]
        if fence:
            end = line.end()
            if content.strip().startswith(fence) and not content.strip().strip(fence[0]):
                yield TextUnit("code", start, end)
                kind, fence = None, ""
            continue
        line_kind = _classify_line(content, kind)
        if kind is not None and (
            line_kind != kind or (line_kind in ("heading", "item") and not _continues_item(content, kind))
        ):
            yield TextUnit(kind, start, end)
            kind = None
        if line_kind is None:
            continue
        if kind is None:
            kind, start = line_kind, line.start()
        end = line.end()
        if line_kind == "code" and (opened := _FENCE_PATTERN.match(content)):
            fence = opened[1]
    if kind is not None:
        yield TextUnit(kind, start, end)


def _classify_line(line: str, before: UnitKind | None) -> UnitKind | None:
    """Return the kind of a line, or None if it is blank."""
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
    """Return whether a line belongs to the list item above it."""
    return before == "item" and line[:1] in " \t" and not _LIST_ITEM_PATTERN.match(line)


def _split_sentences(text: str, start: int, end: int) -> Iterator[TextUnit]:
    begin, ticks, counted = start, 0, start
    for end_match in _SENTENCE_END_PATTERN.finditer(text, start, end):
        ticks, counted = ticks + text.count("`", counted, end_match.end()), end_match.end()
        if (
            ticks % 2
            or _is_abbreviation(text, end_match.start(), end_match.end())
            or _is_lowercase_next(text, end_match.end())
        ):
            continue
        if unit := _trim_unit(text, "sentence", begin, end_match.end()):
            yield unit
        begin, ticks = end_match.end(), 0
    if unit := _trim_unit(text, "sentence", begin, end):
        yield unit


def _is_abbreviation(text: str, start: int, end: int) -> bool:
    return text[start] == "." and _ABBREVIATION_PATTERN.search(text, max(0, end - 12), end) is not None


def _is_lowercase_next(text: str, at: int) -> bool:
    """Return whether the next letter is lower-case, which means that the sentence does not end here."""
    match = _NEXT_CHARACTER_PATTERN.match(text, at)
    return match is not None and match[0][-1].islower()


def _trim_unit(text: str, kind: UnitKind, start: int, end: int) -> TextUnit | None:
    """Return a unit without surrounding whitespace, but with its lines still indented."""
    content = text[start:end]
    right = end - (len(content) - len(content.rstrip()))
    left = start if kind in ("item", "code", "table") else start + len(content) - len(content.lstrip())
    return TextUnit(kind, left, right) if left < right else None
