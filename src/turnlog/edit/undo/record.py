"""The record of a change: the files it touched, and their states before and after.

    <undo>/<name>/record.json     the record; flushed to disk before anything is changed
    <undo>/<name>/begun           an empty file whose name indicates the progress: begun, done or undone
    <undo>/<name>/kept/<number>   the original of an item, from before the change
    <undo>/<name>/made/<number>   the changed content of an item, from before the change was undone

The record is untrusted input: items outside their own root are refused.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any

import msgspec

from turnlog.edit.journal.file_steps import FileState
from turnlog.errors import Unreadable

RECORD_VERSION = 1
RECORD_FILE_NAME = "record.json"
STATE_BEGUN, STATE_DONE, STATE_UNDONE = "begun", "done", "undone"
NEW_SUFFIX, OLD_SUFFIX, LATE_SUFFIX = "new", "old", "late"
"""The suffixes of files beside a changed file: the new content, and second names for the old and the new content."""
CHANGE_KINDS = frozenset({"rewrite", "create", "rename", "remove", "append"})


@dataclass(frozen=True, slots=True)
class UndoItem:
    """One change to one file."""

    kind: str
    """rewrite, create, rename, remove or append."""
    path: str
    root: str
    """The folder that the path must not lead outside of."""
    to: str | None = None
    """The new name, if renamed."""
    before: FileState | None = None
    after: FileState | None = None
    """For an append: the state of the appended lines alone."""
    folders: tuple[str, ...] = ()
    """Folders that had to be created, outermost first."""


@dataclass(frozen=True, slots=True)
class UndoRecord:
    """A change, as planned or as made."""

    folder: Path
    verb: str
    """The command that made the change."""
    words: str
    """A description of the change, for the user."""
    when: str
    """When the change was made, in UTC."""
    items: tuple[UndoItem, ...]
    is_ready: bool = False
    """Whether all new content has been written; until then, none of the user's files are changed."""
    state: str = STATE_BEGUN

    @property
    def name(self) -> str:
        return self.folder.name

    @property
    def moment(self) -> datetime:
        """When the change was made."""
        return datetime.fromisoformat(self.when)

    @property
    def settled_at(self) -> datetime | None:
        """When the change was made, or None if it was interrupted."""
        return None if self.state == STATE_BEGUN else self.moment

    @property
    def places(self) -> list[Path]:
        """All paths that the change touches."""
        return [Path(place) for item in self.items for place in (item.path, item.to) if place is not None]

    def get_kept_path(self, number: int) -> Path:
        """Return the path where the original of an item is kept."""
        return self.folder / "kept" / str(number)

    def get_undone_path(self, number: int) -> Path:
        """Return the path where the undone content of an item is kept."""
        return self.folder / "made" / str(number)

    def make_beside_name(self, number: int, ending: str) -> str:
        """Return the name of a temporary file beside an item's file."""
        return f".turnlog-{self.name}-{number}.{ending}"

    def with_items(self, items: Iterable[UndoItem], **others: Any) -> UndoRecord:
        return replace(self, items=tuple(items), **others)


def encode_record(record: UndoRecord) -> bytes:
    """Encode a record as JSON; names that are not valid UTF-8 are escaped."""
    fields = asdict(record)
    del fields["folder"], fields["state"]
    return json.dumps({"version": RECORD_VERSION, **fields}, indent=1).encode() + b"\n"


def decode_record(data: bytes, folder: Path, state: str) -> UndoRecord:
    """Parse a record; raise `Unreadable` if it is damaged or contains paths outside its roots."""
    path = folder / RECORD_FILE_NAME
    try:
        fields: Any = json.loads(data)
        version = fields.pop("version", None)
        if version != RECORD_VERSION:
            raise Unreadable(f"{path}: written by a different version of turnlog; use that version")
        record = msgspec.convert({**fields, "folder": folder, "state": state}, UndoRecord)
        is_timed = record.moment.tzinfo is not None
    except (ValueError, RecursionError, TypeError, AttributeError, msgspec.ValidationError) as error:
        raise Unreadable(
            f"{path}: not a valid record of a change ({error}); the original files are in the same folder"
        ) from error
    if not is_timed or not all(map(_is_sound_item, record.items)):
        raise Unreadable(f"{path}: the record contains a time or a path that turnlog never writes; nothing was changed")
    return record


def _is_sound_item(item: UndoItem) -> bool:
    places = [Path(place) for place in (item.path, item.to, *item.folders) if place is not None]
    root = Path(item.root)
    inside = all(place.is_relative_to(root) and ".." not in place.parts for place in places)
    return (
        item.kind in CHANGE_KINDS and root.is_absolute() and inside and (item.kind == "rename") is (item.to is not None)
    )
