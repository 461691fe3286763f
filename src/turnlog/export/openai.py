"""A session as chat messages in OpenAI's format: calls as `tool_calls`, results as messages with the role `tool`.

The format can't represent thinking, or whether a result was an error. An image in a result follows in a user
message, because tool messages contain only text.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from turnlog.export.material import ExportMaterial
from turnlog.export.messages import list_conversation_messages
from turnlog.render.json_bytes import iter_json_list, to_json_bytes

Json = dict[str, Any]


def export_openai(material: ExportMaterial) -> Iterator[bytes]:
    """Yield the JSON document, piece by piece."""
    yield b'{"messages":'
    yield from iter_json_list(
        chat for message in list_conversation_messages(material) for chat in to_chat_messages(message)
    )
    yield b"}\n"


def to_chat_messages(message: Json) -> Iterator[Json]:
    """Convert a Messages API message to chat messages."""
    blocks = [block for block in message["content"] if isinstance(block, dict)]
    if message["role"] == "assistant":
        yield from _to_assistant_message(blocks)
        return
    late: list[Json] = []
    for block in blocks:
        if block.get("type") == "tool_result":
            texts, pictures = _split_result(block)
            yield {"role": "tool", "tool_call_id": str(block.get("tool_use_id")), "content": texts}
            late += pictures
    parts = [part for block in blocks if (part := _to_part(block))]
    if late or parts:
        yield {"role": str(message["role"]), "content": _to_content([*late, *parts])}


def _to_assistant_message(blocks: list[Json]) -> Iterator[Json]:
    text = "\n\n".join(str(block.get("text", "")) for block in blocks if block.get("type") == "text")
    calls = [_to_tool_call(block) for block in blocks if block.get("type") == "tool_use"]
    if text or calls:
        yield {"role": "assistant", "content": text or None, **({"tool_calls": calls} if calls else {})}


def _to_tool_call(block: Json) -> Json:
    arguments = to_json_bytes(block.get("input", {})).decode()
    return {
        "id": str(block.get("id")),
        "type": "function",
        "function": {"name": str(block.get("name")), "arguments": arguments},
    }


def _split_result(block: Json) -> tuple[str, list[Json]]:
    """Split a result into its text and its pictures."""
    content = block.get("content")
    if not isinstance(content, list):
        return content if isinstance(content, str) else "", []
    parts = [part for inner in content if isinstance(inner, dict) and (part := _to_part(inner))]
    texts = [str(part["text"]) for part in parts if part["type"] == "text"]
    return "\n".join(texts), [part for part in parts if part["type"] != "text"]


def _to_content(parts: list[Json]) -> str | list[Json]:
    return str(parts[0]["text"]) if len(parts) == 1 and parts[0]["type"] == "text" else parts


def _to_part(block: Json) -> Json | None:
    """Convert a block to a part of a message; None if the format can't represent it."""
    source = block.get("source")
    fields: Json = source if isinstance(source, dict) else {}
    match block.get("type"):
        case "text":
            return {"type": "text", "text": str(block.get("text", ""))}
        case "image":
            return {"type": "image_url", "image_url": {"url": _to_url(fields)}}
        case "document" if fields.get("type") == "text":
            return {"type": "text", "text": str(fields.get("data", ""))}
        case "document":
            name = str(block.get("title") or "document")
            return {"type": "file", "file": {"filename": name, "file_data": _to_url(fields)}}
    return None


def _to_url(source: Json) -> str:
    if source.get("type") == "base64":
        return f"data:{source.get('media_type')};base64,{source.get('data')}"
    return str(source.get("url") or source.get("file_id") or "")
