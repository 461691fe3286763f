"""The journal: changes to several files are made completely or not at all, even if the process is killed.

Each piece of work has an entry, which is a folder:

    <journal>/<entry>/<manifest>   the planned work; on the disk before any of it is done
    <journal>/<entry>/<state>      an empty file whose name is the progress of the work
    <journal>/<entry>/…            originals that are kept, or new files that wait

The steps (`file_steps`) can be repeated or reversed from wherever a process was stopped. A failure reverses
everything at once. A killed process leaves its entry behind, and the next process that uses the journal settles it:

    undo.Undo               changes to files: reversed; a finished entry is kept, so that the user can undo it
    trash.Trash             deleted sessions: left to the user, who deletes again or undeletes
    package.UnpackJournal   new files: finished if only transcripts are missing, else reversed

The journal provides what these share: the lock, the steps of adding and removing an entry, settling, listing and
pruning. Each defines its own manifest and how to reverse its work.
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
    """The part of an entry that every journal needs."""

    @property
    def folder(self) -> Path:
        """The entry's folder."""

    @property
    def settled_at(self) -> datetime | None:
        """When the work was done; None while it is unfinished, so that it is never pruned."""


EntryT = TypeVar("EntryT", bound=JournalEntry)


class JournalListing(NamedTuple, Generic[EntryT]):
    """The entries of a journal."""

    entries: list[EntryT]
    """The newest first."""
    unreadable: list[str]
    """The reason for each entry that can't be read."""


class Journal(ABC, Generic[EntryT]):
    """A folder of entries; it is created when it is first needed."""

    manifest_name: ClassVar[str]
    removed_prefix: ClassVar[str]
    """The prefix of an entry's name during its removal: the entry no longer counts."""
    entry_glob: ClassVar[str] = "[0-9]*"
    states: ClassVar[tuple[str, ...]] = ()
    """The names of state files, in the order in which work passes through them."""
    originals_name: ClassVar[str | None] = None
    """The folder of an entry with the only copies of files: it is never removed without a manifest."""
    lock_name: ClassVar[str] = ".lock"
    """The file to lock; `.` is the folder itself."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._is_held = False

    @abstractmethod
    def read_entry(self, folder: Path) -> EntryT:
        """Read the entry in a folder; its manifest is untrusted input."""

    @abstractmethod
    def settle_entry(self, entry: EntryT) -> None:
        """Finish or reverse an entry that a killed process left; leave a finished entry unchanged."""

    @contextlib.contextmanager
    def lock_journal(self) -> Iterator[None]:
        """Let one process at a time use the journal; its holder may lock it again."""
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
            self._is_held = True
            try:
                yield
            finally:
                self._is_held = False

    # -- adding and removing entries

    @contextlib.contextmanager
    def add_entry(self, name: str) -> Iterator[Path]:
        """Create the folder of a new entry for the caller to fill; remove it again if no manifest is written."""
        folder = self.folder / name
        folder.mkdir(mode=0o700)
        try:
            yield folder
        finally:
            if not (folder / self.manifest_name).exists():
                shutil.rmtree(folder, ignore_errors=True)

    def write_manifest(self, folder: Path, data: bytes) -> None:
        """Write the manifest of an entry to the disk, before the work starts or when more is known about it."""
        replace_file(folder / self.manifest_name, data, root=folder)
        flush_folder(self.folder)

    def mark_state(self, folder: Path, state: str) -> None:
        """Record the progress of an entry. An existing state file is renamed, which needs no space on the disk."""
        old = self.read_state(folder)
        if old is None:
            (folder / state).touch(mode=0o600)
        else:
            (folder / old).rename(folder / state)
        flush_folder(folder)

    def read_state(self, folder: Path) -> str | None:
        """Return the progress of an entry; None if no state is recorded."""
        return next((state for state in reversed(self.states) if (folder / state).exists()), None)

    def remove_entry(self, folder: Path) -> None:
        """Remove an entry; from the first step on it no longer counts as one."""
        removed = folder.with_name(self.removed_prefix + folder.name)
        folder.rename(removed)
        shutil.rmtree(removed, ignore_errors=True)

    # -- leftovers of killed processes

    def settle_unfinished(self) -> None:
        """Settle everything that killed processes left."""
        with self.lock_journal():
            self.remove_leftovers()
            for entry in self.list_entries().entries:
                self.settle_entry(entry)

    def remove_leftovers(self) -> None:
        """Remove entries that were being removed, or that never got a manifest because their work had not started."""
        without_manifest = (
            folder for folder in self.folder.glob(self.entry_glob) if not (folder / self.manifest_name).exists()
        )
        for folder in (
            *self.folder.glob(f"{self.removed_prefix}*"),
            *filter(self._holds_no_originals, without_manifest),
        ):
            shutil.rmtree(folder, ignore_errors=True)

    def _holds_no_originals(self, folder: Path) -> bool:
        files = () if self.originals_name is None else (folder / self.originals_name).rglob("*")
        return not any(path.is_symlink() or not path.is_dir() for path in files)

    # -- listing and pruning

    def list_entries(self) -> JournalListing[EntryT]:
        """Return all entries, and why others can't be read."""
        entries: list[EntryT] = []
        unreadable: list[str] = []
        for path in sorted(self.folder.glob(f"{self.entry_glob}/{self.manifest_name}"), reverse=True):
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
        """Permanently remove what was settled long enough ago; return the removed entries."""
        with self.lock_journal():
            removed = self.list_ripe(older_than, now)
            for entry in removed:
                self.remove_entry(entry.folder)
            self.remove_leftovers()
            if left := next(self.folder.glob(f"{self.removed_prefix}*"), None):
                raise TurnlogError(f"{left}: could not be removed completely; remove it yourself")
            return removed
