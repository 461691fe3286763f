"""The conversation of a session as Messages API messages: what would be sent if a leaf were resumed now.

From the file alone: no reminders, no fillers, no made-up results; thinking is included. `as_sent` adds what the client
would add. The numbers in brackets are the rules of docs/format.md, "How a session is resumed".
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
    """Messages in the shape of the Messages API, and the entry they end with."""

    messages: list[Json]
    leaf: Entry


def build_conversation(
    file: Transcript, leaf: str | None = None, *, as_sent: bool = False, without: Container[str | None] = ()
) -> Conversation:
    """What the newest client would send if this leaf were resumed now, `without` some kinds of attachments."""
    return build_thread_conversation(file, build_resume_thread(file, leaf), as_sent=as_sent, without=without)


def build_thread_conversation(
    file: Transcript, found: ResumeThread, *, as_sent: bool = False, without: Container[str | None] = ()
) -> Conversation:
    """The same for rows that were found already."""
    rows = [row for row in found.rows if row.type != "attachment" or row.kind not in without]
    parts = [
        said for row in rows if (said := build_message_part(row, file.read_body(row), as_sent=as_sent)) and said.blocks
    ]
    messages = _drop_unpaired_results(_join_parts(_drop_unanswered(parts)), EMPTY_CONTENT_TEXT if as_sent else None)
    if as_sent:
        messages = _complete_messages(messages)
    return Conversation(
        [{"role": said.role, "content": [dict(b) for b in said.blocks]} for said in messages], found.leaf
    )


def _collect_ids(said: MessagePart | None, kind: str) -> set[Any]:
    """The ids of a message's calls, or those that its results answer."""
    key = "id" if kind == "tool_use" else "tool_use_id"
    return {_get_comparable_id(block, key) for block in said.blocks if block["type"] == kind} if said else set()


def _get_comparable_id(block: Json, key: str) -> object:
    """An id as the client compares it: an object or array equals nothing but itself."""
    value = block.get(key)
    return id(value) if isinstance(value, dict | list) else value


# -- calls and results [21]


def _drop_unanswered(parts: list[MessagePart]) -> list[MessagePart]:
    """Without rows whose calls all lack a result, except in the last message."""
    results = {identity for said in parts if said.role == "user" for identity in _collect_ids(said, "tool_result")}
    last = next((said for said in reversed(parts) if said.role == "assistant"), None)
    return [said for said in parts if _may_stay(said, results) or _is_same_message(said, last)]


def _may_stay(said: MessagePart, results: set[Any]) -> bool:
    calls = _collect_ids(said, "tool_use") if said.role == "assistant" else set()
    return not calls or not calls.isdisjoint(results)


def _is_same_message(said: MessagePart, last: MessagePart | None) -> bool:
    return said is last or (last is not None and said.identity is not None and said.identity == last.identity)


# -- messages [22-24]


def _join_parts(parts: list[MessagePart]) -> list[MessagePart]:
    out: list[MessagePart] = []
    seen: set[str | None] = set()
    for said in parts:
        if said.role != "assistant":
            _join_user_part(out, said)
        elif said.identity in seen:
            _join_assistant_part(out, said)
        else:
            out.append(MessagePart("assistant", list(said.blocks), said.identity))
            seen.add(said.identity)
    spoken: list[MessagePart] = []
    for said in out:
        if said.role != "assistant":
            _join_user_part(spoken, said)
            continue
        blocks = drop_open_server_calls(said.blocks)
        if any(block["type"] not in _THINKING_TYPES for block in blocks):
            spoken.append(said._replace(blocks=blocks))
    return spoken


def _join_user_part(out: list[MessagePart], said: MessagePart) -> None:
    """Add to the user message that is being collected; what the system says comes behind it [22]."""
    start = next((at + 1 for at in reversed(range(len(out))) if out[at].role == "assistant"), 0)
    for earlier in out[start:]:
        if earlier.role == said.role:
            earlier.blocks[:] = sorted([*earlier.blocks, *said.blocks], key=_get_block_order)
            return
    out.insert(start if said.role == "user" else len(out), MessagePart(said.role, list(said.blocks)))


