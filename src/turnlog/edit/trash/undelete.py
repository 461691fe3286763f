"""Restores a deleted session, even if deleting or restoring it was interrupted.

Something may have been written to its path in the meantime. Nothing is ever overwritten:

    joined   a client continued writing the transcript; its lines are appended to the original
    aside    any other file is set aside, and the deleted file returns to its path

Files that a client writes beside a transcript that can be joined (its log and its to-do list) are set aside without
asking; anything else is set aside only with --force.
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
    """What could not be restored exactly."""

    lost: list[str]
    """The paths of files that no longer exist."""
    altered: list[str]
    """The paths of files that were changed in the trash; they were restored as they are."""
    joined: tuple[Path, ...] = ()
    """Transcripts that a client continued to write; its lines now follow the original ones."""
    aside: tuple[Path, ...] = ()
    """The new paths of files that were in the way."""


def put_files_back(entry: TrashEntry, aside_folder: Path, *, force: bool = False) -> UndeleteResult:
    """Move all files of an entry back; join files that are in the way or set them aside, or raise an error."""
    collisions = _find_collisions(entry, force=force)
    lost = [item.place for item in entry.manifest.files if not _item_exists(entry, item)]
    altered = [item.place for item in entry.manifest.files if _is_altered_file(entry.get_place(item), item)]
    for item in entry.manifest.folders:
        entry.get_home(item).mkdir(parents=True, exist_ok=True, mode=0o700)
    aside = []
    for item in entry.manifest.files:
        collision = collisions.get(item.place)
        if collision is None:
            _move_item_back(entry, item)
        elif collision.is_joined:
            _join_collision(collision, item.mode)
        else:
            aside.append(_set_collision_aside(collision, aside_folder))
    _rejoin_history(entry)
    for item in reversed(entry.manifest.folders):
        entry.get_home(item).chmod(item.mode)
        os.utime(entry.get_home(item), ns=(item.mtime_ns, item.mtime_ns))
    joined = tuple(collision.home for collision in collisions.values() if collision.is_joined)
    return UndeleteResult(lost, altered, joined, tuple(aside))


def _item_exists(entry: TrashEntry, item: TrashItem) -> bool:
    return os.path.lexists(entry.get_place(item)) or os.path.lexists(entry.get_home(item))


def _move_item_back(entry: TrashEntry, item: TrashItem) -> None:
    """Move a file back to its original path, unless it is already there."""
    home, place = entry.get_home(item), entry.get_place(item)
    if not os.path.lexists(place):
        return
    _check_leads_home(entry, item)
    home.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    if _find_collision(home, place) is not None:
        raise TurnlogError(f"{home}: modified in the meantime; undelete the session again")
    if os.path.lexists(home):  # with equal content
        place.unlink()
    else:
        move_file(place, home)


def _find_collisions(entry: TrashEntry, *, force: bool) -> dict[str, Collision]:
    """Find what is in the way of a session, by path; refuse files that can't be joined or set aside."""
    collisions: dict[str, Collision] = {}
    for item in entry.manifest.items:
        _check_leads_home(entry, item)
        if item.kind == "folder":
            _check_is_folder(entry.get_home(item))
        elif (collision := _find_collision(entry.get_home(item), entry.get_place(item))) is not None:
            collisions[item.place] = collision
    has_joined = any(collision.is_joined for collision in collisions.values())
    for collision in collisions.values():
        is_beside = has_joined and collision.home.suffix != ".jsonl"
        if stat.S_ISDIR(collision.home.lstat().st_mode) or not (collision.is_joined or is_beside or force):
            remedy = "move it aside, or use --force to have turnlog move it"
            raise TurnlogError(
                f"{collision.home}: already present with different content, so nothing was restored; {remedy}"
            )
    return collisions


def _check_is_folder(home: Path) -> None:
    if os.path.lexists(home) and not stat.S_ISDIR(home.lstat().st_mode):
        raise TurnlogError(f"{home}: not a folder, so nothing was restored; move it aside first")


def _check_leads_home(entry: TrashEntry, item: TrashItem) -> None:
    """Refuse a link that resolves to a path outside the config folder."""
    home, manifest = entry.get_home(item), entry.manifest
    link_target = manifest.links.get(item.place.split("/")[0], manifest.config_dir)
    homes = (os.path.realpath(manifest.config_dir), os.path.normpath(link_target))
    if not any(Path(os.path.realpath(home.parent)).is_relative_to(folder) for folder in homes):
        raise TurnlogError(f"{home}: a link points outside {manifest.config_dir}; nothing was restored")


def _is_altered_file(place: Path, item: TrashItem) -> bool:
    return item.kind == "file" and place.is_file() and hash_file_content(place) != item.sha256


def _rejoin_history(entry: TrashEntry) -> None:
    """Put the session's lines back into the prompt history, if they were removed."""
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
    """A file at the path of a deleted file."""

    home: Path
    place: Path
    """The path of the deleted file in the trash."""
    is_joined: bool
    """Whether the file continues the deleted one, so that the two can be joined."""


def _find_collision(home: Path, place: Path) -> Collision | None:
    """Find what is at the path of a deleted file; return None if nothing is there or the content is the same."""
    if not os.path.lexists(home) or not os.path.lexists(place) or _are_equal(home, place):
        return None
    return Collision(home, place, is_continuation(home, place) or _is_joined_already(home, place))


def _is_joined_already(home: Path, place: Path) -> bool:
    """Return whether an interrupted attempt has already joined both files without clearing the trash."""
    return place.suffix == ".jsonl" and begins_with_file(home, place)


def _join_collision(collision: Collision, mode: int) -> None:
    """Put the original before what has since been written to its path; append lines that are still being written."""
    if not begins_with_file(collision.home, collision.place):
        data, checkpoint = read_whole_file(collision.home)
        lines = join_stub_lines(collision.place, data)
        replace_session_file(collision.home, lines, root=collision.home.parent, expected=checkpoint)
    collision.home.chmod(mode)
    collision.place.unlink()


def _set_collision_aside(collision: Collision, folder: Path) -> Path:
    """Move what is in the way into a folder under a free name, and return its new path."""
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    goal = find_free_path(folder / collision.home.name)
    move_file(collision.home, goal)
    move_file(collision.place, collision.home)
    return goal


def _are_equal(one: Path, other: Path) -> bool:
    if stat.S_IFMT(one.lstat().st_mode) != stat.S_IFMT(other.lstat().st_mode):
        return False
    if one.is_symlink():
        return one.readlink() == other.readlink()
    return one.is_file() and hash_file_content(one) == hash_file_content(other)
