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

from turnlog.edit.trash.manifest import NAME, Item, Manifest, decoded, encoded
from turnlog.edit.trash.moving import move, sha256
from turnlog.entries.history import rejoined
from turnlog.entries.writer import forget_unfinished, lock, read_whole, replace, sync_folder
from turnlog.errors import Changed, NotFound, TurnlogError, Unreadable

HISTORY = "history.jsonl"
_FILES = "files"
_GOING = ".emptied-"


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

    def restore(self, entry: Entry) -> Restored:
        """Put a session back; refuses to overwrite."""
        with self.locked():
            if not entry.folder.exists():
                raise NotFound(f"{entry.name}: is not in the trash any more")
            return self._put_back(entry)

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

    def _put_back(self, entry: Entry) -> Restored:
        for item in entry.manifest.items:
            _must_fit(entry, item)
        lost = [item.place for item in entry.manifest.files if not _exists(entry, item)]
        altered = [item.place for item in entry.manifest.files if _is_altered(entry.place(item), item)]
        for item in entry.manifest.items:
            if item.kind == "folder":
                entry.home(item).mkdir(parents=True, exist_ok=True, mode=0o700)
        for item in entry.manifest.files:
            _give(entry, item)
        _rejoin_history(entry)
        for item in reversed(entry.manifest.items):
            if item.kind == "folder":
                entry.home(item).chmod(item.mode)
                os.utime(entry.home(item), ns=(item.mtime_ns, item.mtime_ns))
        if not lost:
            self._remove(entry.folder)
        return Restored(lost, altered)

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
    _must_fit(entry, item)
    home.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    if os.path.lexists(home):  # and is equal
        place.unlink()
    else:
        move(place, home)


def _must_fit(entry: Entry, item: Item) -> None:
    """See that nothing would be overwritten, and that no link leads out of the config folder."""
    home, place = entry.home(item), entry.place(item)
    if not Path(os.path.realpath(home.parent)).is_relative_to(os.path.realpath(entry.manifest.config_dir)):
        raise TurnlogError(f"{home}: a link leads out of {entry.manifest.config_dir}; nothing was restored")
    if not os.path.lexists(home):
        return
    is_folder = stat.S_ISDIR(home.lstat().st_mode)
    taken = not is_folder if item.kind == "folder" else os.path.lexists(place) and not _are_equal(home, place)
    if taken:
        raise TurnlogError(f"{home}: stands there already and is another; nothing was restored, move it away first")


def _is_altered(place: Path, item: Item) -> bool:
    return item.kind == "file" and place.is_file() and sha256(place) != item.sha256


def _are_equal(one: Path, other: Path) -> bool:
    if stat.S_IFMT(one.lstat().st_mode) != stat.S_IFMT(other.lstat().st_mode):
        return False
    if one.is_symlink():
        return one.readlink() == other.readlink()
    return one.is_file() and sha256(one) == sha256(other)


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
