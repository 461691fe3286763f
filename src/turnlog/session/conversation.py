"""The conversation of a session as Messages API messages: what would be sent if a leaf were resumed now.

From the file alone: no reminders, no fillers, no made-up results; thinking is included. `as_sent` adds what the client
would add. The numbers in brackets are the rules of docs/format.md, "How a session is resumed".
"""

from __future__ import annotations

from decimal import Decimal
from typing import Any, NamedTuple

from ..entries.entry import Body, Entry
from ..entries.reader import Transcript
from .resume import thread

Json = dict[str, Any]
SYNTHETIC = "<synthetic>"
FILLER = "No response requested."
INTERRUPTED = "[Tool call interrupted: the session ended before it was answered]"
MISSING = "[Tool result missing due to internal error]"
QUEUED = "The user sent a new message while you were working:\n{}\n\nIMPORTANT: After completing your current task, you MUST address the user's message above. Do not ignore it."
NOTICE = "[SYSTEM NOTIFICATION - NOT USER INPUT]\nThis is an automated background-task event.\n\n{}"
NOT_SENT = frozenset({"server_tool_use", "advisor_tool_result"})
RENAMED = {"Task": "Agent"}
SENT_INPUT = {"SendMessage": ("to", "summary", "message")}


class Conversation(NamedTuple):
    """Messages in the shape of the Messages API, and the entry they end with."""

    messages: list[Json]
    leaf: Entry


class Part(NamedTuple):
    """What one row contributes."""

    role: str
    blocks: list[Json]
    identity: str | None = None
    """What joins the rows of one assistant message."""


def conversation(file: Transcript, leaf: str | None = None, *, as_sent: bool = False) -> Conversation:
    """What the newest client would send if this leaf were resumed now."""
    found = thread(file, leaf)
    parts = [part for row in found.rows if (part := _part(row, file.body(row), as_sent)) and part.blocks]
    messages = _settled(_joined(_answered(parts)), as_sent)
    return Conversation([{"role": part.role, "content": part.blocks} for part in messages], found.leaf)


# -- rows [18-20]


def _part(row: Entry, body: Body, as_sent: bool) -> Part | None:
    if row.type == "attachment":
        return _queued(body, as_sent)
    if row.type == "system":
        shown = row.subtype == "local_command" and not body.get("isDisplayOnly")
        return Part("user", _texts(body.get("content"))) if shown else None
    message = body.get("message")
    if not isinstance(message, dict):
        return None
    blocks = [block for block in _blocks(message.get("content")) if block.get("type") not in NOT_SENT]
    if row.type == "user":
        notice = as_sent and _origin(body) == "task-notification"
        return Part("user", [_wrapped(block, NOTICE) for block in blocks] if notice else blocks)
    if body.get("isApiErrorMessage") and message.get("model") == SYNTHETIC:
        return None
    return Part("assistant", [_as_sent_call(block) for block in blocks if block["type"] != "tool_result"], _identity(body, message))


def _queued(body: Body, as_sent: bool) -> Part | None:
    """A prompt or notification that came while the model was working [19]."""
    attachment = body.get("attachment")
    if not isinstance(attachment, dict) or attachment.get("type") != "queued_command":
        return None
    blocks = _blocks(attachment.get("prompt"))
    if as_sent:
        frame = NOTICE if _origin(attachment) == "task-notification" else QUEUED
        blocks = [_wrapped(block, frame) for block in blocks]
    return Part("user", blocks)


def _origin(body: Body) -> object:
    origin = body.get("origin")
    return origin.get("kind") if isinstance(origin, dict) else None


def _wrapped(block: Json, frame: str) -> Json:
    return {**block, "text": frame.format(block["text"])} if block["type"] == "text" else block


def _texts(content: object) -> list[Json]:
    return [{"type": "text", "text": content}] if isinstance(content, str) and content.strip() else []


def _blocks(content: object) -> list[Json]:
    if not isinstance(content, list):
        return _texts(content)
    blocks = [block for block in content if isinstance(block, dict) and isinstance(block.get("type"), str)]
    return [block for block in blocks if block["type"] != "text" or _texts(block.get("text"))]


def _identity(body: Body, message: Json) -> str | None:
    """Rows without message id but with any request id are joined with each other; with neither, never [23]."""
    return message.get("id") or ("no id" if body.get("requestId") else None)


def _as_sent_call(block: Json) -> Json:
    """A call as the newest client words it [27]."""
    if block["type"] != "tool_use":
        return block
    name, given = block.get("name"), block.get("input")
    if name in SENT_INPUT and isinstance(given, dict):
        given = {key: value for key, value in given.items() if key in SENT_INPUT[name]}
    sent = dict(block)
    if "input" in block:
        sent["input"] = as_client_writes(given)
    if name in RENAMED:
        sent["name"] = RENAMED[name]
    return sent


