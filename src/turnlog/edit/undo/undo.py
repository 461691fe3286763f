"""Makes changes to the user's files completely or not at all; they can be undone byte for byte.

The record of a change is flushed to disk before any file is changed (`journal`). Then the originals are kept and all
new content is written beside them; only then are files renamed. After any failure, everything is reversed. A killed
process leaves behind a record in the state `begun`, which the next change or `undo` reverses.
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

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")
UndoProgress = Callable[[int, int], None]
"""Receives the number of finished steps and the total."""
UndoListing = JournalListing[UndoRecord]
"""The changes that can be undone."""


class Undo(Journal[UndoRecord]):
    """The journal of changes."""

    manifest_name = RECORD_FILE_NAME
    removed_prefix = ".pruned-"
    states = (STATE_BEGUN, STATE_DONE, STATE_UNDONE)
    originals_name = "kept"

    # -- making changes

    def carry_out(
        self, verb: str, words: str, changes: Sequence[FileChange], progress: UndoProgress | None = None
    ) -> UndoRecord:
        """Make the given changes, all or none; `words` describes them for the user."""
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

    # -- undoing changes

    def undo_record(self, record: UndoRecord, *, force: bool = False, asked: bool = False) -> UndoRecord:
        """Reverse a change; raise `Changed` if its files have been written since, unless `force` is set.

        With `force`, the originals are restored anyway, and what they replace is kept with the record, in `made` or
        `aside`. Anything that a client has since written to an old path is appended to the original (`stubs`). `asked`
        means that the user was asked about uncertain signs (`open_signs.select_blocking_signs`).
        """
        with self.lock_journal():
            current = self.read_entry(record.folder)
            if current.state == STATE_UNDONE and has_stubs_to_put_back(current):
                put_stubs_back(current)
                return current
            if current.state == STATE_UNDONE:
                raise NotFound(
                    f"{record.name}: already undone; `turnlog undo --list` lists the changes that can be undone"
                )
            refuse_open_sessions(find_touched_targets(current.places), force=force, asked=asked)
            clear_empty_folders(current)
            stubs = find_stubs(current)
            was_forced = self._check_can_undo(current, stubs, force=force)
            set_stubs_aside(current, stubs)
            self._take_back_items(current)
            if current.state == STATE_BEGUN and not was_forced:
                self._forget_record(current)
                return current
            undone = self._mark_record(current, STATE_UNDONE)
            put_stubs_back(undone)
            return undone

    def settle_entry(self, entry: UndoRecord) -> None:
        """Roll back a change that a killed process left unfinished; if that is unsafe, leave the change to the user."""
        if entry.state == STATE_BEGUN or (entry.state == STATE_UNDONE and has_stubs_to_put_back(entry)):
            with contextlib.suppress(TurnlogError):
                self.undo_record(entry)

    def list_troubles(self, record: UndoRecord) -> list[reversal.UndoTrouble]:
        """Return the reasons not to reverse a change, apart from files at an old path (`stubs`)."""
        troubles = (reversal.find_trouble(record, number) for number in range(len(record.items)) if record.is_ready)
        return [trouble for trouble in troubles if trouble is not None]

    def _check_can_undo(self, record: UndoRecord, stubs: list[Stub], *, force: bool) -> bool:
        """Check that nothing would be lost, and return whether `force` was needed."""
        if not force and (stub := find_stub_needing_force(stubs)) is not None:
            remedy = "--force restores the original and sets this file aside"
            raise Changed(f"{stub.path}: modified after the change, so nothing was undone; {remedy}")
        troubles = self.list_troubles(record)
        blocking = [trouble for trouble in troubles if trouble.is_final or not force]
        if blocking:
            more = f" (and {len(blocking) - 1} more)" if len(blocking) > 1 else ""
            raise Changed(
                f"{blocking[0].words}{more}, so nothing was undone; {self._suggest_remedy(record, blocking[0])}"
            )
        return bool(troubles)

    def _suggest_remedy(self, record: UndoRecord, trouble: reversal.UndoTrouble) -> str:
        paths = {item.path for item in record.items}
        for other in self.list_records():
            later = other.when > record.when and other.state == STATE_DONE
            if later and any(item.path in paths or item.to in paths for item in other.items):
                return f"undo {other.name} first, because it is a later change"
        if any(item.kind == "append" for item in record.items):
            return f"use `turnlog {record.verb}` again to set a different value"
        if trouble.is_final:
            return "move it aside first"
        return "--force restores the original and keeps a copy of the current file, if there is one"

    def _roll_back(self, record: UndoRecord, number: int) -> None:
        """Reverse what this process has done; leave to `undo` anything that another program has since written."""
        is_whole = True
        for position in reversed(range(number + 1) if record.is_ready else range(0)):
            if reversal.find_trouble(record, position) is None:
                reversal.take_back_change(record, position)
            else:
                is_whole = is_whole and position == number  # the change that failed has already been reversed
        if is_whole:
            self._forget_record(record)

    def _take_back_items(self, record: UndoRecord) -> None:
        try:
            for number in reversed(range(len(record.items)) if record.is_ready else range(0)):
                reversal.take_back_change(record, number)
        except OSError as error:
            raise TurnlogError(
                f"{_describe_os_error(error)}; fix this problem, then undo {record.name} again"
            ) from error

    def _forget_record(self, record: UndoRecord) -> None:
        for path in reversal.list_helper_files(record):
            path.unlink(missing_ok=True)
        for item in reversed(record.items):
            for folder in reversed(item.folders):
                with contextlib.suppress(OSError):
                    Path(folder).rmdir()
        self.remove_entry(record.folder)

    # -- listing

    def list_records(self) -> list[UndoRecord]:
        """Return all changes, newest first."""
        return self.list_entries().entries

    def list_entries(self) -> UndoListing:
        """Return all changes, newest first, and the reasons why others can't be read."""
        listing = super().list_entries()
        return listing._replace(entries=sorted(listing.entries, key=lambda record: record.when, reverse=True))

    def read_entry(self, folder: Path) -> UndoRecord:
        """Read the record of a change, and its progress."""
        try:
            data = (folder / RECORD_FILE_NAME).read_bytes()
        except FileNotFoundError:
            raise NotFound(f"{folder.name}: this change no longer exists") from None
        state = self.read_state(folder)
        if state is None:
            raise Unreadable(f"{folder}: the state file is missing; the original files are still in this folder")
        return decode_record(data, folder, state)

    def measure_kept_size(self, record: UndoRecord) -> int:
        """Return how many bytes are kept for a change."""
        files = (path for part in ("kept", "made", "aside") for path in (record.folder / part).rglob("*"))
        return sum(path.lstat().st_size for path in files if path.is_symlink() or not path.is_dir())


def _run_with_plain_errors(
    work: Callable[Parameters, Result], /, *arguments: Parameters.args, **options: Parameters.kwargs
) -> Result:
    """Call `work`, and turn a system error into a one-line message."""
    try:
        return work(*arguments, **options)
    except OSError as error:
        raise TurnlogError(f"{_describe_os_error(error)}; nothing was changed") from error


def _describe_os_error(error: OSError) -> str:
    names = " -> ".join(os.fsdecode(name) for name in (error.filename, error.filename2) if name)
    reason = "the disk is full" if error.errno in (errno.ENOSPC, errno.EDQUOT) else error.strerror or str(error)
    return f"{names or 'a file'}: {reason}"


def _report_nothing(done: int, of: int) -> None:
    """Ignore progress."""
