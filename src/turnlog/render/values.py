"""Values of a transcript without trust: whatever stands there, these give something of the type that is needed."""

from __future__ import annotations

import math
import re
from typing import Any

from turnlog.entries.line_decoder import decode_patiently

Json = dict[str, Any]
MAX_LINE_CHARS = 200
"""So many characters fit on the line of a title, or beside the name of a field."""
_MARKDOWN_SIGNS = re.compile(r"^(?:#{2,6} \S|```|\|.*\|[ \t]*$)|\*\*\S|\]\(\w", re.MULTILINE)
"""What hardly anything but Markdown has; lists and `#` stand in YAML and scripts too."""
_MAX_CHECKED_CHARS = 20_000


def to_dict(value: object) -> Json:
    """An object; empty where there is none."""
    return value if isinstance(value, dict) else {}


def to_list(value: object) -> list[Any]:
    """A list; empty where there is none."""
    return value if isinstance(value, list) else []


def to_dict_list(value: object) -> list[Json]:
    """The objects of a list."""
    return [item for item in to_list(value) if isinstance(item, dict)]


def to_string_list(value: object) -> list[str]:
    """The texts of a list."""
    return [item for item in to_list(value) if isinstance(item, str)]


def pick_text(*values: object) -> str:
    """The first of some values that is a text and not empty."""
    return next((value for value in values if isinstance(value, str) and value), "")


def to_count(value: object) -> int | None:
    """A count; None for anything that is none."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return None
    return round(value) if 0 <= value < 1 << 53 else None


def format_scalar(value: object) -> str:
    """A text, number or truth value as a person writes it."""
    if isinstance(value, str):
        return value
    if value is None or isinstance(value, bool):
        return {None: "none", True: "yes", False: "no"}[value]
    if isinstance(value, int):
        return str(value) if abs(value) < 1 << 256 else "a number too large to show"
    return f"{value:g}" if isinstance(value, float) else ""


def to_short_line(words: str, limit: int = MAX_LINE_CHARS) -> str:
    """A text on one line, and not too long."""
    short = " ".join(words[: 4 * limit].split())
    return short if len(short) <= limit else short[: limit - 1].rstrip() + "…"


def strip_working_folder(path: str, cwd: str | None) -> str:
    """A path as seen from the working folder."""
    if cwd and len(path) > len(cwd) + 1 and path.startswith(cwd) and path[len(cwd)] in "/\\":
        return path[len(cwd) + 1 :]
    return path


def read_tag(words: str, name: str) -> str:
    """What stands between the first tags of a name; a search by pattern would take for ever on tags without end."""
    _, opened, rest = words.partition(f"<{name}>")
    inner, closed, _ = rest.partition(f"</{name}>")
    return inner.strip() if opened and closed else ""


def parse_json_value(words: str) -> Any:
    """The object or list that a text is in JSON; None for any other text."""
    short = words.strip()
    if (short[:1], short[-1:]) not in (("{", "}"), ("[", "]")):
        return None
    found = decode_patiently(short.encode("utf-8", "replace"))
    return found.value if found is not None and isinstance(found.value, dict | list) else None


def is_markdown(words: str) -> bool:
    """Whether a text seems to be written in Markdown."""
    return len(_MARKDOWN_SIGNS.findall(words[:_MAX_CHECKED_CHARS])) > 1
