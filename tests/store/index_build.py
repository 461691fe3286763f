"""A machine with sessions and an index of them, and the whole content of an index in a form that can be compared.

Numbers of rows depend on the order in which things were read, so rows are named by what they stand for: a file by its
path, a session by its id, a tool or a model by its name. The full-text tables are compared word by word.
"""

from __future__ import annotations

import itertools
import os
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import apsw

from tests.session.build import DATA, Build
from turnlog.session.texts.texts import TEXT_KINDS
from turnlog.store.index.facets import FACET_MARK
from turnlog.store.index.refresh import RefreshResult, ignore_progress
from turnlog.store.index.refresh_work import RefreshProgress
from turnlog.store.index.shards import list_full_text_tables, list_schemas
from turnlog.store.index.spend_table import renew_spend
from turnlog.store.store import Store

ONE = "aaaaaaaa-0000-4000-8000-000000000001"
TWO = "bbbbbbbb-0000-4000-8000-000000000002"
SLUG = "-home-dana-webshop"
LONG_AGO = 1_700_000_000

Rows = Counter[tuple[Any, ...]]


def main(name: str = ONE, slug: str = SLUG) -> str:
    """The path of a session's own file below the config folder."""
    return f"projects/{slug}/{name}.jsonl"


def build_prompts(*texts: str) -> bytes:
    """Prompts as the client writes them."""
    build = Build()
    for text in texts:
        build.prompt(text)
    return build.data()


class Desk:
    """A config folder, and turnlog's data folder beside it."""

    def __init__(self, folder: Path) -> None:
        self.config = folder / "claude"
        self.data = folder / "data"
        self._ages = itertools.count(1)
        (self.config / "projects").mkdir(parents=True, exist_ok=True)

    def write(self, path: str, data: bytes) -> Path:
        target = self.config / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(data)
        return target

    def append(self, path: str, data: bytes) -> Path:
        target = self.config / path
        with target.open("ab") as file:
            file.write(data)
        return target

    def settle(self) -> None:
        """Let all files and folders be old, each with a time that it never had."""
        for path in sorted((self.config / "projects").rglob("*"), reverse=True):
            self._age(path)
        self._age(self.config / "projects")

    def _age(self, path: Path) -> None:
        then = LONG_AGO + next(self._ages)
        os.utime(path, (then, then), follow_symlinks=False)

    def open(self, tell: Callable[[str], object] = str) -> Store:
        return Store.open(self.data, tell)

    def refresh(self, progress: RefreshProgress = ignore_progress) -> RefreshResult:
        with self.open() as store:
            return store.refresh([self.config], progress)

    def content(self) -> Content:
        with self.open() as store:
            return content(store.db)

    def scratch(self, folder: Path) -> Content:
        """What an index holds that is built now, from nothing."""
        with Store.open(folder) as store:
            store.refresh([self.config])
            return content(store.db)


class FileContent(NamedTuple):
    """All that an index says of one file."""

    file: tuple[Any, ...]
    answers: Rows
    calls: Rows
    texts: Rows


class Content(NamedTuple):
    """All that an index says, without what it can't know again: how often it has read, and in which order."""

    there: dict[str, FileContent]
    gone: dict[str, FileContent]
    spend: Rows


_FILE = """
    SELECT file.id, path, gone, file.kind, uuid, name.text, agent, offset, head_hash, tail_hash, entries, broken,
        prompts, compactions, started, ended, cwd, last_cwd, git_branch, version, root, forked_from, made_by, custom,
        ai, summary, first_prompt, first_command, last_prompt, aside_prompt, title, tag
    FROM file LEFT JOIN session ON session.id = file.session LEFT JOIN name ON name.id = project
"""
_ANSWER = """
    SELECT file, key, text, first, last, input, output, cache_read, cache_write, cache_write_1h, searches, lowest,
        stopped, sidechain, version, terms, letters
    FROM answer LEFT JOIN name ON name.id = model
"""
_CALL = """
    SELECT file, call.id, text, started, ended, failed, given, got, path FROM call LEFT JOIN name ON name.id = tool
"""
_SPEND = """
    SELECT hour, uuid, place.text, model.text, messages, input, output, cache_read, cache_write_5m, cache_write_1h,
        searches, cost, saved, unpriced, final, partial, placeholder, missing, estimate, first, last
    FROM spend LEFT JOIN session ON session.id = spend.session LEFT JOIN name AS place ON place.id = session.project
        LEFT JOIN name AS model ON model.id = spend.model
"""


def content(db: apsw.Connection) -> Content:
    """All that an index says."""
    answers, calls, texts = _by_file(db, _ANSWER), _by_file(db, _CALL), _texts(db)
    found: tuple[dict[str, FileContent], dict[str, FileContent]] = ({}, {})
    for number, path, gone, *rest in db.execute(_FILE):
        about = [rows.get(number, Counter()) for rows in (answers, calls, texts)]
        found[gone is not None][path] = FileContent(tuple(rest), *about)
    return Content(*found, Counter(db.execute(_SPEND)))


def _by_file(db: apsw.Connection, query: str) -> dict[int, Rows]:
    found: dict[int, Rows] = {}
    for file, *rest in db.execute(query):
        found.setdefault(file, Counter())[tuple(rest)] += 1
    return found


