"""One change of one file on its way to the disk; `taking_back` is the way home.

planned     what stands there, and what is wanted                           nothing is touched
prepared    the original has a second name, the new content stands beside   the place is untouched
done        one rename                                                      old or new, never neither
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import time
from pathlib import Path

from turnlog.edit.trash.moving import move
from turnlog.edit.undo.change import Append, Change, Create, Remove, Rename, Rewrite
from turnlog.edit.undo.keeping import is_untouched, keep, seen, written
from turnlog.edit.undo.naming import appear, must_be_free, names_in
from turnlog.edit.undo.record import LATE, NEW, OLD, Item, Record, State
from turnlog.entries.tail import stale
from turnlog.entries.writer import append, inside, sync_folder
from turnlog.errors import Changed, TurnlogError, Unreadable


def planned(change: Change) -> Item:
    """Describe a change before anything is touched; refuses what leads out of its root or can't be done."""
    root = Path(os.path.realpath(change.root))
    if isinstance(change, Rename):
        old, new = _name(change.old, root), _name(change.new, root)
        if not os.path.lexists(old):
            raise Changed(f"{change.old}: is not there; nothing was changed")
        must_be_free(new)
        return Item("rename", str(old), str(root), str(new), folders=_missing(new, root))
    if isinstance(change, Create):
        path = _name(change.path, root)
        must_be_free(path)
        return Item("create", str(path), str(root), folders=_missing(path, root))
    if isinstance(change, Remove):
        path = _name(change.path, root)
        return Item("remove", str(path), str(root), before=_must_be_there(path))
    path = inside(change.path, root)
    if isinstance(change, Append):
        status = path.stat()
        return Item("append", str(path), str(root), before=State(status.st_size, status.st_mode, status.st_mtime_ns))
    _must_be_expected(change, path)
    before = _must_be_there(path)
    if before.is_folder:
        raise Unreadable(f"{path}: is a folder; nothing was changed")
    return Item("rewrite", str(path), str(root), before=before)


def prepared(record: Record, number: int, change: Change) -> Item:
    """Keep the original, and write the new content beside its place."""
    item = record.items[number]
    path = Path(item.path)
    if isinstance(change, Append):
        digest = hashlib.sha256(change.lines).hexdigest()
        return _after(item, State(len(change.lines), 0, 0, digest))
    if isinstance(change, Create):
        _make_folders(item)
        beside = path.with_name(record.beside(number, NEW))
        return _after(item, written(beside, change.lines(), change.mode, None))
    if isinstance(change, Rewrite) and item.before is not None:
        keep(path, record.kept(number))
        status = path.stat()
        times = (status.st_atime_ns, item.before.mtime_ns) if change.keep_times else None
        beside = path.with_name(record.beside(number, NEW))
        return _after(item, written(beside, change.lines(), item.before.mode, times))
    return item


def carry_out(record: Record, number: int, change: Change) -> None:
    """Make one change, if what stands there is still what it was."""
    item = record.items[number]
    path = Path(item.path)
    for place in (path, Path(item.to or path)):
        if inside(place.parent, Path(item.root)) != place.parent:
            raise TurnlogError(f"{place}: a link leads elsewhere meanwhile; nothing was changed")
    if isinstance(change, Rewrite) and item.before is not None:
        _exchange(record, number, item.before)
    elif isinstance(change, Append):
        append(path, change.lines, root=Path(item.root), mend=change.mend)
    elif isinstance(change, Create):
        appear(path.with_name(record.beside(number, NEW)), path)
    elif isinstance(change, Remove) and item.before is not None:
        _take(path, record.kept(number), item.before)
    elif item.to is not None:
        _make_folders(item)
        appear(path, Path(item.to))
    sync_folder(path.parent)


def finished(item: Item) -> Item:
    """An item that was carried out, with what only then is known: of a renamed folder, what is in it."""
    place = Path(item.to or item.path)
    if item.kind != "rename" or place.is_symlink() or not place.is_dir():
        return item
    return _after(item, State(0, 0, 0, names_in(place), is_folder=True))


_SETTLING = 0.05
"""Seconds that somebody who had opened the old content just before it went is given to write to it."""


def _exchange(record: Record, number: int, before: State) -> None:
    """Put the new content in the place; what was added to the old one in the last moment is noticed."""
    path = Path(record.items[number].path)
    if not is_untouched(path, before):
        raise Changed(f"{path}: was written meanwhile; nothing was changed, try again")
    old, new = (path.with_name(record.beside(number, ending)) for ending in (OLD, NEW))
    size = new.stat().st_size
    with contextlib.suppress(OSError):  # a file system without second names
        os.link(path, old)
    new.replace(path)
    time.sleep(_SETTLING)
    if old.exists() and not is_untouched(old, before):
        _go_back(path, old, path.with_name(record.beside(number, LATE)), size)
        raise Changed(f"{path}: was written meanwhile; nothing was changed, try again")
    old.unlink(missing_ok=True)


def _go_back(path: Path, old: Path, late: Path, size: int) -> None:
    """Give the old content its place again, with what was added to the new one in between."""
    os.link(path, late)
    old.replace(path)
    if added := late.read_bytes()[size:]:
        append(path, added, root=path.parent)
    late.unlink()


def _take(path: Path, kept: Path, before: State) -> None:
    if before.is_folder:
        path.rmdir()
        return
    if not is_untouched(path, before):
        raise Changed(f"{path}: was written meanwhile; nothing was changed, try again")
    kept.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    move(path, kept)


def _name(path: Path, root: Path) -> Path:
    """A name in a folder that lies within the root; the name itself may be a link, which is not followed."""
    whole = Path(os.path.abspath(path))  # noqa: PTH100 - a link must be seen as one
    return inside(whole.parent, root) / whole.name


def _must_be_there(path: Path) -> State:
    found = seen(path)
    if found is None:
        raise Changed(f"{path}: is not there; nothing was changed")
    return found


def _must_be_expected(change: Rewrite, path: Path) -> None:
    if change.expected is None:
        return
    reason = stale(path, change.expected)
    if reason or path.stat().st_size != change.expected.size:
        raise Changed(f"{path}: was {reason or 'written'} meanwhile; nothing was changed, try again")


def _missing(path: Path, root: Path) -> tuple[str, ...]:
    """The folders above a place that are missing, the outermost first."""
    found = [folder for folder in path.parents if folder.is_relative_to(root) and not folder.exists()]
    return tuple(str(folder) for folder in reversed(found))


def _make_folders(item: Item) -> None:
    for folder in item.folders:
        Path(folder).mkdir(mode=0o700, exist_ok=True)


def _after(item: Item, state: State) -> Item:
    return Item(item.kind, item.path, item.root, item.to, item.before, state, item.folders)
