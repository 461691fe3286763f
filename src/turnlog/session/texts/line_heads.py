"""Lines of a session file without what tools were given and returned, for a first look at many files.

Most of a session file consists of inputs, results and attachments. A `LineHead` leaves them out, so decoding it takes a
fraction of the time. It is enough for a line that contains no conversation.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import msgspec
from msgspec import Struct

from turnlog.entries.entry import Body
from turnlog.entries.line_decoder import DECODE_ERRORS, decode_body, may_be_terse
from turnlog.session.texts.lines import PlacedLine, read_text_lines

_CONVERSATION_TYPES = frozenset(("assistant", "summary", "custom-title", "ai-title", "tag", "agent-name"))
"""Types of lines that are always decoded whole: answers, for their length, and titles."""


class BlockHead(Struct, gc=False):
    """The type of a content block."""

    type: str = ""


class MessageHead(Struct, gc=False):
    """The blocks of a `message`."""

    content: str | list[BlockHead] | None = None


class LineHead(Struct, gc=False, rename="camel"):
    """What an outline needs from a line; the fields are in the order in which the client writes them."""

    is_sidechain: bool | None = None
    cwd: str | None = None
    version: str | None = None
    git_branch: str | None = None
    message: MessageHead | None = None
    type: str | None = None
    uuid: str | None = None
    timestamp: str | None = None
    forked_from: Any = None


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
            is_whole = _needs_whole_line(head, line)
        except DECODE_ERRORS:
            is_whole = True
        if is_whole:
            yield from read_text_lines((line,), offset)
        else:
            yield PlacedHead(head, offset, line)
        offset += len(line)


def _needs_whole_line(head: LineHead, raw: bytes) -> bool:
    kind, message = head.type, head.message
    if kind == "user" and message is not None and type(message.content) is list:
        # Decoders check the types of the fields that they read, so an odd line must be read by the same decoder.
        return head.timestamp is None or not all([block.type == "tool_result" for block in message.content])
    if kind in _CONVERSATION_TYPES or may_be_terse(kind, message, head.timestamp) or message is not None:
        return True
    return (kind == "attachment" and b'"queued_command"' in raw) or (kind == "progress" and b'"agent_progress"' in raw)
