"""Lines of a session file without what tools returned, for a first look at many files.

Most of a session file consists of results and attachments. A `LineHead` leaves them as bytes, so decoding it takes a
fraction of the time. It is enough for an answer and for a line that contains no conversation.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec
from msgspec import Struct

from turnlog.entries.entry import Body
from turnlog.entries.line_decoder import DECODE_ERRORS, decode_body
from turnlog.entries.spread_values import join_spread_value
from turnlog.session.texts.lines import LineBlock, LineMessage, PlacedLine, TextLine, read_text_lines

_WHOLE_TYPES = frozenset(("summary", "custom-title", "ai-title", "tag", "agent-name", "user", "assistant"))
"""Without a `message`, a line of these types is a title, or in a short form that some tools write."""


class LineBlockHead(LineBlock, gc=False):
    """A content block without the result in it."""

    content: msgspec.Raw = None  # type: ignore[assignment]  # msgspec would decode `Raw | None`


class LineMessageHead(LineMessage, gc=False):
    """A `message` without the results in it."""

    content: str | list[LineBlockHead] | None = None  # type: ignore[assignment]  # nobody adds blocks to the list


class LineHead(TextLine, gc=False, rename="camel"):
    """A line whose results are left as bytes."""

    message: LineMessageHead | None = None
    tool_use_result: msgspec.Raw = None  # type: ignore[assignment]


class PlacedHead(Struct, gc=False):
    """The head of a line with its offset and bytes."""

    line: LineHead
    offset: int
    raw: bytes

    @property
    def body(self) -> Body:
        """The whole object."""
        return decode_body(self.raw)


_decode_head = msgspec.json.Decoder(LineHead).decode


def read_line_heads(raw: Iterable[bytes], offset: int = 0) -> Iterator[PlacedLine | PlacedHead | None]:
    """Yield the same lines as `read_text_lines`, but only the heads of those without conversation."""
    rest = iter(raw)
    for line in rest:
        try:
            head = _decode_head(line)
        except DECODE_ERRORS:
            for value in join_spread_value(line, rest):
                yield from read_text_lines((value,), offset)
                offset += len(value)
        else:
            message = head.message
            if message is not None and head.type == "assistant" and head.timestamp is not None:
                yield PlacedLine(head, offset, line)  # the client writes no results here
            elif _needs_whole_line(head, message, line):
                yield from read_text_lines((line,), offset)
            else:
                yield PlacedHead(head, offset, line)
            offset += len(line)


def _needs_whole_line(head: LineHead, message: LineMessageHead | None, raw: bytes) -> bool:
    kind = head.type
    if message is None:
        if kind == "progress":
            return b'"agent_progress"' in raw
        return kind in _WHOLE_TYPES or (kind == "attachment" and b'"queued_command"' in raw)
    if kind != "user" or head.timestamp is None or type(content := message.content) is not list:
        return True
    if len(content) == 1:  # nearly always
        return content[0].type != "tool_result"
    return any(block.type != "tool_result" for block in content)
