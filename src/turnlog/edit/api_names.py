"""Converts call ids and tool names to characters that an API accepts, consistently for a call and its result."""

from __future__ import annotations

import re
from typing import Any

_UNSUPPORTED_CHARACTER_PATTERN = re.compile(r"[^a-zA-Z0-9_-]")
_MAX_ID_CHARS = 64


class ApiNames:
    """A mapping from call ids and tool names to valid ones; two different names never map to the same valid name."""

    def __init__(self, max_tool_chars: int) -> None:
        self._max_tool_chars = max_tool_chars
        self._ids: dict[str, str] = {}
        self._tools: dict[str, str] = {}

    def reserve_id(self, identity: object) -> None:
        """Reserve an id that is already valid, so that no other id is converted to it."""
        if isinstance(identity, str) and identity == _fit_characters(identity, _MAX_ID_CHARS):
            self._ids.setdefault(identity, identity)

    def convert_id(self, identity: Any) -> Any:
        """Return a call id that the API accepts."""
        return _assign_name(identity, self._ids, _MAX_ID_CHARS)

    def convert_tool_name(self, name: Any) -> Any:
        """Return a tool name that the API accepts."""
        return _assign_name(name, self._tools, self._max_tool_chars)


def _assign_name(name: Any, known: dict[str, str], max_chars: int) -> Any:
    if not isinstance(name, str):
        return name
    if name not in known:
        fitted, taken = _fit_characters(name, max_chars), set(known.values())
        candidate, number = fitted, 2
        while candidate in taken and candidate != name:
            ending = f"_{number}"
            candidate, number = fitted[: max_chars - len(ending)] + ending, number + 1
        known[name] = candidate
    return known[name]


def _fit_characters(name: str, max_chars: int) -> str:
    return _UNSUPPORTED_CHARACTER_PATTERN.sub("_", name)[:max_chars] or "_"
