"""The lines of a session file with their texts: for those who go once through everything and keep little.

An `Entry` leaves the texts out, a body holds everything. A `Line` is between the two: what an index needs of a user or
assistant entry, decoded in one go. Of other entries it has the envelope; their body is decoded when asked for.
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


class LineBlock(Struct, gc=False):
    """A content block. Of kinds that are not known here only the type is kept."""

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
    """One entry with its texts; the fields stand in the order in which the client writes them."""

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
        """What stands beside the message and may hold texts; empty if nothing does."""
        if self.todos or self.plan_content or self.user_feedback or self.mcp_meta or self.error_details:
            return [self.todos, self.plan_content, self.user_feedback, self.mcp_meta, self.error_details]
        return []


class PlacedLine(Struct, gc=False):
    """A line, where it stands, and its bytes."""

    line: TextLine
    offset: int
    raw: bytes
    _body: Body | None = None
    is_flawed: bool = False
    """It could not be decoded in the ordinary way: a part of it may be missing in `line`."""

    @property
    def body(self) -> Body:
        """The whole object, decoded when it is first asked for."""
        if self._body is None:
            self._body = decode_body(self.raw)
        return self._body


_decode_line = msgspec.json.Decoder(TextLine).decode


def read_text_lines(raw: Iterable[bytes], offset: int = 0) -> Iterator[PlacedLine | None]:
    """The entries on some lines of a file; None for a line, or a part of one, that should be an entry and is broken."""
    for line in raw:
        try:
            found = _decode_line(line)
            if may_be_terse(found.type, found.message, found.timestamp):
                whole = decode_body(line)
                yield PlacedLine(_fit_line(whole), offset, line, whole)
            else:
                yield PlacedLine(found, offset, line)
        except DECODE_ERRORS:
            for item in salvage_line(line, offset):
                if isinstance(item, Entry):
                    piece = line[item.offset - offset : item.end - offset]
                    whole = replace_lone_surrogates(decode_body(piece))
                    yield PlacedLine(_fit_line(whole), item.offset, piece, whole, is_flawed=True)
                elif item.kind in ("broken", "torn", "value"):
                    yield None
        offset += len(line)


def replace_lone_surrogates(value: Any) -> Any:
    """A JSON value whose texts can be written anywhere: half of a surrogate pair becomes U+FFFD."""
    if isinstance(value, str):
        return value if value.isascii() else value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, dict):
        return {replace_lone_surrogates(key): replace_lone_surrogates(inner) for key, inner in value.items()}
    return [replace_lone_surrogates(inner) for inner in value] if isinstance(value, list) else value


def _fit_line(found: Body) -> TextLine:
    try:
        return msgspec.convert(found, TextLine)
    except CONVERSION_ERRORS:
        return fit_struct(TextLine, found)
