"""The conversation of a session as Messages API messages: what would be sent if a leaf were resumed now.

The messages come from the file alone, with thinking but without reminders, fillers or made-up results; `as_sent` adds
what the client would add. The numbers in brackets refer to the rules in docs/format.md, "How a session is resumed".
"""

from __future__ import annotations

from collections.abc import Container, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

from turnlog.entries.entry import Entry
from turnlog.entries.reader import Transcript
from turnlog.session.messages import FILLER_TEXT
from turnlog.session.resume.additions import EMPTY_CONTENT_TEXT, AddedBlock, make_up_result
from turnlog.session.resume.parts import MessagePart, build_message_part
from turnlog.session.resume.resume_thread import ResumeThread, build_resume_thread

Json = dict[str, Any]
_THINKING_TYPES = ("thinking", "redacted_thinking")
_SERVER_CALL_TYPES = ("server_tool_use", "mcp_tool_use")


class Conversation(NamedTuple):
    """Messages in the shape of the Messages API, and the entry with which they end."""

    messages: list[Json]
    leaf: Entry


def build_conversation(
    file: Transcript, leaf: str | None = None, *, as_sent: bool = False, without: Container[str | None] = ()
) -> Conversation:
    """Build the messages that the newest client would send if this leaf were resumed now.

    `without` contains the kinds of attachments to leave out.
    """
    return build_thread_conversation(file, build_resume_thread(file, leaf), as_sent=as_sent, without=without)


def build_thread_conversation(
    file: Transcript, thread: ResumeThread, *, as_sent: bool = False, without: Container[str | None] = ()
) -> Conversation:
    """Build the conversation from a resume thread that is already known."""
    rows = [row for row in thread.rows if row.type != "attachment" or row.kind not in without]
    parts = [
        part for row in rows if (part := build_message_part(row, file.read_body(row), as_sent=as_sent)) and part.blocks
    ]
    messages = _drop_unpaired_results(_join_parts(_drop_unanswered(parts)), EMPTY_CONTENT_TEXT if as_sent else None)
    if as_sent:
        messages = _complete_messages(messages)
    return Conversation(
        [{"role": part.role, "content": [dict(b) for b in part.blocks]} for part in messages], thread.leaf
    )


def _collect_ids(part: MessagePart | None, kind: str) -> set[Any]:
    """Collect the ids of the calls in a message, or of the calls that its results answer."""
    key = "id" if kind == "tool_use" else "tool_use_id"
    return {_get_comparable_id(block, key) for block in part.blocks if block["type"] == kind} if part else set()


def _get_comparable_id(block: Json, key: str) -> object:
    """Return an id as the client compares it: an object or array is equal only to itself."""
    value = block.get(key)
    return id(value) if isinstance(value, dict | list) else value


# -- calls and results [21]


def _drop_unanswered(parts: list[MessagePart]) -> list[MessagePart]:
    """Drop rows whose calls all lack a result, except in the last message."""
    results = {identity for part in parts if part.role == "user" for identity in _collect_ids(part, "tool_result")}
    last = next((part for part in reversed(parts) if part.role == "assistant"), None)
    return [part for part in parts if _may_stay(part, results) or _is_same_message(part, last)]


def _may_stay(part: MessagePart, results: set[Any]) -> bool:
    calls = _collect_ids(part, "tool_use") if part.role == "assistant" else set()
    return not calls or not calls.isdisjoint(results)


def _is_same_message(part: MessagePart, last: MessagePart | None) -> bool:
    return part is last or (last is not None and part.identity is not None and part.identity == last.identity)


# -- messages [22-24]


def _join_parts(parts: list[MessagePart]) -> list[MessagePart]:
    out: list[MessagePart] = []
    seen: set[str | None] = set()
    for part in parts:
        if part.role != "assistant":
            _join_user_part(out, part)
        elif part.identity in seen:
            _join_assistant_part(out, part)
        else:
            out.append(MessagePart("assistant", list(part.blocks), part.identity))
            seen.add(part.identity)
    spoken: list[MessagePart] = []
    for part in out:
        if part.role != "assistant":
            _join_user_part(spoken, part)
            continue
        blocks = drop_open_server_calls(part.blocks)
        if any(block["type"] not in _THINKING_TYPES for block in blocks):
            spoken.append(part._replace(blocks=blocks))
    return spoken


