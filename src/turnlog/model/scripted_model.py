"""A model that answers from a script, for tests and experiments without a server.

    ScriptedModel(["first answer", RequestRejected("no"), ModelAnswer(...), lambda request: "…"], then="all others")

Each request takes the next step: a string, an answer, an error to raise, a `DelayedStep`, a `CutAnswer`, or a function
of the request that returns one of these. `requests` stores all requests. When the script is exhausted, a request gets
`then`, or is rejected if `then` is not set.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Any, TypeAlias, Union

import msgspec
from msgspec import Struct

from turnlog.model.answer import ModelAnswer
from turnlog.model.cancel import Cancel
from turnlog.model.events import (
    AnswerEnded,
    AnswerStarted,
    BlockEnded,
    BlockStarted,
    InputPart,
    ModelEvent,
    SignaturePart,
    TextPart,
    ThinkingPart,
)
from turnlog.model.failures import AnswerBrokenOff, ModelError, RequestRejected
from turnlog.model.model import Model
from turnlog.model.request import ModelRequest

ScriptStep: TypeAlias = Union[
    str, ModelAnswer, ModelError, "DelayedStep", "CutAnswer", Callable[[ModelRequest], "ScriptStep"]
]
_EMPTY_BLOCKS: dict[str, dict[str, Any]] = {
    "text": {"text": ""},
    "thinking": {"thinking": "", "signature": ""},
    "tool_use": {"input": {}},
}
PARTS_PER_TEXT = 3
"""The number of parts into which each block of text is split."""


class DelayedStep(Struct, frozen=True):
    seconds: float
    step: ScriptStep


class CutAnswer(Struct, frozen=True):
    """An answer that breaks off after some events."""

    answer: str | ModelAnswer
    after: int = 3


class ScriptedModel(Model):
    def __init__(self, script: Iterable[ScriptStep] = (), then: ScriptStep | None = None) -> None:
        self._script = iter(script)
        self._then = then
        self._lock = threading.Lock()
        self.requests: list[ModelRequest] = []
        """All requests, in order."""

    def stream(self, request: ModelRequest, cancel: Cancel | None = None) -> Iterator[ModelEvent]:
        """Yield the events of the next step."""
        cancel = cancel or Cancel()
        with self._lock:
            self.requests.append(request)
            number = len(self.requests)
            step = next(self._script, self._then)
        if step is None:
            raise RequestRejected(f"the script has no answer to request {number}")
        for event in _play_step(step, request, number, cancel):
            cancel.check()
            yield event

    def count_tokens(self, request: ModelRequest, cancel: Cancel | None = None) -> int:
        """Estimate the number of tokens as a quarter of the number of characters."""
        return max(1, len(msgspec.json.encode(request.build_body())) // 4)


def _play_step(step: ScriptStep, request: ModelRequest, number: int, cancel: Cancel) -> Iterator[ModelEvent]:
    if isinstance(step, ModelError):
        raise step
    if isinstance(step, DelayedStep):
        cancel.pause(step.seconds)
        yield from _play_step(step.step, request, number, cancel)
    elif isinstance(step, CutAnswer):
        yield from islice(list_answer_events(_build_answer(step.answer, request, number)), step.after)
        raise AnswerBrokenOff("the connection ended before the answer did")
    elif isinstance(step, str | ModelAnswer):
        yield from list_answer_events(_build_answer(step, request, number))
    else:
        yield from _play_step(step(request), request, number, cancel)


def _build_answer(answer: str | ModelAnswer, request: ModelRequest, number: int) -> ModelAnswer:
    if isinstance(answer, ModelAnswer):
        return answer
    return ModelAnswer(
        ({"type": "text", "text": answer},),
        usage={"input_tokens": 1, "output_tokens": max(1, len(answer) // 4)},
        id=f"msg_scripted_{number}",
        model=request.model,
    )


def list_answer_events(answer: ModelAnswer) -> Iterator[ModelEvent]:
    """Yield the events from which an answer can be reassembled."""
    yield AnswerStarted(answer.id, answer.model, {**answer.usage, "output_tokens": 1}, answer.request_id)
    for index, block in enumerate(answer.content):
        yield BlockStarted(index, {**block, **_empty_block(dict(block))})
        yield from _list_parts(index, dict(block))
        yield BlockEnded(index, block)
    yield AnswerEnded(answer.stop_reason, answer.stop_sequence, answer.usage)


def _empty_block(block: dict[str, Any]) -> dict[str, Any]:
    return _EMPTY_BLOCKS.get(str(block.get("type")), {})


def _list_parts(index: int, block: dict[str, Any]) -> Iterator[ModelEvent]:
    kind = block.get("type")
    if kind == "text":
        yield from (TextPart(index, part) for part in _split_text(str(block.get("text") or "")))
    elif kind == "thinking":
        yield from (ThinkingPart(index, part) for part in _split_text(str(block.get("thinking") or "")))
        yield SignaturePart(index, str(block.get("signature") or ""))
    elif kind == "tool_use":
        yield from (InputPart(index, part) for part in _split_text(msgspec.json.encode(block.get("input")).decode()))


def _split_text(text: str) -> list[str]:
    size = max(1, -(-len(text) // PARTS_PER_TEXT))
    return [text[at : at + size] for at in range(0, len(text), size)]
