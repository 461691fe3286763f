"""Putting a deleted session back, from wherever deleting or restoring it was stopped.

Something may have been written in its place meanwhile. Nothing is ever overwritten:

    joined   a client went on writing the transcript: what it wrote follows the original
    aside    another file: it is set aside, and the deleted one gets its place back

What a client writes beside a transcript that can be joined (its log, its to-do list) is set aside without asking;
anything else only by force.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import NamedTuple

from turnlog.edit.journal.file_steps import find_free_path, hash_file_content, move_file
from turnlog.edit.stub import begins_with_file, is_continuation, join_stub_lines
from turnlog.edit.trash.entry import TrashEntry, TrashItem
from turnlog.entries.atomic_file import read_whole_file, remove_leftover_temporary
from turnlog.entries.history import rejoin_history
from turnlog.entries.writer import replace_session_file
from turnlog.errors import TurnlogError

HISTORY_FILE_NAME = "history.jsonl"


class UndeleteResult(NamedTuple):
    """What could not be put back exactly as it was."""

    lost: list[str]
    """The places of files that are gone."""
    altered: list[str]
    """The places of files that changed in the trash; they were put back as they are."""
    joined: tuple[Path, ...] = ()
    """Transcripts that a client went on writing; what it wrote follows the original."""
    aside: tuple[Path, ...] = ()
    """Where files are now that were in the way."""


def put_files_back(entry: TrashEntry, aside_folder: Path, *, force: bool = False) -> UndeleteResult:
    """Give all files of an entry their places again; what is in the way is joined or set aside, or refuses it."""
    collisions = _find_collisions(entry, force=force)
    lost = [item.place for item in entry.manifest.files if not _item_exists(entry, item)]
    altered = [item.place for item in entry.manifest.files if _is_altered_file(entry.get_place(item), item)]
    for item in entry.manifest.folders:
        entry.get_home(item).mkdir(parents=True, exist_ok=True, mode=0o700)
    aside = []
    for item in entry.manifest.files:
        found = collisions.get(item.place)
        if found is None:
            _give_item_back(entry, item)
        elif found.is_joined:
            _join_collision(found, item.mode)
        else:
            aside.append(_set_collision_aside(found, aside_folder))
    _rejoin_history(entry)
    for item in reversed(entry.manifest.folders):
        entry.get_home(item).chmod(item.mode)
        os.utime(entry.get_home(item), ns=(item.mtime_ns, item.mtime_ns))
    joined = tuple(found.home for found in collisions.values() if found.is_joined)
    return UndeleteResult(lost, altered, joined, tuple(aside))


def _item_exists(entry: TrashEntry, item: TrashItem) -> bool:
    return os.path.lexists(entry.get_place(item)) or os.path.lexists(entry.get_home(item))


def _give_item_back(entry: TrashEntry, item: TrashItem) -> None:
    """Move a file back to where it was, unless it is there already."""
    home, place = entry.get_home(item), entry.get_place(item)
    if not os.path.lexists(place):
        return
    _check_leads_home(entry, item)
    home.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    if _find_collision(home, place) is not None:
        raise TurnlogError(f"{home}: was written meanwhile; undelete it again")
    if os.path.lexists(home):  # and is equal
        place.unlink()
    else:
        move_file(place, home)


def _find_collisions(entry: TrashEntry, *, force: bool) -> dict[str, Collision]:
    """Find what is in the way of a session, by place; refuses what can neither be joined nor set aside."""
    found: dict[str, Collision] = {}
    for item in entry.manifest.items:
        _check_leads_home(entry, item)
        if item.kind == "folder":
            _check_is_folder(entry.get_home(item))
        elif (collision := _find_collision(entry.get_home(item), entry.get_place(item))) is not None:
            found[item.place] = collision
    goes_on = any(collision.is_joined for collision in found.values())
    for collision in found.values():
        is_beside = goes_on and collision.home.suffix != ".jsonl"
        if stat.S_ISDIR(collision.home.lstat().st_mode) or not (collision.is_joined or is_beside or force):
            remedy = "move it away first, or use --force to have it set aside"
            raise TurnlogError(f"{collision.home}: already exists with other content; nothing was restored, {remedy}")
    return found


def _check_is_folder(home: Path) -> None:
    if os.path.lexists(home) and not stat.S_ISDIR(home.lstat().st_mode):
        raise TurnlogError(f"{home}: already exists and is not a folder; nothing was restored, move it away first")


def _check_leads_home(entry: TrashEntry, item: TrashItem) -> None:
    """Refuse a link that leads out of the config folder."""
    home, known = entry.get_home(item), entry.manifest
    kept = known.links.get(item.place.split("/")[0], known.config_dir)
    homes = (os.path.realpath(known.config_dir), os.path.normpath(kept))
    if not any(Path(os.path.realpath(home.parent)).is_relative_to(folder) for folder in homes):
        raise TurnlogError(f"{home}: a link leads out of {known.config_dir}; nothing was restored")


def _is_altered_file(place: Path, item: TrashItem) -> bool:
    return item.kind == "file" and place.is_file() and hash_file_content(place) != item.sha256


def _rejoin_history(entry: TrashEntry) -> None:
    """Put the lines of the session back into the history, if they were taken out."""
    path = Path(entry.manifest.config_dir) / HISTORY_FILE_NAME
    try:
        old = (entry.folder / HISTORY_FILE_NAME).read_bytes()
    except FileNotFoundError:
        return
    try:
        remove_leftover_temporary(path)
        current, checkpoint = read_whole_file(path)
    except FileNotFoundError:
        replace_session_file(path, old, root=path.parent)
        return
    whole = rejoin_history(old, current, entry.manifest.session_id)
    if whole != current:
        replace_session_file(path, whole, root=path.parent, expected=checkpoint)


class Collision(NamedTuple):
    """A file in the place of a deleted one."""

    home: Path
    place: Path
    """Where the deleted one is in the trash."""
    is_joined: bool
    """Whether it goes on from the deleted one, so that both can be one file."""


def _find_collision(home: Path, place: Path) -> Collision | None:
    """Find what is in the place of a deleted file; None if nothing is, or the same content."""
    if not os.path.lexists(home) or not os.path.lexists(place) or _are_equal(home, place):
        return None
    return Collision(home, place, is_continuation(home, place) or _is_joined_already(home, place))


def _is_joined_already(home: Path, place: Path) -> bool:
    """Whether an attempt that was stopped has joined both without clearing the trash."""
    return place.suffix == ".jsonl" and begins_with_file(home, place)


def _join_collision(found: Collision, mode: int) -> None:
    """Put the original before what was written in its place since; what is being written follows it."""
    if not begins_with_file(found.home, found.place):
        data, checkpoint = read_whole_file(found.home)
        lines = join_stub_lines(found.place, data)
        replace_session_file(found.home, lines, root=found.home.parent, expected=checkpoint)
    found.home.chmod(mode)
    found.place.unlink()


def _set_collision_aside(found: Collision, folder: Path) -> Path:
    """Move what is in the way into a folder, under a free name; gives its new place."""
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    goal = find_free_path(folder / found.home.name)
    move_file(found.home, goal)
    move_file(found.place, found.home)
    return goal


def _are_equal(one: Path, other: Path) -> bool:
    if stat.S_IFMT(one.lstat().st_mode) != stat.S_IFMT(other.lstat().st_mode):
        return False
    if one.is_symlink():
        return one.readlink() == other.readlink()
    return one.is_file() and hash_file_content(one) == hash_file_content(other)
