"""Changes of the user's files that can be taken back, byte for byte: carried out as a whole, or not at all.

The record of a change is on the disk before anything is touched (`journal`). Then the originals are kept and all new
contents are written beside their places; only then come the renames. Any failure takes everything back. A killed
process leaves a record that is `begun`: the next change, or `undo`, takes that back.
"""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import ParamSpec, TypeVar

from turnlog.edit.journal.file_steps import find_free_path
from turnlog.edit.journal.journal import Journal, JournalListing
from turnlog.edit.undo import reversal
from turnlog.edit.undo.change import (
    AppendChange,
    CreateChange,
    FileChange,
    RemoveChange,
    RenameChange,
    RewriteChange,
    carry_out_change,
    finish_item,
    plan_item,
    prepare_item,
)
from turnlog.edit.undo.record import (
    RECORD_FILE_NAME,
    STATE_BEGUN,
    STATE_DONE,
    STATE_UNDONE,
    UndoItem,
    UndoRecord,
    decode_record,
    encode_record,
)
from turnlog.edit.undo.stubs import (
    Stub,
    clear_empty_folders,
    find_stub_needing_force,
    find_stubs,
    has_stubs_to_put_back,
    put_stubs_back,
    set_stubs_aside,
)
from turnlog.edit.undo.touched_sessions import find_touched_targets, refuse_open_sessions
from turnlog.entries.atomic_file import flush_folder
from turnlog.errors import Changed, NotFound, TurnlogError, Unreadable

__all__ = [
    "AppendChange",
    "CreateChange",
    "FileChange",
    "RemoveChange",
    "RenameChange",
    "RewriteChange",
    "Undo",
    "UndoListing",
    "UndoRecord",
]

Given = ParamSpec("Given")
Gives = TypeVar("Gives")
UndoProgress = Callable[[int, int], None]
"""Gets how many steps are done, and of how many."""
UndoListing = JournalListing[UndoRecord]
"""What can be undone."""


