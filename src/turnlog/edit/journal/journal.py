"""The journal: work on several files is done as a whole or not at all, even if the process is killed.

Each piece of work has an entry, which is a folder:

    <journal>/<entry>/<manifest>   what will be done; on the disk before anything is
    <journal>/<entry>/<state>      an empty file, whose name says how far the work is
    <journal>/<entry>/…            originals that are kept, or new files that wait

The steps (`file_steps`) can be repeated or taken back from wherever a process was stopped. A failure takes everything
back at once. A killed process leaves its entry behind, and the next one that uses the journal settles it:

    undo.Undo               changes of files: taken back; a finished entry stays, so that the user can undo it
    trash.Trash             deleted sessions: left to the user, who deletes again or undeletes
    package.UnpackJournal   new files: finished if only transcripts are missing, else taken back

The journal owns what these have in common: the lock, the order in which an entry comes and goes, settling, listing and
pruning. What a manifest holds, and how work is taken back, is up to each.
"""

from __future__ import annotations

import contextlib
import os
import shutil
from abc import ABC, abstractmethod
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import ClassVar, Generic, NamedTuple, Protocol, TypeVar

from turnlog.entries.atomic_file import flush_folder, lock_file, replace_file
from turnlog.errors import TurnlogError


class JournalEntry(Protocol):
    """What a journal knows of each entry."""

    @property
    def folder(self) -> Path:
        """The folder of the entry."""

    @property
    def settled_at(self) -> datetime | None:
        """When the work was done; None while it is unfinished, so that it is never pruned."""


EntryT = TypeVar("EntryT", bound=JournalEntry)


class JournalListing(NamedTuple, Generic[EntryT]):
    """The entries of a journal."""

    entries: list[EntryT]
    """The newest first."""
    unreadable: list[str]
    """For each entry that can't be read, the reason in words."""


class Journal(ABC, Generic[EntryT]):
    """A folder of entries; it is made when it is first needed."""

    manifest_name: ClassVar[str]
    removed_prefix: ClassVar[str]
    """How the name of an entry begins while it is removed: it counts for nothing then, whatever is left of it."""
    entry_glob: ClassVar[str] = "[0-9]*"
    states: ClassVar[tuple[str, ...]] = ()
    """The names of state files, in the order in which work passes through them."""
    originals_name: ClassVar[str | None] = None
    """The folder of an entry that holds the only copies of files: it is never removed without a manifest."""
    lock_name: ClassVar[str] = ".lock"
    """The file to lock; `.` is the folder itself."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._is_held = False

    @abstractmethod
    def read_entry(self, folder: Path) -> EntryT:
        """Read the entry in a folder; its manifest is read like a stranger's."""

    @abstractmethod
    def settle_entry(self, entry: EntryT) -> None:
        """Finish or take back an entry that a killed process left; one that is finished stays as it is."""

    @contextlib.contextmanager
    def lock_journal(self) -> Iterator[None]:
        """Let one process at a time use the journal; the holder may ask again."""
        if self._is_held:
            yield
            return
        self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        with contextlib.ExitStack() as held:
            if os.name != "nt" or self.lock_name != ".":  # Windows can't open a folder
                flags = os.O_RDONLY if self.lock_name == "." else os.O_RDWR | os.O_CREAT
                fd = os.open(self.folder / self.lock_name, flags, 0o600)
                held.callback(os.close, fd)
                lock_file(fd)
            self._is_held = True
            try:
                yield
            finally:
                self._is_held = False

    # -- how an entry comes and goes

    @contextlib.contextmanager
    def add_entry(self, name: str) -> Iterator[Path]:
        """Make the folder of a new entry, to be filled and given its manifest; without one it goes again."""
        folder = self.folder / name
        folder.mkdir(mode=0o700)
        try:
            yield folder
        finally:
            if not (folder / self.manifest_name).exists():
                shutil.rmtree(folder, ignore_errors=True)

    def write_manifest(self, folder: Path, data: bytes) -> None:
        """Put the manifest of an entry on the disk, before the work begins or when more is known of it."""
        replace_file(folder / self.manifest_name, data, root=folder)
        flush_folder(self.folder)

    def mark_state(self, folder: Path, state: str) -> None:
        """Say how far an entry is. A state file is renamed where there is one: that needs no space on the disk."""
        old = self.read_state(folder)
        if old is None:
            (folder / state).touch(mode=0o600)
        else:
            (folder / old).rename(folder / state)
        flush_folder(folder)

    def read_state(self, folder: Path) -> str | None:
        """How far an entry is; None if it does not say."""
        return next((state for state in reversed(self.states) if (folder / state).exists()), None)

    def remove_entry(self, folder: Path) -> None:
        """Remove an entry; from its first step on nobody takes it for one."""
        gone = folder.with_name(self.removed_prefix + folder.name)
        folder.rename(gone)
        shutil.rmtree(gone, ignore_errors=True)

    # -- what killed processes left

    def settle_unfinished(self) -> None:
        """Settle all that killed processes left."""
        with self.lock_journal():
            self.remove_leftovers()
            for entry in self.list_entries().entries:
                self.settle_entry(entry)

    def remove_leftovers(self) -> None:
        """Remove entries that were being removed, or that never got a manifest: their work had not begun."""
        begun = (folder for folder in self.folder.glob(self.entry_glob) if not (folder / self.manifest_name).exists())
        for folder in (*self.folder.glob(f"{self.removed_prefix}*"), *filter(self._holds_no_originals, begun)):
            shutil.rmtree(folder, ignore_errors=True)

    def _holds_no_originals(self, folder: Path) -> bool:
        files = () if self.originals_name is None else (folder / self.originals_name).rglob("*")
        return not any(path.is_symlink() or not path.is_dir() for path in files)

    # -- what there is

    def list_entries(self) -> JournalListing[EntryT]:
        """All entries, and why others can't be read."""
        entries: list[EntryT] = []
        unreadable: list[str] = []
        for path in sorted(self.folder.glob(f"{self.entry_glob}/{self.manifest_name}"), reverse=True):
            try:
                entries.append(self.read_entry(path.parent))
            except (TurnlogError, OSError) as error:
                unreadable.append(str(error))
        return JournalListing(entries, unreadable)

    def list_ripe(self, older_than: timedelta, now: datetime | None = None) -> list[EntryT]:
        """The entries that were settled long enough ago to be removed for good."""
        limit = (now or datetime.now(UTC)) - older_than
        return [
            entry for entry in self.list_entries().entries if entry.settled_at is not None and entry.settled_at <= limit
        ]

    def prune(self, older_than: timedelta, now: datetime | None = None) -> list[EntryT]:
        """Remove for good what was settled long enough ago; gives what went."""
        with self.lock_journal():
            gone = self.list_ripe(older_than, now)
            for entry in gone:
                self.remove_entry(entry.folder)
            self.remove_leftovers()
            if left := next(self.folder.glob(f"{self.removed_prefix}*"), None):
                raise TurnlogError(f"{left}: not all of it could be removed; remove it yourself")
            return gone
