"""Builds the lines of a session as the newest client writes them, but only lines that Claude Code 2.1.29 understands.

Everything here is a plain object that `record` adds to the chain. Lines that 2.1.29 does not understand are omitted: it
would not send commands in `system` entries, and of the newest client's attachments it knows only some.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from turnlog.agent.tools.call_result import CallResult
from turnlog.model.answer import ModelAnswer

Object = Mapping[str, Any]
LineBody = dict[str, Any]
LineContent = str | Sequence[Object]

SYNTHETIC_MODEL = "<synthetic>"
"""The model name of an answer that the client itself wrote."""
LOCAL_COMMAND_CAVEAT = (
    "<local-command-caveat>What follows comes from a command that the user ran in the client itself. It needs no "
    "answer, unless the user asks about it.</local-command-caveat>"
)
INTERRUPTED_TEXT = "[Request interrupted by user]"
OUTPUT_REMINDER = (
    "[structured-output-enforce] You MUST call the StructuredOutput tool to complete this request. Call this tool now."
)
"""Reminds a model that stops without the data that the caller wants."""
INTERRUPTED_CALL_TEXT = "[Request interrupted by user for tool use]"
NO_OUTPUT_TEXT = "(no output)"
_NO_TOKENS = {
    "input_tokens": 0,
    "output_tokens": 0,
    "cache_creation_input_tokens": 0,
    "cache_read_input_tokens": 0,
    "server_tool_use": {"web_search_requests": 0, "web_fetch_requests": 0},
}
_TOOL_ERROR_PATTERN = re.compile(r"<tool_use_error>(.*)</tool_use_error>", re.DOTALL)
START_OF_SESSION = "00000000-0000-0000-0000-000000000000"
"""The leaf that clients record when a person goes back to before the first prompt."""
_MAX_PROMPT_CHARS = 200


class PromptParts(NamedTuple):
    """A prompt split into lines with one block each."""

    before: Sequence[Object]
    own: LineContent
    """The main line, which contains the first text."""
    behind: Sequence[Object]


def split_prompt(content: LineContent) -> PromptParts:
    """Split a prompt that has several blocks at its first text block."""
    if isinstance(content, str) or len(content) < 2:
        return PromptParts((), content, ())
    position = next((position for position, block in enumerate(content) if block.get("type") == "text"), 0)
    return PromptParts(content[:position], content[position : position + 1], content[position + 1 :])


# -- entries of the chain


def build_user_line(content: LineContent, prompt_id: str | None, **fields: Any) -> LineBody:
    """Build a message to the model."""
    message = {"role": "user", "content": content if isinstance(content, str) else [*content]}
    return {"promptId": prompt_id, "type": "user", "message": message, **fields}


def build_assistant_line(answer: ModelAnswer, block: Object) -> LineBody:
    """Build one block of an answer: the client writes a line per block and repeats the other fields in each."""
    message = {
        "id": answer.id,
        "type": "message",
        "role": "assistant",
        "model": answer.model,
        "content": [block],
        "stop_reason": answer.stop_reason,
        "stop_sequence": answer.stop_sequence,
        "usage": {**answer.usage},
    }
    request_id = {"requestId": answer.request_id} if answer.request_id else {}
    return {"message": message, **request_id, "type": "assistant"}


def build_synthetic_line(text: str, message_id: str, **fields: Any) -> LineBody:
    """Build an answer that was not written by a model."""
    answer = ModelAnswer((), "stop_sequence", _NO_TOKENS, message_id, SYNTHETIC_MODEL, "")
    return {**build_assistant_line(answer, {"type": "text", "text": text}), **fields}


def build_result_block(call: str, result: CallResult) -> LineBody:
    """Build a call's result block for the file and for requests, without empty text, which the API rejects."""
    content: LineContent = result.content
    if not isinstance(content, str):
        content = [block for block in content if block.get("type") != "text" or str(block.get("text") or "").strip()]
    block = {"tool_use_id": call, "type": "tool_result", "content": content or NO_OUTPUT_TEXT}
    return {**block, "is_error": True} if result.is_error else block


def build_structured_result(result: CallResult) -> Any:
    """Return what the client records about a result besides the text for the model; for an error, the error text."""
    if result.structured is not None or not result.is_error:
        return result.structured
    text = extract_content_text(result.content)
    if found := _TOOL_ERROR_PATTERN.fullmatch(text):
        text = found[1].removeprefix("Error: ")
    return f"Error: {text}"


def build_system_line(subtype: str, **fields: Any) -> LineBody:
    """Build a line about the client itself, which is not sent to the model."""
    return {"type": "system", "subtype": subtype, **fields}


def build_attachment_line(attachment: LineBody, texts: Sequence[str], role: str = "system") -> LineBody:
    """Build an entry beside the messages; `texts` is what the model is told."""
    rendered = [{"content": f"<system-reminder>\n{text}\n</system-reminder>"} for text in texts]
    sent = {"rendered": rendered, "renderedRole": role} if texts else {}
    return {"attachment": attachment, "type": "attachment", **sent}


def build_boundary_line(trigger: str, before: int, milliseconds: int) -> LineBody:
    """Build the line after which a summary replaces the conversation so far."""
    facts = {"trigger": trigger, "preTokens": before, "durationMs": milliseconds}
    return build_system_line(
        "compact_boundary", content="Conversation compacted", isMeta=False, level="info", compactMetadata=facts
    )


def build_progress_line(call: str, number: int, data: Object) -> LineBody:
    kind = str(data.get("type") or "tool_progress").replace("_", "-")
    return {"type": "progress", "data": {**data}, "toolUseID": f"{kind}-{number}", "parentToolUseID": call}


def format_command(name: str, args: str) -> str:
    word = name.lstrip("/")
    parts = (("name", f"/{word}"), ("message", word), ("args", args))
    return "\n            ".join(f"<command-{tag}>{text}</command-{tag}>" for tag, text in parts)


def format_command_output(text: str) -> str:
    """Format the output of a slash command for a prompt."""
    return f"<local-command-stdout>{text}</local-command-stdout>"


# -- lines about the session


def build_last_prompt_line(text: str, leaf: str, session_id: str) -> LineBody:
    """Build the line that tells the newest client where to resume and what to show in its list."""
    plain = " ".join(text.split())
    short = plain if len(plain) <= _MAX_PROMPT_CHARS else plain[:_MAX_PROMPT_CHARS].rstrip() + "…"
    prompt = {"lastPrompt": short} if short else {}
    explicit = {"explicit": True} if leaf == START_OF_SESSION else {}
    return {"type": "last-prompt", **prompt, "leafUuid": leaf, **explicit, "sessionId": session_id}


def build_title_lines(text: str, session_id: str, *, by_model: bool) -> list[LineBody]:
    """Build the lines for a title; a title from a person takes precedence over one from a model."""
    if by_model:
        return [{"type": "ai-title", "aiTitle": text, "sessionId": session_id}]
    return [
        {"type": "custom-title", "customTitle": text, "sessionId": session_id},
        {"type": "agent-name", "agentName": text, "sessionId": session_id},
    ]


def extract_content_text(content: LineContent) -> str:
    """Join the text in a message's content."""
    if isinstance(content, str):
        return content
    return "\n".join(text for block in content if isinstance(text := block.get("text"), str))
