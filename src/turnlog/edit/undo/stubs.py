"""What was written in the old place of something that a change has renamed: it must not stand in the way of `undo`.

A client that has a session open goes on writing under the path that it knows. Before a rename is taken back, all that
stands in the old place is set aside with the record; afterwards each file goes back to its place there:

    returned   nothing stands in its place
    joined     it is a transcript that goes on from the one in its place (`edit.stub`), and follows it
    aside      anything else; it stays with the record, and only force allows that

What an old client writes beside a transcript that is joined (a log, a list) may stay aside without force.

    <undo>/<name>/aside/<item>.<attempt>/<path below the item's root>
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from turnlog.edit.stub import goes_on_from
from turnlog.edit.trash.moving import move, sha256
from turnlog.edit.undo.keeping import same_file
from turnlog.edit.undo.record import BEGUN, Record
from turnlog.entries.layout import scan
from turnlog.entries.writer import append

RETURNED, JOINED, ASIDE = "returned", "joined", "aside"
_FOLDER, _PENDING = "aside", "aside-pending"


class Stub(NamedTuple):
    """A file that was written in the old place of something."""

    item: int
    path: Path
    fate: str
    """returned, joined or aside."""


def find_stubs(record: Record) -> list[Stub]:
    """What stands again where a change has renamed something, and what would become of it."""
    found: list[Stub] = []
    if record.state == BEGUN:  # then what stands there is the original
        return found
    for number, item in enumerate(record.items):
        if item.to is None:
            continue
        old, new = Path(item.path), Path(item.to)
        if os.path.lexists(old) and os.path.lexists(new) and not same_file(old, new):
            found += [Stub(number, path, _fate(path, new / path.relative_to(old))) for path in _files(old)]
    return found


def needs_force(stubs: list[Stub]) -> Stub | None:
    """The first file that only force sets aside; None if there is none."""
    goes_on = any(stub.fate == JOINED for stub in stubs)
    grave = (stub for stub in stubs if stub.fate == ASIDE and not (goes_on and stub.path.suffix != ".jsonl"))
    return next(grave, None)


def _fate(path: Path, original: Path) -> str:
    if not os.path.lexists(original):
        return RETURNED
    return JOINED if goes_on_from(path, original) else ASIDE


def _files(top: Path) -> list[Path]:
    """A file, or all files below a folder; links are not followed."""
    if top.is_symlink() or not top.is_dir():
        return [top]
    return [Path(base, name) for base, folders, names in os.walk(top) for name in (*names, *_links(base, folders))]


def _links(base: str, folders: list[str]) -> list[str]:
    return [name for name in folders if Path(base, name).is_symlink()]


def set_stubs_aside(record: Record, stubs: list[Stub]) -> None:
    """Move all that stands in the way into the record's folder, and remove the folders that are empty then."""
    if stubs:
        (record.folder / _PENDING).touch(mode=0o600)
    for number in sorted({stub.item for stub in stubs}):
        root = _free(record.folder / _FOLDER, number)
        item = record.items[number]
        for stub in (stub for stub in stubs if stub.item == number):
            goal = root / stub.path.relative_to(item.root)
            goal.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            move(stub.path, goal)
        _remove_empty(Path(item.path))


def _free(folder: Path, number: int) -> Path:
    attempt = 1
    while os.path.lexists(folder / f"{number}.{attempt}"):
        attempt += 1
    return folder / f"{number}.{attempt}"


def _remove_empty(top: Path) -> None:
    if top.is_dir() and not top.is_symlink():
        for base, _, _ in os.walk(top, topdown=False):
            Path(base).rmdir()


def clear_empty_folders(record: Record) -> None:
    """Remove a folder in which nothing stands, where a change has renamed one: it holds nothing that could be lost."""
    for item in record.items if record.state != BEGUN else ():
        old = Path(item.path)
        is_renamed = item.to is not None and os.path.lexists(item.to) and not same_file(old, Path(item.to))
        if is_renamed and old.is_dir() and not old.is_symlink() and not _files(old):
            _remove_empty(old)


def has_stubs_to_put_back(record: Record) -> bool:
    """Whether an undo was stopped before what it had set aside had its place again."""
    return (record.folder / _PENDING).exists()


def put_stubs_back(record: Record) -> list[Path]:
    """Give each file that was set aside its place again, alone or behind what stands there; gives what stays aside."""
    kept: list[Path] = []
    for path, home in _set_aside(record):
        if not os.path.lexists(home):
            home.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            move(path, home)
        elif _ends_with(home, path) or goes_on_from(path, home):
            if not _ends_with(home, path):
                append(home, path.read_bytes(), root=home.parent)
            path.unlink()
        elif path.is_file() and home.is_file() and sha256(path) == sha256(home):
            path.unlink()
        else:
            kept.append(path)
    _remove_empty_aside(record.folder / _FOLDER)
    (record.folder / _PENDING).unlink(missing_ok=True)
    return kept


def _set_aside(record: Record) -> Iterator[tuple[Path, Path]]:
    """What is set aside, each with its place; what an earlier attempt left comes first."""
    folder = record.folder / _FOLDER
    names = [path.name for path in folder.glob("*.*")]
    for name in sorted(names, key=lambda name: [int(part) for part in name.split(".")]):
        root = Path(record.items[int(name.split(".")[0])].root)
        for path in _files(folder / name):
            yield path, root / path.relative_to(folder / name)


def _ends_with(home: Path, path: Path) -> bool:
    """Whether a file was joined already, by an attempt that was stopped."""
    if not (home.is_file() and path.is_file() and path.suffix == ".jsonl"):
        return False
    size = path.stat().st_size
    with home.open("rb") as file:
        file.seek(max(home.stat().st_size - size, 0))
        return size > 0 and file.read() == path.read_bytes()


def _remove_empty_aside(folder: Path) -> None:
    for base, _, _ in os.walk(folder, topdown=False):
        if not scan(base):
            Path(base).rmdir()
