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

from turnlog.edit.undo import step, taking_back
from turnlog.edit.undo.change import Append, Change, Create, Remove, Rename, Rewrite
from turnlog.edit.undo.opened import refuse_open, targets_of
from turnlog.edit.undo.record import BEGUN, DONE, NAME, UNDONE, Item, Record, decoded, encoded
from turnlog.edit.undo.stubs import (
    Stub,
    clear_empty_folders,
    find_stubs,
    has_stubs_to_put_back,
    needs_force,
    put_stubs_back,
    set_stubs_aside,
)
from turnlog.entries.writer import lock, replace, sync_folder
from turnlog.errors import Changed, NotFound, TurnlogError, Unreadable

__all__ = ["Append", "Change", "Create", "Listed", "Record", "Remove", "Rename", "Rewrite", "Undo"]

_GOING = ".pruned-"
Given = ParamSpec("Given")
Gives = TypeVar("Gives")
Progress = Callable[[int, int], None]
"""Is told how many steps are done, and of how many."""


class Listed(NamedTuple):
    """What can be undone."""

    records: list[Record]
    """The newest first."""
    unreadable: list[str]
    """Why others can't be, in words."""


class Undo:
    """The folder of what was changed; made when first needed."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._is_held = False

    # -- forth

    def carry_out(self, verb: str, words: str, changes: Sequence[Change], progress: Progress | None = None) -> Record:
        """Make some changes, all or none; `words` say for people what they are."""
        with self.locked():
            self.settle()
            tell = progress or _quiet
            record, number = self._begun(verb, words, changes), 0
            try:
                record = self._prepared(record, changes, tell)
                for number, change in enumerate(changes):
                    _plainly(step.carry_out, record, number, change)
                    tell(len(changes) + number + 1, 2 * len(changes))
                return self._marked(self._finished(record), DONE)
            except BaseException:
                self._roll_back(record, number)
                raise

    def _begun(self, verb: str, words: str, changes: Sequence[Change]) -> Record:
        now = datetime.now(UTC)
        items = tuple(_plainly(step.planned, change) for change in changes)
        folder = self._free(f"{now:%Y%m%d-%H%M%S}-{verb}")
        record = Record(folder, verb, words, now.isoformat(), items)
        folder.mkdir(mode=0o700)
        try:
            (folder / "kept").mkdir(mode=0o700)
            (folder / BEGUN).touch(mode=0o600)
            replace(folder / NAME, encoded(record), root=folder)
            sync_folder(self.folder)
        except BaseException:
            shutil.rmtree(folder, ignore_errors=True)
            raise
        return record

    def _free(self, name: str) -> Path:
        number, folder = 1, self.folder / name
        while os.path.lexists(folder):
            number += 1
            folder = self.folder / f"{name}-{number}"
        return folder

    def _prepared(self, record: Record, changes: Sequence[Change], tell: Progress) -> Record:
        items: list[Item] = []
        for number, change in enumerate(changes):
            items.append(_plainly(step.prepared, record, number, change))
            tell(number + 1, 2 * len(changes))
        sync_folder(record.folder / "kept")
        ready = record.with_items(items, is_ready=True)
        replace(record.folder / NAME, encoded(ready), root=record.folder)
        return ready

    def _finished(self, record: Record) -> Record:
        items = tuple(map(step.finished, record.items))
        finished = record.with_items(items)
        if items != record.items:
            replace(record.folder / NAME, encoded(finished), root=record.folder)
        return finished

    # -- back

    def undo(self, record: Record, *, force: bool = False, asked: bool = False) -> Record:
        """Put back what a change has changed; refuses (`Changed`) when that was written since, unless by force.

        By force the originals come back all the same. What stood there stays with the record, in `made` or `aside`.
        What a client went on to write in an old place follows the original (`stubs`). `asked` as in `busy.blocking`.
        """
        with self.locked():
            found = self._read(record.folder)
            if found.state == UNDONE and has_stubs_to_put_back(found):
                put_stubs_back(found)
                return found
            if found.state == UNDONE:
                raise NotFound(f"{record.name}: was undone already; `turnlog undo --list` shows what can be undone")
            refuse_open(targets_of(found.places), force=force, asked=asked)
            clear_empty_folders(found)
            stubs = find_stubs(found)
            forced = self._must_fit(found, stubs, force=force)
            set_stubs_aside(found, stubs)
            self._take_back(found)
            if found.state == BEGUN and not forced:
                self._forget(found)
                return found
            undone = self._marked(found, UNDONE)
            put_stubs_back(undone)
            return undone

    def settle(self) -> None:
        """Take back what a killed process has begun; where that is not safe, it stays for the user to decide."""
        with self.locked():
            for folder in self.folder.glob("[0-9]*"):
                if not (folder / NAME).exists():  # killed before it had a record: nothing was touched
                    shutil.rmtree(folder, ignore_errors=True)
            for record in self.listed().records:
                if record.state == BEGUN or (record.state == UNDONE and has_stubs_to_put_back(record)):
                    with contextlib.suppress(TurnlogError):
                        self.undo(record)

    def trouble(self, record: Record) -> list[taking_back.Trouble]:
        """What speaks against taking a change back, apart from what stands in an old place again (`stubs`)."""
        found = (taking_back.trouble(record, number) for number in range(len(record.items)) if record.is_ready)
        return [trouble for trouble in found if trouble is not None]

    def _must_fit(self, record: Record, stubs: list[Stub], *, force: bool) -> bool:
        """See that nothing would be lost; gives whether only force allows it."""
        if not force and (stub := needs_force(stubs)) is not None:
            remedy = "--force puts the original back and sets it aside"
            raise Changed(f"{stub.path}: was written there since; nothing was undone; {remedy}")
        told = self.trouble(record)
        grave = [trouble for trouble in told if trouble.is_final or not force]
        if grave:
            more = f" (and {len(grave) - 1} more)" if len(grave) > 1 else ""
            raise Changed(f"{grave[0].words}{more}; nothing was undone; {self._remedy(record, grave[0])}")
        return bool(told)

    def _remedy(self, record: Record, trouble: taking_back.Trouble) -> str:
        paths = {item.path for item in record.items}
        for other in self.records():
            later = other.when > record.when and other.state == DONE
            if later and any(item.path in paths or item.to in paths for item in other.items):
                return f"undo {other.name} first, which changed it later"
        if any(item.kind == "append" for item in record.items):
            return f"use `turnlog {record.verb}` again to say something else"
        return "move it away first" if trouble.is_final else "--force puts the original back and keeps what is there"

    def _roll_back(self, record: Record, number: int) -> None:
        """Take back what this process has done; what somebody else wrote meanwhile is left to `undo`."""
        is_whole = True
        for done in reversed(range(number + 1) if record.is_ready else range(0)):
            if taking_back.trouble(record, done) is None:
                taking_back.take_back(record, done)
            else:
                is_whole = is_whole and done == number  # the one that failed has put itself back
        if is_whole:
            self._forget(record)

    def _take_back(self, record: Record) -> None:
        try:
            for number in reversed(range(len(record.items)) if record.is_ready else range(0)):
                taking_back.take_back(record, number)
        except OSError as error:
            raise TurnlogError(f"{_told(error)}; undo {record.name} again when that is solved") from error

    def _forget(self, record: Record) -> None:
        for path in taking_back.leftovers(record):
            path.unlink(missing_ok=True)
        for item in reversed(record.items):
            for folder in reversed(item.folders):
                with contextlib.suppress(OSError):
                    Path(folder).rmdir()
        self._remove(record.folder)

    # -- what there is

    def records(self) -> list[Record]:
        """All changes, the newest first."""
        return self.listed().records

    def listed(self) -> Listed:
        """All changes, and what could not be read."""
        records: list[Record] = []
        unreadable: list[str] = []
        for path in self.folder.glob(f"[0-9]*/{NAME}"):
            try:
                records.append(self._read(path.parent))
            except (TurnlogError, OSError) as error:
                unreadable.append(str(error))
        return Listed(sorted(records, key=lambda record: record.when, reverse=True), sorted(unreadable))

    def _read(self, folder: Path) -> Record:
        try:
            data = (folder / NAME).read_bytes()
        except FileNotFoundError:
            raise NotFound(f"{folder.name}: there is no such change any more") from None
        state = next((state for state in (UNDONE, DONE, BEGUN) if (folder / state).exists()), None)
        if state is None:
            raise Unreadable(f"{folder}: does not say how far it is; what was kept lies in it")
        return decoded(data, folder, state)

    def kept_size(self, record: Record) -> int:
        """How many bytes are kept for a change."""
        files = (path for part in ("kept", "made", "aside") for path in (record.folder / part).rglob("*"))
        return sum(path.lstat().st_size for path in files if path.is_symlink() or not path.is_dir())

    def ripe(self, older_than: timedelta, now: datetime | None = None) -> list[Record]:
        """What was changed long enough ago for its originals to go; never what was interrupted."""
        limit = (now or datetime.now(UTC)) - older_than
        return [record for record in self.records() if record.state != BEGUN and record.moment <= limit]

    def prune(self, older_than: timedelta, now: datetime | None = None) -> list[Record]:
        """Remove for good what is kept of changes that were made long enough ago."""
        with self.locked():
            gone = self.ripe(older_than, now)
            for record in gone:
                self._remove(record.folder)
            for left in self.folder.glob(f"{_GOING}*"):
                shutil.rmtree(left, ignore_errors=True)
            return gone

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Let one turnlog at a time change files; who holds it may ask again."""
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

    def _marked(self, record: Record, state: str) -> Record:
        """Say how far a record is; the name of an empty file tells, because a rename needs no space on the disk."""
        (record.folder / record.state).rename(record.folder / state)
        sync_folder(record.folder)
        return record.with_items(record.items, state=state)

    def _remove(self, folder: Path) -> None:
        going = folder.with_name(_GOING + folder.name)
        folder.rename(going)
        shutil.rmtree(going, ignore_errors=True)


def _plainly(work: Callable[Given, Gives], /, *words: Given.args, **options: Given.kwargs) -> Gives:
    """Do something; what the system says against it is told in one line."""
    try:
        return work(*words, **options)
    except OSError as error:
        raise TurnlogError(f"{_told(error)}; nothing was changed") from error


def _told(error: OSError) -> str:
    names = " -> ".join(os.fsdecode(name) for name in (error.filename, error.filename2) if name)
    why = "the disk is full" if error.errno in (errno.ENOSPC, errno.EDQUOT) else error.strerror or str(error)
    return f"{names or 'a file'}: {why}"


def _quiet(done: int, of: int) -> None:
    """Tell nobody."""
