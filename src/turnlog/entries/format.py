"""The known format of session files, as data: every type of entry, attachment, progress report and content block.

The data is in `format.json`. Nothing that reads a session needs it; it tells what is new in a file (`entries.drift`)
and makes the tables of `docs/format.md`. Each kind is an object:

    about    what it is
    seen     the first and the last version that wrote it; null: the newest client writes it; absent: no file holds it
    base     an object in "objects" whose fields it has too, before its own
    fields   by their name in the file: [type, note, holds, values]

A note says what a field means. It may begin with versions in brackets: `[2.1.76+]` is still written by the newest
client, `[2.1.11–2.1.81]` was not seen again; without brackets a field is as old as its object. `holds` names the object
in "objects", or the group of kinds ("blocks", "attachments", "progress"), that the field consists of. `values` lists
the known values; another value is no error, but news.
"""

from __future__ import annotations

from functools import cache, cached_property
from pathlib import Path

import msgspec
from msgspec import Struct

SeenVersions = tuple[str, str | None]
"""The first and the last version that something was seen in; None: the newest client writes it."""


class FieldFormat(Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """What is known of one field."""

    type: str
    note: str = ""
    holds: str = ""
    values: tuple[str, ...] = ()


class ObjectFormat(Struct, frozen=True, forbid_unknown_fields=True):
    """What is known of one kind of object."""

    about: str = ""
    seen: SeenVersions | None = None
    base: str = ""
    fields: dict[str, FieldFormat] = {}
    """Its own fields; `FormatRegistry.list_fields` adds those of its base."""


class FormatRegistry(Struct, frozen=True, forbid_unknown_fields=True, dict=True):
    """All that is known of the format, kind by kind."""

    newest_client: str
    """The newest version of the client that the registry was checked against."""
    conversation: dict[str, ObjectFormat]
    """The types of entries that form the graph; `system` is the old one without a subtype."""
    metadata: dict[str, ObjectFormat]
    """Types of entries that say something about the session as a whole."""
    records: dict[str, ObjectFormat]
    """Types of entries that record events: the queue, copies of files, requests to the API."""
    rare: dict[str, ObjectFormat]
    """Types of entries that the client's code names, but no file seen so far holds."""
    system: dict[str, ObjectFormat]
    """System entries by subtype."""
    attachments: dict[str, ObjectFormat]
    """Attachments by the type inside `attachment`."""
    progress: dict[str, ObjectFormat]
    """Progress reports by the type inside `data`."""
    blocks: dict[str, ObjectFormat]
    """Content blocks by type."""
    tool_results: dict[str, ObjectFormat]
    """What `toolUseResult` holds, by the name of the tool; a failed call has a string there instead."""
    objects: dict[str, ObjectFormat]
    """Bases and inner objects by name."""

    @cached_property
    def entries(self) -> dict[str, ObjectFormat]:
        """All entries by type."""
        return self.conversation | self.metadata | self.records | self.rare

    def list_fields(self, kind: ObjectFormat) -> dict[str, FieldFormat]:
        """All fields of an object by name, those of its base first."""
        return self.list_fields(self.objects[kind.base]) | kind.fields if kind.base else kind.fields


@cache
def load_format() -> FormatRegistry:
    """Read the registry, once for each process."""
    return msgspec.json.decode(Path(__file__).with_name("format.json").read_bytes(), type=FormatRegistry)
