"""What a scan searches for: exact text or a regular expression, plus bytes that every matching line contains."""

from __future__ import annotations

import re
from collections.abc import Iterable
from importlib import import_module
from typing import Any, NamedTuple

from turnlog.errors import UsageError

# These characters are never escaped in JSON; others can be written in several ways.
_UNESCAPED_TEXT = re.compile(r"[A-Za-z0-9 !#$%()*+,\-.:;=?@\[\]^_`{|}~]+")
_SHORT_ESCAPES = {'"': '"', "\\": "\\", "/": "/", "\n": "n", "\r": "r", "\t": "t", "\b": "b", "\f": "f"}


class SearchNeedle(NamedTuple):
    """The pattern that a scan searches for."""

    pattern: re.Pattern[str]
    clues: tuple[bytes, ...] = ()
    """Every JSON line with a match contains one of these byte strings; if empty, any line may match."""
    raw: tuple[bytes, ...] = ()
    """The same for plain files."""


def build_text_needle(text: str) -> SearchNeedle:
    """Build a needle for exact text."""
    if not text:
        raise UsageError("--substring: the text is empty and would match everything")
    best = max(_UNESCAPED_TEXT.findall(text), key=len, default="")
    clues = (best.encode(),) if best else _list_json_spellings(text[0])
    return SearchNeedle(re.compile(re.escape(text)), clues, (text.encode("utf-8", "replace"),))


def _list_json_spellings(char: str) -> tuple[bytes, ...]:
    """List the ways in which JSON can write a character."""
    units = char.encode("utf-16-be", "surrogatepass")
    escaped = "".join(f"\\u{units[at]:02x}{units[at + 1]:02x}" for at in range(0, len(units), 2))
    spellings = {escaped, escaped[:2] + escaped[2:].upper().replace("\\U", "\\u")}
    if char in _SHORT_ESCAPES:
        spellings.add(f"\\{_SHORT_ESCAPES[char]}")
    if char >= " " and char not in '"\\':
        spellings.add(char)
    return tuple(sorted(text.encode("utf-8", "replace") for text in spellings))


def build_regex_needle(text: str) -> SearchNeedle:
    """Build a needle for a regular expression, with the longest text that every match contains."""
    try:
        pattern = re.compile(text)
    except re.error as error:
        place = f" at position {error.pos}" if error.pos is not None else ""
        raise UsageError(f"--regex {text}: {error.msg}{place}") from None
    except (RecursionError, OverflowError):
        raise UsageError("--regex: the expression is too large") from None
    best = max(
        (run for literal in _find_literals(text) for run in _UNESCAPED_TEXT.findall(literal)), key=len, default=""
    )
    clues = (best.encode(),) if best else ()
    return SearchNeedle(pattern, clues, clues)


def _find_literals(text: str) -> list[str]:
    """Find the literal text that every match of an expression contains."""
    # The parser of `re` is undocumented; if it differs, every line is checked.
    try:
        tree = import_module("re._parser").parse(text)
        if tree.state.flags & re.IGNORECASE:
            return []
        return _find_required_literals(tree)
    except (ImportError, AttributeError, TypeError, ValueError, LookupError, RecursionError):
        return []


def _find_required_literals(items: Iterable[Any]) -> list[str]:
    literals, run = list[str](), ""
    for name, value in items:
        kind = str(name)
        if kind == "LITERAL":
            run += chr(value)
            continue
        literals.append(run)
        run = ""
        if kind == "SUBPATTERN" and not value[1]:
            literals += _find_required_literals(value[3])
        elif kind in ("MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT") and value[0] > 0:
            literals += _find_required_literals(value[2])
        elif kind == "ATOMIC_GROUP":
            literals += _find_required_literals(value)
    return [*literals, run]
