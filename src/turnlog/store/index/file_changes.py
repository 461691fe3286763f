"""Finds the files that were added, extended, replaced or deleted since the last index refresh.

When files are added or deleted, the modification time of their folder changes. While no folder has changed, the known
list of files is still correct, and each file requires only one `stat`.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import apsw

from turnlog.entries.file_stamp import FileStamp, to_file_stamp
from turnlog.store.file_lock import open_write_transaction
from turnlog.store.index.name_numbers import NameNumbers

if TYPE_CHECKING:
    from turnlog.entries.layout import Survey
    from turnlog.entries.transcript_files import TranscriptFile

TranscriptLister = Callable[[Path, "Survey"], Iterable["TranscriptFile"]]
"""Lists the files in a config folder; usually `entries.transcript_files.list_transcripts`."""
MAX_NEWEST_FILES = 500
"""How many sessions to record before all others."""
NEVER_NS = -1
"""The time stored for a file whose text was lost or removed, so that it is read again soon."""
_SETTLE_TIME_NS = 2_000_000_000
"""A folder that changed within the last two seconds may change again without a new timestamp."""


class ChangedFile(NamedTuple):
    """A file to read."""

    file: int
    mtime_ns: int
    size: int
    """The current size."""
    more: int
    """The estimated growth in bytes."""
    ctime_ns: int = 0
    is_rewritten: bool = False
    """Whether size and time of modification are the same, so that somebody has set the time back."""


class IndexChanges(NamedTuple):
    """The work that a refresh must do."""

    files: list[ChangedFile]
    known: int
    """How many files exist."""
    unnamed: tuple[str, ...] = ()
    """Files whose names are not valid UTF-8, so the index can't contain them."""
    unlisted: tuple[str, ...] = ()
    """Folders and files that can't be read, with the reason; the index keeps their rows."""
    others: int = 0
    """How many `.jsonl` files are not named like a session."""


class _KnownFileRow(NamedTuple):
    id: int
    path: str
    size: int
    mtime_ns: int
    inode: int
    ctime_ns: int


def find_index_changes(
    db: apsw.Connection, config_dirs: Sequence[Path], lister: TranscriptLister | None = None
) -> IndexChanges:
    """Find the files to read, and record those that appeared, disappeared or reappeared, in one transaction."""
    if not have_folders_changed(db, config_dirs):
        changes = _find_changes_by_stat(db)
        if changes is not None:
            if changes.files:
                with open_write_transaction(db):
                    _note_changed_files(db, changes.files)
            return changes
    return _find_changes_by_listing(db, config_dirs, lister)


def note_newest_files(db: apsw.Connection, config_dirs: Sequence[Path]) -> bool:
    """Record the sessions that were written last, if the index is empty and listing all files would take a while.

    Return whether there are any; a refresh finds the others, and everything that belongs to these.
    """
    from heapq import nlargest

    from turnlog.entries.layout import list_session_files
    from turnlog.entries.transcript_files import TranscriptFile

    if db.execute("SELECT EXISTS (SELECT 1 FROM file)").get:
        return False
    files = [item for folder in config_dirs for item in list_session_files(folder) if is_utf8_text(item.file)]
    if len(files) <= MAX_NEWEST_FILES:
        return False
    newest = nlargest(MAX_NEWEST_FILES, files, key=lambda item: item.mtime_ns)
    with open_write_transaction(db):
        _note_new_files(
            db,
            [
                TranscriptFile(item.file, "session", str(item.project_dir), item.session_id, None, item.size, 0, 0)
                for item in newest
            ],
        )
    return True


def is_index_current(db: apsw.Connection, config_dirs: Sequence[Path]) -> bool:
    """Return whether a refresh would find nothing to read; unlike a refresh, this needs no lock."""
    if have_folders_changed(db, config_dirs):
        return False
    changes = _find_changes_by_stat(db)
    return changes is not None and not changes.files


def have_folders_changed(db: apsw.Connection, config_dirs: Sequence[Path]) -> bool:
    """Return whether the next refresh must list the folders instead of checking only the known files."""
    known = dict(db.execute("SELECT path, mtime_ns FROM folder"))
    if not known or any(str(folder / "projects") not in known for folder in config_dirs):
        return True
    try:
        return any(mtime_ns != os.stat(path).st_mtime_ns for path, mtime_ns in known.items())  # noqa: PTH116
    except OSError:
        return True


