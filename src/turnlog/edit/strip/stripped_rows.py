"""Applies a strip plan to a row: to its content, to the client's copy of its result, or to the whole row."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from turnlog.edit.strip import content_cut
from turnlog.edit.strip.content_cut import PICTURE_TYPES
from turnlog.edit.strip.fates import FATE_GONE, FATE_REPLACED, FATE_SHORTENED, FATE_STAYS, WHOLE_FATE, Fate
from turnlog.edit.strip.strip_plan import THINKING_TYPES, StripPlan
from turnlog.edit.strip.strip_tally import StripTally
from turnlog.entries.entry import Body, Entry
from turnlog.entries.patch import REMOVE_KEY, encode_json_line

STRIPPED_BLOCK_TYPES = frozenset({"tool_use", "tool_result"}) | THINKING_TYPES | PICTURE_TYPES
"""The blocks that can be stripped; a row without any stays as it is."""
_REPLACEMENT_TEXTS = {"duplicates": "the same call comes later", "stale_reads": "out of date, see later"}
_RESULT_COPY_KEY = "toolUseResult"


class StrippedRow(NamedTuple):
    changes: dict[str, Any]
    """The top-level values that change."""
    is_gone: bool = False


def strip_row(entry: Entry, body: Body, plan: StripPlan, tally: StripTally) -> StrippedRow:
    """Strip a row; remove it if no content is left."""
    message = body.get("message")
    content = message.get("content") if isinstance(message, dict) else None
    if not isinstance(message, dict) or not isinstance(content, list):
        return StrippedRow({})
    trimmer = _RowTrimmer(entry, plan, tally)
    blocks = [block for old in content if (block := trimmer.trim_block(old)) is not REMOVE_KEY]
    if len(blocks) < len(content) and not any(map(_says_something, blocks)):
        tally.count_row(trimmer.reason, entry.size - tally.count_saved_bytes())
        return StrippedRow({}, is_gone=True)
    changes: dict[str, Any] = {} if blocks == content else {"message": {**message, "content": blocks}}
    if _RESULT_COPY_KEY in body and (copy := trimmer.trim_copy(body[_RESULT_COPY_KEY])) is not body[_RESULT_COPY_KEY]:
        changes[_RESULT_COPY_KEY] = copy
    return StrippedRow(changes)


def _says_something(block: Any) -> bool:
    if not isinstance(block, dict) or block.get("type") != "text":
        return True
    text = block.get("text")
    return isinstance(text, str) and bool(text.strip())


class _RowTrimmer:
    """Strips the blocks of one row."""

    def __init__(self, entry: Entry, plan: StripPlan, tally: StripTally) -> None:
        self._entry, self._plan, self._tally = entry, plan, tally
        self._pictures = 0
        """The number of images seen so far."""
        self._lost_picture = False
        self._results: list[Fate] = []
        self._copies: list[Fate] = []
        self.reason = ""
        """The rule that removed the last block."""

    def trim_block(self, block: Any) -> Any:
        """Return the block, unchanged or shortened, or `REMOVE_KEY` if it is removed."""
        if not isinstance(block, dict):
            return block
        match block.get("type"):
            case "tool_use" if self._entry.type == "assistant":
                return self._trim_call(block, self._get_fate(self._plan.calls, block.get("id")))
            case "tool_result" if self._entry.type == "user":
                self._copies.append(self._get_fate(self._plan.copies, block.get("tool_use_id")))
                return self._trim_result(block, self._get_fate(self._plan.results, block.get("tool_use_id")))
            case kind if kind in THINKING_TYPES and self._entry.type == "assistant":
                return self._count_change(
                    block, REMOVE_KEY, "thinking", self._plan.thinking.get(self._entry.index, WHOLE_FATE)
                )
            case kind if kind in PICTURE_TYPES:
                return self._trim_picture(block)
        return block

    def _get_fate(self, fates: dict[str, Fate], identity: Any) -> Fate:
        return fates.get(identity, WHOLE_FATE) if isinstance(identity, str) else WHOLE_FATE

    def _count_change(self, old: Any, new: Any, kind: str, fate: Fate) -> Any:
        """Count a change and return the new value, or return the old value if the new one is not shorter."""
        if fate.degree == FATE_STAYS:
            return old
        saved = len(encode_json_line(old)) - (0 if new is REMOVE_KEY else len(encode_json_line(new)))
        if new is not REMOVE_KEY and saved <= 0:
            return old
        self.reason = get_rule_name(fate)
        self._tally.count_block(self.reason, kind, saved)
        return new

    def _trim_call(self, block: Body, fate: Fate) -> Any:
        if fate.degree == FATE_GONE:
            return self._count_change(block, REMOVE_KEY, "calls", fate)
        return self._count_change(
            block, {**block, "input": content_cut.cut_input(block.get("input"), fate.longest)}, "calls", fate
        )

    def _trim_result(self, block: Body, fate: Fate) -> Any:
        self._results.append(fate)
        content = block.get("content")
        if fate.degree in (FATE_GONE, FATE_REPLACED):
            self._pictures += sum(1 for _ in self._iterate_pictures(content))
        if fate.degree == FATE_GONE:
            return self._count_change(block, REMOVE_KEY, "results", fate)
        if fate.degree == FATE_REPLACED:
            new = {**block, "content": content_cut.build_placeholder(content, _REPLACEMENT_TEXTS[fate.why])}
            return self._count_change(block, new, "results", fate)
        if isinstance(content, list):
            block = {**block, "content": [self._trim_inner(item) for item in content]}
        if fate.degree == FATE_SHORTENED and "content" in block:
            self._lost_picture |= any(True for _ in self._iterate_pictures(content))
            return self._count_change(
                block, {**block, "content": content_cut.cut_content(block["content"], fate.longest)}, "results", fate
            )
        return block

    def _iterate_pictures(self, content: Any) -> Iterator[Body]:
        for item in content if isinstance(content, list) else ():
            if isinstance(item, dict) and item.get("type") in PICTURE_TYPES:
                yield item

    def _trim_inner(self, item: Any) -> Any:
        return self._trim_picture(item) if isinstance(item, dict) and item.get("type") in PICTURE_TYPES else item

    def _trim_picture(self, block: Body) -> Any:
        key, self._pictures = (self._entry.index, self._pictures), self._pictures + 1
        if key not in self._plan.pictures:
            return block
        new = self._count_change(block, content_cut.replace_picture(block), "images", Fate(FATE_SHORTENED, 0, "images"))
        self._lost_picture |= new is not block
        return new

    def trim_copy(self, value: Any) -> Any:
        """Strip the client's own copy of the row's results in the same way as the least affected result."""
        fate, copy_fate = (
            min(fates, key=lambda item: item.hardness, default=WHOLE_FATE) for fates in (self._results, self._copies)
        )
        if copy_fate.degree == FATE_GONE:
            return self._count_change(value, REMOVE_KEY, "copies", copy_fate)
        if fate.degree in (FATE_GONE, FATE_REPLACED):
            return self._count_change(value, REMOVE_KEY, "copies", fate)
        if fate.degree == FATE_SHORTENED:
            return self._count_change(value, content_cut.cut_copy(value, fate.longest), "copies", fate)
        if self._lost_picture:
            return self._count_change(
                value, content_cut.drop_pictures(value), "copies", Fate(FATE_SHORTENED, 0, "images")
            )
        return value


def get_rule_name(fate: Fate) -> str:
    """Return the rule under which a fate is counted."""
    return ("shortened" if fate.degree == FATE_SHORTENED else "removed") if fate.why == "tools" else fate.why
