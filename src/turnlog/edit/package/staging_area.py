"""Publishes new files in a config folder, either all of them or none.

Everything is first written to a hidden folder inside the config folder and flushed to disk. Then each file gets its
final name as a second link, which never replaces another file; transcripts come last, so that no session is visible
before it is complete. The hidden folder is a journal entry:

    <config>/.turnlog-unpack-<random>/<number>     the new files
                                     /plan.json    their final paths; flushed to disk before any file gets its name
                                     /ready        everything except the transcripts is in place

If the process is killed, the next process finishes the work if it was `ready`, and reverses it otherwise. After any
other failure, everything is reversed at once.
"""

from __future__ import annotations

import contextlib
import os
import secrets
from collections.abc import Iterable, Iterator
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

import msgspec

from turnlog.edit.journal.file_steps import (
    NEW_FILE_FLAGS,
    add_name,
    hash_file_content,
    is_same_file,
    write_new_file,
)
from turnlog.edit.journal.journal import Journal
from turnlog.entries.atomic_file import flush_folder, read_whole_file, resolve_inside
from turnlog.entries.file_ends import split_lines
from turnlog.entries.path_escapes import escape_path, is_safe_path, unescape_path
from turnlog.entries.writer import append_lines, replace_session_file
from turnlog.errors import Changed, TurnlogError, Unreadable

_STAGING_FOLDER_PREFIX = ".turnlog-unpack-"
_PLAN_FILE_NAME = "plan.json"
_STATE_READY = "ready"
_HISTORY_FILE_NAME = "history.jsonl"


class StagedFile(msgspec.Struct, frozen=True):
    """A new file that does not have its final name yet."""

    number: int
    place: str
    """The path below the config folder, escaped as in a package."""
    sha256: str
    is_last: bool
    """Whether it is a transcript, which is published after everything else."""


class StagingPlan(msgspec.Struct, frozen=True):
    """The new files and their final paths."""

    items: tuple[StagedFile, ...]
    folders: tuple[str, ...]
    """Folders to create for the files, outermost first."""
    history: int | None = None
    """The number of the file with lines for `history.jsonl`."""


class StagedUnpacking(NamedTuple):
    """An unpacking in progress, or one that a killed process left behind."""

    folder: Path
    plan: StagingPlan

    @property
    def settled_at(self) -> datetime | None:
        """Always None, because the entry is removed as soon as it is settled."""
        return None

    @property
    def config(self) -> Path:
        """The config folder that the files are for."""
        return self.folder.parent

    def get_staged_path(self, item: StagedFile) -> Path:
        return self.folder / str(item.number)

    def get_goal(self, item: StagedFile) -> Path:
        """Return the final path of a file."""
        return self.config / unescape_path(item.place)


class UnpackJournal(Journal[StagedUnpacking]):
    """The journal for unpacking into a config folder."""

    manifest_name = _PLAN_FILE_NAME
    removed_prefix = ".turnlog-unpacked-"
    entry_glob = f"{_STAGING_FOLDER_PREFIX}*"
    states = (_STATE_READY,)
    lock_name = "."

    def read_entry(self, folder: Path) -> StagedUnpacking:
        """Read a plan; treat a plan that leads outside the config folder as empty."""
        path = folder / _PLAN_FILE_NAME
        try:
            plan = msgspec.json.decode(path.read_bytes(), type=StagingPlan)
        except (OSError, msgspec.MsgspecError) as error:
            raise Unreadable(
                f"{path}: can't read the plan of an interrupted unpacking ({error}); remove the folder that"
                " contains this file"
            ) from error
        is_safe = all(map(is_safe_path, (*plan.folders, *(item.place for item in plan.items))))
        return StagedUnpacking(folder, plan if is_safe else StagingPlan((), ()))

    def settle_unfinished(self) -> None:
        """Finish or reverse what killed processes left behind; refuse to continue if a plan can't be read."""
        super().settle_unfinished()
        for reason in self.list_entries().unreadable:
            raise TurnlogError(reason)

    def settle_entry(self, entry: StagedUnpacking) -> None:
        """Finish an unpacking that lacks only transcripts, unless a path has since been taken; reverse all others."""
        if self.read_state(entry.folder) == _STATE_READY:
            with contextlib.suppress(Changed):
                _append_history(entry)
                _publish_transcripts(entry)
                self.remove_entry(entry.folder)
                return
        self._remove_published(entry)

    @contextlib.contextmanager
    def stage_files(self) -> Iterator[StagingArea]:
        """Provide an area for new files; at the end, remove those that were not published."""
        with self.add_entry(f"{_STAGING_FOLDER_PREFIX}{secrets.token_hex(6)}") as folder:
            yield StagingArea(self, folder)

    def carry_out(self, entry: StagedUnpacking) -> None:
        """Give all files their final names; after any failure, remove all of them."""
        lines = b""
        try:
            for place in entry.plan.folders:
                (entry.config / unescape_path(place)).mkdir(mode=0o700, exist_ok=True)
            for item in entry.plan.items:
                if not item.is_last:
                    _name_file(entry, item)
            _flush_goals(entry)
            self.mark_state(entry.folder, _STATE_READY)
            lines = _append_history(entry)
            _publish_transcripts(entry)
        except BaseException:
            self._remove_published(entry)
            _remove_history_lines(entry.config / _HISTORY_FILE_NAME, lines)
            raise
        self.remove_entry(entry.folder)

    def _remove_published(self, entry: StagedUnpacking) -> None:
        """Remove published files if they are unchanged, and the folders that were created for them."""
        for item in entry.plan.items:
            staged, goal = entry.get_staged_path(item), entry.get_goal(item)
            if is_same_file(staged, goal) if staged.exists() else _has_hash(goal, item.sha256):
                goal.unlink()
        for place in reversed(entry.plan.folders):
            with contextlib.suppress(OSError):  # another program has put something into the folder
                (entry.config / unescape_path(place)).rmdir()
        self.remove_entry(entry.folder)


