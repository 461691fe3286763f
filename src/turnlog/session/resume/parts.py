"""The part that each row of a resumed session contributes to the conversation.

The numbers in brackets refer to the rules in docs/format.md, "How a session is resumed".
"""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any, NamedTuple

from turnlog.entries.entry import Body, Entry
from turnlog.entries.line_decoder import TOO_DEEP_TEXT
from turnlog.session.resume.additions import read_rendered_attachment
from turnlog.session.resume.frames import frame_entry, frame_queued, is_human_turn
from turnlog.session.usage.prices import SYNTHETIC_MODEL

Json = dict[str, Any]
_UNSENT_BLOCK_TYPE = "advisor_tool_result"
_RENAMED_TOOLS = {"Task": "Agent"}
_MAX_NESTING = 600
"""The maximum nesting depth; deeper values are cut off, because encoding them again could exhaust the stack."""
_SENT_INPUT_FIELDS = {"SendMessage": ("to", "summary", "message")}


class MessagePart(NamedTuple):
    """The blocks of one row, or of several rows that belong together."""

    role: str
    blocks: list[Json]
    identity: str | None = None
    """The key that joins the rows of one assistant message."""


def build_message_part(row: Entry, body: Body, *, as_sent: bool) -> MessagePart | None:
    """Build the part that a row contributes, or None if it contributes nothing [18-20]."""
    if row.type == "attachment":
        return _build_attachment_part(body, as_sent)
    if row.type == "system":
        is_sent = row.subtype == "local_command" and not body.get("isDisplayOnly")
        return MessagePart("user", _to_text_blocks(body.get("content"))) if is_sent else None
    message = body.get("message")
    if not isinstance(message, dict):
        return None
    blocks = [block for block in _to_blocks(message.get("content")) if block["type"] != _UNSENT_BLOCK_TYPE]
    if row.type == "user":
        return MessagePart("user", frame_entry(blocks, body) if as_sent else blocks)
    if body.get("isApiErrorMessage") and message.get("model") == SYNTHETIC_MODEL:
        return None
    return MessagePart(
        "assistant",
        [_to_client_call(block) for block in blocks if block["type"] != "tool_result"],
        _find_message_identity(body, message),
    )


def may_contribute(row: Entry) -> bool:
    """Return whether a row may have a part, without decoding its line: most rows that report progress have none."""
    return row.type != "progress" or row.message is not None or row.flaw is not None


def _build_attachment_part(body: Body, as_sent: bool) -> MessagePart | None:
    """Build the part for a prompt or notification that arrived mid-turn; other attachments are reminders [19]."""
    attachment = body.get("attachment")
    if not isinstance(attachment, dict):
        return None
    queued = _to_blocks(attachment.get("prompt")) if attachment.get("type") == "queued_command" else []
    if not as_sent:
        return MessagePart("user", queued)
    role, blocks = read_rendered_attachment(body)
    if blocks and not (queued and is_human_turn(attachment)):
        return MessagePart(role, blocks)
    return MessagePart("user", frame_queued(queued, attachment))


def _to_text_blocks(content: object) -> list[Json]:
    return [{"type": "text", "text": to_client_json(content)}] if isinstance(content, str) and content.strip() else []


def _to_blocks(content: object) -> list[Json]:
    """List the content blocks, without empty or blank text blocks [20]."""
    if not isinstance(content, list):
        return _to_text_blocks(content)
    blocks = [
        _to_client_result(block) for block in content if isinstance(block, dict) and isinstance(block.get("type"), str)
    ]
    return [to_client_json(block) for block in blocks if block["type"] != "text" or _to_text_blocks(block.get("text"))]


def _to_client_result(block: Json) -> Json:
    """Return a result as the newest client sends it: an error has only the joined text; unknown content is JSON."""
    content = block.get("content")
    if block["type"] != "tool_result" or content is None or isinstance(content, str):
        return block
    if not isinstance(content, list):
        return {**block, "content": json.dumps(to_client_json(content), ensure_ascii=False, separators=(",", ":"))}
    if not block.get("is_error"):
        return block
    texts = [inner["text"] for inner in content if isinstance(inner, dict) and isinstance(inner.get("text"), str)]
    return {**block, "content": [{"type": "text", "text": "\n\n".join(texts)}] if texts else []}


def _find_message_identity(body: Body, message: Json) -> str | None:
    """Return the identity of a message; all rows with a request id but no message id share one identity [23]."""
    identity = message.get("id")
    return identity if isinstance(identity, str) and identity else ("no id" if body.get("requestId") else None)


def _to_client_call(block: Json) -> Json:
    """Return a call as the newest client sends it [27]."""
    if block["type"] != "tool_use":
        return block
    name, arguments, sent = str(block.get("name")), block.get("input"), dict(block)
    if name in _SENT_INPUT_FIELDS and isinstance(arguments, dict):
        sent["input"] = {key: value for key, value in arguments.items() if key in _SENT_INPUT_FIELDS[name]}
    if name in _RENAMED_TOOLS:
        sent["name"] = _RENAMED_TOOLS[name]
    return sent


def to_client_json(value: Any, depth: int = 0) -> Any:
    """Return a JSON value as the client re-encodes it: numbers become doubles, and lone surrogates U+FFFD."""
    if isinstance(value, str):
        return value if value.isascii() else value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if not isinstance(value, dict | list):
        return _to_double(value) if isinstance(value, int | float) and not isinstance(value, bool) else value
    if depth == _MAX_NESTING:
        return TOO_DEEP_TEXT
    if isinstance(value, list):
        items = []
        for inner in value:  # a comprehension would need a second stack frame per level
            items.append(to_client_json(inner, depth + 1))  # noqa: PERF401
        return items
    fields = {}
    for key, inner in value.items():
        fields[to_client_json(key)] = to_client_json(inner, depth + 1)
    return fields


def _to_double(value: int | float) -> int | float | None:
    try:
        number = float(value)
    except OverflowError:
        return None
    if number != number or number in (float("inf"), float("-inf")):
        return None
    if abs(number) >= 1e21 or not number.is_integer():
        return number
    return int(Decimal(repr(number)))