class Undo(Journal[UndoRecord]):
    """The journal of changes."""

    manifest_name = RECORD_FILE_NAME
    removed_prefix = ".pruned-"
    states = (STATE_BEGUN, STATE_DONE, STATE_UNDONE)
    originals_name = "kept"

    # -- forth

    def carry_out(
        self, verb: str, words: str, changes: Sequence[FileChange], progress: UndoProgress | None = None
    ) -> UndoRecord:
        """Make some changes, all or none; `words` say for people what they are."""
        with self.lock_journal():
            self.settle_unfinished()
            report = progress or _report_nothing
            record, number = self._begin_record(verb, words, changes), 0
            try:
                record = self._prepare_items(record, changes, report)
                for number, change in enumerate(changes):
                    _run_with_plain_errors(carry_out_change, record, number, change)
                    report(len(changes) + number + 1, 2 * len(changes))
                return self._mark_record(self._finish_items(record), STATE_DONE)
            except BaseException:
                self._roll_back(record, number)
                raise

    def _begin_record(self, verb: str, words: str, changes: Sequence[FileChange]) -> UndoRecord:
        now = datetime.now(UTC)
        items = tuple(_run_with_plain_errors(plan_item, change) for change in changes)
        name = find_free_path(self.folder / f"{now:%Y%m%d-%H%M%S}-{verb}").name
        with self.add_entry(name) as folder:
            record = UndoRecord(folder, verb, words, now.isoformat(), items)
            (folder / "kept").mkdir(mode=0o700)
            self.mark_state(folder, STATE_BEGUN)
            self.write_manifest(folder, encode_record(record))
        return record

    def _prepare_items(self, record: UndoRecord, changes: Sequence[FileChange], report: UndoProgress) -> UndoRecord:
        items: list[UndoItem] = []
        for number, change in enumerate(changes):
            items.append(_run_with_plain_errors(prepare_item, record, number, change))
            report(number + 1, 2 * len(changes))
        flush_folder(record.folder / "kept")
        ready = record.with_items(items, is_ready=True)
        self.write_manifest(record.folder, encode_record(ready))
        return ready

    def _finish_items(self, record: UndoRecord) -> UndoRecord:
        items = tuple(map(finish_item, record.items))
        finished = record.with_items(items)
        if items != record.items:
            self.write_manifest(record.folder, encode_record(finished))
        return finished

    def _mark_record(self, record: UndoRecord, state: str) -> UndoRecord:
        self.mark_state(record.folder, state)
        return record.with_items(record.items, state=state)

    # -- back

    def undo_record(self, record: UndoRecord, *, force: bool = False, asked: bool = False) -> UndoRecord:
        """Put back what a change has changed; refuses (`Changed`) when that was written since, unless by force.

        By force the originals come back all the same. What stood there stays with the record, in `made` or `aside`.
        What a client went on to write in an old place follows the original (`stubs`). `asked` says that the user
        was asked about doubts (`open_signs.select_blocking_signs`).
        """
        with self.lock_journal():
            found = self.read_entry(record.folder)
            if found.state == STATE_UNDONE and has_stubs_to_put_back(found):
                put_stubs_back(found)
                return found
            if found.state == STATE_UNDONE:
                raise NotFound(f"{record.name}: was undone already; `turnlog undo --list` shows what can be undone")
            refuse_open_sessions(find_touched_targets(found.places), force=force, asked=asked)
            clear_empty_folders(found)
            stubs = find_stubs(found)
            forced = self._check_can_undo(found, stubs, force=force)
            set_stubs_aside(found, stubs)
            self._take_back_items(found)
            if found.state == STATE_BEGUN and not forced:
                self._forget_record(found)
                return found
            undone = self._mark_record(found, STATE_UNDONE)
            put_stubs_back(undone)
            return undone

    def settle_entry(self, entry: UndoRecord) -> None:
        """Take back what a killed process has begun; where that is not safe, it stays for the user to decide."""
        if entry.state == STATE_BEGUN or (entry.state == STATE_UNDONE and has_stubs_to_put_back(entry)):
            with contextlib.suppress(TurnlogError):
                self.undo_record(entry)

    def list_troubles(self, record: UndoRecord) -> list[reversal.UndoTrouble]:
        """List the reasons not to take a change back, apart from files in an old place (`stubs`)."""
        found = (reversal.find_trouble(record, number) for number in range(len(record.items)) if record.is_ready)
        return [trouble for trouble in found if trouble is not None]

    def _check_can_undo(self, record: UndoRecord, stubs: list[Stub], *, force: bool) -> bool:
        """See that nothing would be lost; gives whether only force allows it."""
        if not force and (stub := find_stub_needing_force(stubs)) is not None:
            remedy = "--force puts the original back and sets it aside"
            raise Changed(f"{stub.path}: was written there since; nothing was undone; {remedy}")
        troubles = self.list_troubles(record)
        grave = [trouble for trouble in troubles if trouble.is_final or not force]
        if grave:
            more = f" (and {len(grave) - 1} more)" if len(grave) > 1 else ""
            raise Changed(f"{grave[0].words}{more}; nothing was undone; {self._suggest_remedy(record, grave[0])}")
        return bool(troubles)

    def _suggest_remedy(self, record: UndoRecord, trouble: reversal.UndoTrouble) -> str:
        paths = {item.path for item in record.items}
        for other in self.list_records():
            later = other.when > record.when and other.state == STATE_DONE
            if later and any(item.path in paths or item.to in paths for item in other.items):
                return f"undo {other.name} first, which changed it later"
        if any(item.kind == "append" for item in record.items):
            return f"use `turnlog {record.verb}` again to say something else"
        return "move it away first" if trouble.is_final else "--force puts the original back and keeps what is there"

    def _roll_back(self, record: UndoRecord, number: int) -> None:
        """Take back what this process has done; what somebody else wrote meanwhile is left to `undo`."""
        is_whole = True
        for done in reversed(range(number + 1) if record.is_ready else range(0)):
            if reversal.find_trouble(record, done) is None:
                reversal.take_back_change(record, done)
            else:
                is_whole = is_whole and done == number  # the one that failed has put itself back
        if is_whole:
            self._forget_record(record)

    def _take_back_items(self, record: UndoRecord) -> None:
        try:
            for number in reversed(range(len(record.items)) if record.is_ready else range(0)):
                reversal.take_back_change(record, number)
        except OSError as error:
            raise TurnlogError(f"{_describe_os_error(error)}; undo {record.name} again when that is solved") from error

    def _forget_record(self, record: UndoRecord) -> None:
        for path in reversal.list_helper_files(record):
            path.unlink(missing_ok=True)
        for item in reversed(record.items):
            for folder in reversed(item.folders):
                with contextlib.suppress(OSError):
                    Path(folder).rmdir()
        self.remove_entry(record.folder)

    # -- what there is

    def list_records(self) -> list[UndoRecord]:
        """All changes, the newest first."""
        return self.list_entries().entries

    def list_entries(self) -> UndoListing:
        """All changes, the newest first, and what could not be read."""
        found = super().list_entries()
        return found._replace(entries=sorted(found.entries, key=lambda record: record.when, reverse=True))

    def read_entry(self, folder: Path) -> UndoRecord:
        """Read the record of a change, and how far it is."""
        try:
            data = (folder / RECORD_FILE_NAME).read_bytes()
        except FileNotFoundError:
            raise NotFound(f"{folder.name}: this change does not exist any more") from None
        state = self.read_state(folder)
        if state is None:
            raise Unreadable(f"{folder}: does not say how far it is; it holds what was kept")
        return decode_record(data, folder, state)

    def measure_kept_size(self, record: UndoRecord) -> int:
        """How many bytes are kept for a change."""
        files = (path for part in ("kept", "made", "aside") for path in (record.folder / part).rglob("*"))
        return sum(path.lstat().st_size for path in files if path.is_symlink() or not path.is_dir())


def _run_with_plain_errors(work: Callable[Given, Gives], /, *words: Given.args, **options: Given.kwargs) -> Gives:
    """Do something; an error of the system becomes one line of words."""
    try:
        return work(*words, **options)
    except OSError as error:
        raise TurnlogError(f"{_describe_os_error(error)}; nothing was changed") from error


def _describe_os_error(error: OSError) -> str:
    names = " -> ".join(os.fsdecode(name) for name in (error.filename, error.filename2) if name)
    why = "the disk is full" if error.errno in (errno.ENOSPC, errno.EDQUOT) else error.strerror or str(error)
    return f"{names or 'a file'}: {why}"


def _report_nothing(done: int, of: int) -> None:
    """Report to nobody."""
