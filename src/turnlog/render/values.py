"""Untrusted values from a transcript: each function returns the required type, whatever it receives."""

from __future__ import annotations

import math
import re
from typing import Any

from turnlog.entries.line_decoder import decode_patiently

Json = dict[str, Any]
MAX_LINE_CHARS = 200
"""Maximum length of a title, or of a value next to a field name."""
_MARKDOWN_SIGNS = re.compile(r"^(?:#{2,6} \S|```|\|.*\|[ \t]*$)|\*\*\S|\]\(\w", re.MULTILINE)
"""Characters that are rare outside Markdown; lists and `#` also occur in YAML and scripts."""
_MAX_CHECKED_CHARS = 20_000


def to_dict(value: object) -> Json:
    """Return the value if it is an object, or else an empty object."""
    return value if isinstance(value, dict) else {}


def to_list(value: object) -> list[Any]:
    """Return the value if it is a list, or else an empty list."""
    return value if isinstance(value, list) else []


def to_dict_list(value: object) -> list[Json]:
    """Return the objects in a list."""
    return [item for item in to_list(value) if isinstance(item, dict)]


def to_string_list(value: object) -> list[str]:
    """Return the strings in a list."""
    return [item for item in to_list(value) if isinstance(item, str)]


def pick_text(*values: object) -> str:
    """Return the first value that is a non-empty string."""
    return next((value for value in values if isinstance(value, str) and value), "")


def to_count(value: object) -> int | None:
    """Return the value if it is a count, or else None."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return None
    return round(value) if 0 <= value < 1 << 53 else None


def format_scalar(value: object) -> str:
    """Write a string, number or boolean the way a person would."""
    if isinstance(value, str):
        return value
    if value is None or isinstance(value, bool):
        return {None: "none", True: "yes", False: "no"}[value]
    if isinstance(value, int):
        return str(value) if abs(value) < 1 << 256 else "a number too large to show"
    return f"{value:g}" if isinstance(value, float) else ""


def to_short_line(text: str, limit: int = MAX_LINE_CHARS) -> str:
    """Put text on one line and shorten it."""
    short = " ".join(text[: 4 * limit].split())
    return short if len(short) <= limit else short[: limit - 1].rstrip() + "…"


def strip_working_folder(path: str, cwd: str | None) -> str:
    """Return a path relative to the working folder if it is inside that folder."""
    if cwd and len(path) > len(cwd) + 1 and path.startswith(cwd) and path[len(cwd)] in "/\\":
        return path[len(cwd) + 1 :]
    return path


def read_tag(text: str, name: str) -> str:
    """Return the text between the first pair of tags with this name, in linear time even if a tag is never closed."""
    _, opened, rest = text.partition(f"<{name}>")
    inner, closed, _ = rest.partition(f"</{name}>")
    return inner.strip() if opened and closed else ""


def parse_json_value(text: str) -> Any:
    """Parse text that is a JSON object or list; return None for any other text."""
    short = text.strip()
    if (short[:1], short[-1:]) not in (("{", "}"), ("[", "]")):
        return None
    found = decode_patiently(short.encode("utf-8", "replace"))
    return found.value if found is not None and isinstance(found.value, dict | list) else None


def is_markdown(text: str) -> bool:
    return len(_MARKDOWN_SIGNS.findall(text[:_MAX_CHECKED_CHARS])) > 1
