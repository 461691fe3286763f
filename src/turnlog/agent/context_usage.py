"""Measures what fills the context window: the size of each part, scaled to the total that the API counted."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

from turnlog.agent.compaction import get_window_tokens
from turnlog.agent.conversation import AgentConversation
from turnlog.agent.setup import AgentSetup
from turnlog.model.request import ModelRequest

_CHARS_PER_TOKEN = 4


class ContextUsage(NamedTuple):
    """How full the context window is, and what fills it."""

    parts: list[tuple[str, int]]
    """The names of the parts and their tokens, estimated from characters and scaled to the total if it is exact."""
    used: int
    window: int
    is_exact: bool
    """Whether the API counted the total."""


def measure_context(setup: AgentSetup, conversation: AgentConversation, request: ModelRequest) -> ContextUsage:
    sizes = {"system prompt": _count_json_chars(request.system), "tools": _count_json_chars(request.tools)}
    sizes["memory and surroundings"] = _count_json_chars(conversation.preface)
    for message in conversation.messages:
        for block in message["content"]:
            sizes[_classify_block(block)] = sizes.get(_classify_block(block), 0) + _count_json_chars(block)
    total = sum(sizes.values())
    used = conversation.used or total // _CHARS_PER_TOKEN
    parts = [(name, round(size * used / total)) for name, size in sizes.items() if size] if total else []
    return ContextUsage(parts, used, get_window_tokens(setup), bool(conversation.used))


def _classify_block(block: Any) -> str:
    kind = block.get("type")
    if kind == "text":
        return "reminders" if str(block.get("text")).startswith("<system-reminder>") else "messages"
    return {"tool_use": "calls", "tool_result": "results", "thinking": "thinking"}.get(kind, str(kind))


def _count_json_chars(value: Any) -> int:
    return len(json.dumps(value, ensure_ascii=False, default=str)) if value else 0
