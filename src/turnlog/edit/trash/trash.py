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

from turnlog.edit.trash.collisions import Collision, find_collision, join, set_aside
from turnlog.edit.trash.manifest import NAME, Item, Manifest, decoded, encoded
from turnlog.edit.trash.moving import move, sha256
from turnlog.entries.history import rejoined
from turnlog.entries.writer import forget_unfinished, lock, read_whole, replace, sync_folder
from turnlog.errors import Changed, NotFound, TurnlogError, Unreadable

HISTORY = "history.jsonl"
_FILES = "files"
_GOING = ".emptied-"
_ASIDE = "set-aside"


class Entry(NamedTuple):
    """One deleted session."""

    folder: Path
    manifest: Manifest

    @property
    def name(self) -> str:
        """What it is called in the trash: when, and which session."""
        return self.folder.name

    @property
    def is_complete(self) -> bool:
        """Whether all of it is here; if not, deleting or restoring was interrupted."""
        return all(os.path.lexists(self.place(item)) for item in self.manifest.files)

    def place(self, item: Item) -> Path:
        """Where a file lies in the trash."""
        return self.folder / _FILES / item.place

    def home(self, item: Item) -> Path:
        """Where a file came from."""
        return Path(self.manifest.config_dir) / item.place


class Restored(NamedTuple):
    """What could not be put back exactly as it was."""

    lost: list[str]
    """The places of files that are nowhere any more."""
    altered: list[str]
    """The places of files that changed in the trash; they were put back as they are."""
    joined: tuple[Path, ...] = ()
    """Transcripts that a client went on writing; what it wrote follows the original."""
    aside: tuple[Path, ...] = ()
    """Where files are now that stood in the way."""


class Listed(NamedTuple):
    """What is in the trash."""

    entries: list[Entry]
    """The newest first."""
    unreadable: list[str]
    """Why others can't be restored, in words."""


class Trash:
    """The folder of deleted sessions; made when first needed."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._is_held = False

    def listed(self) -> Listed:
        """All deleted sessions."""
        entries: list[Entry] = []
        unreadable: list[str] = []
        for path in sorted(self.folder.glob(f"*/{NAME}"), reverse=True):
            if path.parent.name.startswith("."):
                continue
            try:
                entries.append(Entry(path.parent, decoded(path.read_bytes(), path)))
            except (Unreadable, OSError) as error:
                unreadable.append(str(error))
        return Listed(entries, unreadable)

    def put(self, manifest: Manifest, history: bytes | None = None) -> Entry:
        """Move all that a list names into the trash; on any failure everything goes back."""
        with self.locked():
            entry = self._begun(manifest, history)
            try:
                for item in manifest.files:
                    _take(entry, item)
            except BaseException:
                self._put_back(entry)
                shutil.rmtree(entry.folder, ignore_errors=True)  # all of it is home, or was never here
                raise
            for item in reversed(manifest.items):
                if item.kind == "folder":
                    with contextlib.suppress(OSError):  # something new is in it, and stays
                        entry.home(item).rmdir()
            sync_folder(entry.folder)
            return entry

    def restore(self, entry: Entry, *, force: bool = False) -> Restored:
        """Put a session back. What stands in the way is joined or, by force, set aside; nothing is overwritten."""
        with self.locked():
            if not entry.folder.exists():
                raise NotFound(f"{entry.name}: is not in the trash any more")
            return self._put_back(entry, force=force)

    def ripe(self, older_than: timedelta, now: datetime | None = None) -> list[Entry]:
        """What was deleted long enough ago to be removed for good; never what was interrupted."""
        limit = (now or datetime.now(UTC)) - older_than
        return [entry for entry in self.listed().entries if entry.is_complete and _deleted(entry) <= limit]

    def empty(self, older_than: timedelta, now: datetime | None = None) -> list[Entry]:
        """Remove for good what was deleted long enough ago."""
        with self.locked():
            gone = self.ripe(older_than, now)
            for entry in gone:
                self._remove(entry.folder)
            for left in self._leftovers():
                shutil.rmtree(left)
            limit = ((now or datetime.now(UTC)) - older_than).timestamp()
            for left in (self.folder / _ASIDE).glob("*"):
                if left.stat().st_mtime <= limit:
                    shutil.rmtree(left)
            return gone

    def _leftovers(self) -> list[Path]:
        """What was half removed, or begun by a process that was killed before it had a list: no file was moved yet."""
        going = list(self.folder.glob(f"{_GOING}*"))
        begun = [path for path in self.folder.glob("[0-9]*") if not (path / NAME).exists()]
        return going + [path for path in begun if not any(map(_is_file, (path / _FILES).rglob("*")))]

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Let one turnlog at a time change the trash; who holds it may ask again."""
        if self._is_held:
            yield
            return
        self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        fd = os.open(self.folder / ".lock", os.O_RDWR | os.O_CREAT, 0o600)
        try:
            lock(fd)
            self._is_held = True
            yield
        finally:
            self._is_held = False
            os.close(fd)

    def _begun(self, manifest: Manifest, history: bytes | None) -> Entry:
        """Make an entry whose list is safe on the disk before anything is moved."""
        stamp = datetime.fromisoformat(manifest.deleted).strftime("%Y%m%dT%H%M%S.%fZ")
        folder = self.folder / f"{stamp}-{manifest.session_id}"
        entry = Entry(folder, manifest)
        folder.mkdir(mode=0o700)
        try:
            if history is not None:
                replace(folder / HISTORY, history, root=folder)
            for item in manifest.files:
                entry.place(item).parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            replace(folder / NAME, encoded(manifest), root=folder)
        except BaseException:
            shutil.rmtree(folder, ignore_errors=True)
            raise
        sync_folder(self.folder)
        return entry

    def _put_back(self, entry: Entry, *, force: bool = False) -> Restored:
        collisions = _collisions(entry, force=force)
        lost = [item.place for item in entry.manifest.files if not _exists(entry, item)]
        altered = [item.place for item in entry.manifest.files if _is_altered(entry.place(item), item)]
        for item in entry.manifest.items:
            if item.kind == "folder":
                entry.home(item).mkdir(parents=True, exist_ok=True, mode=0o700)
        aside = []
        for item in entry.manifest.files:
            found = collisions.get(item.place)
            if found is None:
                _give(entry, item)
            elif found.is_joined:
                join(found, item.mode)
            else:
                aside.append(set_aside(found, self.folder / _ASIDE / entry.name))
        _rejoin_history(entry)
        for item in reversed(entry.manifest.items):
            if item.kind == "folder":
                entry.home(item).chmod(item.mode)
                os.utime(entry.home(item), ns=(item.mtime_ns, item.mtime_ns))
        if not lost:
            self._remove(entry.folder)
        joined = tuple(found.home for found in collisions.values() if found.is_joined)
        return Restored(lost, altered, joined, tuple(aside))

    def _remove(self, folder: Path) -> None:
        going = folder.with_name(_GOING + folder.name)
        folder.rename(going)
        shutil.rmtree(going)


