"""A session as the body of a Messages request: what would be sent if a branch were resumed now."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from turnlog.errors import Refused, UsageError
from turnlog.export.material import ExportMaterial
from turnlog.render.json_bytes import iter_json_list
from turnlog.render.render_options import RenderOptions

Json = dict[str, Any]
_THINKING_TYPES = frozenset({"thinking", "redacted_thinking"})
_CALL_TYPES = frozenset(
    {"tool_use", "tool_result", "server_tool_use", "web_search_tool_result", "web_fetch_tool_result"}
)
_PICTURE_TYPES = frozenset({"image", "document"})


def export_messages(material: ExportMaterial) -> Iterator[bytes]:
    """Yield the JSON document, piece by piece."""
    yield b'{"messages":'
    yield from iter_json_list(list_conversation_messages(material))
    yield b"}\n"


def list_conversation_messages(material: ExportMaterial) -> list[Json]:
    """List the messages of the exported branch."""
    if material.choice.is_part or material.choice.all_branches:
        raise UsageError("this format exports one whole conversation; use --branch K and omit --turns")
    session = material.session
    try:
        messages = session.conversation(material.choice.leaf).messages
    except Refused as reason:
        raise Refused(f"Claude Code would not resume {session.session_id or 'this session'}: {reason}") from None
    if material.choice.is_redacted:
        messages = [_drop_unsigned_thinking(message) for message in messages]
    return [chosen for message in messages if (chosen := _filter_message(message, material.choice.wishes))]


def _drop_unsigned_thinking(message: Json) -> Json:
    """Drop thinking that lost its signature when it was redacted: the API would reject it."""
    blocks = [b for b in message["content"] if b.get("type") != "thinking" or b.get("signature")]
    return {**message, "content": blocks}


def _filter_message(message: Json, options: RenderOptions) -> Json | None:
    """Reduce a message to what the options include; None if nothing is left."""
    content = message["content"]
    blocks = [_filter_block(block, options) for block in content if _is_wanted(block, options)]
    return {**message, "content": blocks} if blocks or not content else None


def _is_wanted(block: Json, options: RenderOptions) -> bool:
    kind = block.get("type")
    if kind in _CALL_TYPES:
        return options.tools
    return options.thinking or kind not in _THINKING_TYPES


def _filter_block(block: Json, options: RenderOptions) -> Json:
    if options.pictures:
        return block
    if block.get("type") in _PICTURE_TYPES:
        return {"type": "text", "text": f"[{block['type']}]"}
    inner = block.get("content")
    if block.get("type") == "tool_result" and isinstance(inner, list):
        return {
            **block,
            "content": [_filter_block(part, options) if isinstance(part, dict) else part for part in inner],
        }
    return block
