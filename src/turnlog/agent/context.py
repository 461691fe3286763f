"""What fills the window: parts by their size, brought to the sum that the API has counted."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

from turnlog.agent.compaction import room
from turnlog.agent.conversation import Conversation
from turnlog.agent.setup import Setup
from turnlog.model.request import Request

_CHARACTERS = 4


class Context(NamedTuple):
    """How full the window is, and of what."""

    parts: list[tuple[str, int]]
    """Names and tokens; estimated from characters, and brought to the exact sum where that is known."""
    used: int
    window: int
    is_exact: bool
    """Whether the sum was counted by the API."""


def context(setup: Setup, conversation: Conversation, request: Request) -> Context:
    """What fills the window now."""
    sizes = {"system prompt": _size(request.system), "tools": _size(request.tools)}
    sizes["memory and surroundings"] = _size(conversation.preface)
    for message in conversation.messages:
        for block in message["content"]:
            sizes[_kind(block)] = sizes.get(_kind(block), 0) + _size(block)
    total = sum(sizes.values())
    used = conversation.used or total // _CHARACTERS
    parts = [(name, round(size * used / total)) for name, size in sizes.items() if size] if total else []
    return Context(parts, used, room(setup), bool(conversation.used))


def _kind(block: Any) -> str:
    kind = block.get("type")
    if kind == "text":
        return "reminders" if str(block.get("text")).startswith("<system-reminder>") else "messages"
    return {"tool_use": "calls", "tool_result": "results", "thinking": "thinking"}.get(kind, str(kind))


def _size(value: Any) -> int:
    return len(json.dumps(value, ensure_ascii=False, default=str)) if value else 0
