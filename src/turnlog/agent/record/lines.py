"""The lines of a session as the newest client writes them, where Claude Code 2.1.29 reads them in the same way.

Everything here is a plain object; `record` gives it its place in the chain. What the newest client writes and 2.1.29
does not know is left out: attachments would cut its chain, and commands in `system` entries it would not send.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from turnlog.agent.tools.tool import Result
from turnlog.model.answer import Answer

Object = Mapping[str, Any]
Body = dict[str, Any]
Content = str | Sequence[Object]

SYNTHETIC = "<synthetic>"
"""The model of an answer that the client itself made up."""
CAVEAT = (
    "<local-command-caveat>What follows comes from a command that the user ran in the client itself. It needs no "
    "answer, unless the user asks about it.</local-command-caveat>"
)
INTERRUPTED = "[Request interrupted by user]"
INTERRUPTED_CALL = "[Request interrupted by user for tool use]"
NOTHING = "(no output)"
_NO_TOKENS = {
    "input_tokens": 0,
    "output_tokens": 0,
    "cache_creation_input_tokens": 0,
    "cache_read_input_tokens": 0,
    "server_tool_use": {"web_search_requests": 0, "web_fetch_requests": 0},
}
_ERROR = re.compile(r"<tool_use_error>(.*)</tool_use_error>", re.DOTALL)
_LONGEST_PROMPT = 200


class Parted(NamedTuple):
    """A prompt in lines of one block each."""

    before: Sequence[Object]
    own: Content
    """What stands for the prompt: its first text."""
    behind: Sequence[Object]


def parted(content: Content) -> Parted:
    """A prompt of several blocks, cut where its first text stands."""
    if isinstance(content, str) or len(content) < 2:
        return Parted((), content, ())
    at = next((at for at, block in enumerate(content) if block.get("type") == "text"), 0)
    return Parted(content[:at], content[at : at + 1], content[at + 1 :])


# -- links of the chain


def user(content: Content, prompt_id: str | None, **fields: Any) -> Body:
    """Something that is said to the model."""
    message = {"role": "user", "content": content if isinstance(content, str) else [*content]}
    return {"promptId": prompt_id, "type": "user", "message": message, **fields}


def assistant(answer: Answer, block: Object) -> Body:
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


def made_up(text: str, message_id: str, **fields: Any) -> Body:
    """An answer that no model gave."""
    answer = Answer((), "stop_sequence", _NO_TOKENS, message_id, SYNTHETIC, "")
    return {**assistant(answer, {"type": "text", "text": text}), **fields}


def result(call: str, given: Result) -> Body:
    """The block that answers a call, on disk as in requests; the API takes no empty texts in it."""
    content: Content = given.content
    if not isinstance(content, str):
        content = [block for block in content if block.get("type") != "text" or str(block.get("text") or "").strip()]
    block = {"tool_use_id": call, "type": "tool_result", "content": content or NOTHING}
    return {**block, "is_error": True} if given.is_error else block


def structured(given: Result) -> Any:
    """What the client records of a result beside what the model is told; of an error, its text."""
    if given.structured is not None or not given.is_error:
        return given.structured
    text = text_of(given.content)
    if found := _ERROR.fullmatch(text):
        text = found[1].removeprefix("Error: ")
    return f"Error: {text}"


def system(subtype: str, **fields: Any) -> Body:
    """Something that the client tells of itself; it is not sent."""
    return {"type": "system", "subtype": subtype, **fields}


def boundary(trigger: str, before: int, milliseconds: int) -> Body:
    """The line behind which a summary takes the place of all that was said."""
    facts = {"trigger": trigger, "preTokens": before, "durationMs": milliseconds}
    return system(
        "compact_boundary", content="Conversation compacted", isMeta=False, level="info", compactMetadata=facts
    )


def progress(call: str, number: int, data: Object) -> Body:
    """How a call gets on."""
    kind = str(data.get("type") or "tool_progress").replace("_", "-")
    return {"type": "progress", "data": {**data}, "toolUseID": f"{kind}-{number}", "parentToolUseID": call}


def command(name: str, args: str) -> str:
    """A slash command as it stands in a prompt."""
    word = name.lstrip("/")
    parts = (("name", f"/{word}"), ("message", word), ("args", args))
    return "\n            ".join(f"<command-{tag}>{text}</command-{tag}>" for tag, text in parts)


def stdout(text: str) -> str:
    """What a slash command printed, as it stands in a prompt."""
    return f"<local-command-stdout>{text}</local-command-stdout>"


# -- what describes the session


def last_prompt(text: str, leaf: str, session_id: str) -> Body:
    """Where the newest client goes on, and what its list shows."""
    plain = " ".join(text.split())
    short = plain if len(plain) <= _LONGEST_PROMPT else plain[:_LONGEST_PROMPT].rstrip() + "…"
    said = {"lastPrompt": short} if short else {}
    return {"type": "last-prompt", **said, "leafUuid": leaf, "sessionId": session_id}


def titles(text: str, session_id: str, *, by_model: bool) -> list[Body]:
    """The name of a session: a person's wins over a model's."""
    if by_model:
        return [{"type": "ai-title", "aiTitle": text, "sessionId": session_id}]
    return [
        {"type": "custom-title", "customTitle": text, "sessionId": session_id},
        {"type": "agent-name", "agentName": text, "sessionId": session_id},
    ]


def text_of(content: Content) -> str:
    """The words of a content."""
    if isinstance(content, str):
        return content
    return "\n".join(text for block in content if isinstance(text := block.get("text"), str))
