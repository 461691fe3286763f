"""The lines of a session file with their text, for code that reads everything once and keeps little of it.

An `Entry` has no text, whereas a body has everything. A `TextLine` is in between: it has what an index needs from a
user or assistant entry, decoded in one step. For other entries, it has only the envelope; their bodies are decoded on
demand.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import msgspec
from msgspec import Struct

from turnlog.entries.entry import Body, Entry, LineUsage
from turnlog.entries.line_decoder import (
    CONVERSION_ERRORS,
    DECODE_ERRORS,
    decode_body,
    fit_struct,
    may_be_terse,
    salvage_line,
)
from turnlog.entries.spread_values import join_spread_value


class LineBlock(Struct, gc=False):
    """A content block. For unknown block types, only the type is kept."""

    type: str = ""
    text: str | None = None
    thinking: str | None = None
    id: str | None = None
    name: str | None = None
    input: Any = None
    tool_use_id: str | None = None
    is_error: bool | None = None
    content: Any = None
    citations: Any = None


class LineMessage(Struct, gc=False):
    """The `message` of a user or assistant entry."""

    model: str | None = None
    id: str | None = None
    content: str | list[LineBlock] | None = None
    stop_reason: str | None = None
    usage: LineUsage | None = None


class TextLine(Struct, gc=False, rename="camel"):
    """One entry with its text; the fields are in the order in which the client writes them."""

    is_sidechain: bool | None = None
    cwd: str | None = None
    session_id: str | None = None
    version: str | None = None
    git_branch: str | None = None
    agent_id: str | None = None
    message: LineMessage | None = None
    type: str | None = None
    uuid: str | None = None
    timestamp: str | None = None
    tool_use_result: Any = None
    is_meta: bool | None = None
    origin: Any = None
    is_compact_summary: bool | None = None
    is_api_error_message: bool | None = None
    forked_from: Any = None
    todos: Any = None
    plan_content: Any = None
    user_feedback: Any = None
    mcp_meta: Any = None
    error_details: Any = None

    @property
    def asides(self) -> list[Any]:
        """Fields outside the message that may contain text."""
        if self.todos or self.plan_content or self.user_feedback or self.mcp_meta or self.error_details:
            return [self.todos, self.plan_content, self.user_feedback, self.mcp_meta, self.error_details]
        return []


class PlacedLine(Struct, gc=False):
    """A line with its offset and bytes."""

    line: TextLine
    offset: int
    raw: bytes
    _body: Body | None = None
    is_flawed: bool = False
    """Whether it could not be decoded normally, so that part of it may be missing from `line`."""

    @property
    def body(self) -> Body:
        """The whole object, decoded on first use."""
        if self._body is None:
            self._body = decode_body(self.raw)
        return self._body


_decode_line = msgspec.json.Decoder(TextLine).decode


def read_text_lines(raw: Iterable[bytes], offset: int = 0) -> Iterator[PlacedLine | None]:
    """Yield the entries in the given lines, and None for each line or part that should be an entry but is not."""
    rest = iter(raw)
    for line in rest:
        try:
            decoded = _decode_line(line)
            if may_be_terse(decoded.type, decoded.message, decoded.timestamp):
                whole = decode_body(line)
                yield PlacedLine(_fit_line(whole), offset, line, whole)
            else:
                yield PlacedLine(decoded, offset, line)
            offset += len(line)
        except DECODE_ERRORS:
            for value in join_spread_value(line, rest):
                yield from _salvage_entries(value, offset)
                offset += len(value)


def _salvage_entries(value: bytes, offset: int) -> Iterator[PlacedLine | None]:
    for item in salvage_line(value, offset):
        if isinstance(item, Entry):
            piece = value[item.offset - offset : item.end - offset]
            whole = replace_lone_surrogates(decode_body(piece))
            yield PlacedLine(_fit_line(whole), item.offset, piece, whole, is_flawed=True)
        elif item.kind in ("broken", "torn", "value"):
            yield None


def is_whole_entry(data: bytes) -> bool:
    """Return whether a last line without a line end is already a complete entry."""
    lines = list(read_text_lines([data])) if data.endswith(b"}") else []
    return len(lines) == 1 and lines[0] is not None and len(lines[0].raw) == len(data)


def replace_lone_surrogates(value: Any) -> Any:
    """Replace lone surrogates in the strings of a JSON value with U+FFFD so that they can be encoded."""
    if isinstance(value, str):
        return value if value.isascii() else value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, dict):
        return {replace_lone_surrogates(key): replace_lone_surrogates(inner) for key, inner in value.items()}
    return [replace_lone_surrogates(inner) for inner in value] if isinstance(value, list) else value


def _fit_line(body: Body) -> TextLine:
    try:
        return msgspec.convert(body, TextLine)
    except CONVERSION_ERRORS:
        return fit_struct(TextLine, body)
