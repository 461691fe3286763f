"""The record of a change: which files it touched, and what they were before and after.

    <undo>/<name>/record.json     the record; on the disk before anything is changed
    <undo>/<name>/begun           an empty file whose name says how far it is: begun, done or undone
    <undo>/<name>/kept/<number>   what was at the place of an item before the change
    <undo>/<name>/made/<number>   what was there before the change was undone

The record is read like a stranger's: an item outside of its own root is refused.
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
"""How the names of files end that lie beside a place: the new content, and second names of the old and the new one."""
CHANGE_KINDS = frozenset({"rewrite", "create", "rename", "remove", "append"})


@dataclass(frozen=True, slots=True)
class UndoItem:
    """One change of one file."""

    kind: str
    """rewrite, create, rename, remove or append."""
    path: str
    root: str
    """The folder that the path must not lead out of."""
    to: str | None = None
    """The new name, when renamed."""
    before: FileState | None = None
    after: FileState | None = None
    """For an append: of the appended lines alone."""
    folders: tuple[str, ...] = ()
    """Folders that had to be made first, the outermost first."""


@dataclass(frozen=True, slots=True)
class UndoRecord:
    """A change, as it was planned or as it was carried out."""

    folder: Path
    verb: str
    """The command that made it."""
    words: str
    """What it did, for people."""
    when: str
    """In UTC."""
    items: tuple[UndoItem, ...]
    is_ready: bool = False
    """Whether all new content was written; before that, none of the user's files was touched."""
    state: str = STATE_BEGUN

    @property
    def name(self) -> str:
        """The name of the record."""
        return self.folder.name

    @property
    def moment(self) -> datetime:
        """When the change was made."""
        return datetime.fromisoformat(self.when)

    @property
    def settled_at(self) -> datetime | None:
        """When the change was made; None if it was interrupted."""
        return None if self.state == STATE_BEGUN else self.moment

    @property
    def places(self) -> list[Path]:
        """All places that it touches."""
        return [Path(place) for item in self.items for place in (item.path, item.to) if place is not None]

    def get_kept_path(self, number: int) -> Path:
        """Where the original of an item is kept."""
        return self.folder / "kept" / str(number)

    def get_undone_path(self, number: int) -> Path:
        """Where the undone content of an item is kept."""
        return self.folder / "made" / str(number)

    def make_beside_name(self, number: int, ending: str) -> str:
        """The name of a file that lies beside the place of an item while it is changed."""
        return f".turnlog-{self.name}-{number}.{ending}"

    def with_items(self, items: Iterable[UndoItem], **others: Any) -> UndoRecord:
        """Copy the record with other items."""
        return replace(self, items=tuple(items), **others)


def encode_record(record: UndoRecord) -> bytes:
    """Write a record as JSON; names that are not UTF-8 become escapes."""
    fields = asdict(record)
    del fields["folder"], fields["state"]
    return json.dumps({"version": RECORD_VERSION, **fields}, indent=1).encode() + b"\n"


def decode_record(data: bytes, folder: Path, state: str) -> UndoRecord:
    """Read a record back; `Unreadable` if it is damaged or names places outside of its roots."""
    path = folder / RECORD_FILE_NAME
    try:
        fields: Any = json.loads(data)
        version = fields.pop("version", None)
        if version != RECORD_VERSION:
            raise Unreadable(f"{path}: was written by another version of turnlog; use that version")
        record = msgspec.convert({**fields, "folder": folder, "state": state}, UndoRecord)
        is_timed = record.moment.tzinfo is not None
    except (ValueError, RecursionError, TypeError, AttributeError, msgspec.ValidationError) as error:
        raise Unreadable(f"{path}: not a valid record of a change ({error}); the kept files are beside it") from error
    if not is_timed or not all(map(_is_sound_item, record.items)):
        raise Unreadable(f"{path}: names a time or a place that turnlog never writes; nothing was changed")
    return record


def _is_sound_item(item: UndoItem) -> bool:
    places = [Path(place) for place in (item.path, item.to, *item.folders) if place is not None]
    root = Path(item.root)
    inside = all(place.is_relative_to(root) and ".." not in place.parts for place in places)
    return (
        item.kind in CHANGE_KINDS and root.is_absolute() and inside and (item.kind == "rename") is (item.to is not None)
    )
