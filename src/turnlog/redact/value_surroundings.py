"""Checks the surroundings of a value: among hashes, its name means nothing; among settings, a word is a value."""

from __future__ import annotations

import re

_HASH_LENGTHS = frozenset({8, 16, 20, 24, 32, 40, 48, 56, 64, 96, 128})
_MAX_NEIGHBOUR_DISTANCE_CHARS = 400
_MIN_HASH_NEIGHBOURS = 2
_MAX_LINE_CHARS = 300
_HEX_HASH = re.compile(r"(?<![A-Za-z0-9])[0-9a-fA-F]{8,128}(?![A-Za-z0-9])")
_SECRET_NAME_BEFORE = re.compile(
    r"(?:pass|secret|token|key|pwd|salt|psk|cred)[A-Za-z0-9_]{0,12}\\*[\"'`]?\]?\s{0,4}[:=]\s{0,4}\\*[\"'`]?$", re.I
)
_SETTING_LINE = re.compile(
    r"[ \t]{0,80}+(?:- )?(?P<name>[\w.-]{1,60}+)(?::(?: [^\n,;{}()]{0,200})?|=[^\s,;{}()]{0,200})"
)


def is_in_hash_table(text: str, start: int, end: int) -> bool:
    """Return whether a value is among several hashes of the same length whose names do not reveal a secret."""
    size = end - start
    if size not in _HASH_LENGTHS or not _HEX_HASH.fullmatch(text[start:end]):
        return False
    others = 0
    for match in _HEX_HASH.finditer(
        text, max(0, start - _MAX_NEIGHBOUR_DISTANCE_CHARS), end + _MAX_NEIGHBOUR_DISTANCE_CHARS
    ):
        if match.end() - match.start() == size and match.start() != start:
            others += not _SECRET_NAME_BEFORE.search(text, max(0, match.start() - 40), match.start())
    return others >= _MIN_HASH_NEIGHBOURS


def is_setting_value(text: str, start: int, end: int) -> bool:
    """Return whether a value ends its line among settings: `name: value` in YAML, or `name=value` in properties.

    There, a word is a value; in code, whose lines end in commas and brackets, it is a name.
    """
    first, last = _find_line_span(text, start)
    pair = _SETTING_LINE.fullmatch(text, first, last)
    if not pair or text[end:last].strip():
        return False
    if "." in pair["name"]:
        return True
    around = (
        (_find_line_span(text, first - 2) if first > 1 else (0, 0)),
        (_find_line_span(text, last + 1) if last + 1 < len(text) else (0, 0)),
    )
    return any(a < b and _SETTING_LINE.fullmatch(text, a, b) for a, b in around)


def _find_line_span(text: str, at: int) -> tuple[int, int]:
    """Return the span of the line around a position, up to a maximum length."""
    first, last = text.rfind("\n", max(0, at - _MAX_LINE_CHARS), at + 1), text.find("\n", at, at + _MAX_LINE_CHARS)
    return (first + 1 if first >= 0 else max(0, at - _MAX_LINE_CHARS)), (
        last if last >= 0 else min(len(text), at + _MAX_LINE_CHARS)
    )
