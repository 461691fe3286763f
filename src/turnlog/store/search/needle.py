"""What a scan looks for: a text exactly as typed or a regular expression, and bytes that a line with it must hold."""

from __future__ import annotations

import re
from collections.abc import Iterable
from importlib import import_module
from typing import Any, NamedTuple

from turnlog.errors import UsageError

# These stand in JSON as they are, whoever wrote it; of others there are several spellings.
_UNESCAPED_TEXT = re.compile(r"[A-Za-z0-9 !#$%()*+,\-.:;=?@\[\]^_`{|}~]+")
_SHORT_ESCAPES = {'"': '"', "\\": "\\", "/": "/", "\n": "n", "\r": "r", "\t": "t", "\b": "b", "\f": "f"}


class SearchNeedle(NamedTuple):
    """What to look for in texts."""

    pattern: re.Pattern[str]
    clues: tuple[bytes, ...] = ()
    """One of these is in every line of JSON with such a text; none given: any line may have it."""
    raw: tuple[bytes, ...] = ()
    """Likewise in a plain file."""


def build_text_needle(text: str) -> SearchNeedle:
    """A needle for a text, letter by letter."""
    if not text:
        raise UsageError("--substring: an empty text is everywhere")
    best = max(_UNESCAPED_TEXT.findall(text), key=len, default="")
    clues = (best.encode(),) if best else _list_json_spellings(text[0])
    return SearchNeedle(re.compile(re.escape(text)), clues, (text.encode("utf-8", "replace"),))


def _list_json_spellings(char: str) -> tuple[bytes, ...]:
    """The ways in which JSON may hold a character."""
    units = char.encode("utf-16-be", "surrogatepass")
    escaped = "".join(f"\\u{units[at]:02x}{units[at + 1]:02x}" for at in range(0, len(units), 2))
    found = {escaped, escaped[:2] + escaped[2:].upper().replace("\\U", "\\u")}
    if char in _SHORT_ESCAPES:
        found.add(f"\\{_SHORT_ESCAPES[char]}")
    if char >= " " and char not in '"\\':
        found.add(char)
    return tuple(sorted(text.encode("utf-8", "replace") for text in found))


def build_regex_needle(text: str) -> SearchNeedle:
    """A needle for a regular expression, with the longest text that all it finds must have."""
    try:
        pattern = re.compile(text)
    except re.error as error:
        place = f" at position {error.pos}" if error.pos is not None else ""
        raise UsageError(f"--regex {text}: {error.msg}{place}") from None
    except (RecursionError, OverflowError):
        raise UsageError("--regex: too large") from None
    best = max(
        (run for literal in _find_literals(text) for run in _UNESCAPED_TEXT.findall(literal)), key=len, default=""
    )
    clues = (best.encode(),) if best else ()
    return SearchNeedle(pattern, clues, clues)


def _find_literals(text: str) -> list[str]:
    """The texts that are in everything that an expression finds."""
    # The parser of `re` is not documented; where it is another one, every line is looked at.
    try:
        tree = import_module("re._parser").parse(text)
        if tree.state.flags & re.IGNORECASE:
            return []
        return _find_required_literals(tree)
    except (ImportError, AttributeError, TypeError, ValueError, LookupError, RecursionError):
        return []


def _find_required_literals(items: Iterable[Any]) -> list[str]:
    found, run = list[str](), ""
    for name, value in items:
        kind = str(name)
        if kind == "LITERAL":
            run += chr(value)
            continue
        found.append(run)
        run = ""
        if kind == "SUBPATTERN" and not value[1]:
            found += _find_required_literals(value[3])
        elif kind in ("MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT") and value[0] > 0:
            found += _find_required_literals(value[2])
        elif kind == "ATOMIC_GROUP":
            found += _find_required_literals(value)
    return [*found, run]
