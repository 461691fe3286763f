"""The known format of session files, as data: every type of entry, attachment, progress report and content block.

The data is in `format.json`. It is not needed to read a session; it reveals what is new in a file (`entries.drift`) and
fills the tables in `docs/format.md`. Each kind is an object:

    about    what it is
    seen     the first and last versions that wrote it; null: the newest client writes it; absent: not seen yet
    base     an object in "objects" whose fields it inherits, listed before its own
    fields   by name in the file: [type, note, holds, values]

A note explains a field. It may start with versions in brackets: `[2.1.76+]` means that the newest client still writes
it, and `[2.1.11–2.1.81]` that no later version did; without brackets, a field is as old as its object. `holds` names
the object in "objects", or the group of kinds ("blocks", "attachments", "progress"), of which the field consists.
`values` lists the known values; any other value is new, not an error.
"""

from __future__ import annotations

from functools import cache, cached_property
from pathlib import Path

import msgspec
from msgspec import Struct

SeenVersions = tuple[str, str | None]
"""The first and the last version that wrote something; None means that the newest client writes it."""


class FieldFormat(Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """The known facts about one field."""

    type: str
    note: str = ""
    holds: str = ""
    values: tuple[str, ...] = ()


class ObjectFormat(Struct, frozen=True, forbid_unknown_fields=True):
    """The known facts about one kind of object."""

    about: str = ""
    seen: SeenVersions | None = None
    base: str = ""
    fields: dict[str, FieldFormat] = {}
    """Its own fields; `FormatRegistry.list_fields` adds those of its base."""


class FormatRegistry(Struct, frozen=True, forbid_unknown_fields=True, dict=True):
    """Everything known about the format, kind by kind."""

    newest_client: str
    """The newest version of the client that the registry was checked against."""
    conversation: dict[str, ObjectFormat]
    """The entry types that form the graph; `system` is the old type without a subtype."""
    metadata: dict[str, ObjectFormat]
    """The entry types that describe the session as a whole."""
    records: dict[str, ObjectFormat]
    """The entry types that record events: the queue, copies of files, requests to the API."""
    rare: dict[str, ObjectFormat]
    """The entry types that appear in the client's code but have not been seen in any file so far."""
    system: dict[str, ObjectFormat]
    """System entries by subtype."""
    attachments: dict[str, ObjectFormat]
    """Attachments by the type inside `attachment`."""
    progress: dict[str, ObjectFormat]
    """Progress reports by the type inside `data`."""
    blocks: dict[str, ObjectFormat]
    """Content blocks by type."""
    tool_results: dict[str, ObjectFormat]
    """The contents of `toolUseResult` by the name of the tool; a failed call has a string there instead."""
    objects: dict[str, ObjectFormat]
    """Bases and inner objects by name."""

    @cached_property
    def entries(self) -> dict[str, ObjectFormat]:
        """All entries by type."""
        return self.conversation | self.metadata | self.records | self.rare

    def list_fields(self, kind: ObjectFormat) -> dict[str, FieldFormat]:
        """Return all fields of an object by name, with those of its base first."""
        return self.list_fields(self.objects[kind.base]) | kind.fields if kind.base else kind.fields


@cache
def load_format() -> FormatRegistry:
    """Read the registry once per process."""
    return msgspec.json.decode(Path(__file__).with_name("format.json").read_bytes(), type=FormatRegistry)
