"""The journal: changes several files completely or not at all, even if the process is killed.

Each operation has an entry, which is a folder:

    <journal>/<entry>/<manifest>   the planned work; flushed to disk before any of it is done
    <journal>/<entry>/<state>      an empty file whose name indicates the progress of the work
    <journal>/<entry>/…            kept originals, or new files that are not yet in place

The steps (`file_steps`) can be repeated or reversed from any point at which a process was stopped. After a failure,
everything is reversed at once. A killed process leaves its entry behind, and the next process that uses the journal
settles the entry:

    undo.Undo               changes to files: reversed; finished entries are kept so that the user can undo them
    trash.Trash             deleted sessions: left to the user, who can delete or undelete them again
    package.UnpackJournal   new files: finished if only transcripts are missing, otherwise reversed

The journal provides what these classes share: locking, adding and removing entries, settling, listing and pruning. Each
class defines its own manifest and how to reverse its work.
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
    """The part of an entry that all journals need."""

    @property
    def folder(self) -> Path:
        """The entry's folder."""

    @property
    def settled_at(self) -> datetime | None:
        """When the work was done, or None while it is unfinished, so that the entry is not pruned."""


EntryT = TypeVar("EntryT", bound=JournalEntry)


class JournalListing(NamedTuple, Generic[EntryT]):
    entries: list[EntryT]
    """Newest first."""
    unreadable: list[str]
    """The reason for each entry that can't be read."""


class Journal(ABC, Generic[EntryT]):
    """A folder of entries, created when it is first needed."""

    manifest_name: ClassVar[str]
    removed_prefix: ClassVar[str]
    """The prefix of an entry's name while it is being removed and no longer counts."""
    entry_glob: ClassVar[str] = "[0-9]*"
    states: ClassVar[tuple[str, ...]] = ()
    """The names of state files, in the order in which work passes through them."""
    originals_name: ClassVar[str | None] = None
    """The folder in an entry that contains the only copies of files; without a manifest, it is never removed."""
    lock_name: ClassVar[str] = ".lock"
    """The file to lock; `.` is the folder itself."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._is_held = False
        self._has_leftovers = True
        """Whether the folder may contain something that no longer counts; only the process with the lock adds it."""

    @abstractmethod
    def read_entry(self, folder: Path) -> EntryT:
        """Read the entry in a folder; its manifest is untrusted input."""

    @abstractmethod
    def settle_entry(self, entry: EntryT) -> None:
        """Finish or reverse an entry that a killed process left behind; leave a finished entry unchanged."""

    @contextlib.contextmanager
    def lock_journal(self) -> Iterator[None]:
        """Allow one process at a time to use the journal; a process that has locked it may lock it again."""
        if self._is_held:
            yield
            return
        self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        with contextlib.ExitStack() as cleanup:
            if os.name != "nt" or self.lock_name != ".":  # Windows can't open a folder
                flags = os.O_RDONLY if self.lock_name == "." else os.O_RDWR | os.O_CREAT
                fd = os.open(self.folder / self.lock_name, flags, 0o600)
                cleanup.callback(os.close, fd)
                lock_file(fd)
            self._is_held = self._has_leftovers = True
            try:
                yield
            finally:
                self._is_held = False

    # -- adding and removing entries

    @contextlib.contextmanager
    def add_entry(self, name: str) -> Iterator[Path]:
        """Create the folder of a new entry for the caller to fill; remove it if the caller writes no manifest."""
        folder = self.folder / name
        folder.mkdir(mode=0o700)
        try:
            yield folder
        finally:
            if not (folder / self.manifest_name).exists():
                self._has_leftovers = True
                shutil.rmtree(folder, ignore_errors=True)

    def write_manifest(self, folder: Path, data: bytes) -> None:
        """Write an entry's manifest to disk, before the work starts or when more is known about it."""
        replace_file(folder / self.manifest_name, data, root=folder)
        flush_folder(self.folder)

    def mark_state(self, folder: Path, state: str) -> None:
        """Record the progress of an entry. An existing state file is renamed, which needs no disk space."""
        old = self.read_state(folder)
        if old is None:
            (folder / state).touch(mode=0o600)
        else:
            (folder / old).rename(folder / state)
        flush_folder(folder)

    def read_state(self, folder: Path) -> str | None:
        """Return the progress of an entry, or None if no state is recorded."""
        return next((state for state in reversed(self.states) if (folder / state).exists()), None)

    def remove_entry(self, folder: Path) -> None:
        """Remove an entry; from the first step on, it no longer counts as an entry."""
        self._has_leftovers = True
        removed = folder.with_name(self.removed_prefix + folder.name)
        folder.rename(removed)
        shutil.rmtree(removed, ignore_errors=True)

    # -- leftovers of killed processes

    def settle_unfinished(self) -> None:
        """Settle all entries that killed processes left behind."""
        with self.lock_journal():
            self.remove_leftovers()
            for entry in self.list_entries().entries:
                self.settle_entry(entry)

    def remove_leftovers(self) -> None:
        """Remove entries whose removal was interrupted, or that have no manifest because their work never started."""
        if not self._has_leftovers:
            return
        without_manifest = (
            folder for folder in self.folder.glob(self.entry_glob) if not (folder / self.manifest_name).exists()
        )
        for folder in (
            *self.folder.glob(f"{self.removed_prefix}*"),
            *filter(self._holds_no_originals, without_manifest),
        ):
            shutil.rmtree(folder, ignore_errors=True)
        self._has_leftovers = False

    def _holds_no_originals(self, folder: Path) -> bool:
        files = () if self.originals_name is None else (folder / self.originals_name).rglob("*")
        return not any(path.is_symlink() or not path.is_dir() for path in files)

    # -- listing and pruning

    def list_entries(self) -> JournalListing[EntryT]:
        """Return all readable entries, and the reasons why others can't be read."""
        return self._read_entries(self.entry_glob)

    def _read_entries(self, names: str) -> JournalListing[EntryT]:
        """Read the entries whose names match a pattern."""
        entries: list[EntryT] = []
        unreadable: list[str] = []
        for path in sorted(self.folder.glob(f"{names}/{self.manifest_name}"), reverse=True):
            try:
                entries.append(self.read_entry(path.parent))
            except (TurnlogError, OSError) as error:
                unreadable.append(str(error))
        return JournalListing(entries, unreadable)

    def list_ripe(self, older_than: timedelta, now: datetime | None = None) -> list[EntryT]:
        """Return the entries that were settled long enough ago to be removed permanently."""
        limit = (now or datetime.now(UTC)) - older_than
        return [
            entry for entry in self.list_entries().entries if entry.settled_at is not None and entry.settled_at <= limit
        ]

    def prune(self, older_than: timedelta, now: datetime | None = None) -> list[EntryT]:
        """Permanently remove entries that were settled long enough ago, and return them."""
        with self.lock_journal():
            removed = self.list_ripe(older_than, now)
            for entry in removed:
                self.remove_entry(entry.folder)
            self.remove_leftovers()
            if left := next(self.folder.glob(f"{self.removed_prefix}*"), None):
                raise TurnlogError(f"{left}: not completely removed; remove the rest yourself")
            return removed
