"""The content of an entry in parts that tracing backends support: text, thinking, calls and results.

Images and documents become a short description of their type and size; signatures and data that only the API can read
are left out.
"""

from __future__ import annotations

import json
import re
from typing import Any, Literal, NamedTuple

import msgspec

from turnlog.entries.entry import Body
from turnlog.session.calls import judge_call_outcome
from turnlog.session.failures import has_failed
from turnlog.session.prompts import Prompt

_JSON_ENCODER = msgspec.json.Encoder()
_ERROR_KIND = re.compile(r"[\w.-]{1,60}", re.ASCII)
_MAX_NAME_CHARS = 200
TOO_DEEP_TEXT = "[nested too deep]"


class SpanPart(NamedTuple):
    """One block of a message."""

    kind: Literal["text", "reasoning", "tool_call", "tool_call_response"]
    text: str = ""
    id: str = ""
    """The id of the call that the part is or answers."""
    name: str = ""
    value: Any = None
    """The input of a call."""


class EntryParts(NamedTuple):
    parts: list[SpanPart]
    outcomes: dict[str, str]
    """The outcome of each call that the entry answers."""
    error: str | None
    """The kind of API error that the entry reports."""


def read_entry_parts(body: Body, prompt: Prompt | None = None) -> EntryParts:
    """Read the parts of an entry; for the start of a turn, return the text that was typed."""
    message, attachment = body.get("message"), body.get("attachment")
    if isinstance(message, dict):
        content = message.get("content")
    else:
        content = attachment.get("prompt") if isinstance(attachment, dict) else None
    blocks = content if isinstance(content, list) else [{"type": "text", "text": content}]
    blocks = [block for block in blocks if isinstance(block, dict)]
    if prompt is not None:
        others = [block for block in blocks if block.get("type") != "text"]
        blocks = [{"type": "text", "text": prompt.text}, *others]
    parts = [part for block in blocks if (part := _build_part(block))]
    record = body.get("toolUseResult")
    failed = {
        _read_id(block, "tool_use_id")
        for block in blocks
        if block.get("type") == "tool_result"
        and has_failed(block.get("is_error"), _flatten_content(block.get("content")), record)
    }
    answers = [part for part in parts if part.kind == "tool_call_response"]
    outcomes = {part.id: judge_call_outcome(body, part.text, is_error=part.id in failed) for part in answers}
    return EntryParts(parts, outcomes, _read_error_kind(body) if body.get("isApiErrorMessage") else None)


def _build_part(block: dict[str, Any]) -> SpanPart | None:
    match block.get("type"):
        case "text":
            text = block.get("text")
            return SpanPart("text", text) if isinstance(text, str) and text else None
        case "thinking":
            text = block.get("thinking")
            return SpanPart("reasoning", text) if isinstance(text, str) and text else None
        case "redacted_thinking":
            return SpanPart("reasoning", "[redacted thinking]")
        case "tool_use" | "server_tool_use" | "mcp_tool_use":
            return SpanPart(
                "tool_call",
                id=_read_id(block, "id"),
                name=shorten_name(str(block.get("name") or "")),
                value=block.get("input"),
            )
        case "tool_result":
            return SpanPart(
                "tool_call_response", _flatten_content(block.get("content")), _read_id(block, "tool_use_id")
            )
    return SpanPart("text", _describe_block(block))


def _flatten_content(content: object) -> str:
    """Return the text of a result, with a short description of each block of any other kind."""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return "" if content is None else to_json_text(content)
    return "\n".join(_read_block_text(block) for block in content)


def _read_block_text(block: object) -> str:
    if not isinstance(block, dict):
        return to_json_text(block)
    text = block.get("text")
    return text if block.get("type") == "text" and isinstance(text, str) else _describe_block(block)


def _describe_block(block: dict[str, Any]) -> str:
    """Describe a block that is not text."""
    kind, source = block.get("type"), block.get("source")
    name = kind if isinstance(kind, str) else "block"
    if isinstance(source, dict) and isinstance(data := source.get("data"), str):
        size = len(data) * 3 // 4 - data[-2:].count("=") if source.get("type") == "base64" else len(data)
        return f"[{name}: {source.get('media_type') or 'unknown type'}, {size} bytes]"
    return f"[{name}]"


def _read_id(block: dict[str, Any], name: str) -> str:
    value = block.get(name)
    return value if isinstance(value, str) else ""


def _read_error_kind(body: Body) -> str:
    kinds = (str(body.get(name) or "") for name in ("apiErrorType", "error", "apiErrorStatus"))
    return next((kind for kind in kinds if _ERROR_KIND.fullmatch(kind)), "api_error")


def shorten_name(name: str) -> str:
    """Truncate a name to the usual maximum length."""
    return name[:_MAX_NAME_CHARS]


def to_json_text(value: Any) -> str:
    """Encode a value as JSON text, with lone surrogates unchanged."""
    try:
        return _JSON_ENCODER.encode(value).decode()
    except (UnicodeEncodeError, OverflowError, msgspec.MsgspecError, TypeError, RecursionError):
        pass
    try:
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=str)
    except (RecursionError, ValueError):
        return json.dumps(TOO_DEEP_TEXT)