def _get_block_order(block: Json) -> int:
    """Results come first in a user message, then what the client adds."""
    return 0 if block["type"] == "tool_result" else 1 if isinstance(block, AddedBlock) else 2


def _join_assistant_part(out: list[MessagePart], said: MessagePart) -> None:
    """Add to the message with the same id, unless a prompt stands in between [23]."""
    for earlier in reversed(out):
        if earlier.role == "user" and not _collect_ids(earlier, "tool_result"):
            break
        if earlier.role == "assistant" and said.identity and earlier.identity == said.identity:
            earlier.blocks[:] = extend_answer(earlier.blocks, said.blocks)
            return
    out.append(MessagePart("assistant", list(said.blocks), said.identity))


def extend_answer(blocks: Sequence[Json], more: Sequence[Json]) -> list[Json]:
    """An answer and more of it; calls come last, unless thoughts would meet that were apart [24]."""
    again = {_get_comparable_id(block, "id") for block in more if block["type"] == "tool_use"}
    whole = [
        block for block in blocks if block["type"] != "tool_use" or _get_comparable_id(block, "id") not in again
    ] + [*more]
    moved = sorted(whole, key=lambda block: block["type"] == "tool_use")
    return whole if _count_adjacent_thoughts(moved) > _count_adjacent_thoughts(whole) else moved


def _count_adjacent_thoughts(blocks: Sequence[Json]) -> int:
    return sum(one["type"] in _THINKING_TYPES and other["type"] in _THINKING_TYPES for one, other in pairwise(blocks))


def drop_open_server_calls(blocks: Sequence[Json]) -> list[Json]:
    """An answer without calls of the server's own tools that have no result beside them [27]."""
    found = {_get_comparable_id(block, "tool_use_id") for block in blocks if block["type"].endswith("_tool_result")}
    return [
        block for block in blocks if block["type"] not in _SERVER_CALL_TYPES or _get_comparable_id(block, "id") in found
    ]


# -- results directly behind their calls [25, 26]


def _drop_unpaired_results(messages: list[MessagePart], instead: str | None) -> list[MessagePart]:
    """Without results whose call is not in the message just before, and without second results of a call.

    Where nothing else is left of a message, the client says something instead.
    """
    out: list[MessagePart] = []
    calls: set[Any] = set()
    for said in messages:
        if said.role == "assistant":
            out.append(said)
            calls = _collect_ids(said, "tool_use")
        elif blocks := _keep_first_results(said.blocks, calls) or (
            [{"type": "text", "text": instead}] if instead else []
        ):
            out.append(said._replace(blocks=blocks))
            calls = set() if said.role == "user" else calls
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
    """With made-up results for open calls, and an answer where the session ends without one."""
    out: list[MessagePart] = []
    for number, said in enumerate(messages):
        behind = messages[number + 1] if number + 1 < len(messages) else None
        out.append(_merge_texts(said) if said.role == "system" else said)
        if said.role == "assistant":
            answered = _collect_ids(behind, "tool_result")
            open_calls = [
                b for b in said.blocks if b["type"] == "tool_use" and _get_comparable_id(b, "id") not in answered
            ]
            results = [make_up_result(call, at_end=behind is None) for call in open_calls]
            if results and behind is not None and behind.role == "user":
                behind.blocks[:0] = results
            elif results:
                out.append(MessagePart("user", results))
    if out and out[-1].role == "user":
        out.append(MessagePart("assistant", [{"type": "text", "text": FILLER_TEXT}]))
    return out


def _merge_texts(said: MessagePart) -> MessagePart:
    return said._replace(blocks=[{"type": "text", "text": "\n".join(str(block["text"]) for block in said.blocks)}])
