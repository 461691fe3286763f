"""What a server sends -> events. Nothing in it is taken for granted; what can't be read raises, it never just ends."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import msgspec

from turnlog.model.answer import CUT
from turnlog.model.events import (
    BlockEnded,
    BlockStarted,
    Ended,
    Event,
    InputPart,
    Noted,
    OtherPart,
    SignaturePart,
    Started,
    TextPart,
    ThinkingPart,
)
from turnlog.model.failures import BrokenOff, failure
from turnlog.model.sse import Sent

Data = dict[str, Any]
_FAULTS = (msgspec.DecodeError, ValueError, RecursionError)
_GROWING = {"text_delta": "text", "thinking_delta": "thinking", "signature_delta": "signature"}
_PARTS: dict[str, type[TextPart | ThinkingPart | SignaturePart]] = {
    "text_delta": TextPart,
    "thinking_delta": ThinkingPart,
    "signature_delta": SignaturePart,
}


class Reading:
    """Reads one stream: knows the blocks that are being filled, and what was used."""

    def __init__(self, request_id: str | None = None) -> None:
        self._request_id = request_id
        self._blocks: dict[int, Data] = {}
        self._grown: dict[int, dict[str, list[str]]] = {}
        self._usage: Data = {}
        self._stop: Data = {}
        self._flaw = ""
        """What is wrong with a call; a call that was cut because the answer became too long may be wrong."""

    def events(self, stream: Iterable[Sent]) -> Iterator[Event]:
        """The events of an answer up to its end; BrokenOff if that does not come."""
        began = False
        for item in stream:
            event = self._event(item)
            began = began or isinstance(event, Started)
            if not began and not isinstance(event, Noted):
                raise BrokenOff("the answer has no beginning", request_id=self._request_id)
            yield event
            if isinstance(event, Ended):
                return
        raise BrokenOff("the connection ended before the answer did", request_id=self._request_id)

    def _event(self, item: Sent) -> Event:
        try:
            data = _decoded(item.data)
        except _FAULTS:
            raise self._unreadable("an event is no JSON") from None
        if not isinstance(data, dict):
            raise self._unreadable("an event is no object")
        name = str(data.get("type") or item.name)
        read = _READERS.get(name)
        return read(self, data) if read else Noted(name, data=data)

    def _unreadable(self, why: str) -> BrokenOff:
        return BrokenOff(f"the answer can't be read: {why}", request_id=self._request_id)

    def message_start(self, data: Data) -> Event:
        """The answer begins."""
        message = _object(data.get("message"))
        self._usage = dict(_object(message.get("usage")))
        self._stop, self._blocks, self._grown, self._flaw = {}, {}, {}, ""
        return Started(
            str(message.get("id") or ""),
            str(message.get("model") or ""),
            dict(self._usage),
            self._request_id,
            data=data,
        )

    def content_block_start(self, data: Data) -> Event:
        """A block begins."""
        index, block = self._index(data), _object(data.get("content_block"))
        self._blocks[index], self._grown[index] = dict(block), {}
        return BlockStarted(index, block, data=data)

    def content_block_delta(self, data: Data) -> Event:
        """A block grows."""
        index, delta = self._index(data), _object(data.get("delta"))
        kind = str(delta.get("type"))
        if index not in self._blocks:
            raise self._unreadable("a part of a block that has not begun")
        if kind == "input_json_delta":
            return InputPart(index, self._grow(index, "partial_json", delta), data=data)
        if kind in _PARTS:
            return _PARTS[kind](index, self._grow(index, _GROWING[kind], delta), data=data)
        if kind == "citations_delta" and "citation" in delta:
            self._blocks[index]["citations"] = [*(self._blocks[index].get("citations") or []), delta["citation"]]
        return OtherPart(index, delta, data=data)

    def _grow(self, index: int, key: str, delta: Data) -> str:
        part = delta.get(key)
        if not isinstance(part, str):
            raise self._unreadable(f"a part of a block has no {key}")
        self._grown[index].setdefault(key, []).append(part)
        return part

    def content_block_stop(self, data: Data) -> Event:
        """A block is complete."""
        index = self._index(data)
        if index not in self._blocks:
            raise self._unreadable("the end of a block that has not begun")
        block = self._blocks[index]
        for key, parts in self._grown.pop(index, {}).items():
            text = "".join(parts)
            if key != "partial_json":
                block[key] = str(block.get(key) or "") + text
            elif text.strip():
                block["input"] = self._input(text)
        if block.get("type") == "tool_use" and not isinstance(block.get("input"), dict):
            self._flaw = self._flaw or "the input of a call is no object"
            block["input"] = {}
        return BlockEnded(index, block, data=data)

    def _input(self, text: str) -> Any:
        try:
            return _decoded(text)
        except _FAULTS:
            self._flaw = "the input of a call is no JSON"
            return {}

    def message_delta(self, data: Data) -> Event:
        """Why the answer ends, and what it used."""
        self._stop.update(_object(data.get("delta")))
        self._usage.update({key: value for key, value in _object(data.get("usage")).items() if value is not None})
        return Noted("message_delta", data=data)

    def message_stop(self, data: Data) -> Event:
        """The answer is complete."""
        reason, sequence = self._stop.get("stop_reason"), self._stop.get("stop_sequence")
        if not isinstance(reason, str):
            raise self._unreadable("it ends without a reason")
        if self._flaw and reason not in CUT:
            raise self._unreadable(self._flaw)
        return Ended(reason, sequence if isinstance(sequence, str) else None, dict(self._usage), data=data)

    def error(self, data: Data) -> Event:
        """It failed on the way."""
        error = _object(data.get("error"))
        kind, words = error.get("type"), " ".join(str(error.get("message") or "error").split())[:500]
        raise failure(
            200, f"the model failed while answering: {words}", str(kind or "api_error"), request_id=self._request_id
        )

    def _index(self, data: Data) -> int:
        index = data.get("index")
        if not isinstance(index, int) or isinstance(index, bool):
            raise self._unreadable("a block has no number")
        return index


def _decoded(text: str) -> Any:
    """A JSON value; half of a surrogate pair in it becomes U+FFFD, as it is no fault of the model's words."""
    try:
        return msgspec.json.decode(text)
    except _FAULTS:
        if "\\u" not in text:
            raise
    import json

    whole = json.dumps(json.loads(text), ensure_ascii=False)
    return msgspec.json.decode(whole.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace"))


def _object(value: object) -> Data:
    return value if isinstance(value, dict) else {}


_READERS: dict[str, Callable[[Reading, Data], Event]] = {
    "message_start": Reading.message_start,
    "content_block_start": Reading.content_block_start,
    "content_block_delta": Reading.content_block_delta,
    "content_block_stop": Reading.content_block_stop,
    "message_delta": Reading.message_delta,
    "message_stop": Reading.message_stop,
    "error": Reading.error,
}
