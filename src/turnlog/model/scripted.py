"""A model that answers from a script, for tests and for trying things out without a server.

    Scripted(["first answer", Rejected("no"), Answer(...), lambda request: "…"], then="all further answers")

Each request takes the next step: a text, an answer, an error that is raised, a `Late` or `Cut` one, or a function of
the request that gives one of these. All requests are kept. When the script is over and there is no `then`, a request is
rejected.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Any, TypeAlias, Union

import msgspec
from msgspec import Struct

from turnlog.model.answer import Answer
from turnlog.model.cancel import Cancel
from turnlog.model.events import (
    BlockEnded,
    BlockStarted,
    Ended,
    Event,
    InputPart,
    SignaturePart,
    Started,
    TextPart,
    ThinkingPart,
)
from turnlog.model.failures import BrokenOff, ModelError, Rejected
from turnlog.model.model import Model
from turnlog.model.request import Request

Step: TypeAlias = Union[str, Answer, ModelError, "Late", "Cut", Callable[[Request], "Step"]]
_EMPTY: dict[str, dict[str, Any]] = {
    "text": {"text": ""},
    "thinking": {"thinking": "", "signature": ""},
    "tool_use": {"input": {}},
}
PARTS = 3
"""Into so many parts each text is cut."""


class Late(Struct, frozen=True):
    """A step that takes its time."""

    seconds: float
    step: Step


class Cut(Struct, frozen=True):
    """An answer that breaks off after some events."""

    answer: str | Answer
    after: int = 3


class Scripted(Model):
    """Answers from a script."""

    def __init__(self, script: Iterable[Step] = (), then: Step | None = None) -> None:
        self._script = iter(script)
        self._then = then
        self._lock = threading.Lock()
        self.requests: list[Request] = []
        """What was asked, in order."""

    def stream(self, request: Request, cancel: Cancel | None = None) -> Iterator[Event]:
        """Answer with the next step."""
        cancel = cancel or Cancel()
        with self._lock:
            self.requests.append(request)
            number = len(self.requests)
            step = next(self._script, self._then)
        if step is None:
            raise Rejected(f"the script has no answer to request {number}")
        for event in _played(step, request, number, cancel):
            cancel.check()
            yield event

    def count_tokens(self, request: Request, cancel: Cancel | None = None) -> int:
        """A quarter of the characters, as a rough guess."""
        return max(1, len(msgspec.json.encode(request.body())) // 4)


def _played(step: Step, request: Request, number: int, cancel: Cancel) -> Iterator[Event]:
    if isinstance(step, ModelError):
        raise step
    if isinstance(step, Late):
        cancel.pause(step.seconds)
        yield from _played(step.step, request, number, cancel)
    elif isinstance(step, Cut):
        yield from islice(events(_answer(step.answer, request, number)), step.after)
        raise BrokenOff("the connection ended before the answer did")
    elif isinstance(step, str | Answer):
        yield from events(_answer(step, request, number))
    else:
        yield from _played(step(request), request, number, cancel)


def _answer(given: str | Answer, request: Request, number: int) -> Answer:
    if isinstance(given, Answer):
        return given
    return Answer(
        ({"type": "text", "text": given},),
        usage={"input_tokens": 1, "output_tokens": max(1, len(given) // 4)},
        id=f"msg_scripted_{number}",
        model=request.model,
    )


def events(answer: Answer) -> Iterator[Event]:
    """The events that carry an answer: put together, they give it again."""
    yield Started(answer.id, answer.model, {**answer.usage, "output_tokens": 1}, answer.request_id)
    for index, block in enumerate(answer.content):
        yield BlockStarted(index, {**block, **_emptied(dict(block))})
        yield from _parts(index, dict(block))
        yield BlockEnded(index, block)
    yield Ended(answer.stop_reason, answer.stop_sequence, answer.usage)


def _emptied(block: dict[str, Any]) -> dict[str, Any]:
    return _EMPTY.get(str(block.get("type")), {})


def _parts(index: int, block: dict[str, Any]) -> Iterator[Event]:
    kind = block.get("type")
    if kind == "text":
        yield from (TextPart(index, part) for part in _cut(str(block.get("text") or "")))
    elif kind == "thinking":
        yield from (ThinkingPart(index, part) for part in _cut(str(block.get("thinking") or "")))
        yield SignaturePart(index, str(block.get("signature") or ""))
    elif kind == "tool_use":
        yield from (InputPart(index, part) for part in _cut(msgspec.json.encode(block.get("input")).decode()))


def _cut(text: str) -> list[str]:
    size = max(1, -(-len(text) // PARTS))
    return [text[at : at + size] for at in range(0, len(text), size)]
