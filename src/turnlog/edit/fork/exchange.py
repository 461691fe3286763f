"""Builds the conversation that a client would resume, with one entry per answer and per message to the model.

Messages are joined as in `session.resume.conversation`, but they remain entries: each message keeps the entry it came
from, and its blocks keep the form they have in the file.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from turnlog.entries.entry import Body, Entry
from turnlog.entries.reader import Transcript
from turnlog.session.resume.joined_messages import AnswerBlocks, drop_open_server_calls
from turnlog.session.resume.parts import build_message_part

Json = dict[str, Any]
_UNSENT_BLOCK_TYPE = "advisor_tool_result"
_THINKING_TYPES = ("thinking", "redacted_thinking")


class SpokenEntry(NamedTuple):
    """One entry of the conversation."""

    entry: Entry
    message: Body | None = None
    """The entry's message, if it differs from the one in the file."""


class _SpokenPart(NamedTuple):
    """The blocks that one entry adds to the conversation."""

    entry: Entry
    role: str
    blocks: list[Json]
    identity: str | None
    message: Body
    is_changed: bool

    def collect_ids(self, kind: str) -> set[Any]:
        """Collect the ids of the entry's calls, or the call ids of its results."""
        return _collect_ids(self.blocks, kind)


class _MessageGroup(NamedTuple):
    role: str
    parts: list[_SpokenPart]

    @property
    def blocks(self) -> list[Json]:
        return [block for one in self.parts for block in one.blocks]


def list_spoken_entries(rows: Iterable[Entry], file: Transcript) -> Iterator[SpokenEntry]:
    """Yield the messages in these rows, in the order in which they are sent."""
    groups = _group_messages(
        _drop_unanswered([part for row in rows if (part := _build_part(row, file.read_body(row))) and part.blocks])
    )
    last = max((at for at, group in enumerate(groups) if group.role == "assistant"), default=-1)
    calls: set[Any] = set()
    for at, group in enumerate(groups):
        if group.role == "assistant":
            following = groups[at + 1].blocks if at + 1 < len(groups) else []
            calls = _collect_ids(group.blocks, "tool_use")
            yield from _build_answer_entries(group, calls - _collect_ids(following, "tool_result"), is_last=at == last)
        else:
            yield from _build_user_entries(group, calls)
            calls = set()


def _build_part(row: Entry, body: Body) -> _SpokenPart | None:
    """Return the blocks of an entry that are sent, in the form they have in the file, or None if there are none."""
    part = build_message_part(row, body, as_sent=False)
    if part is None or not part.blocks:
        return None
    if row.type not in ("user", "assistant"):
        return _SpokenPart(row, "user", part.blocks, None, {"role": "user", "content": part.blocks}, True)
    message = dict(body["message"])
    content = message.get("content")
    if isinstance(content, str):
        blocks = [{"type": "text", "text": content}]
        return _SpokenPart(row, part.role, blocks, part.identity, message, part.role == "assistant")
    blocks = [block for block in content or [] if _is_sent_block(block, part.role)]
    return _SpokenPart(row, part.role, blocks, part.identity, message, blocks != content)


def _is_sent_block(block: object, role: str) -> bool:
    if not isinstance(block, dict) or not isinstance(kind := block.get("type"), str) or kind == _UNSENT_BLOCK_TYPE:
        return False
    if kind == "text":
        return isinstance(text := block.get("text"), str) and bool(text.strip())
    return not (role == "assistant" and kind == "tool_result")


def _collect_ids(blocks: Iterable[Json], kind: str) -> set[Any]:
    key = "id" if kind == "tool_use" else "tool_use_id"
    return {_get_block_id(block, key) for block in blocks if block["type"] == kind}


def _get_block_id(block: Json, key: str) -> object:
    value = block.get(key)
    return id(value) if isinstance(value, dict | list) else value


def _drop_unanswered(parts: list[_SpokenPart]) -> list[_SpokenPart]:
    """Drop entries in which every call lacks a result, except in the last message."""
    results = {identity for part in parts if part.role == "user" for identity in part.collect_ids("tool_result")}
    last = next((part for part in reversed(parts) if part.role == "assistant"), None)
    return [part for part in parts if _keeps_part(part, results) or part is last or _is_same_message(part, last)]


