"""Lines of a session file without what tools returned, for a first look at many files.

Most of a session file consists of results and attachments. A `LineHead` leaves them as bytes, so decoding it takes a
fraction of the time. It is enough for an answer and for a line that contains no conversation.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec
from msgspec import Struct

from turnlog.entries.entry import Body
from turnlog.entries.line_decoder import DECODE_ERRORS, decode_body, may_be_terse
from turnlog.session.texts.lines import LineBlock, LineMessage, PlacedLine, TextLine, read_text_lines

_TITLE_TYPES = frozenset(("summary", "custom-title", "ai-title", "tag", "agent-name"))


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
    for line in raw:
        try:
            head = _decode_head(line)
        except DECODE_ERRORS:
            yield from read_text_lines((line,), offset)
        else:
            if head.type == "assistant" and head.message is not None and head.timestamp is not None:
                yield PlacedLine(head, offset, line)  # the client writes no results here
            elif _needs_whole_line(head, line):
                yield from read_text_lines((line,), offset)
            else:
                yield PlacedHead(head, offset, line)
        offset += len(line)


def _needs_whole_line(head: LineHead, raw: bytes) -> bool:
    kind, message = head.type, head.message
    if kind == "user" and message is not None and type(message.content) is list:
        return head.timestamp is None or any(block.type != "tool_result" for block in message.content)
    if kind in _TITLE_TYPES or may_be_terse(kind, message, head.timestamp) or message is not None:
        return True
    return (kind == "attachment" and b'"queued_command"' in raw) or (kind == "progress" and b'"agent_progress"' in raw)
