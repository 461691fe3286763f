"""The conversation of a session as Messages API messages: what would be sent if a leaf were resumed now.

The messages come from the file alone, with thinking but without reminders, fillers or made-up results; `as_sent` adds
what the client would add. The numbers in brackets refer to the rules in docs/format.md, "How a session is resumed".
"""

from __future__ import annotations

from collections.abc import Container
from typing import Any, NamedTuple

from turnlog.entries.entry import Entry
from turnlog.entries.reader import Transcript
from turnlog.session.messages import FILLER_TEXT
from turnlog.session.resume.additions import EMPTY_CONTENT_TEXT, make_up_result
from turnlog.session.resume.joined_messages import collect_ids, get_comparable_id, join_parts
from turnlog.session.resume.parts import MessagePart, build_message_part
from turnlog.session.resume.resume_thread import ResumeThread, build_resume_thread

Json = dict[str, Any]


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
    messages = _drop_unpaired_results(join_parts(_drop_unanswered(parts)), EMPTY_CONTENT_TEXT if as_sent else None)
    if as_sent:
        messages = _complete_messages(messages)
    return Conversation(
        [{"role": part.role, "content": [dict(b) for b in part.blocks]} for part in messages], thread.leaf
    )


# -- calls and results [21]


def _drop_unanswered(parts: list[MessagePart]) -> list[MessagePart]:
    """Drop rows whose calls all lack a result, except in the last message."""
    results = {identity for part in parts if part.role == "user" for identity in collect_ids(part, "tool_result")}
    last = next((part for part in reversed(parts) if part.role == "assistant"), None)
    return [part for part in parts if _may_stay(part, results) or _is_same_message(part, last)]


def _may_stay(part: MessagePart, results: set[Any]) -> bool:
    calls = collect_ids(part, "tool_use") if part.role == "assistant" else set()
    return not calls or not calls.isdisjoint(results)


def _is_same_message(part: MessagePart, last: MessagePart | None) -> bool:
    return part is last or (last is not None and part.identity is not None and part.identity == last.identity)


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
            calls = collect_ids(part, "tool_use")
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
            identity = get_comparable_id(block, "tool_use_id")
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
            answered = collect_ids(following, "tool_result")
            open_calls = [
                b for b in part.blocks if b["type"] == "tool_use" and get_comparable_id(b, "id") not in answered
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
