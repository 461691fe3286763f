"""What is said in a resumed conversation, one entry for each answer and for each thing said to the model.

The same joining as in `session.resume.conversation`, but of entries instead of messages: what is said keeps the entry
it came with, and its blocks the form they have in the file.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from turnlog.entries.entry import Body, Entry
from turnlog.entries.reader import Transcript
from turnlog.session.resume.conversation import drop_open_server_calls, extend_answer
from turnlog.session.resume.parts import build_message_part

Json = dict[str, Any]
_UNSENT_BLOCK_TYPE = "advisor_tool_result"
_THINKING_TYPES = ("thinking", "redacted_thinking")


class SpokenEntry(NamedTuple):
    """One entry of the conversation."""

    entry: Entry
    message: Body | None = None
    """Its message, where that is another one than in the file."""


class _SpokenPart(NamedTuple):
    """What one entry says."""

    entry: Entry
    role: str
    blocks: list[Json]
    identity: str | None
    message: Body
    is_changed: bool

    def collect_ids(self, kind: str) -> set[Any]:
        """The ids of its calls, or of those that its results answer."""
        return _collect_ids(self.blocks, kind)


class _MessageGroup(NamedTuple):
    """Entries that are one message."""

    role: str
    parts: list[_SpokenPart]

    @property
    def blocks(self) -> list[Json]:
        return [block for one in self.parts for block in one.blocks]


def list_spoken_entries(rows: Iterable[Entry], file: Transcript) -> Iterator[SpokenEntry]:
    """What is said in these rows, in the order in which it is sent."""
    groups = _group_messages(
        _drop_unanswered([said for row in rows if (said := _build_part(row, file.read_body(row))) and said.blocks])
    )
    last = max((at for at, group in enumerate(groups) if group.role == "assistant"), default=-1)
    calls: set[Any] = set()
    for at, group in enumerate(groups):
        if group.role == "assistant":
            behind = groups[at + 1].blocks if at + 1 < len(groups) else []
            calls = _collect_ids(group.blocks, "tool_use")
            yield from _build_answer_entries(group, calls - _collect_ids(behind, "tool_result"), is_last=at == last)
        else:
            yield from _build_user_entries(group, calls)
            calls = set()


def _build_part(row: Entry, body: Body) -> _SpokenPart | None:
    """What an entry says, with its blocks as they are in the file; None when that is nothing."""
    said = build_message_part(row, body, as_sent=False)
    if said is None or not said.blocks:
        return None
    if row.type not in ("user", "assistant"):
        return _SpokenPart(row, "user", said.blocks, None, {"role": "user", "content": said.blocks}, True)
    message = dict(body["message"])
    content = message.get("content")
    if isinstance(content, str):
        blocks = [{"type": "text", "text": content}]
        return _SpokenPart(row, said.role, blocks, said.identity, message, said.role == "assistant")
    blocks = [block for block in content or [] if _is_sent_block(block, said.role)]
    return _SpokenPart(row, said.role, blocks, said.identity, message, blocks != content)


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
    """Without entries whose calls all lack a result, except in the last message."""
    results = {identity for said in parts if said.role == "user" for identity in said.collect_ids("tool_result")}
    last = next((said for said in reversed(parts) if said.role == "assistant"), None)
    return [said for said in parts if _keeps_part(said, results) or said is last or _is_same_message(said, last)]


def _keeps_part(said: _SpokenPart, results: set[Any]) -> bool:
    calls = said.collect_ids("tool_use") if said.role == "assistant" else set()
    return not calls or not calls.isdisjoint(results)


def _is_same_message(said: _SpokenPart, other: _SpokenPart | None) -> bool:
    return other is not None and said.identity is not None and said.identity == other.identity


def _group_messages(parts: list[_SpokenPart]) -> list[_MessageGroup]:
    """The messages: the entries of an answer wherever they stand, and all that is said between two answers."""
    found: list[_MessageGroup] = []
    for said in parts:
        if said.role != "assistant":
            _add_user_parts(found, [said])
        elif (group := _find_answer(found, said)) is not None:
            group.parts.append(said)
        else:
            found.append(_MessageGroup("assistant", [said]))
    heard: list[_MessageGroup] = []
    for group in found:
        if group.role == "user":
            _add_user_parts(heard, group.parts)
        elif any(block["type"] not in _THINKING_TYPES for block in group.blocks):
            heard.append(group)
    return heard


def _add_user_parts(groups: list[_MessageGroup], parts: list[_SpokenPart]) -> None:
    if groups and groups[-1].role == "user":
        groups[-1].parts.extend(parts)
    else:
        groups.append(_MessageGroup("user", list(parts)))


def _find_answer(groups: list[_MessageGroup], said: _SpokenPart) -> _MessageGroup | None:
    """The answer that an entry goes on with, unless a prompt stands in between."""
    for group in reversed(groups):
        if group.role == "user" and not _collect_ids(group.blocks, "tool_result"):
            return None
        if group.role == "assistant" and _is_same_message(said, group.parts[0]):
            return group
    return None


def _build_user_entries(group: _MessageGroup, calls: set[Any]) -> Iterator[SpokenEntry]:
    """What is said to the model: results of the answer just before come first, others are none."""
    seen: set[Any] = set()
    for said in sorted(group.parts, key=lambda one: not one.collect_ids("tool_result")):
        blocks = []
        for block in said.blocks:
            if block["type"] == "tool_result":
                identity = _get_block_id(block, "tool_use_id")
                if identity not in calls or identity in seen:
                    continue
                seen.add(identity)
            blocks.append(block)
        if blocks:
            is_changed = said.is_changed or blocks != said.blocks
            yield SpokenEntry(said.entry, {**said.message, "content": blocks} if is_changed else None)


def _build_answer_entries(group: _MessageGroup, unanswered: set[Any], *, is_last: bool) -> Iterator[SpokenEntry]:
    """An answer as one entry, without calls that were never answered; of the last one they are an entry of their own.

    Clients make up results for such calls, or drop them with the texts beside them, each in its own way.
    """
    first, last = group.parts[0], group.parts[-1]
    blocks = _join_answer_blocks(group.parts)
    left = [block for block in blocks if block["type"] == "tool_use" and _get_block_id(block, "id") in unanswered]
    kept = [block for block in blocks if not any(block is one for one in left)]
    message = {**first.message, **last.message}
    is_changed = len(group.parts) > 1 or first.is_changed or kept != first.blocks
    if not isinstance(message.get("id"), str) or not message["id"]:
        message["id"], is_changed = f"msg_{(first.entry.uuid or '').replace('-', '')}", True
    if any(block["type"] not in _THINKING_TYPES for block in kept) or (kept and is_last):
        yield SpokenEntry(first.entry, {**message, "content": kept} if is_changed else None)
    if left and is_last:
        yield SpokenEntry(last.entry, {**message, "content": left})


def _join_answer_blocks(parts: list[_SpokenPart]) -> list[Json]:
    """The blocks of an answer, in the order in which they are sent."""
    blocks = list(parts[0].blocks)
    for said in parts[1:]:
        blocks = extend_answer(blocks, said.blocks)
    return drop_open_server_calls(blocks)
