"""A whole answer, and how it is put together from the events of a stream."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from msgspec import Struct

from turnlog.model.events import (
    BlockEnded,
    BlockStarted,
    Ended,
    Event,
    InputPart,
    Retrying,
    Started,
    TextPart,
    ThinkingPart,
)
from turnlog.model.failures import BrokenOff

Object = Mapping[str, Any]

CUT = frozenset({"max_tokens", "model_context_window_exceeded"})
"""Why an answer ends that was not finished."""


class Answer(Struct, frozen=True):
    """What a model said."""

    content: tuple[Object, ...] = ()
    """The blocks, as the API has them."""
    stop_reason: str | None = "end_turn"
    usage: Object = {}
    id: str = ""
    model: str = ""
    stop_sequence: str | None = None
    request_id: str | None = None

    @property
    def text(self) -> str:
        """Its texts, one behind the other."""
        return "".join(str(block.get("text") or "") for block in self.content if block.get("type") == "text")

    @property
    def calls(self) -> list[Object]:
        """The calls of tools in it."""
        return [block for block in self.content if block.get("type") == "tool_use"]

    @property
    def is_cut(self) -> bool:
        """Whether it ended because it became too long."""
        return self.stop_reason in CUT


class Folding:
    """An answer on its way: takes events, and can say at any moment what there is of it."""

    def __init__(self) -> None:
        self._begin(None)

    def _begin(self, start: Started | None) -> None:
        """Begin anew: what came before is void."""
        self._start = start
        self._end: Ended | None = None
        self._blocks: dict[int, Object] = {}
        self._open: dict[int, list[str]] = {}

    def add(self, event: Event) -> None:
        """Take the next event."""
        if isinstance(event, Retrying | Started):
            self._begin(event if isinstance(event, Started) else None)
        elif isinstance(event, BlockStarted):
            self._blocks[event.index] = event.block
        elif isinstance(event, TextPart | ThinkingPart | InputPart):
            text = event.json if isinstance(event, InputPart) else event.text
            self._open.setdefault(event.index, []).append(text)
        elif isinstance(event, BlockEnded):
            self._blocks[event.index] = event.block
            self._open.pop(event.index, None)
        elif isinstance(event, Ended):
            self._end = event

    @property
    def is_complete(self) -> bool:
        """Whether the answer came to its end."""
        return self._end is not None

    def answer(self) -> Answer:
        """What there is: of blocks that are not complete, texts as far as they came; calls and thinking not at all."""
        start, end = self._start, self._end
        kept = [self._block(index) for index in sorted(self._blocks)]
        return Answer(
            tuple(block for block in kept if block is not None),
            end.stop_reason if end else None,
            end.usage if end else start.usage if start else {},
            start.id if start else "",
            start.model if start else "",
            end.stop_sequence if end else None,
            start.request_id if start else None,
        )

    def _block(self, index: int) -> Object | None:
        block = self._blocks[index]
        if index not in self._open:
            return block
        text = "".join(self._open[index])
        return {**block, "text": str(block.get("text") or "") + text} if block.get("type") == "text" and text else None


def fold(events: Iterable[Event]) -> Answer:
    """The answer that a stream carries; BrokenOff if it does not come to its end."""
    folding = Folding()
    for event in events:
        folding.add(event)
    if not folding.is_complete:
        raise BrokenOff("the answer broke off before its end")
    return folding.answer()
