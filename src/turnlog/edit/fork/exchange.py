"""What is said in a resumed conversation, one entry for each answer and for each thing said to the model.

The same joining as in `session.resume.conversation`, but of entries instead of messages: what is said keeps the entry
it came with, and its blocks the form they have in the file.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from turnlog.entries.entry import Body, Entry
from turnlog.entries.reader import Transcript
from turnlog.session.resume.conversation import grown, served
from turnlog.session.resume.parts import part

Json = dict[str, Any]
_NOT_SENT = "advisor_tool_result"
_THINKING = ("thinking", "redacted_thinking")


class Said(NamedTuple):
    """One entry of the conversation."""

    entry: Entry
    message: Body | None = None
    """Its message, where that is another one than in the file."""


class _Part(NamedTuple):
    """What one entry says."""

    entry: Entry
    role: str
    blocks: list[Json]
    identity: str | None
    message: Body
    is_changed: bool

    def ids(self, kind: str) -> set[Any]:
        """The ids of its calls, or of those that its results answer."""
        return _ids(self.blocks, kind)


class _Group(NamedTuple):
    """Entries that are one message."""

    role: str
    parts: list[_Part]

    @property
    def blocks(self) -> list[Json]:
        return [block for one in self.parts for block in one.blocks]


def spoken(rows: Iterable[Entry], file: Transcript) -> Iterator[Said]:
    """What is said in these rows, in the order in which it is sent."""
    groups = _groups(_answered([said for row in rows if (said := _part(row, file.body(row))) and said.blocks]))
    last = max((at for at, group in enumerate(groups) if group.role == "assistant"), default=-1)
    calls: set[Any] = set()
    for at, group in enumerate(groups):
        if group.role == "assistant":
            behind = groups[at + 1].blocks if at + 1 < len(groups) else []
            calls = _ids(group.blocks, "tool_use")
            yield from _answer(group, calls - _ids(behind, "tool_result"), is_last=at == last)
        else:
            yield from _to_model(group, calls)
            calls = set()


def _part(row: Entry, body: Body) -> _Part | None:
    """What an entry says, with its blocks as they are in the file; None when that is nothing."""
    said = part(row, body, as_sent=False)
    if said is None or not said.blocks:
        return None
    if row.type not in ("user", "assistant"):
        return _Part(row, "user", said.blocks, None, {"role": "user", "content": said.blocks}, True)
    message = dict(body["message"])
    content = message.get("content")
    if isinstance(content, str):
        blocks = [{"type": "text", "text": content}]
        return _Part(row, said.role, blocks, said.identity, message, said.role == "assistant")
    blocks = [block for block in content or [] if _is_sent(block, said.role)]
    return _Part(row, said.role, blocks, said.identity, message, blocks != content)


def _is_sent(block: object, role: str) -> bool:
    if not isinstance(block, dict) or not isinstance(kind := block.get("type"), str) or kind == _NOT_SENT:
        return False
    if kind == "text":
        return isinstance(text := block.get("text"), str) and bool(text.strip())
    return not (role == "assistant" and kind == "tool_result")


def _ids(blocks: Iterable[Json], kind: str) -> set[Any]:
    key = "id" if kind == "tool_use" else "tool_use_id"
    return {_id(block, key) for block in blocks if block["type"] == kind}


def _id(block: Json, key: str) -> object:
    value = block.get(key)
    return id(value) if isinstance(value, dict | list) else value


def _answered(parts: list[_Part]) -> list[_Part]:
    """Without entries whose calls all lack a result, except in the last message."""
    results = {identity for said in parts if said.role == "user" for identity in said.ids("tool_result")}
    last = next((said for said in reversed(parts) if said.role == "assistant"), None)
    return [said for said in parts if _keeps(said, results) or said is last or _is_same(said, last)]


def _keeps(said: _Part, results: set[Any]) -> bool:
    calls = said.ids("tool_use") if said.role == "assistant" else set()
    return not calls or not calls.isdisjoint(results)


def _is_same(said: _Part, other: _Part | None) -> bool:
    return other is not None and said.identity is not None and said.identity == other.identity


def _groups(parts: list[_Part]) -> list[_Group]:
    """The messages: the entries of an answer wherever they stand, and all that is said between two answers."""
    found: list[_Group] = []
    for said in parts:
        if said.role != "assistant":
            _listen(found, [said])
        elif (group := _answer_of(found, said)) is not None:
            group.parts.append(said)
        else:
            found.append(_Group("assistant", [said]))
    heard: list[_Group] = []
    for group in found:
        if group.role == "user":
            _listen(heard, group.parts)
        elif any(block["type"] not in _THINKING for block in group.blocks):
            heard.append(group)
    return heard


def _listen(groups: list[_Group], parts: list[_Part]) -> None:
    if groups and groups[-1].role == "user":
        groups[-1].parts.extend(parts)
    else:
        groups.append(_Group("user", list(parts)))


def _answer_of(groups: list[_Group], said: _Part) -> _Group | None:
    """The answer that an entry goes on with, unless a prompt stands in between."""
    for group in reversed(groups):
        if group.role == "user" and not _ids(group.blocks, "tool_result"):
            return None
        if group.role == "assistant" and _is_same(said, group.parts[0]):
            return group
    return None


def _to_model(group: _Group, calls: set[Any]) -> Iterator[Said]:
    """What is said to the model: results of the answer just before come first, others are none."""
    seen: set[Any] = set()
    for said in sorted(group.parts, key=lambda one: not one.ids("tool_result")):
        blocks = []
        for block in said.blocks:
            if block["type"] == "tool_result":
                identity = _id(block, "tool_use_id")
                if identity not in calls or identity in seen:
                    continue
                seen.add(identity)
            blocks.append(block)
        if blocks:
            is_changed = said.is_changed or blocks != said.blocks
            yield Said(said.entry, {**said.message, "content": blocks} if is_changed else None)


def _answer(group: _Group, unanswered: set[Any], *, is_last: bool) -> Iterator[Said]:
    """An answer as one entry, without calls that were never answered; of the last one they are an entry of their own.

    Clients make up results for such calls, or drop them with the texts beside them, each in its own way.
    """
    first, last = group.parts[0], group.parts[-1]
    blocks = _joined(group.parts)
    left = [block for block in blocks if block["type"] == "tool_use" and _id(block, "id") in unanswered]
    kept = [block for block in blocks if not any(block is one for one in left)]
    message = {**first.message, **last.message}
    is_changed = len(group.parts) > 1 or first.is_changed or kept != first.blocks
    if not isinstance(message.get("id"), str) or not message["id"]:
        message["id"], is_changed = f"msg_{(first.entry.uuid or '').replace('-', '')}", True
    if any(block["type"] not in _THINKING for block in kept) or (kept and is_last):
        yield Said(first.entry, {**message, "content": kept} if is_changed else None)
    if left and is_last:
        yield Said(last.entry, {**message, "content": left})


def _joined(parts: list[_Part]) -> list[Json]:
    """The blocks of an answer, in the order in which they are sent."""
    blocks = list(parts[0].blocks)
    for said in parts[1:]:
        blocks = grown(blocks, said.blocks)
    return served(blocks)
