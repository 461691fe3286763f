"""Provides usage without an index: the same tables in memory, filled by a quick scan of the session files.

The scan reads only what reports count, so these tables contain neither calls nor text lengths for estimates.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from importlib.resources import files
from pathlib import Path
from typing import Any

import apsw
from msgspec.structs import astuple

from turnlog.entries.agents import read_agent_owner
from turnlog.entries.file_ends import MAX_END_BYTES
from turnlog.entries.layout import Survey
from turnlog.entries.peek import complete_titles, peek_files
from turnlog.entries.transcript_files import TranscriptFile, list_transcripts
from turnlog.session.usage.message_counts import MessageCounts
from turnlog.session.usage.totals import count_usage_by_file
from turnlog.store.index.spend_table import renew_spend

_INSERT_FILE = """
    INSERT INTO file (id, path, kind, session, cwd, custom, forked_from, talks) VALUES (?, ?, ?, ?, ?, ?, ?, ?)
"""
_FORKED_FROM_FIELD = re.compile(rb'"forkedFrom"\s*:\s*\{\s*"sessionId"\s*:\s*"([^"\\]+)"')


def build_usage_tables(
    config_dirs: Iterable[Path],
    survey: Survey | None = None,
    progress: Callable[[int, int], object] | None = None,
    *,
    with_titles: bool = True,
) -> apsw.Connection:
    """Fill the tables with the usage that is recorded in the session files in the given config folders.

    Few reports contain titles, and finding them takes a sixth of the time.
    """
    db = apsw.Connection(":memory:")
    db.execute(files("turnlog.store").joinpath("schema.sql").read_text("utf-8"))
    transcripts = [item for folder in config_dirs for item in list_transcripts(folder, survey) if item.kind != "output"]
    names = _ScanNumbers()
    with db:
        db.executemany(_INSERT_FILE, _iter_file_rows(transcripts, names, with_titles=with_titles))
        numbers = {item.path: number for number, item in enumerate(transcripts, 1)}
        answers_by_file = count_usage_by_file((Path(item.path) for item in transcripts), progress=progress)
        rows = (
            _to_answer_row(
                key,
                numbers[path],
                best.model and names.get_number("model", _replace_surrogates(best.model)),
                best,
            )
            for path, answers in answers_by_file.items()
            for key, best in answers.items()
        )
        db.executemany(f"INSERT INTO answer VALUES ({','.join('?' * 18)})", rows)
        db.executemany("INSERT INTO name VALUES (?, ?, ?)", ((n, *name) for name, n in names.names.items()))
        db.executemany("INSERT INTO session VALUES (?, ?, ?)", ((n, *key) for key, n in names.sessions.items()))
        renew_spend(db, None)
    return db


class _ScanNumbers:
    """Numbers for names and sessions, in order of appearance."""

    def __init__(self) -> None:
        self.names: dict[tuple[str, str], int] = {}
        self.sessions: dict[tuple[int, str], int] = {}

    def get_number(self, kind: str, text: str) -> int:
        return self.names.setdefault((kind, text), len(self.names) + 1)

    def get_session_number(self, project: str, session_id: str) -> int:
        return self.sessions.setdefault((self.get_number("project", project), session_id), len(self.sessions) + 1)


def _iter_file_rows(
    transcripts: list[TranscriptFile], names: _ScanNumbers, *, with_titles: bool
) -> Iterator[tuple[Any, ...]]:
    mains = [item.path for item in transcripts if item.kind == "session"]
    ends = dict(zip(mains, peek_files(mains), strict=True))
    for number, item in enumerate(transcripts, 1):
        session = names.get_session_number(item.project, item.session or read_agent_owner(Path(item.path)).session_id)
        end = ends.get(item.path)
        details: tuple[Any, ...] = (None, None, None, 0)
        if end is not None:
            title = complete_titles(item.path, end).best if with_titles else None
            details = (end.cwd, title, _read_forked_from(item.path), end.junk is None)
        yield _to_sql_values(number, item.path, item.kind, session, *details)


def _to_answer_row(key: str, file: int, model: int | str | None, counts: MessageCounts) -> tuple[Any, ...]:
    values = (key, file, model, *astuple(counts)[1:])
    texts = f"{key}{counts.first}{counts.last}{counts.version}{counts.terms}{counts.requests}"
    return values if texts.isascii() else _to_sql_values(*values)


def _to_sql_values(*values: Any) -> tuple[Any, ...]:
    return tuple(_replace_surrogates(value) if isinstance(value, str) else value for value in values)


def _replace_surrogates(text: str) -> str:
    """Replace lone surrogates, which JSON can contain but SQLite doesn't accept."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


def _read_forked_from(path: str) -> str | None:
    """Read the id of the session that this file was copied from, as recorded at its start."""
    try:
        with Path(path).open("rb") as file:
            match = _FORKED_FROM_FIELD.search(file.read(MAX_END_BYTES))
    except OSError:
        return None
    return match[1].decode("utf-8", "replace") if match else None
