"""Adds to the index the sessions that only the archive still has.

A session that was indexed before it was deleted is kept in the index. A session that was deleted earlier, or whose text
was lost when the index was rebuilt, is read from the archive.
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
from turnlog.session.texts.outline import TranscriptOutline
from turnlog.store.file_lock import open_write_transaction
from turnlog.store.index.batch_reader import MIN_TEXT_BYTES, ReadTask, read_batches
from turnlog.store.index.batch_writer import drop_text_words, release_file, write_batch, write_identifiers
from turnlog.store.index.file_changes import get_session_number, read_archive_mark
from turnlog.store.index.name_numbers import NameNumbers
from turnlog.store.index.refresh_work import reserve_text_numbers
from turnlog.store.index.spend_table import find_stale_spend, renew_spend

if TYPE_CHECKING:
    from turnlog.store.archive.archive import Archive
    from turnlog.store.archive.manifest import KeptFile

_PATH_KINDS = (
    (re.compile(r"projects/[^/]+/([0-9A-Fa-f-]{36})\.jsonl"), "session"),
    (re.compile(r"projects/[^/]+/(?:[0-9A-Fa-f-]{36}/subagents/(?:[^/]+/){0,3})?agent-(.+)\.jsonl"), "agent"),
    (re.compile(r"projects/[^/]+/[0-9A-Fa-f-]{36}/tool-results/(.+)"), "output"),
)
_MODEL_QUERY = "SELECT text, id FROM name WHERE kind = 'model'"


class _ArchivedTranscript(NamedTuple):
    path: str
    kind: str
    agent: str | None
    project: str
    session: str
    since: int
    file: KeptFile


class AdoptionResult(NamedTuple):
    """The number of files that were added, and the files that could not be added."""

    files: int
    unread: tuple[str, ...] = ()
    """Files that are damaged in the archive, with the reason."""


def adopt_from_archive(db: apsw.Connection, archive: Archive, config_dirs: Sequence[Path]) -> AdoptionResult:
    """Read what is in the archive but not in the index; the caller must hold the lock."""
    mark = read_archive_mark(archive.folder)
    missing = [
        transcript
        for transcript in _iter_archived_transcripts(archive, config_dirs)
        if _is_missing_in_index(db, transcript)
    ]
    with TemporaryDirectory(prefix="turnlog-") as folder, open_write_transaction(db):
        copy = Path(folder) / "file"
        names = NameNumbers.load(db)
        models = {str(name): int(number) for name, number in db.execute(_MODEL_QUERY)}
        unread = tuple(
            reason
            for transcript in missing
            if (reason := _index_transcript(db, archive, transcript, copy, names, models))
        )
        db.execute("INSERT OR REPLACE INTO fact VALUES ('archive', ?)", (mark,))
    return AdoptionResult(len(missing) - len(unread), unread)


def _iter_archived_transcripts(archive: Archive, config_dirs: Sequence[Path]) -> Iterator[_ArchivedTranscript]:
    ours = {os.path.realpath(folder) for folder in config_dirs}
    for manifest in archive.list_sessions():
        for file in manifest.files:
            path = manifest.to_absolute_path(file)
            match = next(((kind, name) for form, kind in _PATH_KINDS if (name := form.fullmatch(file.path))), None)
            if match is None or not any(os.path.realpath(path).startswith(folder + os.sep) for folder in ours):
                continue
            kind, name = match
            agent = name[1] if kind == "agent" else None
            project = path[: -len(file.path)] + f"projects/{manifest.project}"
            since = (file.gone_ns or manifest.changed_ns) // 1_000_000_000
            yield _ArchivedTranscript(path, kind, agent, project, manifest.session_id, since, file)


def _is_missing_in_index(db: apsw.Connection, transcript: _ArchivedTranscript) -> bool:
    if not is_missing(transcript.path):
        return False
    known = db.execute("SELECT id FROM file WHERE path = ?", (transcript.path,)).get
    if known is None or db.execute("SELECT filled < offset FROM file WHERE id = ?", (known,)).get:
        return True
    return not db.execute("SELECT EXISTS (SELECT 1 FROM run WHERE file = ?)", (known,)).get


def _index_transcript(
    db: apsw.Connection,
    archive: Archive,
    transcript: _ArchivedTranscript,
    copy: Path,
    names: NameNumbers,
    models: dict[str, int],
) -> str | None:
    """Read one file; return the reason if this fails."""
    try:
        copy.write_bytes(b"".join(archive.iter_chunks(transcript.file)))
    except Unreadable as error:
        return str(error)
    task = _build_task(db, names, transcript, copy)
    first = reserve_text_numbers(db, transcript.file.size // MIN_TEXT_BYTES + 16)
    keys: set[str] = set()
    for batch in read_batches(task, names, itertools.count(first)):
        write_batch(db, batch, models)
        write_identifiers(db, batch.take_new_identifiers(names))
        keys.update(batch.answers)
    db.execute("UPDATE file SET gone = ? WHERE id = ?", (transcript.since or int(time.time()), task.file))
    stale = find_stale_spend(db, keys)
    if stale.since is not None:
        renew_spend(db, stale.sessions, stale.since)
    return None


def _build_task(db: apsw.Connection, names: NameNumbers, transcript: _ArchivedTranscript, copy: Path) -> ReadTask:
    project = names.get_number("project", transcript.project)
    db.executemany("INSERT INTO name VALUES (?, ?, ?)", names.take_new_names())
    session = get_session_number(db, project, transcript.session)
    row = (transcript.path, transcript.kind, session, transcript.agent)
    db.execute("INSERT OR IGNORE INTO file (path, kind, session, agent) VALUES (?, ?, ?, ?)", row)
    file: Any = db.execute("SELECT id FROM file WHERE path = ?", (transcript.path,)).get
    drop_text_words(db, release_file(db, file))
    return ReadTask(
        file,
        transcript.path,
        transcript.kind,
        session,
        project,
        Checkpoint(),
        TranscriptOutline(),
        {},
        set(),
        str(copy),
    )
