"""Joins the parts of a conversation, one for each line, into messages [22-24].

A message may have thousands of parts, so each is added in constant time; the order of the blocks is decided at the end.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from turnlog.session.resume.additions import AddedBlock
from turnlog.session.resume.parts import MessagePart

Json = dict[str, Any]
THINKING_TYPES = ("thinking", "redacted_thinking")
_SERVER_CALL_TYPES = ("server_tool_use", "mcp_tool_use")


def collect_ids(part: MessagePart | None, kind: str) -> set[Any]:
    """Collect the ids of the calls in a message, or of the calls that its results answer."""
    key = "id" if kind == "tool_use" else "tool_use_id"
    return {get_comparable_id(block, key) for block in part.blocks if block["type"] == kind} if part else set()


def get_comparable_id(block: Json, key: str) -> object:
    """Return an id as the client compares it: an object or array is equal only to itself."""
    value = block.get(key)
    return id(value) if isinstance(value, dict | list) else value


def join_parts(parts: Iterable[MessagePart]) -> list[MessagePart]:
    """Join parts into messages, and leave out answers that contain only thinking."""
    joiner = _PartJoiner()
    for part in parts:
        joiner.add_part(part)
    spoken = _PartJoiner()
    for part in joiner.list_messages():
        if part.role != "assistant":
            spoken.add_part(part)
            continue
        blocks = drop_open_server_calls(part.blocks)
        if any(block["type"] not in THINKING_TYPES for block in blocks):
            spoken.add_message(part._replace(blocks=blocks))
    return spoken.list_messages()


class _PartJoiner:
    def __init__(self) -> None:
        self._messages: list[MessagePart] = []
        self._inputs: dict[str, MessagePart] = {}
        """The messages after the last answer, by role: one of the user, and one of the system."""
        self._answers: dict[str, AnswerBlocks] = {}
        """The answers since the last prompt, by id; a later part may belong to any of them."""
        self._joined_inputs: list[MessagePart] = []
        self._joined_answers: list[tuple[MessagePart, AnswerBlocks]] = []
        self._has_results = False
        """Whether the last message of the user contains results, so that it is no prompt."""

    def add_part(self, part: MessagePart) -> None:
        """Add a part to the message that it belongs to, or begin a message with it."""
        if part.role != "assistant":
            self._add_input(part)
            return
        self._settle_inputs()
        answer = self._answers.get(part.identity) if part.identity else None
        if answer is not None:
            answer.extend(part.blocks)
            return
        message = MessagePart("assistant", list(part.blocks), part.identity)
        self.add_message(message)
        if part.identity:
            blocks = self._answers[part.identity] = AnswerBlocks(part.blocks)
            self._joined_answers.append((message, blocks))

    def add_message(self, message: MessagePart) -> None:
        """Add an answer of which there are no further parts."""
        self._messages.append(message)
        self._inputs = {}

    def _settle_inputs(self) -> None:
        """Forget the answers before a prompt: a later part does not belong to them [23]."""
        if "user" in self._inputs and not self._has_results:
            self._answers = {}

    def _add_input(self, part: MessagePart) -> None:
        """Add a part to the current user message, which precedes any system text [22]."""
        known = self._inputs.get(part.role)
        if part.role == "user":
            has_results = any(block["type"] == "tool_result" for block in part.blocks)
            self._has_results = has_results or (known is not None and self._has_results)
        if known is not None:
            known.blocks.extend(part.blocks)
            self._joined_inputs.append(known)
            return
        message = self._inputs[part.role] = MessagePart(part.role, list(part.blocks))
        place = len(self._messages) - (part.role == "user") * (len(self._inputs) - 1)
        self._messages.insert(place, message)

    def list_messages(self) -> list[MessagePart]:
        """Return the messages, with their blocks in the order in which the client sends them."""
        for message in {id(message): message for message in self._joined_inputs}.values():
            message.blocks.sort(key=_get_block_order)
        for message, answer in self._joined_answers:
            message.blocks[:] = answer.list_blocks()
        return self._messages


def _get_block_order(block: Json) -> int:
    """Return the sort order within a user message: results first, then what the client adds, then the rest."""
    return 0 if block["type"] == "tool_result" else 1 if isinstance(block, AddedBlock) else 2


class _PlacedCall:
    def __init__(self, block: Json, gap: int) -> None:
        self.block = block
        self.gap = gap
        """The number of other blocks before it."""
        self.is_repeated = False
        """Whether a later part contains it again."""


class AnswerBlocks:
    """The blocks of an answer to which parts are added.

    After each part, all calls move to the end, unless that would make thinking blocks adjacent that calls separate
    [24]. A call that a later part repeats is left out where it was.
    """

    def __init__(self, blocks: Sequence[Json]) -> None:
        self._others: list[Json] = []
        """The blocks that are not calls; their order never changes."""
        self._calls: list[_PlacedCall] = []
        self._calls_by_id: dict[object, list[_PlacedCall]] = {}
        self._call_count: Counter[int] = Counter()
        """The number of calls in each gap: between which of the other blocks they are."""
        self._moved_before = 0
        """Calls with a smaller gap have been moved to the gap with this number."""
        self._separated = 0
        """How many pairs of neighbouring thinking blocks have calls between them."""
        self._append(blocks)

    def extend(self, more: Sequence[Json]) -> None:
        """Add a part."""
        for identity in {get_comparable_id(block, "id") for block in more if block["type"] == "tool_use"}:
            for call in self._calls_by_id.pop(identity, ()):
                self._remove(call)
        self._append(more)
        if not self._separated:
            self._moved_before = len(self._others)
            self._call_count = Counter({self._moved_before: self._call_count.total()})

    def list_blocks(self) -> list[Json]:
        """Return the blocks in their order."""
        calls_in_gap: dict[int, list[Json]] = {}
        for call in self._calls:
            if not call.is_repeated:
                calls_in_gap.setdefault(max(call.gap, self._moved_before), []).append(call.block)
        found = list(calls_in_gap.get(0, []))
        for number, block in enumerate(self._others, 1):
            found += [block, *calls_in_gap.get(number, [])]
        return found

    def _append(self, blocks: Sequence[Json]) -> None:
        for block in blocks:
            place = len(self._others)
            if block["type"] == "tool_use":
                call = _PlacedCall(block, place)
                self._calls.append(call)
                self._calls_by_id.setdefault(get_comparable_id(block, "id"), []).append(call)
                self._call_count[place] += 1
            else:
                self._others.append(block)
                self._separated += self._separates_thoughts(place)

    def _remove(self, call: _PlacedCall) -> None:
        call.is_repeated = True
        gap = max(call.gap, self._moved_before)
        was_separating = self._separates_thoughts(gap)
        self._call_count[gap] -= 1
        self._separated -= was_separating and not self._separates_thoughts(gap)

    def _separates_thoughts(self, gap: int) -> bool:
        """Return whether there are calls in a gap between two thinking blocks."""
        around = self._others[gap - 1 : gap + 1] if gap else []
        return len(around) == 2 and self._call_count[gap] > 0 and all(_is_thinking(block) for block in around)


def _is_thinking(block: Json) -> bool:
    return block["type"] in THINKING_TYPES


def drop_open_server_calls(blocks: Sequence[Json]) -> list[Json]:
    """Remove calls to the server's own tools that have no result in the same answer [27]."""
    found = {get_comparable_id(block, "tool_use_id") for block in blocks if block["type"].endswith("_tool_result")}
    return [
        block for block in blocks if block["type"] not in _SERVER_CALL_TYPES or get_comparable_id(block, "id") in found
    ]
