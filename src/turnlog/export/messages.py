"""A session as the body of a Messages request: what would be sent if a branch were resumed now."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from turnlog.errors import Refused, UsageError
from turnlog.export.material import Material
from turnlog.render.encoding import listed
from turnlog.render.wishes import Wishes

Json = dict[str, Any]
_THINKING = frozenset({"thinking", "redacted_thinking"})
_CALLS = frozenset({"tool_use", "tool_result", "server_tool_use", "web_search_tool_result", "web_fetch_tool_result"})
_PICTURES = frozenset({"image", "document"})


def pieces(material: Material) -> Iterator[bytes]:
    """The document, piece by piece."""
    yield b'{"messages":'
    yield from listed(conversation(material))
    yield b"}\n"


def conversation(material: Material) -> list[Json]:
    """The messages of the branch that is wanted."""
    if material.choice.is_part or material.choice.all_branches:
        raise UsageError("a conversation goes from its beginning to one leaf: give --branch, not --turns or all")
    session = material.session
    try:
        found = session.conversation(material.choice.leaf).messages
    except Refused as reason:
        raise Refused(f"{session.session_id or 'this session'}: the client would not resume it: {reason}") from None
    if material.choice.is_redacted:
        found = [_without_unsigned(message) for message in found]
    return [chosen for message in found if (chosen := _chosen(message, material.choice.wishes))]


def _without_unsigned(message: Json) -> Json:
    """A message without thinking that was redacted: its signature would not fit, and the API would refuse it."""
    blocks = [b for b in message["content"] if b.get("type") != "thinking" or b.get("signature")]
    return {**message, "content": blocks}


def _chosen(message: Json, wishes: Wishes) -> Json | None:
    """A message with nothing but what is wished for; None where nothing is left of it."""
    content = message["content"]
    blocks = [_block(block, wishes) for block in content if _is_wished(block, wishes)]
    return {**message, "content": blocks} if blocks or not content else None


def _is_wished(block: Json, wishes: Wishes) -> bool:
    kind = block.get("type")
    if kind in _CALLS:
        return wishes.tools
    return wishes.thinking or kind not in _THINKING


def _block(block: Json, wishes: Wishes) -> Json:
    if wishes.pictures:
        return block
    if block.get("type") in _PICTURES:
        return {"type": "text", "text": f"[{block['type']}]"}
    inner = block.get("content")
    if block.get("type") == "tool_result" and isinstance(inner, list):
        return {**block, "content": [_block(part, wishes) if isinstance(part, dict) else part for part in inner]}
    return block
