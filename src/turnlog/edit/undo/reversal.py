"""Reverses a change to a file, even if the change was interrupted.

A path that still has, or again has, its original content is not changed. `find_trouble` reports beforehand if a path
has neither its original content nor what the change wrote. Appended lines are removed if the file still ends with them.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from turnlog.edit.journal.file_steps import (
    FileState,
    has_known_content,
    hash_folder_names,
    is_same_file,
    keep_file,
    move_file,
    put_kept_file,
    rename_to_free_path,
    write_new_file,
)
from turnlog.edit.undo.record import LATE_SUFFIX, NEW_SUFFIX, OLD_SUFFIX, STATE_BEGUN, UndoItem, UndoRecord
from turnlog.entries.atomic_file import flush_folder, lock_file, resolve_inside
from turnlog.entries.file_ends import open_regular_file, read_at
from turnlog.errors import Changed


class UndoTrouble(NamedTuple):
    """A reason not to reverse a change."""

    words: str
    is_final: bool = False
    """Whether the change can't be reversed even with --force."""


def find_trouble(record: UndoRecord, number: int) -> UndoTrouble | None:
    """Return the reason why reversing an item would lose something, or None if there is none."""
    item, path = record.items[number], find_current_path(record, number)
    if resolve_inside(path.parent, Path(item.root)) != path.parent:
        return UndoTrouble(f"{path}: a link was changed", is_final=True)
    if record.state == STATE_BEGUN and (item.kind in ("append", "create") or _was_not_reached(record, number, path)):
        return None
    if item.kind == "append":
        is_ours = _is_cut_off(item, path) or _is_appended_at_end(item, path)
        return None if is_ours else UndoTrouble(f"{path}: modified after the change", is_final=True)
    if item.kind == "rename":
        return _find_rename_trouble(path, find_current_path(record, number, item.to), item.after, record.state)
    if item.kind == "create":
        is_ours = not os.path.lexists(path) or has_known_content(path, item.after)
        return None if is_ours else UndoTrouble(f"{path}: modified after the change")
    return _find_original_trouble(record, number, path)


def _find_rename_trouble(old: Path, new: Path, after: FileState | None, state: str) -> UndoTrouble | None:
    if os.path.lexists(old) and os.path.lexists(new) and not is_same_file(old, new) and state == STATE_BEGUN:
        return UndoTrouble(f"{old}: present again", is_final=True)
    if not os.path.lexists(old) and not os.path.lexists(new):
        return UndoTrouble(f"{new}: no longer present", is_final=True)
    is_taken = os.path.lexists(old) and (state == STATE_BEGUN or not os.path.lexists(new) or is_same_file(old, new))
    if after is not None and not is_taken and hash_folder_names(new) != after.sha256:
        return UndoTrouble(f"{new}: the contents have changed and would be moved too")
    return None


def _find_original_trouble(record: UndoRecord, number: int, path: Path) -> UndoTrouble | None:
    item, kept = record.items[number], record.get_kept_path(number)
    is_back = (
        is_same_file(kept, path)
        or has_known_content(path, item.before)
        or (item.before is None or item.before.is_folder)
    )
    if is_back:
        return None
    if not has_known_content(kept, item.before):
        return UndoTrouble(f"{path}: the original in {kept} has changed", is_final=True)
    if item.kind == "remove":
        return UndoTrouble(f"{path}: present again, with different content") if os.path.lexists(path) else None
    if has_known_content(path, item.after):
        return None
    return UndoTrouble(f"{path}: modified after the change" if os.path.lexists(path) else f"{path}: no longer present")


def _was_not_reached(record: UndoRecord, number: int, path: Path) -> bool:
    """Return whether the new content is still beside the file, which means that the change has not reached the file."""
    return (
        record.items[number].kind == "rewrite" and path.with_name(record.make_beside_name(number, NEW_SUFFIX)).exists()
    )


def take_back_change(record: UndoRecord, number: int) -> None:
    """Restore the original of an item, and keep the current content with the record."""
    item, path, undone = record.items[number], find_current_path(record, number), record.get_undone_path(number)
    if item.kind == "append":
        if _is_appended_at_end(item, path):
            _cut_appended(item, path, undone)
        if _is_cut_off(item, path) and undone.exists():
            _restore_times(path, item.before)
    elif item.kind == "rename":
        _rename_back(path, find_current_path(record, number, item.to))
    elif item.kind == "create":
        path.with_name(record.make_beside_name(number, NEW_SUFFIX)).unlink(missing_ok=True)
        if os.path.lexists(path) and (record.state != STATE_BEGUN or has_known_content(path, item.after)):
            _set_file_aside(path, undone)
    elif item.before is not None and item.before.is_folder:
        _recreate_folder(path, item.before)
    else:
        _put_original_back(record, number, path)
    for folder in reversed(item.folders):
        with contextlib.suppress(OSError):  # the folder contains something else or was never created
            Path(folder).rmdir()