class StagingArea:
    """New files for a config folder that are not in place yet."""

    def __init__(self, journal: UnpackJournal, folder: Path) -> None:
        self.folder = folder
        self._journal = journal
        self._config = journal.folder
        self._items: list[StagedFile] = []
        self._history: int | None = None
        self._count = 0

    def add_file(self, goal: Path, pieces: Iterable[bytes], mode: int, *, is_last: bool = False) -> None:
        """Write a file that will appear at a path below the config folder."""
        digest = self._write_staged(pieces, mode)
        place = escape_path(goal.relative_to(self._config).as_posix())
        self._items.append(StagedFile(self._count, place, digest, is_last))

    def add_history(self, data: bytes) -> None:
        """Store lines that will be added to the history, unless it already contains them."""
        self._write_staged([data], 0o600)
        self._history = self._count

    def _write_staged(self, pieces: Iterable[bytes], mode: int) -> str:
        self._count += 1
        return write_new_file(self.folder / str(self._count), pieces, mode).sha256 or ""

    def publish_files(self) -> None:
        """Give all files their final names; after any failure, remove all of them."""
        items = tuple(sorted(self._items, key=lambda item: (item.is_last, item.place)))
        plan = StagingPlan(items, tuple(self._list_missing_folders(items)), self._history)
        for item in items:
            resolve_inside(self._config / unescape_path(item.place), self._config)
        self._journal.write_manifest(self.folder, msgspec.json.encode(plan))
        self._journal.carry_out(StagedUnpacking(self.folder, plan))

    def _list_missing_folders(self, items: tuple[StagedFile, ...]) -> Iterator[str]:
        folders: set[str] = set()
        for item in items:
            parts = item.place.split("/")
            folders.update("/".join(parts[:count]) for count in range(1, len(parts)))
        yield from (place for place in sorted(folders) if not (self._config / unescape_path(place)).exists())


def _publish_transcripts(entry: StagedUnpacking) -> None:
    """Publish the transcripts, then remove their staged names, so that none appears twice."""
    transcripts = [item for item in entry.plan.items if item.is_last]
    for item in transcripts:
        staged = entry.get_staged_path(item)
        if staged.exists() and not is_same_file(staged, entry.get_goal(item)):
            _name_file(entry, item)
    _flush_goals(entry)
    for item in transcripts:
        entry.get_staged_path(item).unlink(missing_ok=True)


def _name_file(entry: StagedUnpacking, item: StagedFile) -> None:
    goal = entry.get_goal(item)
    try:
        add_name(entry.get_staged_path(item), goal)
    except FileExistsError:
        raise Changed(f"{goal}: created by another process during unpacking; nothing was written") from None


def _flush_goals(entry: StagedUnpacking) -> None:
    for folder in sorted({entry.get_goal(item).parent for item in entry.plan.items}):
        flush_folder(folder)


def _has_hash(goal: Path, digest: str) -> bool:
    return goal.is_file() and not goal.is_symlink() and hash_file_content(goal) == digest


def _append_history(entry: StagedUnpacking) -> bytes:
    """Add the lines that are missing from the history, and return them."""
    staged = entry.folder / str(entry.plan.history)
    if entry.plan.history is None or not staged.exists():
        return b""
    path = entry.config / _HISTORY_FILE_NAME
    try:
        known = {line.rstrip() for line in split_lines(read_whole_file(path).data)}
    except FileNotFoundError:
        os.close(os.open(path, NEW_FILE_FLAGS, 0o600))
        known = set()
    lines = (line.rstrip() for line in split_lines(staged.read_bytes()))
    new = b"".join(line + b"\n" for line in lines if line and line not in known)
    if new:
        append_lines(path, new, root=entry.config)
    return new


def _remove_history_lines(path: Path, lines: bytes) -> None:
    if lines:
        whole = read_whole_file(path)
        if whole.data.endswith(lines):  # otherwise the user has typed since, and the lines are harmless
            replace_session_file(path, whole.data[: -len(lines)], root=path.parent, expected=whole.checkpoint)