def _keeps_part(part: _SpokenPart, results: set[Any]) -> bool:
    calls = part.collect_ids("tool_use") if part.role == "assistant" else set()
    return not calls or not calls.isdisjoint(results)


def _is_same_message(part: _SpokenPart, other: _SpokenPart | None) -> bool:
    return other is not None and part.identity is not None and part.identity == other.identity


def _group_messages(parts: list[_SpokenPart]) -> list[_MessageGroup]:
    """Group entries into messages: all entries of one answer, or everything said between two answers."""
    joined: list[_MessageGroup] = []
    for part in parts:
        if part.role != "assistant":
            _add_user_parts(joined, [part])
        elif (group := _find_answer(joined, part)) is not None:
            group.parts.append(part)
        else:
            joined.append(_MessageGroup("assistant", [part]))
    sent: list[_MessageGroup] = []
    for group in joined:
        if group.role == "user":
            _add_user_parts(sent, group.parts)
        elif any(block["type"] not in _THINKING_TYPES for block in group.blocks):
            sent.append(group)
    return sent


def _add_user_parts(groups: list[_MessageGroup], parts: list[_SpokenPart]) -> None:
    if groups and groups[-1].role == "user":
        groups[-1].parts.extend(parts)
    else:
        groups.append(_MessageGroup("user", list(parts)))


def _find_answer(groups: list[_MessageGroup], part: _SpokenPart) -> _MessageGroup | None:
    """Find the answer that an entry continues, unless a prompt comes between them."""
    for group in reversed(groups):
        if group.role == "user" and not _collect_ids(group.blocks, "tool_result"):
            return None
        if group.role == "assistant" and _is_same_message(part, group.parts[0]):
            return group
    return None


def _build_user_entries(group: _MessageGroup, calls: set[Any]) -> Iterator[SpokenEntry]:
    """Yield what is said to the model, starting with the results for the preceding answer; drop other results."""
    answered: set[Any] = set()
    for part in sorted(group.parts, key=lambda item: not item.collect_ids("tool_result")):
        blocks = []
        for block in part.blocks:
            if block["type"] == "tool_result":
                identity = _get_block_id(block, "tool_use_id")
                if identity not in calls or identity in answered:
                    continue
                answered.add(identity)
            blocks.append(block)
        if blocks:
            is_changed = part.is_changed or blocks != part.blocks
            yield SpokenEntry(part.entry, {**part.message, "content": blocks} if is_changed else None)


def _build_answer_entries(group: _MessageGroup, unanswered: set[Any], *, is_last: bool) -> Iterator[SpokenEntry]:
    """Yield an answer as one entry, without calls that have no result; in the last answer, these form a second entry.

    Depending on their version, clients either invent results for such calls or drop the calls together with the text
    beside them.
    """
    first, last = group.parts[0], group.parts[-1]
    blocks = _join_answer_blocks(group.parts)
    open_calls = [block for block in blocks if block["type"] == "tool_use" and _get_block_id(block, "id") in unanswered]
    content = [block for block in blocks if not any(block is one for one in open_calls)]
    message = {**first.message, **last.message}
    is_changed = len(group.parts) > 1 or first.is_changed or content != first.blocks
    if not isinstance(message.get("id"), str) or not message["id"]:
        message["id"], is_changed = f"msg_{(first.entry.uuid or '').replace('-', '')}", True
    if any(block["type"] not in _THINKING_TYPES for block in content) or (content and is_last):
        yield SpokenEntry(first.entry, {**message, "content": content} if is_changed else None)
    if open_calls and is_last:
        yield SpokenEntry(last.entry, {**message, "content": open_calls})


def _join_answer_blocks(parts: list[_SpokenPart]) -> list[Json]:
    """Join the blocks of an answer, in the order in which they are sent."""
    blocks = AnswerBlocks(parts[0].blocks)
    for part in parts[1:]:
        blocks.extend(part.blocks)
    return drop_open_server_calls(blocks.list_blocks())
