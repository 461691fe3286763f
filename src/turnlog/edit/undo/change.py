"""The changes that a command can make to existing files, and the steps of each; `reversal` reverses them.

`undo.Undo` makes all changes in order, or none. A `RenameChange` may follow changes to what it renames; otherwise, no
change depends on another. Each change passes through three stages:

    planned     the old and the new state are described                        nothing is changed
    prepared    the original has a second name, the new content is beside it   the file itself is unchanged
    done        one rename                                                     the path has old or new content
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import time
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from turnlog.edit.journal.file_steps import (
    FileState,
    check_free_path,
    hash_folder_names,
    inspect_path,
    is_untouched,
    keep_file,
    move_file,
    rename_to_free_path,
    write_new_file,
)
from turnlog.edit.undo.record import LATE_SUFFIX, NEW_SUFFIX, OLD_SUFFIX, UndoItem, UndoRecord
from turnlog.entries.atomic_file import flush_folder, resolve_inside
from turnlog.entries.tail import Checkpoint, find_stale_reason
from turnlog.entries.writer import append_lines
from turnlog.errors import Changed, TurnlogError, Unreadable

_SETTLE_SECONDS = 0.05
"""How long to wait for a program that opened the old content just before its replacement to write to it."""
ContentSource = Callable[[], Iterable[bytes]]
"""Yields the bytes of a file in pieces."""


class RewriteChange(NamedTuple):
    """New content for a file, which keeps its mode and times."""

    path: Path
    lines: ContentSource
    root: Path
    """The folder that links must not resolve outside of."""
    expected: Checkpoint | None = None
    """The state of the file when the caller read it; it must be unchanged."""
    keep_times: bool = True


class CreateChange(NamedTuple):
    path: Path
    lines: ContentSource
    root: Path
    mode: int = 0o600


class RenameChange(NamedTuple):
    """A new name for a file or folder; the name must be free."""

    old: Path
    new: Path
    root: Path


class RemoveChange(NamedTuple):
    """The removal of a file or an empty folder."""

    path: Path
    root: Path


class AppendChange(NamedTuple):
    """Whole lines to append to a file."""

    path: Path
    lines: bytes
    root: Path
    mend: bool = True
    """Whether a line ending is first added to an incomplete last line; otherwise, the change is refused."""


FileChange = RewriteChange | CreateChange | RenameChange | RemoveChange | AppendChange


def plan_item(change: FileChange) -> UndoItem:
    """Describe a change before anything is changed; refuse a change that is impossible or leads outside its root."""
    root = Path(os.path.realpath(change.root))
    if isinstance(change, RenameChange):
        old, new = _resolve_name(change.old, root), _resolve_name(change.new, root)
        if not os.path.lexists(old):
            raise Changed(f"{change.old}: no such file or folder; nothing was changed")
        check_free_path(new)
        return UndoItem("rename", str(old), str(root), str(new), folders=_list_missing_folders(new, root))
    if isinstance(change, CreateChange):
        path = _resolve_name(change.path, root)
        check_free_path(path)
        return UndoItem("create", str(path), str(root), folders=_list_missing_folders(path, root))
    if isinstance(change, RemoveChange):
        path = _resolve_name(change.path, root)
        return UndoItem("remove", str(path), str(root), before=_require_state(path))
    path = resolve_inside(change.path, root)
    if isinstance(change, AppendChange):
        status = path.stat()
        return UndoItem(
            "append", str(path), str(root), before=FileState(status.st_size, status.st_mode, status.st_mtime_ns)
        )
    _check_expected(change, path)
    before = _require_state(path)
    if before.is_folder:
        raise Unreadable(f"{path}: a folder, not a file; nothing was changed")
    return UndoItem("rewrite", str(path), str(root), before=before)


def prepare_item(record: UndoRecord, number: int, change: FileChange) -> UndoItem:
    """Keep the original, and write the new content to a file beside it."""
    item = record.items[number]
    path = Path(item.path)
    if isinstance(change, AppendChange):
        digest = hashlib.sha256(change.lines).hexdigest()
        return replace(item, after=FileState(len(change.lines), 0, 0, digest))
    if isinstance(change, CreateChange):
        _make_folders(item)
        beside = path.with_name(record.make_beside_name(number, NEW_SUFFIX))
        return replace(item, after=write_new_file(beside, change.lines(), change.mode, None))
    if isinstance(change, RewriteChange) and item.before is not None:
        keep_file(path, record.get_kept_path(number))
        status = path.stat()
        times = (status.st_atime_ns, item.before.mtime_ns) if change.keep_times else None
        beside = path.with_name(record.make_beside_name(number, NEW_SUFFIX))
        return replace(item, after=write_new_file(beside, change.lines(), item.before.mode, times))
    return item


def carry_out_change(record: UndoRecord, number: int, change: FileChange) -> None:
    """Make one change if the file has not been modified."""
    item = record.items[number]
    path = Path(item.path)
    for place in (path, Path(item.to or path)):
        if resolve_inside(place.parent, Path(item.root)) != place.parent:
            raise TurnlogError(f"{place}: a link in this path was modified in the meantime, so nothing was changed")
    if isinstance(change, RewriteChange) and item.before is not None:
        _exchange_content(record, number, item.before)
    elif isinstance(change, AppendChange):
        append_lines(path, change.lines, root=Path(item.root), mend=change.mend)
    elif isinstance(change, CreateChange):
        rename_to_free_path(path.with_name(record.make_beside_name(number, NEW_SUFFIX)), path)
    elif isinstance(change, RemoveChange) and item.before is not None:
        _move_away(path, record.get_kept_path(number), item.before)
    elif item.to is not None:
        _make_folders(item)
        rename_to_free_path(path, Path(item.to))
    flush_folder(path.parent)


def finish_item(item: UndoItem) -> UndoItem:
    """Add the names in a renamed folder to an item, because they are known only after the change."""
    place = Path(item.to or item.path)
    if item.kind != "rename" or place.is_symlink() or not place.is_dir():
        return item
    return replace(item, after=FileState(0, 0, 0, hash_folder_names(place), is_folder=True))


def _exchange_content(record: UndoRecord, number: int, before: FileState) -> None:
    """Put the new content in place, and detect anything appended to the old content at the last moment."""
    path = Path(record.items[number].path)
    if not is_untouched(path, before.size, before.mtime_ns):
        raise Changed(f"{path}: modified in the meantime, so nothing was changed; try again")
    old, new = (path.with_name(record.make_beside_name(number, ending)) for ending in (OLD_SUFFIX, NEW_SUFFIX))
    size = new.stat().st_size
    with contextlib.suppress(OSError):  # a file system without hard links
        os.link(path, old)
    new.replace(path)
    time.sleep(_SETTLE_SECONDS)
    if old.exists() and not is_untouched(old, before.size, before.mtime_ns):
        _restore_content(path, old, path.with_name(record.make_beside_name(number, LATE_SUFFIX)), size)
        raise Changed(f"{path}: modified in the meantime, so nothing was changed; try again")
    old.unlink(missing_ok=True)


def _restore_content(path: Path, old: Path, late: Path, size: int) -> None:
    """Put the old content back in place, followed by anything that was appended to the new content."""
    os.link(path, late)
    old.replace(path)
    if added := late.read_bytes()[size:]:
        append_lines(path, added, root=path.parent)
    late.unlink()


def _move_away(path: Path, kept: Path, before: FileState) -> None:
    if before.is_folder:
        path.rmdir()
        return
    if not is_untouched(path, before.size, before.mtime_ns):
        raise Changed(f"{path}: modified in the meantime, so nothing was changed; try again")
    kept.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    move_file(path, kept)


def _resolve_name(path: Path, root: Path) -> Path:
    """Resolve the folder of a path, which must be in the root; if the last part is a link, it is not followed."""
    whole = Path(os.path.abspath(path))  # noqa: PTH100 - a link must stay a link
    return resolve_inside(whole.parent, root) / whole.name


def _require_state(path: Path) -> FileState:
    state = inspect_path(path)
    if state is None:
        raise Changed(f"{path}: no such file or folder; nothing was changed")
    return state


def _check_expected(change: RewriteChange, path: Path) -> None:
    if change.expected is None:
        return
    reason = find_stale_reason(path, change.expected)
    if reason or path.stat().st_size != change.expected.size:
        effect = "removed" if reason == "missing" else reason or "modified"
        raise Changed(f"{path}: {effect} in the meantime, so nothing was changed; try again")


def _list_missing_folders(path: Path, root: Path) -> tuple[str, ...]:
    """Return the missing folders above a path, outermost first."""
    found = [folder for folder in path.parents if folder.is_relative_to(root) and not folder.exists()]
    return tuple(str(folder) for folder in reversed(found))


def _make_folders(item: UndoItem) -> None:
    for folder in item.folders:
        Path(folder).mkdir(mode=0o700, exist_ok=True)
