"""Take sessions into the index that only the archive still has.

A session that was indexed before it was deleted stays in the index. One that was deleted before, or whose texts went
with an index that was made again, is read from the archive.
"""

from __future__ import annotations

import itertools
import os
import re
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, NamedTuple

import apsw

from turnlog.entries.layout import is_missing
from turnlog.entries.tail import Checkpoint
from turnlog.errors import Unreadable
from turnlog.session.texts.outline import Outline
from turnlog.store.index.changes import archive_mark, session_number
from turnlog.store.index.gather import SMALLEST, Task, batches
from turnlog.store.index.names import Names
from turnlog.store.index.spend import renew, touched
from turnlog.store.index.work import reserve
from turnlog.store.index.write import drop_words, release, write, write_identifiers
from turnlog.store.lock import writing

if TYPE_CHECKING:
    from turnlog.store.archive.archive import Archive
    from turnlog.store.archive.manifest import KeptFile

_KINDS = (
    (re.compile(r"projects/[^/]+/([0-9A-Fa-f-]{36})\.jsonl"), "session"),
    (re.compile(r"projects/[^/]+/(?:[0-9A-Fa-f-]{36}/subagents/(?:[^/]+/){0,3})?agent-(.+)\.jsonl"), "agent"),
    (re.compile(r"projects/[^/]+/[0-9A-Fa-f-]{36}/tool-results/(.+)"), "output"),
)
_MODELS = "SELECT text, id FROM name WHERE kind = 'model'"


class _Kept(NamedTuple):
    path: str
    kind: str
    agent: str | None
    project: str
    session: str
    since: int
    file: KeptFile


class Adopted(NamedTuple):
    """What was taken in."""

    files: int
    unread: tuple[str, ...] = ()
    """What is damaged in the archive, with the reason."""


def adopt(db: apsw.Connection, archive: Archive, config_dirs: Sequence[Path]) -> Adopted:
    """Read what the archive has and the index has not. Whoever calls holds the lock."""
    mark = archive_mark(archive.folder)
    missing = [kept for kept in _kept(archive, config_dirs) if _is_missing(db, kept)]
    with TemporaryDirectory(prefix="turnlog-") as folder, writing(db):
        copy = Path(folder) / "file"
        names = Names.load(db)
        models = {str(name): int(number) for name, number in db.execute(_MODELS)}
        unread = tuple(reason for kept in missing if (reason := _take(db, archive, kept, copy, names, models)))
        db.execute("INSERT OR REPLACE INTO fact VALUES ('archive', ?)", (mark,))
    return Adopted(len(missing) - len(unread), unread)


def _kept(archive: Archive, config_dirs: Sequence[Path]) -> Iterator[_Kept]:
    ours = {os.path.realpath(folder) for folder in config_dirs}
    for manifest in archive.sessions():
        for file in manifest.files:
            path = manifest.absolute(file)
            found = next(((kind, name) for form, kind in _KINDS if (name := form.fullmatch(file.path))), None)
            if found is None or not any(os.path.realpath(path).startswith(folder + os.sep) for folder in ours):
                continue
            kind, name = found
            agent = name[1] if kind == "agent" else None
            project = path[: -len(file.path)] + f"projects/{manifest.project}"
            since = (file.gone_ns or manifest.changed_ns) // 1_000_000_000
            yield _Kept(path, kind, agent, project, manifest.session_id, since, file)


def _is_missing(db: apsw.Connection, kept: _Kept) -> bool:
    if not is_missing(kept.path):
        return False
    known = db.execute("SELECT id FROM file WHERE path = ?", (kept.path,)).get
    return known is None or not db.execute("SELECT EXISTS (SELECT 1 FROM text WHERE file = ?)", (known,)).get


def _take(
    db: apsw.Connection, archive: Archive, kept: _Kept, copy: Path, names: Names, models: dict[str, int]
) -> str | None:
    """Read one file; gives why that can't be."""
    try:
        copy.write_bytes(b"".join(archive.chunks(kept.file)))
    except Unreadable as error:
        return str(error)
    task = _task(db, names, kept, copy)
    first = reserve(db, kept.file.size // SMALLEST + 16)
    keys: set[str] = set()
    for batch in batches(task, names, itertools.count(first)):
        write(db, batch, models)
        write_identifiers(db, batch.met(names))
        keys.update(batch.answers)
    db.execute("UPDATE file SET gone = ? WHERE id = ?", (kept.since or int(time.time()), task.file))
    stale = touched(db, keys)
    if stale.since is not None:
        renew(db, stale.sessions, stale.since)
    return None


def _task(db: apsw.Connection, names: Names, kept: _Kept, copy: Path) -> Task:
    project = names.number("project", kept.project)
    db.executemany("INSERT INTO name VALUES (?, ?, ?)", names.fresh())
    session = session_number(db, project, kept.session)
    row = (kept.path, kept.kind, session, kept.agent)
    db.execute("INSERT OR IGNORE INTO file (path, kind, session, agent) VALUES (?, ?, ?, ?)", row)
    file: Any = db.execute("SELECT id FROM file WHERE path = ?", (kept.path,)).get
    drop_words(db, release(db, file))
    return Task(file, kept.path, kept.kind, session, project, Checkpoint(), Outline(), {}, set(), str(copy))
