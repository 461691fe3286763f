"""Converts a server's stream into events, and raises an error if the stream is unreadable."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import msgspec

from turnlog.model.answer import CUT_STOP_REASONS
from turnlog.model.events import (
    AnswerEnded,
    AnswerStarted,
    BlockEnded,
    BlockStarted,
    InputPart,
    ModelEvent,
    OtherEvent,
    OtherPart,
    SignaturePart,
    TextPart,
    ThinkingPart,
)
from turnlog.model.failures import AnswerBrokenOff, build_model_error
from turnlog.model.sse import ServerEvent

JsonData = dict[str, Any]
_DECODE_ERRORS = (msgspec.DecodeError, ValueError, RecursionError)
_DELTA_FIELDS = {"text_delta": "text", "thinking_delta": "thinking", "signature_delta": "signature"}
_PART_CLASSES: dict[str, type[TextPart | ThinkingPart | SignaturePart]] = {
    "text_delta": TextPart,
    "thinking_delta": ThinkingPart,
    "signature_delta": SignaturePart,
}


class StreamReader:
    """Reads one stream, and tracks its open blocks and usage."""

    def __init__(self, request_id: str | None = None) -> None:
        self._request_id = request_id
        self._blocks: dict[int, JsonData] = {}
        self._parts: dict[int, dict[str, list[str]]] = {}
        self._usage: JsonData = {}
        self._stop: JsonData = {}
        self._flaw = ""
        """A defect in a call, which is acceptable only if the answer reached its length limit."""

    def read_events(self, stream: Iterable[ServerEvent]) -> Iterator[ModelEvent]:
        """Yield the events of an answer; raise AnswerBrokenOff if the end is missing."""
        has_started = False
        for item in stream:
            event = self._read_event(item)
            has_started = has_started or isinstance(event, AnswerStarted)
            if not has_started and not isinstance(event, OtherEvent):
                raise AnswerBrokenOff("the answer has no start", request_id=self._request_id)
            yield event
            if isinstance(event, AnswerEnded):
                return
        raise AnswerBrokenOff("the connection ended before the answer did", request_id=self._request_id)

    def _read_event(self, item: ServerEvent) -> ModelEvent:
        try:
            data = _decode_json(item.data)
        except _DECODE_ERRORS:
            raise self._build_unreadable_error("an event is not valid JSON") from None
        if not isinstance(data, dict):
            raise self._build_unreadable_error("an event is not an object")
        name = str(data.get("type") or item.name)
        read = _EVENT_READERS.get(name)
        return read(self, data) if read else OtherEvent(name, data=data)

    def _build_unreadable_error(self, reason: str) -> AnswerBrokenOff:
        return AnswerBrokenOff(f"the answer can't be read: {reason}", request_id=self._request_id)

    def message_start(self, data: JsonData) -> ModelEvent:
        message = _to_object(data.get("message"))
        self._usage = dict(_to_object(message.get("usage")))
        self._stop, self._blocks, self._parts, self._flaw = {}, {}, {}, ""
        return AnswerStarted(
            str(message.get("id") or ""),
            str(message.get("model") or ""),
            dict(self._usage),
            self._request_id,
            data=data,
        )

    def content_block_start(self, data: JsonData) -> ModelEvent:
        index, block = self._read_index(data), _to_object(data.get("content_block"))
        self._blocks[index], self._parts[index] = dict(block), {}
        return BlockStarted(index, block, data=data)

    def content_block_delta(self, data: JsonData) -> ModelEvent:
        index, delta = self._read_index(data), _to_object(data.get("delta"))
        kind = str(delta.get("type"))
        if index not in self._blocks:
            raise self._build_unreadable_error("a part of a block that has not started")
        if kind == "input_json_delta":
            return InputPart(index, self._grow_block(index, "partial_json", delta), data=data)
        if kind in _PART_CLASSES:
            return _PART_CLASSES[kind](index, self._grow_block(index, _DELTA_FIELDS[kind], delta), data=data)
        if kind == "citations_delta" and "citation" in delta:
            self._blocks[index]["citations"] = [*(self._blocks[index].get("citations") or []), delta["citation"]]
        return OtherPart(index, delta, data=data)

    def _grow_block(self, index: int, key: str, delta: JsonData) -> str:
        part = delta.get(key)
        if not isinstance(part, str):
            raise self._build_unreadable_error(f"a part of a block has no {key}")
        self._parts[index].setdefault(key, []).append(part)
        return part

    def content_block_stop(self, data: JsonData) -> ModelEvent:
        index = self._read_index(data)
        if index not in self._blocks:
            raise self._build_unreadable_error("the end of a block that has not started")
        block = self._blocks[index]
        for key, parts in self._parts.pop(index, {}).items():
            text = "".join(parts)
            if key != "partial_json":
                block[key] = str(block.get(key) or "") + text
            elif text.strip():
                block["input"] = self._decode_input(text)
        if block.get("type") == "tool_use" and not isinstance(block.get("input"), dict):
            self._flaw = self._flaw or "the input of a call is not an object"
            block["input"] = {}
        return BlockEnded(index, block, data=data)

    def _decode_input(self, text: str) -> Any:
        try:
            return _decode_json(text)
        except _DECODE_ERRORS:
            self._flaw = "the input of a call is not valid JSON"
            return {}

    def message_delta(self, data: JsonData) -> ModelEvent:
        """Record the stop reason and usage."""
        self._stop.update(_to_object(data.get("delta")))
        self._usage.update({key: value for key, value in _to_object(data.get("usage")).items() if value is not None})
        return OtherEvent("message_delta", data=data)

    def message_stop(self, data: JsonData) -> ModelEvent:
        reason, sequence = self._stop.get("stop_reason"), self._stop.get("stop_sequence")
        if not isinstance(reason, str):
            raise self._build_unreadable_error("it ends without a stop reason")
        if self._flaw and reason not in CUT_STOP_REASONS:
            raise self._build_unreadable_error(self._flaw)
        return AnswerEnded(reason, sequence if isinstance(sequence, str) else None, dict(self._usage), data=data)

    def error(self, data: JsonData) -> ModelEvent:
        """Raise the error that the server sent."""
        error = _to_object(data.get("error"))
        kind, message = error.get("type"), " ".join(str(error.get("message") or "error").split())[:500]
        raise build_model_error(
            200, f"the model failed while answering: {message}", str(kind or "api_error"), request_id=self._request_id
        )

    def _read_index(self, data: JsonData) -> int:
        index = data.get("index")
        if not isinstance(index, int) or isinstance(index, bool):
            raise self._build_unreadable_error("a block has no index")
        return index


def _decode_json(text: str) -> Any:
    """Decode a JSON value, replacing lone surrogates with U+FFFD because the rest is still valid."""
    try:
        return msgspec.json.decode(text)
    except _DECODE_ERRORS:
        if "\\u" not in text:
            raise
    import json

    whole = json.dumps(json.loads(text), ensure_ascii=False)
    return msgspec.json.decode(whole.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace"))


def _to_object(value: object) -> JsonData:
    return value if isinstance(value, dict) else {}


_EVENT_READERS: dict[str, Callable[[StreamReader, JsonData], ModelEvent]] = {
    "message_start": StreamReader.message_start,
    "content_block_start": StreamReader.content_block_start,
    "content_block_delta": StreamReader.content_block_delta,
    "content_block_stop": StreamReader.content_block_stop,
    "message_delta": StreamReader.message_delta,
    "message_stop": StreamReader.message_stop,
    "error": StreamReader.error,
}
