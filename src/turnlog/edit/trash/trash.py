"""turnlog's trash: deleted sessions with all that belonged to them, to be put back exactly as they were.

There is no state beside the files. An entry's list is on the disk before the first file is moved, and each file is at
every moment in its old place, in the trash, or (equal) in both. So whoever is stopped in between, in either direction,
has lost nothing, and `restore` puts everything back from wherever it is.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import NamedTuple

from turnlog.edit.trash.collisions import Collision, find_collision, join_collision, set_collision_aside
from turnlog.edit.trash.file_move import hash_file_content, move_file
from turnlog.edit.trash.manifest import (
    TRASH_MANIFEST_NAME,
    TrashItem,
    TrashManifest,
    decode_trash_manifest,
    encode_trash_manifest,
)
from turnlog.entries.atomic_file import (
    flush_folder,
    lock_file,
    read_whole_file,
    remove_leftover_temporary,
    replace_file,
)
from turnlog.entries.history import rejoin_history
from turnlog.entries.writer import replace_session_file
from turnlog.errors import Changed, NotFound, TurnlogError, Unreadable

HISTORY_FILE_NAME = "history.jsonl"
_FILES_FOLDER_NAME = "files"
_GOING_PREFIX = ".emptied-"
_ASIDE_FOLDER_NAME = "set-aside"


class TrashEntry(NamedTuple):
    """One deleted session."""

    folder: Path
    manifest: TrashManifest

    @property
    def name(self) -> str:
        """What it is called in the trash: when, and which session."""
        return self.folder.name

    @property
    def is_complete(self) -> bool:
        """Whether all of it is here; if not, deleting or restoring was interrupted."""
        return all(os.path.lexists(self.get_place(item)) for item in self.manifest.files)

    def get_place(self, item: TrashItem) -> Path:
        """Where a file lies in the trash."""
        return self.folder / _FILES_FOLDER_NAME / item.place

    def get_home(self, item: TrashItem) -> Path:
        """Where a file came from."""
        return Path(self.manifest.config_dir) / item.place


class UndeleteResult(NamedTuple):
    """What could not be put back exactly as it was."""

    lost: list[str]
    """The places of files that are nowhere any more."""
    altered: list[str]
    """The places of files that changed in the trash; they were put back as they are."""
    joined: tuple[Path, ...] = ()
    """Transcripts that a client went on writing; what it wrote follows the original."""
    aside: tuple[Path, ...] = ()
    """Where files are now that stood in the way."""


class TrashListing(NamedTuple):
    """What is in the trash."""

    entries: list[TrashEntry]
    """The newest first."""
    unreadable: list[str]
    """Why others can't be restored, in words."""


