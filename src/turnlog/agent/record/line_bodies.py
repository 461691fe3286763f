"""The lines of a session as the newest client writes them, where Claude Code 2.1.29 reads them in the same way.

Everything here is a plain object; `record` gives it its place in the chain. What the newest client writes and 2.1.29
does not know is left out: attachments would cut its chain, and commands in `system` entries it would not send.
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
"""The model of an answer that the client itself made up."""
LOCAL_COMMAND_CAVEAT = (
    "<local-command-caveat>What follows comes from a command that the user ran in the client itself. It needs no "
    "answer, unless the user asks about it.</local-command-caveat>"
)
INTERRUPTED_TEXT = "[Request interrupted by user]"
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
_MAX_PROMPT_CHARS = 200


class PromptParts(NamedTuple):
    """A prompt in lines of one block each."""

    before: Sequence[Object]
    own: LineContent
    """What stands for the prompt: its first text."""
    behind: Sequence[Object]


def split_prompt(content: LineContent) -> PromptParts:
    """A prompt of several blocks, cut where its first text stands."""
    if isinstance(content, str) or len(content) < 2:
        return PromptParts((), content, ())
    at = next((at for at, block in enumerate(content) if block.get("type") == "text"), 0)
    return PromptParts(content[:at], content[at : at + 1], content[at + 1 :])


# -- links of the chain


def build_user_line(content: LineContent, prompt_id: str | None, **fields: Any) -> LineBody:
    """Something that is said to the model."""
    message = {"role": "user", "content": content if isinstance(content, str) else [*content]}
    return {"promptId": prompt_id, "type": "user", "message": message, **fields}


def build_assistant_line(answer: ModelAnswer, block: Object) -> LineBody:
    """A part of an answer: the client writes a line for each block, and the same around all of them."""
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
    named = {"requestId": answer.request_id} if answer.request_id else {}
    return {"message": message, **named, "type": "assistant"}


def build_synthetic_line(text: str, message_id: str, **fields: Any) -> LineBody:
    """An answer that no model gave."""
    answer = ModelAnswer((), "stop_sequence", _NO_TOKENS, message_id, SYNTHETIC_MODEL, "")
    return {**build_assistant_line(answer, {"type": "text", "text": text}), **fields}


def build_result_block(call: str, given: CallResult) -> LineBody:
    """The block that answers a call, on disk as in requests; the API takes no empty texts in it."""
    content: LineContent = given.content
    if not isinstance(content, str):
        content = [block for block in content if block.get("type") != "text" or str(block.get("text") or "").strip()]
    block = {"tool_use_id": call, "type": "tool_result", "content": content or NO_OUTPUT_TEXT}
    return {**block, "is_error": True} if given.is_error else block


def build_structured_result(given: CallResult) -> Any:
    """What the client records of a result beside what the model is told; of an error, its text."""
    if given.structured is not None or not given.is_error:
        return given.structured
    text = extract_content_text(given.content)
    if found := _TOOL_ERROR_PATTERN.fullmatch(text):
        text = found[1].removeprefix("Error: ")
    return f"Error: {text}"


def build_system_line(subtype: str, **fields: Any) -> LineBody:
    """Something that the client tells of itself; it is not sent."""
    return {"type": "system", "subtype": subtype, **fields}


def build_boundary_line(trigger: str, before: int, milliseconds: int) -> LineBody:
    """The line behind which a summary takes the place of all that was said."""
    facts = {"trigger": trigger, "preTokens": before, "durationMs": milliseconds}
    return build_system_line(
        "compact_boundary", content="Conversation compacted", isMeta=False, level="info", compactMetadata=facts
    )


def build_progress_line(call: str, number: int, data: Object) -> LineBody:
    """How a call gets on."""
    kind = str(data.get("type") or "tool_progress").replace("_", "-")
    return {"type": "progress", "data": {**data}, "toolUseID": f"{kind}-{number}", "parentToolUseID": call}


def format_command(name: str, args: str) -> str:
    """A slash command as it stands in a prompt."""
    word = name.lstrip("/")
    parts = (("name", f"/{word}"), ("message", word), ("args", args))
    return "\n            ".join(f"<command-{tag}>{text}</command-{tag}>" for tag, text in parts)


def format_command_output(text: str) -> str:
    """What a slash command printed, as it stands in a prompt."""
    return f"<local-command-stdout>{text}</local-command-stdout>"


# -- what describes the session


def build_last_prompt_line(text: str, leaf: str, session_id: str) -> LineBody:
    """Where the newest client goes on, and what its list shows."""
    plain = " ".join(text.split())
    short = plain if len(plain) <= _MAX_PROMPT_CHARS else plain[:_MAX_PROMPT_CHARS].rstrip() + "…"
    said = {"lastPrompt": short} if short else {}
    return {"type": "last-prompt", **said, "leafUuid": leaf, "sessionId": session_id}


def build_title_lines(text: str, session_id: str, *, by_model: bool) -> list[LineBody]:
    """The name of a session: a person's wins over a model's."""
    if by_model:
        return [{"type": "ai-title", "aiTitle": text, "sessionId": session_id}]
    return [
        {"type": "custom-title", "customTitle": text, "sessionId": session_id},
        {"type": "agent-name", "agentName": text, "sessionId": session_id},
    ]


def extract_content_text(content: LineContent) -> str:
    """The words of a content."""
    if isinstance(content, str):
        return content
    return "\n".join(text for block in content if isinstance(text := block.get("text"), str))
