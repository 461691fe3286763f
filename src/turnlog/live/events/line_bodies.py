"""The parts of a line that its events need: decoded quickly if the line is well-formed, and tolerantly if it is not.

Decoding only these parts is several times as fast as decoding whole lines, because a large result is recorded twice
in its line and is skipped here. No value from a line is trusted to have the right type, and no text contains half of a
surrogate pair, so that every event can be encoded.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import msgspec
from msgspec import Raw, Struct, field

from turnlog.entries.entry import Body, Entry
from turnlog.entries.line_decoder import DECODE_ERRORS, decode_body, fit_struct
from turnlog.live.events.event import MAX_EVENT_TEXT_CHARS
from turnlog.session.failures import to_result_text

_MAX_CLEANED_DEPTH = 64


class AnswerBlock(Struct, gc=False):
    """A content block of an answer."""

    type: str = ""
    text: Any = None
    thinking: Any = None
    signature: Any = None
    """What tells thoughts without text apart."""
    data: Any = None
    id: Any = None
    name: Any = None
    input: Any = None
    tool_use_id: Any = None
    content: Any = None

    @property
    def content_key(self) -> object:
        """A key that distinguishes the block from others of its type in the same message."""
        return self.text if self.type == "text" else self.thinking or self.signature or self.data or self.tool_use_id


class AnswerUsage(Struct, gc=False):
    """Details of the usage that the structure of a session does not need."""

    output_tokens_details: Any = None


class AnswerMessage(Struct, gc=False):
    """The content of an answer."""

    content: str | list[AnswerBlock] | None = None
    usage: AnswerUsage | None = None


class AnswerLine(Struct, gc=False, rename="camel"):
    """An assistant entry with its content."""

    message: AnswerMessage | None = None
    api_block_index: Any = None

    @property
    def blocks(self) -> list[AnswerBlock]:
        """The content blocks; a string counts as one text block."""
        content = self.message.content if self.message else None
        return [AnswerBlock("text", content)] if isinstance(content, str) else content or []

    @property
    def thinking_tokens(self) -> int:
        """How many tokens the thinking took; 0 if the client did not record it."""
        usage = self.message.usage if self.message else None
        details = usage.output_tokens_details if usage else None
        count = details.get("thinking_tokens") if isinstance(details, dict) else None
        return count if type(count) is int and count > 0 else 0


class ResultBlock(Struct, gc=False):
    """A block of a user entry with results; its content is decoded only if its call is known."""

    type: Any = None
    tool_use_id: Any = None
    is_error: Any = None
    content: Any = None

    def read_text(self) -> str:
        """Return the text of the result."""
        return to_result_text(self.content)


class RawResultBlock(ResultBlock, gc=False):
    """A block with results in a well-formed line."""

    content: Raw = Raw(b"null")

    def read_text(self) -> str:
        return to_result_text(_decode_any(self.content))


class _RawResultMessage(Struct, gc=False):
    content: list[RawResultBlock] = []


class _RawResultLine(Struct, gc=False):
    message: _RawResultMessage
    record: Raw = field(default=Raw(b"null"), name="toolUseResult")
    denial: Any = field(default=None, name="toolDenialKind")


class _RecordFields(Struct, gc=False, omit_defaults=True):
    """The fields of the client's own record of a result that events need; their names are those in the file."""

    interrupted: Any = None
    isAsync: Any = None  # noqa: N815
    backgroundTaskId: Any = None  # noqa: N815
    agentId: Any = None  # noqa: N815
    agent_id: Any = None
    task: Any = None
    tasks: Any = None
    taskId: Any = None  # noqa: N815
    status: Any = None
    success: Any = None


class ResultLine(NamedTuple):
    """A user entry with results."""

    blocks: list[ResultBlock]
    record: Any
    """The client's own record (`toolUseResult`), with only the fields that events need."""
    denial: Any

    @property
    def fields(self) -> Body:
        """The record if it is an object."""
        return self.record if isinstance(self.record, dict) else {}


_decode_answer = msgspec.json.Decoder(AnswerLine).decode
_decode_results = msgspec.json.Decoder(_RawResultLine).decode
_decode_record_fields = msgspec.json.Decoder(_RecordFields).decode
_decode_any = msgspec.json.Decoder().decode


def read_body(entry: Entry, raw: bytes) -> Body:
    """Decode a whole line, and clean its text so that it can be encoded."""
    body = decode_body(raw)
    return body if entry.flaw is None else _clean_value(body)


def read_answer_line(entry: Entry, raw: bytes) -> AnswerLine:
    """Decode the content of an assistant entry."""
    if entry.flaw is None:
        try:
            return _decode_answer(raw)
        except DECODE_ERRORS:
            pass
    return fit_struct(AnswerLine, _clean_value(decode_body(raw)))


def read_result_line(entry: Entry, raw: bytes) -> ResultLine:
    """Decode the results in a user entry, but not their content."""
    if entry.flaw is None:
        try:
            line = _decode_results(raw)
            return ResultLine([*line.message.content], _read_record(line.record), line.denial)
        except DECODE_ERRORS:
            pass
    body = _clean_value(decode_body(raw))
    return ResultLine(list(_iter_result_blocks(body)), body.get("toolUseResult"), body.get("toolDenialKind"))


def _iter_result_blocks(body: Body) -> Iterator[ResultBlock]:
    message = body.get("message")
    content = message.get("content") if isinstance(message, dict) else None
    for block in content if isinstance(content, list) else ():
        if isinstance(block, dict):
            yield ResultBlock(block.get("type"), block.get("tool_use_id"), block.get("is_error"), block.get("content"))


def _read_record(record: Raw) -> Any:
    start = memoryview(record)[:1].tobytes()
    if start == b"{":
        return msgspec.to_builtins(_decode_record_fields(record))
    return [] if start == b"[" else _decode_any(record)


def to_seconds(milliseconds: object) -> float | None:
    """Return a duration in seconds; None if it can't be one."""
    if isinstance(milliseconds, bool) or not isinstance(milliseconds, int | float):
        return None
    seconds = milliseconds / 1000 if 0 <= milliseconds < 1e15 else math.nan
    return round(seconds, 3) if math.isfinite(seconds) else None


def read_error_text(error: object) -> str:
    """Return the text of an API error; newer clients record a readable one."""
    if isinstance(error, str):
        return error[:MAX_EVENT_TEXT_CHARS]
    fields = error if isinstance(error, dict) else {}
    texts = (fields.get(name) for name in ("formatted", "message"))
    return next((text[:MAX_EVENT_TEXT_CHARS] for text in texts if isinstance(text, str) and text), "")


def clean_text(text: str) -> str:
    """Replace halves of surrogate pairs, which can't be encoded."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def _clean_value(value: Any, depth: int = 0) -> Any:
    """Clean all text in a value; anything nested too deeply is dropped."""
    if isinstance(value, str):
        return clean_text(value)
    if isinstance(value, list):
        return [_clean_value(item, depth + 1) for item in value] if depth < _MAX_CLEANED_DEPTH else []
    if isinstance(value, dict):
        if depth >= _MAX_CLEANED_DEPTH:
            return {}
        return {clean_text(str(name)): _clean_value(item, depth + 1) for name, item in value.items()}
    return value