def _find_changes_by_stat(db: apsw.Connection) -> IndexChanges | None:
    """Find the changes among the known files; return None if one of them was deleted."""
    query = "SELECT id, path, size, mtime_ns, inode, ctime_ns FROM file WHERE gone IS NULL"
    rows: list[Any] = db.execute(query).fetchall()
    changed = []
    stat, has_ctime = os.stat, os.name != "nt"
    try:
        for row in rows:  # perhaps 100,000, every two seconds
            _, path, size, mtime_ns, inode, ctime_ns = row
            now = stat(path)
            is_same = now.st_mtime_ns == mtime_ns and now.st_size == size and (not inode or now.st_ino == inode)
            if is_same and (now.st_ctime_ns == ctime_ns or not has_ctime):
                continue
            if (item := _compare_file(_KnownFileRow(*row), to_file_stamp(now))) is not None:
                changed.append(item)
    except OSError:
        return None
    return IndexChanges(changed, len(rows), others=read_other_file_count(db))


def _compare_file(row: _KnownFileRow, now: FileStamp) -> ChangedFile | None:
    """Return what to read of a file; None if it is as the index knows it."""
    is_same = now.mtime_ns == row.mtime_ns and now.size == row.size
    if is_same and now.ctime_ns == row.ctime_ns and (not row.inode or now.inode == row.inode):
        return None
    more = now.size if is_same else _count_new_bytes(now.size, row.size)
    is_rewritten = is_same and now.ctime_ns != row.ctime_ns
    return ChangedFile(row.id, now.mtime_ns, now.size, more, now.ctime_ns, is_rewritten)


def _note_changed_files(db: apsw.Connection, files: Sequence[ChangedFile]) -> None:
    """Store when files were changed; those that were rewritten are read from the start, even after an interruption."""
    db.executemany("UPDATE file SET ctime_ns = ? WHERE id = ?", ((item.ctime_ns, item.file) for item in files))
    rewritten = ((NEVER_NS, item.file) for item in files if item.is_rewritten)
    db.executemany("UPDATE file SET mtime_ns = ? WHERE id = ?", rewritten)


def _count_new_bytes(now: int, before: int) -> int:
    """Estimate the growth; a file of the same size was only touched, or was read too soon after a write."""
    return now - before if now >= before else now


def _find_changes_by_listing(
    db: apsw.Connection, config_dirs: Sequence[Path], lister: TranscriptLister | None
) -> IndexChanges:
    from turnlog.entries.layout import Survey, is_missing
    from turnlog.entries.transcript_files import list_transcripts

    before = time.time_ns()
    survey = Survey()
    transcripts = [item for folder in config_dirs for item in (lister or list_transcripts)(folder, survey)]
    listed = {item.path: item for item in transcripts if is_utf8_text(item.path)}
    unnamed = tuple(ascii(item.path) for item in transcripts if item.path not in listed)
    rows = {path: _KnownFileRow(file, path, *rest) for path, file, *rest in _select_known_files(db)}
    gone = {path for (path,) in db.execute("SELECT path FROM file WHERE gone IS NOT NULL")}
    missing = {path: row for path, row in rows.items() if path not in listed and path not in gone}
    hidden = {path: row for path, row in missing.items() if survey.hides(path) and not is_missing(path)}
    with open_write_transaction(db):
        _note_folders(db, survey, before)
        _note_gone_files(db, (row.id for path, row in missing.items() if path not in hidden))
        db.executemany("UPDATE file SET gone = NULL WHERE path = ?", ((path,) for path in gone & listed.keys()))
        changed = [
            found
            for path, item in listed.items()
            if path in rows
            and (found := _compare_file(rows[path], FileStamp(item.size, item.mtime_ns, item.ctime_ns, item.inode)))
        ]
        changed += _iter_hidden_changes(hidden.values())
        _note_changed_files(db, changed)
        changed += _note_new_files(db, [item for path, item in listed.items() if path not in rows])
    return IndexChanges(
        changed, len(listed) + len(hidden), unnamed, tuple(map(str, survey.unlisted)), len(survey.others)
    )


def _iter_hidden_changes(rows: Iterable[_KnownFileRow]) -> Iterator[ChangedFile]:
    """Yield the changed files in folders that can be entered but not listed."""
    for row in rows:
        try:
            found = _compare_file(row, to_file_stamp(os.stat(row.path)))  # noqa: PTH116
        except OSError:
            continue
        if found is not None:
            yield found


