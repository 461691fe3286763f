"""A complete answer, assembled from the events of a stream."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from msgspec import Struct

from turnlog.model.events import (
    AnswerEnded,
    AnswerStarted,
    BlockEnded,
    BlockStarted,
    InputPart,
    ModelEvent,
    RetryStarted,
    TextPart,
    ThinkingPart,
)
from turnlog.model.failures import AnswerBrokenOff

JsonObject = Mapping[str, Any]

CUT_STOP_REASONS = frozenset({"max_tokens", "model_context_window_exceeded"})
"""Stop reasons of an answer that reached a limit."""


class ModelAnswer(Struct, frozen=True):
    content: tuple[JsonObject, ...] = ()
    """The blocks in the API's form."""
    stop_reason: str | None = "end_turn"
    usage: JsonObject = {}
    id: str = ""
    model: str = ""
    stop_sequence: str | None = None
    request_id: str | None = None

    @property
    def text(self) -> str:
        """The joined text."""
        return "".join(str(block.get("text") or "") for block in self.content if block.get("type") == "text")

    @property
    def calls(self) -> list[JsonObject]:
        return [block for block in self.content if block.get("type") == "tool_use"]

    @property
    def is_cut(self) -> bool:
        """True if the answer ended because it reached a length limit."""
        return self.stop_reason in CUT_STOP_REASONS


class AnswerAssembler:
    """Assembles an answer from events; at any time, the part that has arrived so far can be built."""

    def __init__(self) -> None:
        self._start_over(None)

    def _start_over(self, start: AnswerStarted | None) -> None:
        """Discard everything so far."""
        self._start = start
        self._end: AnswerEnded | None = None
        self._blocks: dict[int, JsonObject] = {}
        self._open: dict[int, list[str]] = {}

    def add_event(self, event: ModelEvent) -> None:
        if isinstance(event, RetryStarted | AnswerStarted):
            self._start_over(event if isinstance(event, AnswerStarted) else None)
        elif isinstance(event, BlockStarted):
            self._blocks[event.index] = event.block
        elif isinstance(event, TextPart | ThinkingPart | InputPart):
            text = event.json if isinstance(event, InputPart) else event.text
            self._open.setdefault(event.index, []).append(text)
        elif isinstance(event, BlockEnded):
            self._blocks[event.index] = event.block
            self._open.pop(event.index, None)
        elif isinstance(event, AnswerEnded):
            self._end = event

    @property
    def is_complete(self) -> bool:
        """True if the end of the answer has arrived."""
        return self._end is not None

    def build_answer(self) -> ModelAnswer:
        """Build the answer so far, including incomplete text but not incomplete calls or thinking."""
        start, end = self._start, self._end
        blocks = [self._build_block(index) for index in sorted(self._blocks)]
        return ModelAnswer(
            tuple(block for block in blocks if block is not None),
            end.stop_reason if end else None,
            end.usage if end else start.usage if start else {},
            start.id if start else "",
            start.model if start else "",
            end.stop_sequence if end else None,
            start.request_id if start else None,
        )

    def _build_block(self, index: int) -> JsonObject | None:
        block = self._blocks[index]
        if index not in self._open:
            return block
        text = "".join(self._open[index])
        return {**block, "text": str(block.get("text") or "") + text} if block.get("type") == "text" and text else None


def fold_events(events: Iterable[ModelEvent]) -> ModelAnswer:
    """Assemble the answer from a stream; raise AnswerBrokenOff if the end of the stream is missing."""
    assembler = AnswerAssembler()
    for event in events:
        assembler.add_event(event)
    if not assembler.is_complete:
        raise AnswerBrokenOff("the answer ended early")
    return assembler.build_answer()
