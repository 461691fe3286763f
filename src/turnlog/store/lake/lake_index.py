"""A snapshot of a lake as an index, for the reports and pages that read one.

The tables of usage, sessions and calls have the figures of the lake. Of the messages, `answer` contains only those of
sessions that share messages with others; of the texts, only the start and the end of each turn are known. The projects
are those of the lake, and the paths lead nowhere. The table `lake_session` says whose sessions they are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import apsw

from turnlog.session.texts.texts import TEXT_KINDS
from turnlog.store.index.spend_table import renew_spend
from turnlog.store.lake.exact_messages import (
    FETCHED_ROWS,
    INSERT_ANSWER,
    ExactMessages,
    NameNumbers,
    build_file_path,
    format_lake_time,
)
from turnlog.store.lake.lake_spend import LakeSpend
from turnlog.store.store import Store

if TYPE_CHECKING:
    from turnlog.store.lake.lake import Lake

Progress = Callable[[int, int], object]
_COPIED_TABLES = ("sessions", "usage", "calls", "turns")
LAKE_TIME_ZONE = "UTC"
"""Reports on a lake count by days in this zone: its people live in many, and its sums are by the hour."""
UNKNOWN_PROJECT = "(unknown)"
_LABEL_TABLE = "CREATE TABLE lake_session (session INTEGER PRIMARY KEY, person TEXT, team TEXT)"
# Sessions without a main transcript come first: only these show the name of their project's row in `name`.
_FILE_QUERY = f"""
    SELECT file, session_key, coalesce(session_id, ''), kind = 'session', coalesce(project, '{UNKNOWN_PROJECT}'),
        person, team, file_name, agent_id, deleted IS NOT NULL, coalesce(size, 0), coalesce(prompts, 0),
        coalesce(compactions, 0), is_session,
        epoch_us(started), epoch_us(ended), git_branch, version, forked_from, made_by, title, tag
    FROM sessions ORDER BY bool_or(kind = 'session') OVER (PARTITION BY session_key), session_key, file
"""
_CALL_QUERY = """
    SELECT file, call_id, min(tool), epoch_us(min(time)), epoch_us(max(ended)), max(failed), max(input_chars),
        max(result_chars), min(path)
    FROM calls WHERE call_id IS NOT NULL AND tool IS NOT NULL AND input_chars IS NOT NULL GROUP BY file, call_id
"""
_TURN_QUERY = """
    SELECT file, turn, epoch_us(time), epoch_us(ended) FROM turns
    WHERE agent_id IS NULL AND kind IN ('prompt', 'command', 'bash') AND time IS NOT NULL AND ended > time
"""
_INSERT_FILE = """
    INSERT INTO file (id, path, kind, session, agent, gone, size, prompts, compactions, talks, started, ended,
        git_branch, version, forked_from, made_by, cwd, custom, tag)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
"""
_PROMPT_KIND, _ANSWER_KIND = (list(TEXT_KINDS).index(kind) for kind in ("prompt", "answer"))


def create_lake_index(lake: Lake, folder: Path, progress: Progress | None = None) -> None:
    """Create the index of a snapshot in an empty folder."""
    with Store.open(folder) as store:
        path = store.path
    db = apsw.Connection(str(path))
    try:
        db.pragma("journal_mode", "off")  # an interrupted index is thrown away
        db.pragma("synchronous", "off")
        db.execute(_LABEL_TABLE)
        with db:
            _IndexFiller(lake, db, progress).fill()
    finally:
        db.close()


def list_lake_projects(db: apsw.Connection) -> set[str]:
    """List the projects of a lake's index."""
    rows = db.execute(
        "SELECT DISTINCT coalesce(cwd, text) FROM session JOIN name ON name.id = project"
        " LEFT JOIN file ON file.session = session.id AND file.kind = 'session'"
    )
    return {name for (name,) in rows}


