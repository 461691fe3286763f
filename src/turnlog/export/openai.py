"""A session as chat messages in OpenAI's form: calls as `tool_calls`, results as messages of the role `tool`.

Thinking has no place there and is left out; so is whether a result was an error. An image in a result comes in a
message of the user behind it, because messages of tools hold texts only.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from turnlog.export.material import Material
from turnlog.export.messages import conversation
from turnlog.render.encoding import encoded, listed

Json = dict[str, Any]


def pieces(material: Material) -> Iterator[bytes]:
    """The document, piece by piece."""
    yield b'{"messages":'
    yield from listed(message for said in conversation(material) for message in translated(said))
    yield b"}\n"


def translated(message: Json) -> Iterator[Json]:
    """A message of the Messages API as chat messages."""
    blocks = [block for block in message["content"] if isinstance(block, dict)]
    if message["role"] == "assistant":
        yield from _answer(blocks)
        return
    late: list[Json] = []
    for block in blocks:
        if block.get("type") == "tool_result":
            texts, pictures = _result(block)
            yield {"role": "tool", "tool_call_id": str(block.get("tool_use_id")), "content": texts}
            late += pictures
    parts = [part for block in blocks if (part := _part(block))]
    if late or parts:
        yield {"role": str(message["role"]), "content": _content([*late, *parts])}


def _answer(blocks: list[Json]) -> Iterator[Json]:
    text = "\n\n".join(str(block.get("text", "")) for block in blocks if block.get("type") == "text")
    calls = [_call(block) for block in blocks if block.get("type") == "tool_use"]
    if text or calls:
        yield {"role": "assistant", "content": text or None, **({"tool_calls": calls} if calls else {})}


def _call(block: Json) -> Json:
    given = encoded(block.get("input", {})).decode()
    return {
        "id": str(block.get("id")),
        "type": "function",
        "function": {"name": str(block.get("name")), "arguments": given},
    }


def _result(block: Json) -> tuple[str, list[Json]]:
    """The text of a result, and the pictures in it."""
    content = block.get("content")
    if not isinstance(content, list):
        return content if isinstance(content, str) else "", []
    parts = [part for inner in content if isinstance(inner, dict) and (part := _part(inner))]
    texts = [str(part["text"]) for part in parts if part["type"] == "text"]
    return "\n".join(texts), [part for part in parts if part["type"] != "text"]


def _content(parts: list[Json]) -> str | list[Json]:
    return str(parts[0]["text"]) if len(parts) == 1 and parts[0]["type"] == "text" else parts


def _part(block: Json) -> Json | None:
    """A block as a part of a message; None for what has no place there."""
    source = block.get("source")
    fields: Json = source if isinstance(source, dict) else {}
    match block.get("type"):
        case "text":
            return {"type": "text", "text": str(block.get("text", ""))}
        case "image":
            return {"type": "image_url", "image_url": {"url": _address(fields)}}
        case "document" if fields.get("type") == "text":
            return {"type": "text", "text": str(fields.get("data", ""))}
        case "document":
            name = str(block.get("title") or "document")
            return {"type": "file", "file": {"filename": name, "file_data": _address(fields)}}
    return None


def _address(source: Json) -> str:
    if source.get("type") == "base64":
        return f"data:{source.get('media_type')};base64,{source.get('data')}"
    return str(source.get("url") or source.get("file_id") or "")
