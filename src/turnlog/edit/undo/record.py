"""What is known of a change: which files it touched, and what they were before and after.

    <undo>/<name>/record.json     this list; on the disk before anything is changed
    <undo>/<name>/begun           an empty file whose name says how far it is: begun, done or undone
    <undo>/<name>/kept/<number>   what stood at the place of an item before the change
    <undo>/<name>/made/<number>   what stood there before it was undone

The list is read back as a stranger's: an item that lies outside of its own root is refused.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any

import msgspec

from turnlog.errors import Unreadable

VERSION = 1
NAME = "record.json"
BEGUN, DONE, UNDONE = "begun", "done", "undone"
NEW, OLD, LATE = "new", "old", "late"
"""How the names of files end that help beside a place: the new content, and second names of the old and the new one."""
KINDS = frozenset({"rewrite", "create", "rename", "remove", "append"})


@dataclass(frozen=True, slots=True)
class State:
    """What stood at a place."""

    size: int
    mode: int
    mtime_ns: int
    sha256: str | None = None
    """Of the content; not of a folder, and not of a file that is only added to."""
    is_folder: bool = False


@dataclass(frozen=True, slots=True)
class Item:
    """One change of one file."""

    kind: str
    """rewrite, create, rename, remove or append."""
    path: str
    root: str
    """The folder that the path must not lead out of."""
    to: str | None = None
    """The new name, when renamed."""
    before: State | None = None
    after: State | None = None
    """Of an append: of what was appended alone."""
    folders: tuple[str, ...] = ()
    """Folders that had to be made first, the outermost first."""


@dataclass(frozen=True, slots=True)
class Record:
    """A change that was carried out, as it was planned or as it went."""

    folder: Path
    verb: str
    """The command that made it."""
    words: str
    """What it did, for people."""
    when: str
    """In UTC."""
    items: tuple[Item, ...]
    is_ready: bool = False
    """Whether all that is new was written beside; before that, nothing of the user's was touched."""
    state: str = BEGUN

    @property
    def name(self) -> str:
        """What the record is called."""
        return self.folder.name

    @property
    def moment(self) -> datetime:
        """When the change was made."""
        return datetime.fromisoformat(self.when)

    @property
    def places(self) -> list[Path]:
        """All places that it touches."""
        return [Path(place) for item in self.items for place in (item.path, item.to) if place is not None]

    def kept(self, number: int) -> Path:
        """Where the original of an item is kept."""
        return self.folder / "kept" / str(number)

    def made(self, number: int) -> Path:
        """Where that which was undone is kept."""
        return self.folder / "made" / str(number)

    def beside(self, number: int, ending: str) -> str:
        """The name of a file that helps beside the place of an item while it is changed."""
        return f".turnlog-{self.name}-{number}.{ending}"

    def with_items(self, items: Iterable[Item], **others: Any) -> Record:
        """The same with other items."""
        return replace(self, items=tuple(items), **others)


def encoded(record: Record) -> bytes:
    """A record as JSON; names that are no UTF-8 are kept as escapes."""
    known = asdict(record)
    del known["folder"], known["state"]
    return json.dumps({"version": VERSION, **known}, indent=1).encode() + b"\n"


def decoded(data: bytes, folder: Path, state: str) -> Record:
    """Read a record back; `Unreadable` if it is none or names places that are not its business."""
    path = folder / NAME
    try:
        known: Any = json.loads(data)
        version = known.pop("version", None)
        if version != VERSION:
            raise Unreadable(f"{path}: written by another version of turnlog; use that one")
        record = msgspec.convert({**known, "folder": folder, "state": state}, Record)
        is_timed = record.moment.tzinfo is not None
    except (ValueError, RecursionError, TypeError, AttributeError, msgspec.ValidationError) as error:
        raise Unreadable(f"{path}: no record of a change ({error}); what was kept lies beside it") from error
    if not is_timed or not all(map(_is_sound, record.items)):
        raise Unreadable(f"{path}: names a time or a place that no change of turnlog's has; nothing was changed")
    return record


def _is_sound(item: Item) -> bool:
    places = [Path(place) for place in (item.path, item.to, *item.folders) if place is not None]
    root = Path(item.root)
    inside = all(place.is_relative_to(root) and ".." not in place.parts for place in places)
    return item.kind in KINDS and root.is_absolute() and inside and (item.kind == "rename") is (item.to is not None)
