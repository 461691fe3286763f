"""What an entry says, in the parts that tracing backends know: texts, thoughts, calls and results.

Pictures and documents become a word with their type and size; signatures and what only the API can read are left out.
"""

from __future__ import annotations

import json
import re
from typing import Any, Literal, NamedTuple

import msgspec

from turnlog.entries.entry import Body
from turnlog.session.calls import outcome
from turnlog.session.failures import has_failed
from turnlog.session.prompts import Prompt

_ENCODER = msgspec.json.Encoder()
_KIND = re.compile(r"[\w.-]{1,60}", re.ASCII)
_NAME = 200
TOO_DEEP = "[nested too deep]"


class Part(NamedTuple):
    """One block of what was said."""

    kind: Literal["text", "reasoning", "tool_call", "tool_call_response"]
    text: str = ""
    id: str = ""
    """The call that it is, or answers."""
    name: str = ""
    value: Any = None
    """What a call was given."""


class Said(NamedTuple):
    """What one entry says."""

    parts: list[Part]
    outcomes: dict[str, str]
    """How each call went that it answers."""
    error: str | None
    """The kind of API error that it tells of."""


def said(body: Body, prompt: Prompt | None = None) -> Said:
    """What an entry says; of one that starts a turn what was typed."""
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
    parts = [part for block in blocks if (part := _part(block))]
    record = body.get("toolUseResult")
    failed = {
        _id(block, "tool_use_id")
        for block in blocks
        if block.get("type") == "tool_result" and has_failed(block.get("is_error"), _flat(block.get("content")), record)
    }
    answers = [part for part in parts if part.kind == "tool_call_response"]
    outcomes = {part.id: outcome(body, part.text, is_error=part.id in failed) for part in answers}
    return Said(parts, outcomes, _failure(body) if body.get("isApiErrorMessage") else None)


def _part(block: dict[str, Any]) -> Part | None:
    match block.get("type"):
        case "text":
            text = block.get("text")
            return Part("text", text) if isinstance(text, str) and text else None
        case "thinking":
            text = block.get("thinking")
            return Part("reasoning", text) if isinstance(text, str) and text else None
        case "redacted_thinking":
            return Part("reasoning", "[redacted thinking]")
        case "tool_use" | "server_tool_use" | "mcp_tool_use":
            return Part(
                "tool_call", id=_id(block, "id"), name=short(str(block.get("name") or "")), value=block.get("input")
            )
        case "tool_result":
            return Part("tool_call_response", _flat(block.get("content")), _id(block, "tool_use_id"))
    return Part("text", _word(block))


def _flat(content: object) -> str:
    """The text of a result, with a word for each block of another kind."""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return "" if content is None else json_of(content)
    return "\n".join(_said(block) for block in content)


def _said(block: object) -> str:
    if not isinstance(block, dict):
        return json_of(block)
    text = block.get("text")
    return text if block.get("type") == "text" and isinstance(text, str) else _word(block)


def _word(block: dict[str, Any]) -> str:
    """A word for what is no text."""
    kind, source = block.get("type"), block.get("source")
    name = kind if isinstance(kind, str) else "block"
    if isinstance(source, dict) and isinstance(data := source.get("data"), str):
        size = len(data) * 3 // 4 - data[-2:].count("=") if source.get("type") == "base64" else len(data)
        return f"[{name}: {source.get('media_type') or 'unknown type'}, {size} bytes]"
    return f"[{name}]"


def _id(block: dict[str, Any], name: str) -> str:
    value = block.get(name)
    return value if isinstance(value, str) else ""


def _failure(body: Body) -> str:
    kinds = (str(body.get(name) or "") for name in ("apiErrorType", "error", "apiErrorStatus"))
    return next((kind for kind in kinds if _KIND.fullmatch(kind)), "api_error")


def short(name: str) -> str:
    """A name that is not longer than names are."""
    return name[:_NAME]


def json_of(value: Any) -> str:
    """A value as JSON text; half of a surrogate pair stays as it is."""
    try:
        return _ENCODER.encode(value).decode()
    except (UnicodeEncodeError, OverflowError, msgspec.MsgspecError, TypeError, RecursionError):
        pass
    try:
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=str)
    except (RecursionError, ValueError):
        return json.dumps(TOO_DEEP)