def _join_user_part(out: list[MessagePart], part: MessagePart) -> None:
    """Add a part to the current user message, which precedes any system text [22]."""
    start = next((at + 1 for at in reversed(range(len(out))) if out[at].role == "assistant"), 0)
    for earlier in out[start:]:
        if earlier.role == part.role:
            earlier.blocks[:] = sorted([*earlier.blocks, *part.blocks], key=_get_block_order)
            return
    out.insert(start if part.role == "user" else len(out), MessagePart(part.role, list(part.blocks)))


def _get_block_order(block: Json) -> int:
    """Return the sort order within a user message: results first, then what the client adds, then the rest."""
    return 0 if block["type"] == "tool_result" else 1 if isinstance(block, AddedBlock) else 2


def _join_assistant_part(out: list[MessagePart], part: MessagePart) -> None:
    """Add a part to the message with the same id, unless a prompt comes in between [23]."""
    for earlier in reversed(out):
        if earlier.role == "user" and not _collect_ids(earlier, "tool_result"):
            break
        if earlier.role == "assistant" and part.identity and earlier.identity == part.identity:
            earlier.blocks[:] = extend_answer(earlier.blocks, part.blocks)
            return
    out.append(MessagePart("assistant", list(part.blocks), part.identity))


def extend_answer(blocks: Sequence[Json], more: Sequence[Json]) -> list[Json]:
    """Append to an answer; calls come last, unless that would make separate thinking blocks adjacent [24]."""
    repeated = {_get_comparable_id(block, "id") for block in more if block["type"] == "tool_use"}
    whole = [
        block for block in blocks if block["type"] != "tool_use" or _get_comparable_id(block, "id") not in repeated
    ] + [*more]
    moved = sorted(whole, key=lambda block: block["type"] == "tool_use")
    return whole if _count_adjacent_thoughts(moved) > _count_adjacent_thoughts(whole) else moved


def _count_adjacent_thoughts(blocks: Sequence[Json]) -> int:
    return sum(one["type"] in _THINKING_TYPES and other["type"] in _THINKING_TYPES for one, other in pairwise(blocks))


def drop_open_server_calls(blocks: Sequence[Json]) -> list[Json]:
    """Remove calls to the server's own tools that have no result in the same answer [27]."""
    found = {_get_comparable_id(block, "tool_use_id") for block in blocks if block["type"].endswith("_tool_result")}
    return [
        block for block in blocks if block["type"] not in _SERVER_CALL_TYPES or _get_comparable_id(block, "id") in found
    ]


# -- results directly after their calls [25, 26]


def _drop_unpaired_results(messages: list[MessagePart], instead: str | None) -> list[MessagePart]:
    """Drop results whose call is not in the preceding message, and any second result for a call.

    If nothing else is left of a message, the client sends the text `instead`.
    """
    out: list[MessagePart] = []
    calls: set[Any] = set()
    for part in messages:
        if part.role == "assistant":
            out.append(part)
            calls = _collect_ids(part, "tool_use")
        elif blocks := _keep_first_results(part.blocks, calls) or (
            [{"type": "text", "text": instead}] if instead else []
        ):
            out.append(part._replace(blocks=blocks))
            calls = set() if part.role == "user" else calls
    return out


def _keep_first_results(blocks: list[Json], calls: set[Any]) -> list[Json]:
    out, seen = [], set()
    for block in blocks:
        if block["type"] == "tool_result":
            identity = _get_comparable_id(block, "tool_use_id")
            if identity not in calls or identity in seen:
                continue
            seen.add(identity)
        out.append(block)
    return out


def _complete_messages(messages: list[MessagePart]) -> list[MessagePart]:
    """Add made-up results for open calls, and an answer if the session ends without one."""
    out: list[MessagePart] = []
    for number, part in enumerate(messages):
        following = messages[number + 1] if number + 1 < len(messages) else None
        out.append(_merge_texts(part) if part.role == "system" else part)
        if part.role == "assistant":
            answered = _collect_ids(following, "tool_result")
            open_calls = [
                b for b in part.blocks if b["type"] == "tool_use" and _get_comparable_id(b, "id") not in answered
            ]
            results = [make_up_result(call, at_end=following is None) for call in open_calls]
            if results and following is not None and following.role == "user":
                following.blocks[:0] = results
            elif results:
                out.append(MessagePart("user", results))
    if out and out[-1].role == "user":
        out.append(MessagePart("assistant", [{"type": "text", "text": FILLER_TEXT}]))
    return out


def _merge_texts(part: MessagePart) -> MessagePart:
    return part._replace(blocks=[{"type": "text", "text": "\n".join(str(block["text"]) for block in part.blocks)}])