def _put_original_back(record: UndoRecord, number: int, path: Path) -> None:
    """Restore a rewritten or removed file from its second name beside the path or, without one, from the kept copy."""
    item, kept = record.items[number], record.get_kept_path(number)
    old, new = (path.with_name(record.make_beside_name(number, ending)) for ending in (OLD_SUFFIX, NEW_SUFFIX))
    if new.exists():  # interrupted before the replacement
        new.unlink()
        old.unlink(missing_ok=True)
        kept.unlink(missing_ok=True)
    elif old.exists():  # interrupted after it
        put_kept_file(old, path)
        kept.unlink(missing_ok=True)
    if not os.path.lexists(kept):
        return
    if is_same_file(kept, path) or has_known_content(path, item.before):
        kept.unlink()
        return
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    if os.path.lexists(path):
        keep_file(path, record.get_undone_path(number))
    put_kept_file(kept, path)


def _set_file_aside(path: Path, undone: Path) -> None:
    undone.unlink(missing_ok=True)
    undone.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    move_file(path, undone)


def _rename_back(old: Path, new: Path) -> None:
    if os.path.lexists(old):
        if is_same_file(old, new):  # interrupted while the file had two names
            new.unlink()
        return
    old.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    rename_to_free_path(new, old)
    flush_folder(new.parent)


def _recreate_folder(path: Path, before: FileState) -> None:
    path.mkdir(parents=True, exist_ok=True, mode=0o700)
    path.chmod(before.mode)
    _restore_times(path, before)


def _is_cut_off(item: UndoItem, path: Path) -> bool:
    """Return whether a file has its former size."""
    return item.before is not None and path.exists() and path.stat().st_size == item.before.size


def _is_appended_at_end(item: UndoItem, path: Path) -> bool:
    """Return whether the file still ends with the appended lines."""
    if item.after is None or item.before is None or not path.exists():
        return False
    fd, status = open_regular_file(path)
    try:
        tail = read_at(fd, max(status.st_size - item.after.size, 0), item.after.size)
    finally:
        os.close(fd)
    growth = status.st_size - item.before.size
    return growth >= item.after.size and hashlib.sha256(tail).hexdigest() == item.after.sha256


def _cut_appended(item: UndoItem, path: Path, undone: Path) -> None:
    """Remove the appended lines from a file, and the line ending that was added before them."""
    if item.after is None or item.before is None:
        return
    fd = os.open(path, os.O_RDWR | getattr(os, "O_BINARY", 0) | getattr(os, "O_NOFOLLOW", 0))
    try:
        lock_file(fd)
        size = os.fstat(fd).st_size
        start = size - item.after.size
        is_whole = start - item.before.size <= 1
        undone.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        write_new_file(undone, [read_at(fd, start, item.after.size)], 0o600)
        if os.fstat(fd).st_size != size:
            raise Changed(f"{path}: modified in the meantime, so nothing was removed; try again")
        os.ftruncate(fd, item.before.size if is_whole else start)
        os.fsync(fd)
    finally:
        os.close(fd)


def _restore_times(path: Path, before: FileState | None) -> None:
    """Set the times of a file or folder back to their former values."""
    if before is not None:
        os.utime(path, ns=(path.stat().st_atime_ns, before.mtime_ns))


def find_current_path(record: UndoRecord, number: int, place: str | None = None) -> Path:
    """Return the current path of an item's file (or of `place`): later items may have renamed it or its folders."""
    renames = [(Path(item.path), Path(item.to)) for item in record.items[number + 1 :] if item.to is not None]
    # Renames are made and reversed in order: if the last one is in effect, so are all before it.
    while renames and not _is_in_force(*renames[-1], record.state):
        renames.pop()
    path = Path(place or record.items[number].path)
    for old, new in renames:
        if path.is_relative_to(old):
            path = new / path.relative_to(old)
    return path


def _is_in_force(old: Path, new: Path, state: str) -> bool:
    """Return whether a rename is in effect; after a completed change, the old name may exist again (`stubs`)."""
    if not os.path.lexists(new):
        return False
    return not os.path.lexists(old) or (state != STATE_BEGUN and not is_same_file(old, new))


def list_helper_files(record: UndoRecord) -> Iterator[Path]:
    """Yield the temporary files that may be beside changed files."""
    for number in range(len(record.items)):
        place = find_current_path(record, number)
        yield from (
            place.with_name(record.make_beside_name(number, ending)) for ending in (NEW_SUFFIX, OLD_SUFFIX, LATE_SUFFIX)
        )
