"""Shortens the inputs and results of calls: text, lists of text, and images; encoded data is never cut in half.

These functions never make a value longer, and never shorten a value twice.
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
_BASE64_BYTES = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")
_BASE64_SHAPE_TABLE = bytes(ord("x" if byte in _BASE64_BYTES else " ") for byte in range(256))
_BASE64_LINE_SHAPE = b"x" * 60
_MIN_BASE64_CHARS = 256
"""A shorter run of letters is probably not base64."""
_PATH_KEYS = frozenset({"file_path", "notebook_path", "path", "filePath"})
"""Keys of paths, which are useless when shortened."""
_MAX_NESTING = 100
"""Values nested more deeply than this are not shortened."""


def cut_text(value: str, max_chars: int) -> str:
    """Shorten long text to its beginning and end, without any base64."""
    return value if len(value) <= max_chars + MAX_MARK_CHARS else cut_text_middle(drop_base64(value), max_chars)


def drop_base64(value: str) -> str:
    if len(value) < _MIN_BASE64_CHARS or not _may_have_base64(value):
        return value
    return _BASE64_PATTERN.sub(_mark_base64, value)


def _may_have_base64(value: str) -> bool:
    """Return whether text has a run as long as a line of base64, several times faster than the expression."""
    return _BASE64_LINE_SHAPE in value.encode("ascii", "replace").translate(_BASE64_SHAPE_TABLE)


def _mark_base64(run: re.Match[str]) -> str:
    size = len(run[0])
    return run[0] if size < _MIN_BASE64_CHARS else f"{CUT_MARK}{size:,} characters of base64 cut]"


def cut_input(value: Any, max_chars: int) -> Any:
    """Shorten the long strings in a call's input without changing its structure."""
    return _map_value(value, lambda text: cut_text(text, max_chars) if len(text) > MIN_CUTTABLE_CHARS else text)


def cut_copy(value: Any, max_chars: int) -> Any:
    """Shorten the client's own copy of a result without changing its structure."""
    return _map_value(value, lambda text: cut_text(text, max_chars), max_chars)


def drop_pictures(value: Any) -> Any:
    """Remove images from the client's own copy of a result."""
    return _map_value(value, drop_base64)


def _map_value(value: Any, change: Any, max_list_chars: int | None = None, depth: int = 0) -> Any:
    if isinstance(value, str):
        return change(value)
    if not isinstance(value, dict | list) or depth == _MAX_NESTING:
        return value
    if isinstance(value, dict):
        return {
            key: inner
            if key in _PATH_KEYS and isinstance(inner, str)
            else _map_value(inner, change, max_list_chars, depth + 1)
            for key, inner in value.items()
        }
    items = [_map_value(inner, change, max_list_chars, depth + 1) for inner in value]
    return items if max_list_chars is None else _cut_list(items, max_list_chars)


def _cut_list(items: list[Any], max_chars: int) -> list[Any]:
    """Return the beginning and end of a long list of strings."""
    if not all(isinstance(item, str) for item in items) or sum(map(len, items)) <= max_chars + MAX_MARK_CHARS:
        return items
    head = _count_fitting(items, max_chars - max_chars // 3)
    tail = _count_fitting(items[head:][::-1], max_chars // 3)
    cut = len(items) - head - tail
    return [*items[:head], f"{CUT_MARK}{cut:,} lines cut]", *items[len(items) - tail :]]


def _count_fitting(items: list[str], room: int) -> int:
    """Count how many strings fit within a number of characters."""
    count = 0
    for item in items:
        room -= len(item)
        if room < 0:
            break
        count += 1
    return count


def cut_content(value: Any, max_chars: int) -> Any:
    """Shorten the content of a result, which is text or blocks."""
    if isinstance(value, str):
        return cut_text(value, max_chars)
    if not isinstance(value, list):
        return value
    return [_cut_block(block, max_chars) for block in value]


def _cut_block(block: Any, max_chars: int) -> Any:
    if not isinstance(block, dict):
        return block
    if block.get("type") in PICTURE_TYPES:
        return replace_picture(block) if len(encode_json_line(block)) > max_chars else block
    if block.get("type") == "text" and isinstance(block.get("text"), str):
        return {**block, "text": cut_text(block["text"], max_chars)}
    return block


def replace_picture(block: Json) -> Json:
    """Build the text that replaces an image or a document."""
    source = block.get("source")
    fields = source if isinstance(source, dict) else {}
    data, kind = fields.get("data"), fields.get("media_type")
    size = f", {len(data) * 3 // 4:,} bytes" if isinstance(data, str) else ""
    name = kind if isinstance(kind, str) and len(kind) < MAX_MARK_CHARS // 2 else block["type"]
    placeholder = {"type": "text", "text": f"{CUT_MARK}{name}{size}, was removed]"}
    return placeholder if len(encode_json_line(placeholder)) < len(encode_json_line(block)) else block


def build_placeholder(value: Any, reason: str) -> Any:
    """Build the text that replaces the whole content, if that text is shorter."""
    placeholder = f"{CUT_MARK}{reason}]"
    if isinstance(value, str) and value.startswith(CUT_MARK) and len(value) <= MAX_MARK_CHARS:
        return value
    return placeholder if len(encode_json_line(placeholder)) < len(encode_json_line(value)) else value
