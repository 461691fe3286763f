"""Handles files that were written to a path after a change renamed what was there, so that they don't prevent `undo`.

A client with an open session continues to write to the old path. Before a rename is reversed, all files at the old path
are set aside with the record; afterwards, each file is:

    returned   if its path is free
    joined     if it is a transcript that continues the one at its path (`edit.stub`): it is appended to that one
    aside      otherwise: it is kept with the record, which requires --force

Files that an old client writes beside a joined transcript (a log or a list) may be set aside without --force.

    <undo>/<name>/aside/<item>.<attempt>/<path below the item's root>
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from turnlog.edit.journal.file_steps import hash_file_content, is_same_file, move_file
from turnlog.edit.stub import is_continuation
from turnlog.edit.undo.record import STATE_BEGUN, UndoRecord
from turnlog.entries.layout import scan_folder
from turnlog.entries.writer import append_lines

FATE_RETURNED, FATE_JOINED, FATE_ASIDE = "returned", "joined", "aside"
_ASIDE_FOLDER_NAME, _PENDING_FILE_NAME = "aside", "aside-pending"


class Stub(NamedTuple):
    """A file that was written to a path after a change renamed what was there."""

    item: int
    path: Path
    fate: str
    """returned, joined or aside."""


def find_stubs(record: UndoRecord) -> list[Stub]:
    """Find the files at paths from which a change has renamed something, and decide what to do with each."""
    stubs: list[Stub] = []
    if record.state == STATE_BEGUN:  # then the file there is the original
        return stubs
    for number, item in enumerate(record.items):
        if item.to is None:
            continue
        old, new = Path(item.path), Path(item.to)
        if os.path.lexists(old) and os.path.lexists(new) and not is_same_file(old, new):
            stubs += [Stub(number, path, _decide_fate(path, new / path.relative_to(old))) for path in _list_files(old)]
    return stubs


def find_stub_needing_force(stubs: list[Stub]) -> Stub | None:
    """Return the first file that may be set aside only with --force, or None if there is none."""
    has_joined = any(stub.fate == FATE_JOINED for stub in stubs)
    refused = (stub for stub in stubs if stub.fate == FATE_ASIDE and not (has_joined and stub.path.suffix != ".jsonl"))
    return next(refused, None)


def _decide_fate(path: Path, original: Path) -> str:
    if not os.path.lexists(original):
        return FATE_RETURNED
    return FATE_JOINED if is_continuation(path, original) else FATE_ASIDE


def _list_files(top: Path) -> list[Path]:
    """Return a file, or all files below a folder; links are not followed."""
    if top.is_symlink() or not top.is_dir():
        return [top]
    return [Path(base, name) for base, folders, names in os.walk(top) for name in (*names, *_list_links(base, folders))]


def _list_links(base: str, folders: list[str]) -> list[str]:
    return [name for name in folders if Path(base, name).is_symlink()]


def set_stubs_aside(record: UndoRecord, stubs: list[Stub]) -> None:
    """Move all files that are in the way into the record's folder, and remove the folders that are then empty."""
    if stubs:
        (record.folder / _PENDING_FILE_NAME).touch(mode=0o600)
    for number in sorted({stub.item for stub in stubs}):
        root = _find_free_path(record.folder / _ASIDE_FOLDER_NAME, number)
        item = record.items[number]
        for stub in (stub for stub in stubs if stub.item == number):
            goal = root / stub.path.relative_to(item.root)
            goal.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            move_file(stub.path, goal)
        _remove_empty_folders(Path(item.path))


def _find_free_path(folder: Path, number: int) -> Path:
    attempt = 1
    while os.path.lexists(folder / f"{number}.{attempt}"):
        attempt += 1
    return folder / f"{number}.{attempt}"


def _remove_empty_folders(top: Path) -> None:
    if top.is_dir() and not top.is_symlink():
        for base, _, _ in os.walk(top, topdown=False):
            Path(base).rmdir()


def clear_empty_folders(record: UndoRecord) -> None:
    """Remove an empty folder at a path from which a change has renamed a folder."""
    for item in record.items if record.state != STATE_BEGUN else ():
        old = Path(item.path)
        is_renamed = item.to is not None and os.path.lexists(item.to) and not is_same_file(old, Path(item.to))
        if is_renamed and old.is_dir() and not old.is_symlink() and not _list_files(old):
            _remove_empty_folders(old)


def has_stubs_to_put_back(record: UndoRecord) -> bool:
    """Return whether an undo was interrupted before it had put back everything that it set aside."""
    return (record.folder / _PENDING_FILE_NAME).exists()


def put_stubs_back(record: UndoRecord) -> list[Path]:
    """Move each file that was set aside back to its path, or append it to the file there; return those left over."""
    left_aside: list[Path] = []
    for path, home in _list_set_aside(record):
        if not os.path.lexists(home):
            home.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            move_file(path, home)
        elif _ends_with(home, path) or is_continuation(path, home):
            if not _ends_with(home, path):
                append_lines(home, path.read_bytes(), root=home.parent)
            path.unlink()
        elif path.is_file() and home.is_file() and hash_file_content(path) == hash_file_content(home):
            path.unlink()
        else:
            left_aside.append(path)
    _remove_empty_aside(record.folder / _ASIDE_FOLDER_NAME)
    (record.folder / _PENDING_FILE_NAME).unlink(missing_ok=True)
    return left_aside


def _list_set_aside(record: UndoRecord) -> Iterator[tuple[Path, Path]]:
    """List the files that are set aside, each with its original path, starting with those from an earlier attempt."""
    folder = record.folder / _ASIDE_FOLDER_NAME
    names = [path.name for path in folder.glob("*.*")]
    for name in sorted(names, key=lambda name: [int(part) for part in name.split(".")]):
        root = Path(record.items[int(name.split(".")[0])].root)
        for path in _list_files(folder / name):
            yield path, root / path.relative_to(folder / name)


def _ends_with(home: Path, path: Path) -> bool:
    """Return whether an interrupted attempt had already joined a file."""
    if not (home.is_file() and path.is_file() and path.suffix == ".jsonl"):
        return False
    size = path.stat().st_size
    with home.open("rb") as file:
        file.seek(max(home.stat().st_size - size, 0))
        return size > 0 and file.read() == path.read_bytes()


def _remove_empty_aside(folder: Path) -> None:
    for base, _, _ in os.walk(folder, topdown=False):
        if not scan_folder(base):
            Path(base).rmdir()
