"""What a session file is made of: entries, and scraps that are none.

An `Entry` is one JSON object of the file, reduced to what the structure of a session needs. It knows where its bytes
are, so that the whole object can be had at any time (`Transcript.body`); texts are not kept. A `Scrap` is a run of
bytes that is no JSON object, with the reason.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from msgspec import Struct, field

from turnlog.entries.old_names import OldName

FLAW_DESCRIPTIONS = {
    "types": "a field has an unexpected JSON type",
    "number": "a number is beyond what can be decoded",
    "utf-8": "the line is not valid UTF-8; bad bytes read as U+FFFD",
    "surrogate": "a string holds half of a surrogate pair",
    "deep": "nested deeper than can be decoded; inner values are cut off",
    "followed": "something else stands behind it on its line",
    "terse": "in a short form that some tools write and the client does not read: no `type`, or no `message`",
    "behind": "stands behind something else on its line, where the client does not read it",
}
"""Why an entry could not be decoded in the ordinary way. Such an entry is kept and used all the same."""

SCRAP_DESCRIPTIONS = {
    "blank": "an empty line",
    "comment": "a comment line",
    "value": "JSON, but no object",
    "broken": "no JSON",
    "torn": "the last line is cut off",
    "padding": "NUL bytes",
    "bom": "a byte order mark",
}
"""The kinds of scraps."""

NO_PARENT = -1
"""The parent of an entry that names none."""
MISSING_PARENT = -2
"""The parent of an entry whose parent is not in the file."""


class CacheWrites(Struct, gc=False):
    """Tokens written to the prompt cache, by lifetime."""

    ephemeral_5m_input_tokens: int | None = None
    ephemeral_1h_input_tokens: int | None = None


class ServerTools(Struct, gc=False):
    """Calls that the API itself carried out."""

    web_search_requests: int | None = None
    web_fetch_requests: int | None = None


class UsageIteration(Struct, gc=False):
    """One of the requests that together made a message."""

    input_tokens: int | None = None
    output_tokens: int | None = None
    cache_read_input_tokens: int | None = None
    cache_creation_input_tokens: int | None = None
    cache_creation: CacheWrites | None = None
    type: str | None = None
    model: str | None = None
    """Named where it may differ from the message's: by an advisor, or where another model answered instead."""


class LineUsage(Struct, gc=False):
    """Token counts as one line states them."""

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
    """The `message` of a user or assistant entry; texts inside blocks are left out."""

    id: str | None = None
    model: str | None = None
    stop_reason: str | None = None
    usage: LineUsage | None = None
    content: str | list[BlockHead] | None = None

    @property
    def blocks(self) -> list[BlockHead]:
        """The content blocks; a string is one text block."""
        if isinstance(self.content, str):
            return [BlockHead("text")]
        return self.content or []


class InnerType(Struct, gc=False):
    """The `type` inside an attachment or a progress report."""

    type: str | None = None


class EntryOrigin(Struct, gc=False):
    """Who or what brought a user entry about; its values are not trusted to be texts."""

    kind: Any = None
    sender: Any = field(default=None, name="from")
    """The address of a peer."""
    name: Any = None
    server: Any = None
    """The source of a channel."""


def _to_json_name(name: str) -> str:
    if name in ("offset", "size", "index", "parent", "flaw", "kind"):
        return "@" + name
    first, *rest = name.split("_")
    return first + "".join(part.title() for part in rest)


class Entry(Struct, gc=False, rename=_to_json_name):
    """One JSON object of a session file.

    The fields stand in the order in which the client writes them: the decoder looks for the next one first.
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
    """Where its bytes begin in the file."""
    size: int = 0
    """How many bytes it has, with the line end."""
    index: int = 0
    """Its place among the entries of the file."""
    parent: int = NO_PARENT
    """The index of the entry that `parent_uuid` names, NONE or MISSING."""
    flaw: str | None = None
    """One of FLAWS when it could not be decoded in the ordinary way."""
    kind: str | None = None
    """The kind of an attachment or progress entry."""

    @property
    def name(self) -> str:
        """The type, with the subtype of a system entry: `system/turn_duration`."""
        kind = self.type or "(no type)"
        return f"{kind}/{self.subtype}" if self.subtype else kind

    @property
    def is_lost(self) -> bool:
        """Whether the real client cannot read this entry."""
        return self.flaw in ("behind", "terse")

    @property
    def end(self) -> int:
        """Where the bytes behind it begin."""
        return self.offset + self.size

    lost = OldName("is_lost")


class Scrap(NamedTuple):
    """Bytes of a file that are no entry."""

    offset: int
    size: int
    kind: str
    reason: str

    @property
    def end(self) -> int:
        """Where the bytes behind it begin."""
        return self.offset + self.size


EntryOrScrap = Entry | Scrap
Body = dict[str, Any]
