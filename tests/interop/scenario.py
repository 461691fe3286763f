"""Scripted replies, and the API messages and stream events made of them."""

from __future__ import annotations

import hashlib
import json
import re
import threading
from pathlib import Path
from typing import Any

from tests.interop.classify import Object, block_text, first_user_text, last_user_text

DEFAULT_TEXT = {
    "quota": "#",
    "topic": '{"isNewTopic": true, "title": "Mock topic"}',
    "title": '{"title": "Mock session title"}',
    "name": '{"name": "mock-session"}',
    "bash_prefix": "none",
    "bash_paths": "<is_displaying_contents>false</is_displaying_contents>\n<filepaths>\n</filepaths>",
    "git_history": "README.md",
    "warmup": "Ready.",
    "web_page": "The page says nothing of interest.",
    "compact": "<analysis>\nMock analysis.\n</analysis>\n\n<summary>\n1. Primary Request and Intent:\n"
    "   Mock summary of the conversation.\n</summary>",
}
ALPHABET = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"


class Scenario:
    """Scripted replies and the cursors into them (thread-safe)."""

    def __init__(self, data: Object | None = None) -> None:
        data = data or {}
        self.name: str = data.get("name", "default")
        self.model: str | None = data.get("model")
        self.conversations: list[Object] = data.get("conversations") or []
        self._cursor: dict[tuple[int, str], int] = {}
        self._lock = threading.Lock()

    @classmethod
    def load(cls, source: str | Path | Object | None) -> Scenario:
        """A scenario from a file, a dict, or nothing (default replies)."""
        if source is None or isinstance(source, dict):
            return cls(source)
        return cls(json.loads(Path(source).read_text(encoding="utf-8")))

    def pick(self, kind: str, body: Object) -> tuple[Object, str]:
        """The reply for this request, and a label saying where it came from."""
        first, last = first_user_text(body), last_user_text(body)
        with self._lock:
            for index, conversation in enumerate(self.conversations):
                if not _fits(conversation, kind, first, last):
                    continue
                at = self._advance(index, conversation, first)
                if at is not None:
                    return _prepare(conversation["replies"][at], body), f"{index}/{at}"
        return {"content": [{"type": "text", "text": DEFAULT_TEXT.get(kind, "OK.")}]}, "default"

    def _advance(self, index: int, conversation: Object, first: str) -> int | None:
        key = (index, first if conversation.get("per_instance") else "")
        at, size = self._cursor.get(key, 0), len(conversation["replies"])
        if at >= size:
            if conversation.get("when_done") != "repeat":
                return None
            at = size - 1
        self._cursor[key] = at + 1
        return at


def _fits(conversation: Object, kind: str, first: str, last: str) -> bool:
    return (
        conversation.get("kind", "main") == kind
        and re.search(conversation.get("match", ""), first, re.S) is not None
        and re.search(conversation.get("last", ""), last, re.S) is not None
    )


def _prepare(reply: str | Object, body: Object) -> Object:
    if isinstance(reply, str):
        reply = {"content": [{"type": "text", "text": reply}]}
    values: dict[str, str] = {}
    for name, pattern in (reply.get("capture") or {}).items():
        texts = (block_text(message.get("content")) for message in reversed(body.get("messages") or []))
        found = next(filter(None, (re.search(pattern, text, re.S) for text in texts)), None)
        values[name] = found.group(1) if found else ""
    filled: Object = _fill(reply, values)
    return filled


def _fill(value: Any, values: dict[str, str]) -> Any:
    if isinstance(value, str):
        return re.sub(r"\{\{(\w+)\}\}", lambda m: values.get(m.group(1), m.group(0)), value)
    if isinstance(value, list):
        return [_fill(item, values) for item in value]
    if isinstance(value, dict):
        return {key: _fill(item, values) for key, item in value.items()}
    return value


def make_id(prefix: str, number: int, salt: str = "") -> str:
    """A deterministic id shaped like the API's (`msg_01` + 22 characters)."""
    value = int(hashlib.sha256(f"{prefix}{salt}{number}".encode()).hexdigest(), 16)
    letters = ""
    for _ in range(22):
        value, rest = divmod(value, len(ALPHABET))
        letters += ALPHABET[rest]
    return f"{prefix}_01{letters}"


def build_message(reply: Object, body: Object, number: int, salt: str, model: str | None) -> Object:
    """The complete (non-streaming) API message for a reply."""
    content = [_block(block, number * 100 + at, salt) for at, block in enumerate(reply.get("content") or [])]
    uses_tool = any(block["type"] == "tool_use" for block in content)
    usage = {
        "input_tokens": max(1, len(json.dumps(body.get("messages", []))) // 4),
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": 0,
        "cache_creation": {"ephemeral_5m_input_tokens": 0, "ephemeral_1h_input_tokens": 0},
        "output_tokens": max(1, len(json.dumps(content)) // 4),
        "service_tier": "standard",
        **(reply.get("usage") or {}),
    }
    return {
        "id": reply.get("id") or make_id("msg", number, salt),
        "type": "message",
        "role": "assistant",
        "model": reply.get("model") or model or body.get("model", "mock"),
        "content": content,
        "stop_reason": reply.get("stop_reason") or ("tool_use" if uses_tool else "end_turn"),
        "stop_sequence": None,
        "usage": usage,
    }


def _block(block: Object, number: int, salt: str) -> Object:
    if block["type"] == "tool_use":
        call_id = block.get("id") or make_id("toolu", number, salt)
        return {"type": "tool_use", "id": call_id, "name": block["name"], "input": block.get("input", {})}
    if block["type"] == "thinking":
        return {"signature": make_id("sig", number, salt), **block}
    return dict(block)


def stream_events(message: Object) -> list[tuple[str, Object]]:
    """The server-sent events that carry a message."""
    usage = {**message["usage"], "output_tokens": 1}
    opening = {**message, "content": [], "stop_reason": None, "usage": usage}
    events: list[tuple[str, Object]] = [("message_start", {"message": opening}), ("ping", {})]
    for index, block in enumerate(message["content"]):
        start, deltas = _stream_block(block)
        events.append(("content_block_start", {"index": index, "content_block": start}))
        events += [("content_block_delta", {"index": index, "delta": delta}) for delta in deltas]
        events.append(("content_block_stop", {"index": index}))
    delta = {"stop_reason": message["stop_reason"], "stop_sequence": message["stop_sequence"]}
    closing = {"output_tokens": message["usage"]["output_tokens"]}
    events.append(("message_delta", {"delta": delta, "usage": closing}))
    events.append(("message_stop", {}))
    return events


def _stream_block(block: Object) -> tuple[Object, list[Object]]:
    if block["type"] == "text":
        return {**block, "text": ""}, [{"type": "text_delta", "text": part} for part in _parts(block["text"])]
    if block["type"] == "thinking":
        deltas = [{"type": "thinking_delta", "thinking": part} for part in _parts(block["thinking"])]
        deltas.append({"type": "signature_delta", "signature": block["signature"]})
        return {**block, "thinking": "", "signature": ""}, deltas
    if block["type"] == "tool_use":
        raw = json.dumps(block["input"], ensure_ascii=False)
        parts = [{"type": "input_json_delta", "partial_json": part} for part in ["", *_parts(raw)]]
        return {**block, "input": {}}, parts
    return dict(block), []


def _parts(text: str) -> list[str]:
    """A string cut into up to three pieces, as a stream would."""
    size = max(1, -(-len(text) // 3))
    return [text[at : at + size] for at in range(0, len(text), size)] or [""]
