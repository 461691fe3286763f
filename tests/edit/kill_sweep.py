"""Kill each user of the journal before each of its steps on the disk, and see that all or nothing of its work is left.

    python -m tests.edit.kill_sweep change|undo|delete|undelete|unpack FOLDER DATA_FOLDER STRIDE

Prints the number of the last step. `DATA_FOLDER` may lie on another file system: turnlog's own data goes there.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import ClassVar, Protocol

from tests.edit.furnished_session import LONG_AGO, MINE, OTHER, Seen, furnish, picture
from tests.edit.kill_steps import is_killed_at
from turnlog.edit.package.pack import pack_sessions
from turnlog.edit.package.package_reader import Package
from turnlog.edit.package.staging_area import UnpackJournal
from turnlog.edit.package.unpack import unpack_package
from turnlog.edit.trash.delete import delete_session
from turnlog.edit.trash.trash import Trash
from turnlog.edit.undo.record import STATE_BEGUN, STATE_UNDONE
from turnlog.edit.undo.undo import (
    AppendChange,
    CreateChange,
    FileChange,
    RemoveChange,
    RenameChange,
    RewriteChange,
    Undo,
)


class JournalUser(Protocol):
    """One piece of work with a journal, in folders of its own."""

    def work(self) -> object:
        """Do it; this is what gets killed."""

    def check(self, step: int, *, died: bool) -> None:
        """See that what a later process finds and does leaves all or nothing of it."""


class Change:
    """One change of each kind, and its undoing."""

    def __init__(self, base: Path, away: Path, *, is_undo: bool = False) -> None:
        self.root, self.undo = base / "projects", Undo(away / "undo")
        changes = self.build_changes()
        self.before = picture(self.root)
        if is_undo:
            record = self.undo.carry_out("x", "x", changes)
            self.work: Callable[[], object] = lambda: self.undo.undo_record(record)
        else:
            self.work = lambda: self.undo.carry_out("x", "x", changes)

    def build_changes(self) -> list[FileChange]:
        root, folder = self.root, self.root / "-p"
        for number, name in enumerate(["a.jsonl", "b.txt", "inner/c.jsonl", "log.jsonl"]):
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(name * 100)
            path.chmod(0o640 if number % 2 else 0o600)
            os.utime(path, ns=(LONG_AGO * 10**9 + number, LONG_AGO * 10**9 + number))
        (folder / "empty").mkdir()
        return [
            RewriteChange(folder / "a.jsonl", lambda: [b"two"], root),
            RewriteChange(folder / "inner" / "c.jsonl", lambda: [b"see"], root),
            RemoveChange(folder / "b.txt", root),
            RemoveChange(folder / "empty", root),
            CreateChange(folder / "new" / "d.jsonl", lambda: [b"dee"], root),
            AppendChange(folder / "log.jsonl", b'{"x":1}\n', root),
            RenameChange(folder / "a.jsonl", folder / "e.jsonl", root),
            RenameChange(folder, root / "-q" / "r", root),
        ]

    def check(self, step: int, *, died: bool) -> None:
        if step % 2:  # the next change settles what was begun; otherwise the user undoes it
            self.undo.settle_unfinished()
            assert all(record.state != STATE_BEGUN for record in self.undo.list_records())
        for record in self.undo.list_records():
            if record.state != STATE_UNDONE:
                self.undo.undo_record(record)
        assert_same(picture(self.root), self.before)
        assert all(record.state == STATE_UNDONE for record in self.undo.list_records())


class Deletion:
    """A session with its lines of the history moved into the trash, or put back."""

    def __init__(self, base: Path, away: Path, *, is_undelete: bool = False) -> None:
        self.config, self.trash = base / "claude", Trash(away / "trash")
        self.session = furnish(self.config)
        self.before = picture(self.config)
        self.is_undelete = is_undelete
        if is_undelete:
            self.delete()

    def delete(self) -> object:
        return delete_session(self.session, self.trash, history=True)

    def work(self) -> object:
        return self.trash.restore(self.trash.list_entries().entries[0]) if self.is_undelete else self.delete()

    def check(self, step: int, *, died: bool) -> None:
        if died and not self.is_undelete and not step % 2 and self.session.exists():
            self.delete()  # goes on from what is there
        for entry in self.trash.list_entries().entries:
            assert self.trash.restore(entry)[:2] == ([], []), entry
        self.trash.settle_unfinished()
        assert [path.name for path in self.trash.folder.iterdir() if path.name != ".lock"] == []
        after = picture(self.config)
        now = after["history.jsonl"].mtime_ns
        assert_same(after, {**self.before, "history.jsonl": self.before["history.jsonl"]._replace(mtime_ns=now)})


class Unpacking:
    """A package of two sessions unpacked into a config folder that holds something else."""

    outcomes: ClassVar[set[int]] = set()
    """How many transcripts could be seen after a kill."""

    def __init__(self, base: Path, away: Path) -> None:
        session = furnish(base / "claude")
        self.base, self.config = base, base / "there"
        self.package = pack_sessions([session, session.with_name(f"{OTHER}.jsonl")], base / "p").path
        for folder in ("work", "other", "there"):
            (base / folder).mkdir()
        (self.config / "settings.json").write_text("{}")
        self.unpack(base / "whole")
        self.whole = {**read_files(base / "whole"), "settings.json": b"{}"}
        self.transcripts = [name for name in self.whole if name.endswith((f"/{MINE}.jsonl", f"/{OTHER}.jsonl"))]
        assert len(self.transcripts) == 2

    def unpack(self, config: Path, project: str = "work") -> object:
        with Package(self.package) as package:
            return unpack_package(package, config, project_folders={"/home/dana/webshop": self.base / project})

    def work(self) -> object:
        return self.unpack(self.config)

    def check(self, step: int, *, died: bool) -> None:
        found = read_files(self.config)
        seen = [name for name in self.transcripts if name in found]
        self.outcomes.add(len(seen))
        assert died or self.outcomes == {0, 1, 2}, "the last run was not killed, so kills came at every stage"
        if seen:  # a session that can be seen is whole
            assert all(found.get(name) == data for name, data in self.whole.items() if name not in self.transcripts)
        if list(self.config.glob(".turnlog-unpack-*/ready")):  # from here on any run finishes the work
            UnpackJournal(self.config).settle_unfinished()
            assert read_files(self.config) == self.whole
            seen = self.transcripts
        if step % 2 and not seen:  # the next run may be for another project: nothing of the first is in its way
            self.unpack(self.config, "other")
            assert len(read_files(self.config)) == len(self.whole)
        else:
            self.unpack(self.config)
            assert read_files(self.config) == self.whole
        assert not list(self.config.glob(".turnlog*"))
        assert len((self.config / "history.jsonl").read_bytes().splitlines()) == 3


def read_files(folder: Path) -> dict[str, bytes]:
    """All files below a folder."""
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def assert_same(after: dict[str, Seen], before: dict[str, Seen]) -> None:
    """See that everything is as it was."""
    assert after == before, before.items() ^ after.items()


USERS: dict[str, Callable[[Path, Path], JournalUser]] = {
    "change": Change,
    "undo": lambda base, away: Change(base, away, is_undo=True),
    "delete": Deletion,
    "undelete": lambda base, away: Deletion(base, away, is_undelete=True),
    "unpack": Unpacking,
}


def main(name: str, base: Path, away: Path, stride: int) -> int:
    """Kill one user of the journal before each of its steps; gives the number of the last."""
    for step in range(1, 10_000, stride):
        user = USERS[name](base / f"{step}", away / f"{step}")
        died = is_killed_at(user.work, step)
        try:
            user.check(step, died=died)
        except Exception as error:
            raise SystemExit(f"killed before step {step}: {error!r}") from error
        if not died:
            return step
    raise SystemExit("it never came to its end")


if __name__ == "__main__":
    print(main(sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3]), int(sys.argv[4])))
