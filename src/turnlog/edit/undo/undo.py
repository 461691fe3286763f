"""Changes of the user's files that can be taken back, byte for byte: carried out as a whole, or not at all.

A record of what will be done is on the disk before anything is. Then the originals are kept and all new contents are
written beside their places; only then come the renames. Any failure takes everything back. Who is killed in between
leaves a record that is `begun`: the next change, or `undo`, takes that back.
"""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import NamedTuple, ParamSpec, TypeVar

from turnlog.edit.undo import change_step, reversal
from turnlog.edit.undo.change import AppendChange, CreateChange, FileChange, RemoveChange, RenameChange, RewriteChange
from turnlog.edit.undo.open_sessions import find_touched_targets, refuse_open_sessions
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
from turnlog.entries.atomic_file import flush_folder, lock_file, replace_file
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

_GOING_PREFIX = ".pruned-"
Given = ParamSpec("Given")
Gives = TypeVar("Gives")
UndoProgress = Callable[[int, int], None]
"""Is told how many steps are done, and of how many."""


class UndoListing(NamedTuple):
    """What can be undone."""

    records: list[UndoRecord]
    """The newest first."""
    unreadable: list[str]
    """Why others can't be, in words."""


class Undo:
    """The folder of what was changed; made when first needed."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._is_held = False

    # -- forth

    def carry_out(
        self, verb: str, words: str, changes: Sequence[FileChange], progress: UndoProgress | None = None
    ) -> UndoRecord:
        """Make some changes, all or none; `words` say for people what they are."""
        with self.lock_changes():
            self.settle_interrupted()
            tell = progress or _report_nothing
            record, number = self._begin_record(verb, words, changes), 0
            try:
                record = self._prepare_items(record, changes, tell)
                for number, change in enumerate(changes):
                    _run_with_plain_errors(change_step.carry_out_change, record, number, change)
                    tell(len(changes) + number + 1, 2 * len(changes))
                return self._mark_state(self._finish_items(record), STATE_DONE)
            except BaseException:
                self._roll_back(record, number)
                raise

    def _begin_record(self, verb: str, words: str, changes: Sequence[FileChange]) -> UndoRecord:
        now = datetime.now(UTC)
        items = tuple(_run_with_plain_errors(change_step.plan_item, change) for change in changes)
        folder = self._find_free_folder(f"{now:%Y%m%d-%H%M%S}-{verb}")
        record = UndoRecord(folder, verb, words, now.isoformat(), items)
        folder.mkdir(mode=0o700)
        try:
            (folder / "kept").mkdir(mode=0o700)
            (folder / STATE_BEGUN).touch(mode=0o600)
            replace_file(folder / RECORD_FILE_NAME, encode_record(record), root=folder)
            flush_folder(self.folder)
        except BaseException:
            shutil.rmtree(folder, ignore_errors=True)
            raise
        return record

    def _find_free_folder(self, name: str) -> Path:
        number, folder = 1, self.folder / name
        while os.path.lexists(folder):
            number += 1
            folder = self.folder / f"{name}-{number}"
        return folder

    def _prepare_items(self, record: UndoRecord, changes: Sequence[FileChange], tell: UndoProgress) -> UndoRecord:
        items: list[UndoItem] = []
        for number, change in enumerate(changes):
            items.append(_run_with_plain_errors(change_step.prepare_item, record, number, change))
            tell(number + 1, 2 * len(changes))
        flush_folder(record.folder / "kept")
        ready = record.with_items(items, is_ready=True)
        replace_file(record.folder / RECORD_FILE_NAME, encode_record(ready), root=record.folder)
        return ready

    def _finish_items(self, record: UndoRecord) -> UndoRecord:
        items = tuple(map(change_step.finish_item, record.items))
        finished = record.with_items(items)
        if items != record.items:
            replace_file(record.folder / RECORD_FILE_NAME, encode_record(finished), root=record.folder)
        return finished

    # -- back

    def undo_record(self, record: UndoRecord, *, force: bool = False, asked: bool = False) -> UndoRecord:
        """Put back what a change has changed; refuses (`Changed`) when that was written since, unless by force.

        By force the originals come back all the same. What stood there stays with the record, in `made` or `aside`.
        What a client went on to write in an old place follows the original (`stubs`). `asked` as in `busy.blocking`.
        """
        with self.lock_changes():
            found = self._read_record(record.folder)
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
            undone = self._mark_state(found, STATE_UNDONE)
            put_stubs_back(undone)
            return undone

    def settle_interrupted(self) -> None:
        """Take back what a killed process has begun; where that is not safe, it stays for the user to decide."""
        with self.lock_changes():
            for folder in self.folder.glob("[0-9]*"):
                if not (folder / RECORD_FILE_NAME).exists():  # killed before it had a record: nothing was touched
                    shutil.rmtree(folder, ignore_errors=True)
            for record in self.list_all().records:
                if record.state == STATE_BEGUN or (record.state == STATE_UNDONE and has_stubs_to_put_back(record)):
                    with contextlib.suppress(TurnlogError):
                        self.undo_record(record)

    def list_troubles(self, record: UndoRecord) -> list[reversal.UndoTrouble]:
        """What speaks against taking a change back, apart from what stands in an old place again (`stubs`)."""
        found = (reversal.find_trouble(record, number) for number in range(len(record.items)) if record.is_ready)
        return [trouble for trouble in found if trouble is not None]

    def _check_can_undo(self, record: UndoRecord, stubs: list[Stub], *, force: bool) -> bool:
        """See that nothing would be lost; gives whether only force allows it."""
        if not force and (stub := find_stub_needing_force(stubs)) is not None:
            remedy = "--force puts the original back and sets it aside"
            raise Changed(f"{stub.path}: was written there since; nothing was undone; {remedy}")
        told = self.list_troubles(record)
        grave = [trouble for trouble in told if trouble.is_final or not force]
        if grave:
            more = f" (and {len(grave) - 1} more)" if len(grave) > 1 else ""
            raise Changed(f"{grave[0].words}{more}; nothing was undone; {self._suggest_remedy(record, grave[0])}")
        return bool(told)

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
        self._remove_folder(record.folder)

    # -- what there is

    def list_records(self) -> list[UndoRecord]:
        """All changes, the newest first."""
        return self.list_all().records

    def list_all(self) -> UndoListing:
        """All changes, and what could not be read."""
        records: list[UndoRecord] = []
        unreadable: list[str] = []
        for path in self.folder.glob(f"[0-9]*/{RECORD_FILE_NAME}"):
            try:
                records.append(self._read_record(path.parent))
            except (TurnlogError, OSError) as error:
                unreadable.append(str(error))
        return UndoListing(sorted(records, key=lambda record: record.when, reverse=True), sorted(unreadable))

    def _read_record(self, folder: Path) -> UndoRecord:
        try:
            data = (folder / RECORD_FILE_NAME).read_bytes()
        except FileNotFoundError:
            raise NotFound(f"{folder.name}: there is no such change any more") from None
        state = next((state for state in (STATE_UNDONE, STATE_DONE, STATE_BEGUN) if (folder / state).exists()), None)
        if state is None:
            raise Unreadable(f"{folder}: does not say how far it is; what was kept lies in it")
        return decode_record(data, folder, state)

    def measure_kept_size(self, record: UndoRecord) -> int:
        """How many bytes are kept for a change."""
        files = (path for part in ("kept", "made", "aside") for path in (record.folder / part).rglob("*"))
        return sum(path.lstat().st_size for path in files if path.is_symlink() or not path.is_dir())

    def list_ripe(self, older_than: timedelta, now: datetime | None = None) -> list[UndoRecord]:
        """What was changed long enough ago for its originals to go; never what was interrupted."""
        limit = (now or datetime.now(UTC)) - older_than
        return [record for record in self.list_records() if record.state != STATE_BEGUN and record.moment <= limit]

    def prune(self, older_than: timedelta, now: datetime | None = None) -> list[UndoRecord]:
        """Remove for good what is kept of changes that were made long enough ago."""
        with self.lock_changes():
            gone = self.list_ripe(older_than, now)
            for record in gone:
                self._remove_folder(record.folder)
            for left in self.folder.glob(f"{_GOING_PREFIX}*"):
                shutil.rmtree(left, ignore_errors=True)
            return gone

    @contextlib.contextmanager
    def lock_changes(self) -> Iterator[None]:
        """Let one turnlog at a time change files; who holds it may ask again."""
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

    def _mark_state(self, record: UndoRecord, state: str) -> UndoRecord:
        """Say how far a record is; the name of an empty file tells, because a rename needs no space on the disk."""
        (record.folder / record.state).rename(record.folder / state)
        flush_folder(record.folder)
        return record.with_items(record.items, state=state)

    def _remove_folder(self, folder: Path) -> None:
        going = folder.with_name(_GOING_PREFIX + folder.name)
        folder.rename(going)
        shutil.rmtree(going, ignore_errors=True)


def _run_with_plain_errors(work: Callable[Given, Gives], /, *words: Given.args, **options: Given.kwargs) -> Gives:
    """Do something; what the system says against it is told in one line."""
    try:
        return work(*words, **options)
    except OSError as error:
        raise TurnlogError(f"{_describe_os_error(error)}; nothing was changed") from error


def _describe_os_error(error: OSError) -> str:
    names = " -> ".join(os.fsdecode(name) for name in (error.filename, error.filename2) if name)
    why = "the disk is full" if error.errno in (errno.ENOSPC, errno.EDQUOT) else error.strerror or str(error)
    return f"{names or 'a file'}: {why}"


def _report_nothing(done: int, of: int) -> None:
    """Tell nobody."""
