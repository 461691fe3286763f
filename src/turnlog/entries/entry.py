"""The parts of a session file: entries, and scraps (anything that is not an entry).

An `Entry` is one JSON object in the file, reduced to the fields that are needed for the structure of a session. It
records where its bytes are so that the whole object can be read at any time (`Transcript.body`); text is not kept. A
`Scrap` is a run of bytes that is not a JSON object, along with the reason.
"""

from __future__ import annotations

from typing import Annotated, Any, NamedTuple

from msgspec import Meta, Struct, field

from turnlog.entries.old_names import OldName

FLAW_DESCRIPTIONS = {
    "types": "a field has an unexpected JSON type",
    "number": "a number is too large to decode",
    "utf-8": "the line is not valid UTF-8; bad bytes read as U+FFFD",
    "surrogate": "a string contains half of a surrogate pair",
    "deep": "nested too deep to decode; inner values are cut off",
    "spread": "its JSON stretches over several lines, which clients up to 2.1.45 do not read",
    "followed": "something else follows it on the same line",
    "terse": "in a short form that some tools write and Claude Code does not read: no `type`, or no `message`",
    "behind": "follows something else on the same line, where Claude Code does not read it",
}
"""Why an entry needed special decoding. turnlog keeps and uses such an entry like any other."""

SCRAP_DESCRIPTIONS = {
    "blank": "an empty line",
    "comment": "a comment line",
    "value": "JSON, but not an object",
    "broken": "not JSON",
    "torn": "the last line is cut off",
    "padding": "NUL bytes",
    "bom": "a byte order mark",
}
"""The kinds of scraps."""

NO_PARENT = -1
"""The `parent` of an entry without a parent."""
MISSING_PARENT = -2
"""The `parent` of an entry that names a parent that is not in the file."""


class CacheWrites(Struct, gc=False):
    """Tokens written to the prompt cache, by lifetime."""

    ephemeral_5m_input_tokens: int | None = None
    ephemeral_1h_input_tokens: int | None = None


class ServerTools(Struct, gc=False):
    """Calls that the API itself ran."""

    web_search_requests: int | None = None
    web_fetch_requests: int | None = None


class UsageIteration(Struct, gc=False):
    """One of the requests that together produced a message."""

    input_tokens: int | None = None
    output_tokens: int | None = None
    cache_read_input_tokens: int | None = None
    cache_creation_input_tokens: int | None = None
    cache_creation: CacheWrites | None = None
    type: str | None = None
    model: str | None = None
    """Set if this may differ from the message's model: for an advisor, or if a different model answered."""


class LineUsage(Struct, gc=False):
    """The token counts on one line of the file."""

    input_tokens: int | None = None
    output_tokens: int | None = None
    cache_read_input_tokens: int | None = None
    cache_creation_input_tokens: int | None = None
    cache_creation: CacheWrites | None = None
    server_tool_use: ServerTools | None = None
    service_tier: str | None = None
    speed: str | None = None
    inference_geo: str | None = None
    iterations: list[UsageIteration] | None = None


class BlockHead(Struct, gc=False):
    """A content block without its content."""

    type: str = ""
    id: str | None = None
    name: str | None = None
    tool_use_id: str | None = None
    is_error: bool | None = None


class MessageHead(Struct, gc=False):
    """The `message` of a user or assistant entry, without the text inside its blocks."""

    id: str | None = None
    model: str | None = None
    stop_reason: str | None = None
    usage: LineUsage | None = None
    content: str | list[BlockHead] | None = None

    @property
    def blocks(self) -> list[BlockHead]:
        """The content blocks; a string counts as a single text block."""
        if isinstance(self.content, str):
            return [BlockHead("text")]
        return self.content or []


class InnerType(Struct, gc=False):
    """The `type` inside an attachment or progress report."""

    type: str | None = None


class EntryOrigin(Struct, gc=False):
    """The source of a user entry; its values are external and may have any type."""

    kind: Any = None
    sender: Any = field(default=None, name="from")
    """The address of a peer session."""
    name: Any = None
    server: Any = None
    """The source of a channel."""


_READER_FIELDS = ("offset", "size", "index", "parent", "flaw", "kind")
READER_FIELD_NAMES = frozenset("@" + name for name in _READER_FIELDS)
"""What the fields that only the reader sets would be called in a file."""
_ReaderText = Annotated[str, Meta(pattern=r"\Z.")]
"""Text that no line can contain: the fast decoder rejects it, so that the reader need not clear it on each line."""


def _to_json_name(name: str) -> str:
    if name in _READER_FIELDS:
        return "@" + name
    first, *rest = name.split("_")
    return first + "".join(part.title() for part in rest)


class Entry(Struct, gc=False, rename=_to_json_name):
    """One JSON object in a session file.

    The fields are in the order in which the client writes them, because the decoder tries the next field first.
    """

    parent_uuid: str | None = None
    is_sidechain: bool | None = None
    cwd: str | None = None
    session_id: str | None = None
    version: str | None = None
    git_branch: str | None = None
    agent_id: str | None = None
    message: MessageHead | None = None
    data: InnerType | None = None
    attachment: InnerType | None = None
    request_id: str | None = None
    type: str | None = None
    subtype: str | None = None
    uuid: str | None = None
    timestamp: str | None = None
    is_meta: bool | None = None
    origin: EntryOrigin | None = None
    is_compact_summary: bool | None = None
    is_api_error_message: bool | None = None
    offset: int = 0
    """Where its bytes start in the file."""
    size: int = 0
    """The number of its bytes, including the line end."""
    index: int = 0
    """Its position among the entries of the file."""
    parent: Annotated[int, Meta(ge=NO_PARENT, le=NO_PARENT)] = NO_PARENT
    """The index of the entry that `parent_uuid` names, NO_PARENT or MISSING_PARENT."""
    flaw: _ReaderText | None = None
    """A key of FLAW_DESCRIPTIONS if the entry needed special decoding."""
    kind: _ReaderText | None = None
    """The kind of an attachment or progress entry."""

    @property
    def name(self) -> str:
        """The type, including the subtype of a system entry: `system/turn_duration`."""
        kind = self.type or "(no type)"
        return f"{kind}/{self.subtype}" if self.subtype else kind

    @property
    def is_lost(self) -> bool:
        """Whether Claude Code itself is unable to read this entry."""
        return self.flaw in ("behind", "terse")

    @property
    def end(self) -> int:
        """The offset just past the last byte."""
        return self.offset + self.size

    lost = OldName("is_lost")


class Scrap(NamedTuple):
    """Bytes in a file that are not part of any entry."""

    offset: int
    size: int
    kind: str
    reason: str

    @property
    def end(self) -> int:
        """The offset just past the last byte."""
        return self.offset + self.size


EntryOrScrap = Entry | Scrap
Body = dict[str, Any]
