"""Ids of calls and names of tools in the letters that an API takes, the same for a call and its result."""

from __future__ import annotations

import re
from typing import Any

_UNSUPPORTED_CHARACTER_PATTERN = re.compile(r"[^a-zA-Z0-9_-]")
_MAX_ID_CHARS = 64


class ApiNames:
    """Gives what does not fit another name, and never the same one to two."""

    def __init__(self, longest: int) -> None:
        self._longest = longest
        self._ids: dict[str, str] = {}
        self._tools: dict[str, str] = {}

    def reserve_id(self, given: object) -> None:
        """Know an id, so that no other is changed into it."""
        if isinstance(given, str) and given == _fit_characters(given, _MAX_ID_CHARS):
            self._ids.setdefault(given, given)

    def convert_id(self, given: Any) -> Any:
        """The id of a call as it can be sent."""
        return _assign_name(given, self._ids, _MAX_ID_CHARS)

    def convert_tool_name(self, given: Any) -> Any:
        """The name of a tool as it can be sent."""
        return _assign_name(given, self._tools, self._longest)


def _assign_name(given: Any, known: dict[str, str], longest: int) -> Any:
    if not isinstance(given, str):
        return given
    if given not in known:
        fitted, taken = _fit_characters(given, longest), set(known.values())
        new, number = fitted, 2
        while new in taken and new != given:
            ending = f"_{number}"
            new, number = fitted[: longest - len(ending)] + ending, number + 1
        known[given] = new
    return known[given]


def _fit_characters(given: str, longest: int) -> str:
    return _UNSUPPORTED_CHARACTER_PATTERN.sub("_", given)[:longest] or "_"