class Trash:
    """The folder of deleted sessions; made when first needed."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._is_held = False

    def list_entries(self) -> TrashListing:
        """All deleted sessions."""
        entries: list[TrashEntry] = []
        unreadable: list[str] = []
        for path in sorted(self.folder.glob(f"*/{TRASH_MANIFEST_NAME}"), reverse=True):
            if path.parent.name.startswith("."):
                continue
            try:
                entries.append(TrashEntry(path.parent, decode_trash_manifest(path.read_bytes(), path)))
            except (Unreadable, OSError) as error:
                unreadable.append(str(error))
        return TrashListing(entries, unreadable)

    def put_session(self, manifest: TrashManifest, history: bytes | None = None) -> TrashEntry:
        """Move all that a list names into the trash; on any failure everything goes back."""
        with self.lock_trash():
            entry = self._begin_entry(manifest, history)
            try:
                for item in manifest.files:
                    _take_item(entry, item)
            except BaseException:
                self._put_entry_back(entry)
                shutil.rmtree(entry.folder, ignore_errors=True)  # all of it is home, or was never here
                raise
            for item in reversed(manifest.items):
                if item.kind == "folder":
                    with contextlib.suppress(OSError):  # something new is in it, and stays
                        entry.get_home(item).rmdir()
            flush_folder(entry.folder)
            return entry

    def restore(self, entry: TrashEntry, *, force: bool = False) -> UndeleteResult:
        """Put a session back. What stands in the way is joined or, by force, set aside; nothing is overwritten."""
        with self.lock_trash():
            if not entry.folder.exists():
                raise NotFound(f"{entry.name}: is not in the trash any more")
            return self._put_entry_back(entry, force=force)

    def list_ripe(self, older_than: timedelta, now: datetime | None = None) -> list[TrashEntry]:
        """What was deleted long enough ago to be removed for good; never what was interrupted."""
        limit = (now or datetime.now(UTC)) - older_than
        return [
            entry for entry in self.list_entries().entries if entry.is_complete and _get_deletion_time(entry) <= limit
        ]

    def empty(self, older_than: timedelta, now: datetime | None = None) -> list[TrashEntry]:
        """Remove for good what was deleted long enough ago."""
        with self.lock_trash():
            gone = self.list_ripe(older_than, now)
            for entry in gone:
                self._remove_folder(entry.folder)
            for left in self._list_leftovers():
                shutil.rmtree(left)
            limit = ((now or datetime.now(UTC)) - older_than).timestamp()
            for left in (self.folder / _ASIDE_FOLDER_NAME).glob("*"):
                if left.stat().st_mtime <= limit:
                    shutil.rmtree(left)
            return gone

    def _list_leftovers(self) -> list[Path]:
        """What was half removed, or begun by a process that was killed before it had a list: no file was moved yet."""
        going = list(self.folder.glob(f"{_GOING_PREFIX}*"))
        begun = [path for path in self.folder.glob("[0-9]*") if not (path / TRASH_MANIFEST_NAME).exists()]
        return going + [
            path for path in begun if not any(map(_is_file_or_link, (path / _FILES_FOLDER_NAME).rglob("*")))
        ]

    @contextlib.contextmanager
    def lock_trash(self) -> Iterator[None]:
        """Let one turnlog at a time change the trash; who holds it may ask again."""
        if self._is_held:
            yield
            return
        self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        fd = os.open(self.folder / ".lock", os.O_RDWR | os.O_CREAT, 0o600)
        try:
            lock_file(fd)
            self._is_held = True
            yield
        finally:
            self._is_held = False
            os.close(fd)

    def _begin_entry(self, manifest: TrashManifest, history: bytes | None) -> TrashEntry:
        """Make an entry whose list is safe on the disk before anything is moved."""
        stamp = datetime.fromisoformat(manifest.deleted).strftime("%Y%m%dT%H%M%S.%fZ")
        folder = self.folder / f"{stamp}-{manifest.session_id}"
        entry = TrashEntry(folder, manifest)
        folder.mkdir(mode=0o700)
        try:
            if history is not None:
                replace_file(folder / HISTORY_FILE_NAME, history, root=folder)
            for item in manifest.files:
                entry.get_place(item).parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            replace_file(folder / TRASH_MANIFEST_NAME, encode_trash_manifest(manifest), root=folder)
        except BaseException:
            shutil.rmtree(folder, ignore_errors=True)
            raise
        flush_folder(self.folder)
        return entry

    def _put_entry_back(self, entry: TrashEntry, *, force: bool = False) -> UndeleteResult:
        collisions = _find_collisions(entry, force=force)
        lost = [item.place for item in entry.manifest.files if not _item_exists(entry, item)]
        altered = [item.place for item in entry.manifest.files if _is_altered_file(entry.get_place(item), item)]
        for item in entry.manifest.items:
            if item.kind == "folder":
                entry.get_home(item).mkdir(parents=True, exist_ok=True, mode=0o700)
        aside = []
        for item in entry.manifest.files:
            found = collisions.get(item.place)
            if found is None:
                _give_item_back(entry, item)
            elif found.is_joined:
                join_collision(found, item.mode)
            else:
                aside.append(set_collision_aside(found, self.folder / _ASIDE_FOLDER_NAME / entry.name))
        _rejoin_history(entry)
        for item in reversed(entry.manifest.items):
            if item.kind == "folder":
                entry.get_home(item).chmod(item.mode)
                os.utime(entry.get_home(item), ns=(item.mtime_ns, item.mtime_ns))
        if not lost:
            self._remove_folder(entry.folder)
        joined = tuple(found.home for found in collisions.values() if found.is_joined)
        return UndeleteResult(lost, altered, joined, tuple(aside))

    def _remove_folder(self, folder: Path) -> None:
        going = folder.with_name(_GOING_PREFIX + folder.name)
        folder.rename(going)
        shutil.rmtree(going)


def _is_file_or_link(path: Path) -> bool:
    return path.is_symlink() or not path.is_dir()


def _get_deletion_time(entry: TrashEntry) -> datetime:
    return datetime.fromisoformat(entry.manifest.deleted)


def _item_exists(entry: TrashEntry, item: TrashItem) -> bool:
    return os.path.lexists(entry.get_place(item)) or os.path.lexists(entry.get_home(item))


def _take_item(entry: TrashEntry, item: TrashItem) -> None:
    """Move a file into the trash, if it is still the one that was listed."""
    home = entry.get_home(item)
    status = home.lstat()
    if item.kind == "file" and (status.st_size, status.st_mtime_ns) != (item.size, item.mtime_ns):
        raise Changed(f"{home}: was written meanwhile; nothing was deleted, try again")
    move_file(home, entry.get_place(item))


def _give_item_back(entry: TrashEntry, item: TrashItem) -> None:
    """Move a file back to where it was, unless it is there already."""
    home, place = entry.get_home(item), entry.get_place(item)
    if not os.path.lexists(place):
        return
    _check_leads_home(entry, item)
    home.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    if find_collision(home, place) is not None:
        raise TurnlogError(f"{home}: was written meanwhile; undelete it again")
    if os.path.lexists(home):  # and is equal
        place.unlink()
    else:
        move_file(place, home)


def _find_collisions(entry: TrashEntry, *, force: bool) -> dict[str, Collision]:
    """What stands in the way of a session, by place; refuses what can neither be joined nor set aside."""
    found: dict[str, Collision] = {}
    for item in entry.manifest.items:
        _check_leads_home(entry, item)
        if item.kind == "folder":
            _check_is_folder(entry.get_home(item))
        elif (collision := find_collision(entry.get_home(item), entry.get_place(item))) is not None:
            found[item.place] = collision
    goes_on = any(collision.is_joined for collision in found.values())
    for collision in found.values():
        is_beside = goes_on and collision.home.suffix != ".jsonl"
        if stat.S_ISDIR(collision.home.lstat().st_mode) or not (collision.is_joined or is_beside or force):
            remedy = "move it away first, or use --force to have it set aside"
            raise TurnlogError(f"{collision.home}: already exists and is another; nothing was restored, {remedy}")
    return found


def _check_is_folder(home: Path) -> None:
    if os.path.lexists(home) and not stat.S_ISDIR(home.lstat().st_mode):
        raise TurnlogError(f"{home}: already exists and is no folder; nothing was restored, move it away first")


def _check_leads_home(entry: TrashEntry, item: TrashItem) -> None:
    """See that no link leads out of the config folder."""
    home, known = entry.get_home(item), entry.manifest
    kept = known.links.get(item.place.split("/")[0], known.config_dir)
    homes = (os.path.realpath(known.config_dir), os.path.normpath(kept))
    if not any(Path(os.path.realpath(home.parent)).is_relative_to(folder) for folder in homes):
        raise TurnlogError(f"{home}: a link leads out of {known.config_dir}; nothing was restored")


def _is_altered_file(place: Path, item: TrashItem) -> bool:
    return item.kind == "file" and place.is_file() and hash_file_content(place) != item.sha256


def _rejoin_history(entry: TrashEntry) -> None:
    """Bring the lines of the session back into the history, if they were taken out."""
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