def _is_file(path: Path) -> bool:
    return path.is_symlink() or not path.is_dir()


def _deleted(entry: Entry) -> datetime:
    return datetime.fromisoformat(entry.manifest.deleted)


def _exists(entry: Entry, item: Item) -> bool:
    return os.path.lexists(entry.place(item)) or os.path.lexists(entry.home(item))


def _take(entry: Entry, item: Item) -> None:
    """Move a file into the trash, if it is still the one that was listed."""
    home = entry.home(item)
    status = home.lstat()
    if item.kind == "file" and (status.st_size, status.st_mtime_ns) != (item.size, item.mtime_ns):
        raise Changed(f"{home}: was written meanwhile; nothing was deleted, try again")
    move(home, entry.place(item))


def _give(entry: Entry, item: Item) -> None:
    """Move a file back to where it was, unless it is there already."""
    home, place = entry.home(item), entry.place(item)
    if not os.path.lexists(place):
        return
    _must_lead_home(entry, item)
    home.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    if find_collision(home, place) is not None:
        raise TurnlogError(f"{home}: was written meanwhile; undelete it again")
    if os.path.lexists(home):  # and is equal
        place.unlink()
    else:
        move(place, home)


def _collisions(entry: Entry, *, force: bool) -> dict[str, Collision]:
    """What stands in the way of a session, by place; refuses what can neither be joined nor set aside."""
    found: dict[str, Collision] = {}
    for item in entry.manifest.items:
        _must_lead_home(entry, item)
        if item.kind == "folder":
            _must_be_folder(entry.home(item))
        elif (collision := find_collision(entry.home(item), entry.place(item))) is not None:
            found[item.place] = collision
    goes_on = any(collision.is_joined for collision in found.values())
    for collision in found.values():
        is_beside = goes_on and collision.home.suffix != ".jsonl"
        if stat.S_ISDIR(collision.home.lstat().st_mode) or not (collision.is_joined or is_beside or force):
            remedy = "move it away first, or use --force to have it set aside"
            raise TurnlogError(f"{collision.home}: already exists and is another; nothing was restored, {remedy}")
    return found


def _must_be_folder(home: Path) -> None:
    if os.path.lexists(home) and not stat.S_ISDIR(home.lstat().st_mode):
        raise TurnlogError(f"{home}: already exists and is no folder; nothing was restored, move it away first")


def _must_lead_home(entry: Entry, item: Item) -> None:
    """See that no link leads out of the config folder."""
    home, known = entry.home(item), entry.manifest
    kept = known.links.get(item.place.split("/")[0], known.config_dir)
    homes = (os.path.realpath(known.config_dir), os.path.normpath(kept))
    if not any(Path(os.path.realpath(home.parent)).is_relative_to(folder) for folder in homes):
        raise TurnlogError(f"{home}: a link leads out of {known.config_dir}; nothing was restored")


def _is_altered(place: Path, item: Item) -> bool:
    return item.kind == "file" and place.is_file() and sha256(place) != item.sha256


def _rejoin_history(entry: Entry) -> None:
    """Bring the lines of the session back into the history, if they were taken out."""
    path = Path(entry.manifest.config_dir) / HISTORY
    try:
        old = (entry.folder / HISTORY).read_bytes()
    except FileNotFoundError:
        return
    try:
        forget_unfinished(path)
        current, checkpoint = read_whole(path)
    except FileNotFoundError:
        replace(path, old, root=path.parent)
        return
    whole = rejoined(old, current, entry.manifest.session_id)
    if whole != current:
        replace(path, whole, root=path.parent, expected=checkpoint)
