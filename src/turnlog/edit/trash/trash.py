"""turnlog's trash: deleted sessions with everything that belongs to them, which can be restored exactly.

The trash is a journal whose entries have no state: the list of an entry is flushed to disk before the first file is
moved, and each file is always in its old place, in the trash, or (with the same content) in both. Nothing is lost if
the process is killed while deleting or restoring: `restore` puts everything back from wherever it is.
"""

from __future__ import annotations

import contextlib
import shutil
from datetime import UTC, datetime, timedelta
from pathlib import Path

from turnlog.edit.journal.file_steps import is_untouched, move_file
from turnlog.edit.journal.journal import Journal, JournalListing
from turnlog.edit.trash.entry import (
    FILES_FOLDER_NAME,
    TRASH_MANIFEST_NAME,
    TrashEntry,
    TrashItem,
    TrashManifest,
    decode_trash_manifest,
    encode_trash_manifest,
)
from turnlog.edit.trash.undelete import HISTORY_FILE_NAME, UndeleteResult, put_files_back
from turnlog.entries.atomic_file import flush_folder, replace_file
from turnlog.errors import Changed, NotFound

_ASIDE_FOLDER_NAME = "set-aside"
TrashListing = JournalListing[TrashEntry]
"""The contents of the trash."""


class Trash(Journal[TrashEntry]):
    """The journal of deleted sessions."""

    manifest_name = TRASH_MANIFEST_NAME
    removed_prefix = ".emptied-"
    originals_name = FILES_FOLDER_NAME

    def read_entry(self, folder: Path) -> TrashEntry:
        """Read the list of a deleted session."""
        path = folder / TRASH_MANIFEST_NAME
        return TrashEntry(folder, decode_trash_manifest(path.read_bytes(), path))

    def list_session_entries(self, session_id: str) -> list[TrashEntry]:
        """Return the readable entries of one session, whose names end with its id."""
        entries = self._read_entries(f"[0-9]*-{session_id}").entries
        return [entry for entry in entries if entry.manifest.session_id == session_id]

    def settle_entry(self, entry: TrashEntry) -> None:
        """Leave the entry to the user, because it does not record whether deleting or restoring was interrupted."""

    def put_session(self, manifest: TrashManifest, history: bytes | None = None) -> TrashEntry:
        """Move everything in a list to the trash; after any failure, put everything back."""
        with self.lock_journal():
            self.remove_leftovers()
            entry = self._begin_entry(manifest, history)
            try:
                for item in manifest.files:
                    _take_item(entry, item)
            except BaseException:
                if self.restore(entry).lost:  # another program removed files that are not in the trash
                    self.remove_entry(entry.folder)
                raise
            for item in reversed(manifest.folders):
                with contextlib.suppress(OSError):  # the folder contains something new and is kept
                    entry.get_home(item).rmdir()
            flush_folder(entry.folder)
            return entry

    def _begin_entry(self, manifest: TrashManifest, history: bytes | None) -> TrashEntry:
        stamp = datetime.fromisoformat(manifest.deleted).strftime("%Y%m%dT%H%M%S.%fZ")
        with self.add_entry(f"{stamp}-{manifest.session_id}") as folder:
            entry = TrashEntry(folder, manifest)
            if history is not None:
                replace_file(folder / HISTORY_FILE_NAME, history, root=folder)
            for item in manifest.files:
                entry.get_place(item).parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            self.write_manifest(folder, encode_trash_manifest(manifest))
        return entry

    def restore(self, entry: TrashEntry, *, force: bool = False) -> UndeleteResult:
        """Restore a session. Files in the way are joined to it or, with `force`, set aside; nothing is overwritten."""
        with self.lock_journal():
            if not entry.folder.exists():
                raise NotFound(f"{entry.name}: no longer in the trash")
            result = put_files_back(entry, self.folder / _ASIDE_FOLDER_NAME / entry.name, force=force)
            if not result.lost:
                self.remove_entry(entry.folder)
            return result

    def empty(self, older_than: timedelta, now: datetime | None = None) -> list[TrashEntry]:
        """Permanently remove what was deleted or set aside long enough ago."""
        with self.lock_journal():
            removed = self.prune(older_than, now)
            limit = ((now or datetime.now(UTC)) - older_than).timestamp()
            for left in (self.folder / _ASIDE_FOLDER_NAME).glob("*"):
                if left.stat().st_mtime <= limit:
                    shutil.rmtree(left)
            return removed


def _take_item(entry: TrashEntry, item: TrashItem) -> None:
    """Move a file into the trash if it is still the file that was listed."""
    home = entry.get_home(item)
    if item.kind == "file" and not is_untouched(home, item.size, item.mtime_ns):
        raise Changed(f"{home}: modified in the meantime, so nothing was deleted; try again")
    move_file(home, entry.get_place(item))
