"""Shortening what calls were given and gave back: texts, lists of texts, images; never half of anything encoded.

Nothing here makes a value longer, and what was shortened once is not shortened again.
"""

from __future__ import annotations

import re
from typing import Any

from turnlog.edit.strip.presets import MAX_MARK_CHARS, cut_text_middle
from turnlog.entries.patch import encode_json_line
from turnlog.session.window.pieces import CUT_MARK, MIN_CUTTABLE_CHARS

Json = dict[str, Any]

PICTURE_TYPES = frozenset({"image", "document"})
_BASE64_PATTERN = re.compile(
    r"(?<![A-Za-z0-9+/])[A-Za-z0-9+/]{60,}+(?:\r?\n[A-Za-z0-9+/]{60,}+)*+(?:\r?\n[A-Za-z0-9+/]+)?={0,2}"
)
_MIN_BASE64_CHARS = 256
"""A shorter run of letters is no base64 worth the name."""
_PATH_KEYS = frozenset({"file_path", "notebook_path", "path", "filePath"})
"""Names are worth nothing when they are cut."""
_MAX_NESTING = 100
"""What is nested deeper stays as it is."""


def cut_text(value: str, longest: int) -> str:
    """The head and the tail of a text; what is base64 in it goes as a whole."""
    return value if len(value) <= longest + MAX_MARK_CHARS else cut_text_middle(drop_base64(value), longest)


def drop_base64(value: str) -> str:
    """A text without the base64 in it."""
    return _BASE64_PATTERN.sub(_mark_base64, value) if len(value) >= _MIN_BASE64_CHARS else value


def _mark_base64(run: re.Match[str]) -> str:
    size = len(run[0])
    return run[0] if size < _MIN_BASE64_CHARS else f"{CUT_MARK}{size:,} characters of base64 cut]"


def cut_input(value: Any, longest: int) -> Any:
    """The input of a call in its own shape, with its long texts shortened."""
    return _map_value(value, lambda found: cut_text(found, longest) if len(found) > MIN_CUTTABLE_CHARS else found)


def cut_copy(value: Any, longest: int) -> Any:
    """The client's own copy of a result, in its own shape."""
    return _map_value(value, lambda found: cut_text(found, longest), longest)


def drop_pictures(value: Any) -> Any:
    """The client's own copy of a result without the images in it."""
    return _map_value(value, drop_base64)


def _map_value(value: Any, change: Any, longest: int | None = None, depth: int = 0) -> Any:
    if isinstance(value, str):
        return change(value)
    if not isinstance(value, dict | list) or depth == _MAX_NESTING:
        return value
    if isinstance(value, dict):
        return {
            key: inner
            if key in _PATH_KEYS and isinstance(inner, str)
            else _map_value(inner, change, longest, depth + 1)
            for key, inner in value.items()
        }
    items = [_map_value(inner, change, longest, depth + 1) for inner in value]
    return items if longest is None else _cut_list(items, longest)


def _cut_list(items: list[Any], longest: int) -> list[Any]:
    """The head and the tail of a long list of texts."""
    if not all(isinstance(item, str) for item in items) or sum(map(len, items)) <= longest + MAX_MARK_CHARS:
        return items
    head = _count_fitting(items, longest - longest // 3)
    tail = _count_fitting(items[head:][::-1], longest // 3)
    cut = len(items) - head - tail
    return [*items[:head], f"{CUT_MARK}{cut:,} lines cut]", *items[len(items) - tail :]]


def _count_fitting(items: list[str], room: int) -> int:
    """How many of some texts have so many characters together."""
    count = 0
    for item in items:
        room -= len(item)
        if room < 0:
            break
        count += 1
    return count


def cut_content(value: Any, longest: int) -> Any:
    """The content of a result: a text, or blocks."""
    if isinstance(value, str):
        return cut_text(value, longest)
    if not isinstance(value, list):
        return value
    return [_cut_block(block, longest) for block in value]


def _cut_block(block: Any, longest: int) -> Any:
    if not isinstance(block, dict):
        return block
    if block.get("type") in PICTURE_TYPES:
        return replace_picture(block) if len(encode_json_line(block)) > longest else block
    if block.get("type") == "text" and isinstance(block.get("text"), str):
        return {**block, "text": cut_text(block["text"], longest)}
    return block


def replace_picture(block: Json) -> Json:
    """What stands in the place of an image or a document."""
    source = block.get("source")
    fields = source if isinstance(source, dict) else {}
    data, kind = fields.get("data"), fields.get("media_type")
    size = f", {len(data) * 3 // 4:,} bytes" if isinstance(data, str) else ""
    name = kind if isinstance(kind, str) and len(kind) < MAX_MARK_CHARS // 2 else block["type"]
    instead = {"type": "text", "text": f"{CUT_MARK}{name}{size}, was removed]"}
    return instead if len(encode_json_line(instead)) < len(encode_json_line(block)) else block


def build_placeholder(value: Any, words: str) -> Any:
    """What stands in the place of a whole content, if it is shorter."""
    instead = f"{CUT_MARK}{words}]"
    if isinstance(value, str) and value.startswith(CUT_MARK) and len(value) <= MAX_MARK_CHARS:
        return value
    return instead if len(encode_json_line(instead)) < len(encode_json_line(value)) else value