def as_client_writes(value: Any) -> Any:
    """A JSON value after the client's own decoding and encoding: numbers are doubles, half surrogates become U+FFFD."""
    if isinstance(value, dict):
        return {as_client_writes(key): as_client_writes(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [as_client_writes(inner) for inner in value]
    if isinstance(value, str):
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace") if not value.isascii() else value
    if isinstance(value, bool) or not isinstance(value, int | float):
        return value
    return _double(value)


def _double(value: int | float) -> int | float | None:
    try:
        number = float(value)
    except OverflowError:
        return None
    if number != number or number in (float("inf"), float("-inf")):
        return None
    if abs(number) >= 1e21 or not number.is_integer():
        return number
    return int(Decimal(repr(number)))


# -- calls and results [21]


def _answered(parts: list[Part]) -> list[Part]:
    """Without rows whose calls all lack a result, except in the last message."""
    results = {b.get("tool_use_id") for part in parts if part.role == "user" for b in part.blocks if b["type"] == "tool_result"}
    assistants = [part for part in parts if part.role == "assistant"]
    last = assistants[-1] if assistants else None
    return [part for part in parts if _keeps(part, results) or _same_message(part, last)]


def _keeps(part: Part, results: set[Any]) -> bool:
    calls = [b.get("id") for b in part.blocks if b["type"] == "tool_use"] if part.role == "assistant" else []
    return not calls or any(call in results for call in calls)


def _same_message(part: Part, last: Part | None) -> bool:
    return part is last or (last is not None and part.identity is not None and part.identity == last.identity)


# -- messages [22-24]


def _joined(parts: list[Part]) -> list[Part]:
    out: list[Part] = []
    for part in parts:
        if part.role == "user":
            _join_user(out, part)
        else:
            _join_assistant(out, part)
    return [part for part in out if any(block["type"] not in ("thinking", "redacted_thinking") for block in part.blocks)]


def _join_user(out: list[Part], part: Part) -> None:
    if not out or out[-1].role != "user":
        out.append(Part("user", list(part.blocks)))
        return
    blocks = out[-1].blocks
    blocks[:] = sorted([*blocks, *part.blocks], key=lambda block: block["type"] != "tool_result")


def _join_assistant(out: list[Part], part: Part) -> None:
    for earlier in reversed(out):
        if earlier.role == "user" and not any(block["type"] == "tool_result" for block in earlier.blocks):
            break
        if earlier.role == "assistant" and part.identity and earlier.identity == part.identity:
            given = {block.get("id") for block in part.blocks if block["type"] == "tool_use"}
            kept = [b for b in earlier.blocks if b["type"] != "tool_use" or b.get("id") not in given]
            earlier.blocks[:] = sorted([*kept, *part.blocks], key=lambda block: block["type"] == "tool_use")
            return
    out.append(Part("assistant", list(part.blocks), part.identity))


# -- every call answered in the next message [25, 26]


def _settled(messages: list[Part], as_sent: bool) -> list[Part]:
    out: list[Part] = []
    for number, message in enumerate(messages):
        if message.role == "user":
            calls = _ids(messages[number - 1], "tool_use", "id") if number else set()
            blocks = _first_results(message.blocks, calls)
            if blocks:
                out.append(message._replace(blocks=blocks))
            continue
        out.append(message)
        following = messages[number + 1] if number + 1 < len(messages) else None
        answered = _ids(following, "tool_use_id", "tool_use_id") if following else set()
        open_calls = [b for b in message.blocks if b["type"] == "tool_use" and b.get("id") not in answered]
        if as_sent and open_calls:
            text = INTERRUPTED if following is None else MISSING
            _answer(messages, number, [_made_up(block, text) for block in open_calls])
    if as_sent and out and out[-1].role == "user":
        out.append(Part("assistant", [{"type": "text", "text": FILLER}]))
    return out


def _ids(message: Part, kind: str, key: str) -> set[Any]:
    wanted = "tool_result" if kind == "tool_use_id" else kind
    return {block.get(key) for block in message.blocks if block["type"] == wanted}


def _first_results(blocks: list[Json], calls: set[Any]) -> list[Json]:
    """The blocks of a user message without results of other calls and second results of the same call."""
    out, seen = [], set()
    for block in blocks:
        if block["type"] == "tool_result":
            identity = block.get("tool_use_id")
            if identity not in calls or identity in seen:
                continue
            seen.add(identity)
        out.append(block)
    return out


def _made_up(call: Json, text: str) -> Json:
    return {"type": "tool_result", "tool_use_id": call.get("id"), "content": text, "is_error": True}


def _answer(messages: list[Part], number: int, results: list[Json]) -> None:
    """Put made-up results into the user message behind a message, which may have to be made too."""
    if number + 1 < len(messages) and messages[number + 1].role == "user":
        messages[number + 1].blocks[:0] = results
    else:
        messages.insert(number + 1, Part("user", results))