def _texts(db: apsw.Connection) -> dict[int, Rows]:
    """The texts of each file with every word in every column of the full-text tables."""
    words = _words(db)
    found: dict[int, Rows] = {}
    for number, file, offset, kind, time in db.execute("SELECT id, file, offset, kind, time FROM text"):
        row = (offset, list(TEXT_KINDS)[kind], time, *words.pop(number, ("no words",)))
        found.setdefault(file, Counter())[row] += 1
    assert not words, "words that belong to no text"
    runs = [(number, file) for file, *ends in db.execute("SELECT * FROM run") for number in range(ends[0], ends[1] + 1)]
    assert sorted(runs) == db.execute("SELECT id, file FROM text ORDER BY id").fetchall()
    return found


def _words(db: apsw.Connection) -> dict[int, list[Any]]:
    meant = _facets(db)
    found: dict[int, list[Any]] = {}
    for schema, table in list_full_text_tables(db):
        name = f"temp.words_of_{schema}_{table}"
        db.execute(f"CREATE VIRTUAL TABLE IF NOT EXISTS {name} USING fts5vocab({schema}, {table}, instance)")
        query = f"SELECT doc, col, offset, term FROM {name} ORDER BY doc, col, offset"
        for number, column, place, term in db.execute(query):
            word = meant.get(term, term) if column == "facet" else term
            found.setdefault(number, [table]).append((column, place, word))
    return found


def _facets(db: apsw.Connection) -> dict[str, str]:
    """What the facets that hold a number stand for."""
    names = {number: f"{kind} {text}" for number, kind, text in db.execute("SELECT id, kind, text FROM name")}
    found = {f"{FACET_MARK}{letter}{number}": name for number, name in names.items() for letter in "ptm"}
    query = "SELECT session.id, uuid, text FROM session JOIN name ON name.id = project"
    return found | {
        f"{FACET_MARK}s{number}": f"session {uuid} in {project}" for number, uuid, project in db.execute(query)
    }


def humps(folder: Path) -> set[tuple[Any, ...]]:
    """The parts of identifiers that the index in a folder knows; some may be of texts that are no longer there."""
    with Store.open(folder) as store:
        found: set[tuple[Any, ...]] = set()
        for schema in list_schemas(store.db):
            rows = store.db.execute(f"SELECT id, name FROM {schema}.identifier").fetchall()
            store.db.execute(f"CREATE VIRTUAL TABLE temp.part_{schema} USING fts5vocab ({schema}, hump, instance)")
            parts: dict[Any, set[Any]] = {}
            for part, number in store.db.execute(f"SELECT term, doc FROM temp.part_{schema}"):
                parts.setdefault(number, set()).add(part)
            found |= {(name, *sorted(parts[number])) for number, name in rows}
        return found


def recount_spend(db: apsw.Connection) -> Rows:
    """The table `spend` as all answers in the index give it, made for this once."""
    db.execute("SAVEPOINT recounted")
    try:
        renew_spend(db, None)
        return Counter(db.execute(_SPEND))
    finally:
        db.execute("ROLLBACK TO recounted")
        db.execute("RELEASE recounted")


def recorded_lines(most: int = 400, longest: int = 4000) -> list[bytes]:
    """Lines that real clients of several versions wrote, in the order of their files."""
    found: list[bytes] = []
    for path in sorted(DATA.glob("sessions/*/*/projects/**/*.jsonl")):
        lines = path.read_bytes().splitlines(keepends=True)
        found += [line for line in lines if len(line) <= longest][:12]
    return found[:: -(-len(found) // most)]


_ANSWER_LINE = (
    b'{"type":"assistant","uuid":"%s","timestamp":"2026-01-01T1%s:00:00.000Z","message":{"id":"same",'
    b'"model":"claude-opus-5","content":[{"type":"text","text":"line %s"}],%s}}\n'
)
_GLUED = b'{"type":"user","uuid":"g%d","sessionId":"s","message":{"content":"glued %d"}}'

ODD: Sequence[bytes] = (
    b"\n",
    b"no JSON at all\n",
    b"[1,2,3]\n",
    b'{"type":"user","uuid":"torn","message":{"content":"cut of\n',
    b'{"type":"user","uuid":"bad\xff","message":{"content":"invalid \xff\xfe bytes"}}\n',
    _GLUED % (1, 1) + _GLUED % (2, 2) + b"\n",
    b'\0\0\0\0{"type":"user","uuid":"padded","message":{"content":"behind padding"}}\n',
    b'{"type":"never-heard-of","uuid":"new","words":"unheard words"}\n',
    b'{"type":["user"],"uuid":7,"message":[{"content":3}],"cwd":{"a":"b"},"timestamp":12}\n',
    _ANSWER_LINE % (b"a1", b"0", b"one", b'"usage":{"input_tokens":5,"output_tokens":2,"service_tier":"batch"}'),
    _ANSWER_LINE % (b"a2", b"1", b"two", b'"stop_reason":"end_turn","usage":{"input_tokens":5,"output_tokens":9}'),
    b'{"type":"user","uuid":"elsewhere","cwd":"/home/dana/other","gitBranch":"feature","message":{"content":"moved"}}\n',
    b'{"type":"summary","summary":"a title of old","leafUuid":"x"}\n',
)
"""Lines that no client should write, and such as it writes seldom."""
