"""What a plan makes of one row: its content, the client's copy of its result, or nothing at all."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from turnlog.edit.strip import cut
from turnlog.edit.strip.cut import PICTURES
from turnlog.edit.strip.plan import THINKING, Plan
from turnlog.edit.strip.tally import Tally
from turnlog.entries.entry import Body, Entry
from turnlog.entries.patch import GONE as GOES
from turnlog.entries.patch import encoded
from turnlog.session.window.fates import GONE, REPLACED, SHORTENED, STAYS, WHOLE, Fate

_INSTEAD = {"duplicates": "the same call comes later", "stale_reads": "out of date, see later"}
_COPY = "toolUseResult"


class Left(NamedTuple):
    """What is left of a row."""

    changes: dict[str, Any]
    """The values that change."""
    is_gone: bool = False


def left_of(entry: Entry, body: Body, plan: Plan, tally: Tally) -> Left:
    """What is left of a row; nothing of one that says nothing any more."""
    message = body.get("message")
    content = message.get("content") if isinstance(message, dict) else None
    if not isinstance(message, dict) or not isinstance(content, list):
        return Left({})
    trim = _Trim(entry, plan, tally)
    blocks = [block for old in content if (block := trim.block(old)) is not GOES]
    if len(blocks) < len(content) and not any(map(_says_something, blocks)):
        tally.row(trim.reason, entry.size - tally.saved())
        return Left({}, is_gone=True)
    changes: dict[str, Any] = {} if blocks == content else {"message": {**message, "content": blocks}}
    if _COPY in body and (copy := trim.copy(body[_COPY])) is not body[_COPY]:
        changes[_COPY] = copy
    return Left(changes)


def _says_something(block: Any) -> bool:
    if not isinstance(block, dict) or block.get("type") != "text":
        return True
    text = block.get("text")
    return isinstance(text, str) and bool(text.strip())


class _Trim:
    """Goes through the blocks of one row."""

    def __init__(self, entry: Entry, plan: Plan, tally: Tally) -> None:
        self._entry, self._plan, self._tally = entry, plan, tally
        self._pictures = 0
        """How many images were passed."""
        self._lost_picture = False
        self._results: list[Fate] = []
        self._copies: list[Fate] = []
        self.reason = ""
        """Why the last block went."""

    def block(self, block: Any) -> Any:
        """What becomes of a block: the same, another, or GOES."""
        if not isinstance(block, dict):
            return block
        match block.get("type"):
            case "tool_use" if self._entry.type == "assistant":
                return self._call(block, self._fate(self._plan.calls, block.get("id")))
            case "tool_result" if self._entry.type == "user":
                self._copies.append(self._fate(self._plan.copies, block.get("tool_use_id")))
                return self._result(block, self._fate(self._plan.results, block.get("tool_use_id")))
            case kind if kind in THINKING and self._entry.type == "assistant":
                return self._told(block, GOES, "thinking", self._plan.thinking.get(self._entry.index, WHOLE))
            case kind if kind in PICTURES:
                return self._picture(block)
        return block

    def _fate(self, fates: dict[str, Fate], identity: Any) -> Fate:
        return fates.get(identity, WHOLE) if isinstance(identity, str) else WHOLE

    def _told(self, old: Any, new: Any, what: str, fate: Fate) -> Any:
        """The new value, counted; the old one where that is no shorter, or stays."""
        if fate.degree == STAYS:
            return old
        saved = len(encoded(old)) - (0 if new is GOES else len(encoded(new)))
        if new is not GOES and saved <= 0:
            return old
        self.reason = rule_of(fate)
        self._tally.block(self.reason, what, saved)
        return new

    def _call(self, block: Body, fate: Fate) -> Any:
        if fate.degree == GONE:
            return self._told(block, GOES, "calls", fate)
        return self._told(block, {**block, "input": cut.given(block.get("input"), fate.longest)}, "calls", fate)

    def _result(self, block: Body, fate: Fate) -> Any:
        self._results.append(fate)
        content = block.get("content")
        if fate.degree in (GONE, REPLACED):
            self._pictures += sum(1 for _ in self._inside(content))
        if fate.degree == GONE:
            return self._told(block, GOES, "results", fate)
        if fate.degree == REPLACED:
            new = {**block, "content": cut.placeholder(content, _INSTEAD[fate.why])}
            return self._told(block, new, "results", fate)
        if isinstance(content, list):
            block = {**block, "content": [self._inner(item) for item in content]}
        if fate.degree == SHORTENED and "content" in block:
            self._lost_picture |= any(True for _ in self._inside(content))
            return self._told(block, {**block, "content": cut.content(block["content"], fate.longest)}, "results", fate)
        return block

    def _inside(self, content: Any) -> Iterator[Body]:
        for item in content if isinstance(content, list) else ():
            if isinstance(item, dict) and item.get("type") in PICTURES:
                yield item

    def _inner(self, item: Any) -> Any:
        return self._picture(item) if isinstance(item, dict) and item.get("type") in PICTURES else item

    def _picture(self, block: Body) -> Any:
        key, self._pictures = (self._entry.index, self._pictures), self._pictures + 1
        if key not in self._plan.pictures:
            return block
        new = self._told(block, cut.picture(block), "images", Fate(SHORTENED, 0, "images"))
        self._lost_picture |= new is not block
        return new

    def copy(self, value: Any) -> Any:
        """What becomes of the client's own copy of the row's results: what becomes of the one that loses least."""
        fate, own = (min(some, key=lambda one: one.hardness, default=WHOLE) for some in (self._results, self._copies))
        if own.degree == GONE:
            return self._told(value, GOES, "copies", own)
        if fate.degree in (GONE, REPLACED):
            return self._told(value, GOES, "copies", fate)
        if fate.degree == SHORTENED:
            return self._told(value, cut.copied(value, fate.longest), "copies", fate)
        if self._lost_picture:
            return self._told(value, cut.without_pictures(value), "copies", Fate(SHORTENED, 0, "images"))
        return value


def rule_of(fate: Fate) -> str:
    """The name under which a fate is counted."""
    return ("shortened" if fate.degree == SHORTENED else "removed") if fate.why == "tools" else fate.why