class _IndexFiller:
    """Copies the tables of a lake into an index, giving everything a number."""

    def __init__(self, lake: Lake, db: apsw.Connection, progress: Progress | None) -> None:
        self._lake, self._db, self._progress = lake, db, progress
        self._names: NameNumbers = {}
        self._files: dict[int, int] = {}
        self._sessions: dict[int, int] = {}
        self._taken: set[tuple[int, str]] = set()
        self._done = 0
        self._total = sum(part.rows.get(table, 0) for part in lake.snapshot.parts for table in _COPIED_TABLES)

    def fill(self) -> None:
        self._db.executemany(_INSERT_FILE, self._iter_files())
        self._add_usage()
        self._db.executemany("INSERT INTO call VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, NULL)", self._iter_calls())
        self._db.executemany("INSERT INTO text (file, offset, kind, time) VALUES (?, ?, ?, ?)", self._iter_turn_ends())
        self._write_names()
        if self._progress:
            self._progress(self._total, self._total)

    def _get_name_number(self, kind: str, text: str) -> int:
        return self._names.setdefault((kind, text), len(self._names) + 1)

    def _write_names(self) -> None:
        rows = ((number, *name) for name, number in self._names.items())
        self._db.executemany("INSERT OR IGNORE INTO name VALUES (?, ?, ?)", rows)

    def _iter_rows(self, query: str) -> Iterator[tuple[Any, ...]]:
        result = self._lake.execute(query)
        while rows := result.fetchmany(FETCHED_ROWS):
            yield from rows
            self._count(len(rows))

    def _count(self, rows: int) -> None:
        self._done = min(self._done + rows, self._total - 1)
        if self._progress:
            self._progress(self._done, self._total)

    def _iter_files(self) -> Iterator[tuple[Any, ...]]:
        for row in self._iter_rows(_FILE_QUERY):
            file, key, uuid, is_main, project, person, team, file_name, agent, gone, *counts = row
            *sums, talks, started, ended, branch, version, forked_from, made_by, title, tag = counts
            if key not in self._sessions:
                self._add_session(key, uuid, project, person, team)
            number = self._files[file] = len(self._files) + 1
            path = build_file_path(project, file_name, file)
            kind = "session" if is_main else "agent"
            times = (format_lake_time(time) or None for time in (started, ended))
            yield (
                *(number, path, kind, self._sessions[key], agent, 1 if gone else None, *sums, bool(talks), *times),
                *(branch, version, forked_from, made_by, project, title, tag),
            )

    def _add_session(self, key: int, uuid: str, project: str, person: str | None, team: str | None) -> None:
        """Add a session; two people's copies of a session have the same id in the same project."""
        number = self._sessions[key] = len(self._sessions) + 1
        folder, copies = self._get_name_number("project", project), 1
        while (folder, uuid) in self._taken:
            copies += 1
            folder = self._get_name_number("project", f"{project} #{copies}")
        self._taken.add((folder, uuid))
        self._db.execute("INSERT INTO session VALUES (?, ?, ?)", (number, folder, uuid))
        self._db.execute("INSERT INTO lake_session VALUES (?, ?, ?)", (number, person, team))

    def _add_usage(self) -> None:
        exact = ExactMessages(self._lake, keeps_sessions_whole=True)
        self._db.executemany(INSERT_ANSWER, exact.iter_answer_rows(self._names, self._files))
        self._write_names()  # prices depend on them
        renew_spend(self._db, None)
        marks = ",".join("?" * 20)
        self._db.executemany(f"INSERT INTO spend VALUES ({marks})", self._iter_flat_spend(exact))

    def _iter_flat_spend(self, exact: ExactMessages) -> Iterator[tuple[Any, ...]]:
        for hour, session, model, *row in LakeSpend(self._lake, exact=exact).iter_flat_spend():
            number = None if model is None else self._get_name_number("model", model)
            self._count(row[0])
            yield hour, self._sessions[session], number, *row

    def _iter_calls(self) -> Iterator[tuple[Any, ...]]:
        for file, call, tool, started, ended, failed, given, got, path in self._iter_rows(_CALL_QUERY):
            times = (format_lake_time(time) or None for time in (started, ended))
            yield call, self._files[file], self._get_name_number("tool", tool), *times, failed, given, got, path

    def _iter_turn_ends(self) -> Iterator[tuple[int, int, int, int]]:
        """Yield the prompt of each turn, and the last moment of its work; the offsets are only an order."""
        for file, turn, started, ended in self._iter_rows(_TURN_QUERY):
            number = self._files[file]
            yield number, 2 * turn, _PROMPT_KIND, started // 1_000_000
            yield number, 2 * turn + 1, _ANSWER_KIND, ended // 1_000_000
