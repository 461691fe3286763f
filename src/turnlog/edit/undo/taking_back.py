"""One change of one file taken back, from wherever it was stopped.

A place that still holds the original, or holds it again, is fine. `trouble` says beforehand when a place holds neither
that nor what the change left there.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from turnlog.edit.trash.moving import move
from turnlog.edit.undo.appended import cut, date, is_at_end, is_cut
from turnlog.edit.undo.keeping import holds, keep, put, same_file
from turnlog.edit.undo.naming import appear, names_in
from turnlog.edit.undo.record import BEGUN, LATE, NEW, OLD, Record, State
from turnlog.entries.writer import inside, sync_folder


class Trouble(NamedTuple):
    """What speaks against taking a change back."""

    words: str
    is_final: bool = False
    """Whether it can't be done by force either."""


def trouble(record: Record, number: int) -> Trouble | None:
    """Why an item can't be taken back without losing something; None if it can."""
    item, path = record.items[number], found_at(record, number)
    if inside(path.parent, Path(item.root)) != path.parent:
        return Trouble(f"{path}: a link leads elsewhere", is_final=True)
    if record.state == BEGUN and (item.kind in ("append", "create") or _was_not_reached(record, number, path)):
        return None
    if item.kind == "append":
        is_ours = is_cut(item, path) or is_at_end(item, path)
        return None if is_ours else Trouble(f"{path}: was written since", is_final=True)
    if item.kind == "rename":
        return _trouble_of_rename(path, found_at(record, number, item.to), item.after, record.state)
    if item.kind == "create":
        is_ours = not os.path.lexists(path) or holds(path, item.after)
        return None if is_ours else Trouble(f"{path}: was written since")
    return _trouble_of_original(record, number, path)


def _trouble_of_rename(old: Path, new: Path, after: State | None, state: str) -> Trouble | None:
    if os.path.lexists(old) and os.path.lexists(new) and not same_file(old, new) and state == BEGUN:
        return Trouble(f"{old}: stands there again", is_final=True)
    if not os.path.lexists(old) and not os.path.lexists(new):
        return Trouble(f"{new}: is gone", is_final=True)
    is_taken = os.path.lexists(old) and (state == BEGUN or not os.path.lexists(new) or same_file(old, new))
    if after is not None and not is_taken and names_in(new) != after.sha256:
        return Trouble(f"{new}: what is in it has changed since, and would go along")
    return None


def _trouble_of_original(record: Record, number: int, path: Path) -> Trouble | None:
    item, kept = record.items[number], record.kept(number)
    is_back = same_file(kept, path) or holds(path, item.before) or (item.before is None or item.before.is_folder)
    if is_back:
        return None
    if not holds(kept, item.before):
        return Trouble(f"{path}: its original in {kept} is no longer what was kept", is_final=True)
    if item.kind == "remove":
        return Trouble(f"{path}: stands there again, and is another") if os.path.lexists(path) else None
    if holds(path, item.after):
        return None
    return Trouble(f"{path}: was written since" if os.path.lexists(path) else f"{path}: is gone")


def _was_not_reached(record: Record, number: int, path: Path) -> bool:
    """Whether the new content still waits beside: then the place was not touched, whoever wrote there since."""
    return record.items[number].kind == "rewrite" and path.with_name(record.beside(number, NEW)).exists()


def take_back(record: Record, number: int) -> None:
    """Bring back what stood at a place; what stands there now is kept with the record."""
    item, path, made = record.items[number], found_at(record, number), record.made(number)
    if item.kind == "append":
        if is_at_end(item, path):
            cut(item, path, made)
        if is_cut(item, path) and made.exists():
            date(path, item.before)
    elif item.kind == "rename":
        _back(path, found_at(record, number, item.to))
    elif item.kind == "create":
        path.with_name(record.beside(number, NEW)).unlink(missing_ok=True)
        if os.path.lexists(path) and (record.state != BEGUN or holds(path, item.after)):
            _set_aside(path, made)
    elif item.before is not None and item.before.is_folder:
        _make_again(path, item.before)
    else:
        _put_back(record, number, path)
    for folder in reversed(item.folders):
        with contextlib.suppress(OSError):  # something else is in it, or it was never made
            Path(folder).rmdir()


def _put_back(record: Record, number: int, path: Path) -> None:
    """Bring a rewritten or removed file back; the very file, where it is still there by a second name."""
    item, kept = record.items[number], record.kept(number)
    old, new = (path.with_name(record.beside(number, ending)) for ending in (OLD, NEW))
    if new.exists():  # stopped before the exchange
        new.unlink()
        old.unlink(missing_ok=True)
        kept.unlink(missing_ok=True)
    elif old.exists():  # stopped behind it
        put(old, path)
        kept.unlink(missing_ok=True)
    if not os.path.lexists(kept):
        return
    if same_file(kept, path) or holds(path, item.before):
        kept.unlink()
        return
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    if os.path.lexists(path):
        keep(path, record.made(number))
    put(kept, path)


def _set_aside(path: Path, made: Path) -> None:
    made.unlink(missing_ok=True)
    made.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    move(path, made)


def _back(old: Path, new: Path) -> None:
    if os.path.lexists(old):
        if same_file(old, new):  # stopped between its two names
            new.unlink()
        return
    old.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    appear(new, old)
    sync_folder(new.parent)


def _make_again(path: Path, before: State) -> None:
    path.mkdir(parents=True, exist_ok=True, mode=0o700)
    path.chmod(before.mode)
    date(path, before)


def found_at(record: Record, number: int, place: str | None = None) -> Path:
    """Where a file is now, by default that of an item: the names that later items gave to it or its folders count."""
    renames = [(Path(item.path), Path(item.to)) for item in record.items[number + 1 :] if item.to is not None]
    # They are made and taken back in turn: where the last one is in force, all before it are.
    while renames and not _is_in_force(*renames[-1], record.state):
        renames.pop()
    path = Path(place or record.items[number].path)
    for old, new in renames:
        if path.is_relative_to(old):
            path = new / path.relative_to(old)
    return path


def _is_in_force(old: Path, new: Path, state: str) -> bool:
    """Whether something has its new name; of what was finished, the old place may be taken again (`stubs`)."""
    if not os.path.lexists(new):
        return False
    return not os.path.lexists(old) or (state != BEGUN and not same_file(old, new))


def leftovers(record: Record) -> Iterator[Path]:
    """The files beside places that helped while something was changed."""
    for number in range(len(record.items)):
        place = found_at(record, number)
        yield from (place.with_name(record.beside(number, ending)) for ending in (NEW, OLD, LATE))