def is_utf8_text(path: str) -> bool:
    """Return whether a name is valid UTF-8; on Linux, a name can consist of any bytes."""
    try:
        path.encode()
    except UnicodeEncodeError:
        return False
    return True


def _select_known_files(db: apsw.Connection) -> Iterable[tuple[str, int, int, int, int, int]]:
    return db.execute("SELECT path, id, size, mtime_ns, inode, ctime_ns FROM file")


def _note_folders(db: apsw.Connection, survey: Survey, before: int) -> None:
    """Store the time of each folder's last change, except for very recent changes and folders that can't be listed."""
    unlisted = {item.path for item in survey.unlisted}
    rows = [
        (path, -1 if path in unlisted else _read_folder_time(path, before))
        for path in dict.fromkeys((*survey.folders, *unlisted))
        if is_utf8_text(path)
    ]
    db.execute("DELETE FROM folder")
    db.executemany("INSERT INTO folder VALUES (?, ?)", rows)
    facts = (("others", len(survey.others)), ("unlisted", "\n".join(map(str, survey.unlisted))))
    db.executemany("INSERT OR REPLACE INTO fact VALUES (?, ?)", facts)


def _read_folder_time(folder: str, before: int) -> int:
    try:
        mtime_ns = os.stat(folder).st_mtime_ns  # noqa: PTH116
    except OSError:
        return -1
    return mtime_ns if before - mtime_ns > _SETTLE_TIME_NS else -1


def _note_gone_files(db: apsw.Connection, files: Iterable[int]) -> None:
    # What was not read in time is read from the archive, if it is there.
    files = list(files)
    unfilled = "SELECT EXISTS (SELECT 1 FROM file WHERE filled < offset AND gone IS NULL AND id = ?)"
    if any(db.execute(unfilled, (file,)).get for file in files):
        db.execute("DELETE FROM fact WHERE name = 'archive'")
    db.executemany("UPDATE file SET gone = ? WHERE id = ?", ((int(time.time()), file) for file in files))


def _note_new_files(db: apsw.Connection, items: Sequence[TranscriptFile]) -> list[ChangedFile]:
    from turnlog.entries.agents import read_agent_owner

    names = NameNumbers.load(db)
    changed = []
    for item in items:
        session = item.session or read_agent_owner(Path(item.path)).session_id
        project = names.get_number("project", item.project)
        db.executemany("INSERT INTO name VALUES (?, ?, ?)", names.take_new_names())
        db.execute(
            "INSERT INTO file (path, kind, session, agent, ctime_ns) VALUES (?, ?, ?, ?, ?)",
            (item.path, item.kind, get_session_number(db, project, session), item.agent, item.ctime_ns),
        )
        changed.append(ChangedFile(db.last_insert_rowid(), item.mtime_ns, item.size, item.size))
    return changed


def get_session_number(db: apsw.Connection, project: int, uuid: str) -> int:
    """Return the number of a session; assign a new one if it is unknown."""
    db.execute("INSERT OR IGNORE INTO session (project, uuid) VALUES (?, ?)", (project, uuid))
    number: Any = db.execute("SELECT id FROM session WHERE project = ? AND uuid = ?", (project, uuid)).get
    return int(number)


def read_unlisted_paths(db: apsw.Connection) -> list[str]:
    """Return the folders and files that the last refresh could not read, with the reasons."""
    lines: Any = db.execute("SELECT value FROM fact WHERE name = 'unlisted'").get
    return lines.split("\n") if lines else []


def read_other_file_count(db: apsw.Connection) -> int:
    """Return how many `.jsonl` files in the last refresh did not have a session id as their name."""
    count: Any = db.execute("SELECT value FROM fact WHERE name = 'others'").get
    return count or 0


def read_archive_mark(folder: Path) -> int:
    """Return a value that changes when a session is added to the archive; 0 if there is no archive."""
    try:
        return os.stat(folder / "sessions").st_mtime_ns  # noqa: PTH116
    except OSError:
        return 0


def has_archive_changed(db: apsw.Connection, folder: Path) -> bool:
    """Return whether the archive has changed since sessions were last added from it."""
    mark = read_archive_mark(folder)
    return bool(mark) and mark != db.execute("SELECT value FROM fact WHERE name = 'archive'").get
