"""Shortening what calls were given and gave back: texts, lists of texts, images; never half of anything encoded.

Nothing here makes a value longer, and what was shortened once is not shortened again.
"""

from __future__ import annotations

import re
from typing import Any

from turnlog.entries.patch import encoded
from turnlog.session.window.pieces import CUT, LONG
from turnlog.session.window.presets import MARK, shortened

Json = dict[str, Any]

PICTURES = frozenset({"image", "document"})
_ENCODED = re.compile(
    r"(?<![A-Za-z0-9+/])[A-Za-z0-9+/]{60,}+(?:\r?\n[A-Za-z0-9+/]{60,}+)*+(?:\r?\n[A-Za-z0-9+/]+)?={0,2}"
)
_LEAST_ENCODED = 256
"""A shorter run of letters is no base64 worth the name."""
_NAMES = frozenset({"file_path", "notebook_path", "path", "filePath"})
"""Names are worth nothing when they are cut."""
_DEEPEST = 100
"""What is nested deeper stays as it is."""


def text(value: str, longest: int) -> str:
    """The head and the tail of a text; what is base64 in it goes as a whole."""
    return value if len(value) <= longest + MARK else shortened(without_encoded(value), longest)


def without_encoded(value: str) -> str:
    """A text without the base64 in it."""
    return _ENCODED.sub(_mark, value) if len(value) >= _LEAST_ENCODED else value


def _mark(run: re.Match[str]) -> str:
    size = len(run[0])
    return run[0] if size < _LEAST_ENCODED else f"{CUT}{size:,} characters of base64 cut]"


def given(value: Any, longest: int) -> Any:
    """The input of a call in its own shape, with its long texts shortened."""
    return _value(value, lambda found: text(found, longest) if len(found) > LONG else found)


def copied(value: Any, longest: int) -> Any:
    """The client's own copy of a result, in its own shape."""
    return _value(value, lambda found: text(found, longest), longest)


def without_pictures(value: Any) -> Any:
    """The client's own copy of a result without the images in it."""
    return _value(value, without_encoded)


def _value(value: Any, change: Any, longest: int | None = None, depth: int = 0) -> Any:
    if isinstance(value, str):
        return change(value)
    if not isinstance(value, dict | list) or depth == _DEEPEST:
        return value
    if isinstance(value, dict):
        return {
            key: inner if key in _NAMES and isinstance(inner, str) else _value(inner, change, longest, depth + 1)
            for key, inner in value.items()
        }
    items = [_value(inner, change, longest, depth + 1) for inner in value]
    return items if longest is None else _fewer(items, longest)


def _fewer(items: list[Any], longest: int) -> list[Any]:
    """The head and the tail of a long list of texts."""
    if not all(isinstance(item, str) for item in items) or sum(map(len, items)) <= longest + MARK:
        return items
    head = _fitting(items, longest - longest // 3)
    tail = _fitting(items[head:][::-1], longest // 3)
    cut = len(items) - head - tail
    return [*items[:head], f"{CUT}{cut:,} lines cut]", *items[len(items) - tail :]]


def _fitting(items: list[str], room: int) -> int:
    """How many of some texts have so many characters together."""
    count = 0
    for item in items:
        room -= len(item)
        if room < 0:
            break
        count += 1
    return count


def content(value: Any, longest: int) -> Any:
    """The content of a result: a text, or blocks."""
    if isinstance(value, str):
        return text(value, longest)
    if not isinstance(value, list):
        return value
    return [_block(block, longest) for block in value]


def _block(block: Any, longest: int) -> Any:
    if not isinstance(block, dict):
        return block
    if block.get("type") in PICTURES:
        return picture(block) if len(encoded(block)) > longest else block
    if block.get("type") == "text" and isinstance(block.get("text"), str):
        return {**block, "text": text(block["text"], longest)}
    return block


def picture(block: Json) -> Json:
    """What stands in the place of an image or a document."""
    source = block.get("source")
    fields = source if isinstance(source, dict) else {}
    data, kind = fields.get("data"), fields.get("media_type")
    size = f", {len(data) * 3 // 4:,} bytes" if isinstance(data, str) else ""
    name = kind if isinstance(kind, str) and len(kind) < MARK // 2 else block["type"]
    instead = {"type": "text", "text": f"{CUT}{name}{size}, was removed]"}
    return instead if len(encoded(instead)) < len(encoded(block)) else block


def placeholder(value: Any, words: str) -> Any:
    """What stands in the place of a whole content, if it is shorter."""
    instead = f"{CUT}{words}]"
    if isinstance(value, str) and value.startswith(CUT) and len(value) <= MARK:
        return value
    return instead if len(encoded(instead)) < len(encoded(value)) else value
