"""Cleans a session's messages for sending: drops what another client or model wrote only for its own use.

This drops attachments about the other client's surroundings, since turnlog describes its own, and anything that the API
would reject: thinking that was signed by a different model, and references to tools that turnlog does not offer.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from turnlog.agent.conversation import build_reminder, drop_final_thinking, get_thinking_signature
from turnlog.agent.record.line_bodies import NO_OUTPUT_TEXT
from turnlog.entries.entry import Entry
from turnlog.entries.reader import Transcript
from turnlog.session.resume.additions import EMPTY_CONTENT_TEXT
from turnlog.session.resume.refusals import THINKING_TYPES, find_thinking_fault

Json = dict[str, Any]

CLIENT_ONLY_ATTACHMENTS = frozenset(
    "agent_listing_delta auto_mode command_permissions date deferred_tools_delta deferred_tools_record environment"
    " instructions mcp_instructions_delta model prompt_snapshot remote_session_change session_context skill_listing"
    " total_tokens_reminder ultra_effort_enter ultra_effort_exit workflow_keyword_request".split()
)
"""Types of attachments that describe the client's own tools and settings and the machine."""
_OLD_TOOL_NAMES = {"Agent": "Task"}
"""The newest client's names for tools that turnlog offers under their older names."""
_REMOVED_REFERENCES_BLOCK = {"type": "text", "text": "[Tool references removed - tools no longer available]"}


def clean_messages(messages: Iterable[Json]) -> list[Json]:
    """Return messages without blocks that every model would reject, joining consecutive messages of the same role."""
    messages_out: list[Json] = []
    for message in messages:
        role, blocks = message["role"], [cleaned for block in message["content"] if (cleaned := _clean_block(block))]
        if role == "assistant":
            blocks = drop_final_thinking(_drop_unpaired_results(blocks))
        if role == "system":  # not every model accepts it within a conversation
            role, blocks = "user", [build_reminder(str(block.get("text"))) for block in blocks]
        if messages_out and messages_out[-1]["role"] == role:
            messages_out[-1]["content"] += blocks
        elif blocks:
            messages_out.append({"role": role, "content": blocks})
    if messages_out and messages_out[0]["role"] != "user":  # the start of its chain is lost
        messages_out.insert(0, {"role": "user", "content": [{"type": "text", "text": EMPTY_CONTENT_TEXT}]})
    return messages_out


def _clean_block(block: Json) -> Json | None:
    kind = block.get("type")
    if kind in THINKING_TYPES:
        return None if find_thinking_fault(block) else block
    if kind == "tool_use" and block.get("name") in _OLD_TOOL_NAMES:
        return {**block, "name": _OLD_TOOL_NAMES[str(block["name"])]}
    return _clean_result(block) if kind == "tool_result" else block


def _clean_result(block: Json) -> Json:
    """Return a result without tool references or empty text; an error result is given text if none is left."""
    content = block.get("content")
    if isinstance(content, list):
        remaining = [inner for inner in content if not _is_tool_reference(inner) and not _is_blank_text(inner)]
        replacement = [_REMOVED_REFERENCES_BLOCK] if any(map(_is_tool_reference, content)) else []
        content = content if len(remaining) == len(content) else remaining or replacement
    if not content and block.get("is_error"):
        content = NO_OUTPUT_TEXT
    return block if content is block.get("content") else {**block, "content": content}


def _drop_unpaired_results(blocks: list[Json]) -> list[Json]:
    """Drop results from server tools if the call is missing, since the API would reject them."""
    called = {block.get("id") for block in blocks if str(block.get("type")).endswith("tool_use")}
    return [
        block
        for block in blocks
        if not str(block.get("type")).endswith("_tool_result") or block.get("tool_use_id") in called
    ]


def _is_tool_reference(block: object) -> bool:
    return isinstance(block, dict) and block.get("type") == "tool_reference"


def _is_blank_text(block: object) -> bool:
    return isinstance(block, dict) and block.get("type") == "text" and not str(block.get("text") or "").strip()


def map_thinking_to_models(file: Transcript, rows: Iterable[Entry]) -> dict[str, str]:
    """Map the signature of each thinking block to the model that wrote it."""
    models = {}
    for row in rows:
        model = row.message.model if row.type == "assistant" and row.message is not None else None
        kinds = row.message.content if model and row.message else ()
        if isinstance(kinds, list) and any(block.type in THINKING_TYPES for block in kinds):
            blocks = file.read_body(row)["message"]["content"]
            models.update(
                {get_thinking_signature(block): str(model) for block in blocks if block.get("type") in THINKING_TYPES}
            )
    return models
