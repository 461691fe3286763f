"""Provides usage without an index: the same tables in memory, filled by a quick scan of the session files.

The scan reads only what reports count, so these tables contain neither calls nor text lengths for estimates.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable, Iterator
from importlib.resources import files
from pathlib import Path
from typing import Any

import apsw
import msgspec
from msgspec import Struct
from msgspec.structs import astuple

from turnlog.entries.agents import read_agent_owner
from turnlog.entries.file_ends import MAX_END_BYTES
from turnlog.entries.layout import Survey
from turnlog.entries.peek import complete_titles, peek_safely
from turnlog.entries.transcript_files import TranscriptFile, list_transcripts
from turnlog.session.usage.message_counts import MessageCounts
from turnlog.session.usage.totals import reduce_usage_by_file
from turnlog.store.index.spend_table import renew_spend, sum_file_spend
from turnlog.store.usage.usage_reports import UsageRequest

_INSERT_FILE = """
    INSERT INTO file (id, path, kind, session, cwd, custom, forked_from, talks) VALUES (?, ?, ?, ?, ?, ?, ?, ?)
"""
_INSERT_ANSWER = f"INSERT INTO answer VALUES ({','.join('?' * 18)})"
_INSERT_SPEND = f"INSERT INTO spend VALUES ({','.join('?' * 20)})"
_FORKED_FROM_FIELD = re.compile(rb'"forkedFrom"\s*:\s*\{\s*"sessionId"\s*:\s*"([^"\\]+)"')


def build_usage_tables(
    config_dirs: Iterable[Path],
    survey: Survey | None = None,
    progress: Callable[[int, int], object] | None = None,
    *,
    with_titles: bool = True,
    with_answers: bool = True,
) -> apsw.Connection:
    """Fill the tables with the usage that is recorded in the session files in the given config folders.

    Few reports contain titles, and few need the whole table `answer` (see `needs_answers`). Without it, each process
    sums the files that it reads, and `answer` contains only the messages of which there are copies.
    """
    db = apsw.Connection(":memory:")
    db.execute(files("turnlog.store").joinpath("schema.sql").read_text("utf-8"))
    transcripts = {
        item.path: item for folder in config_dirs for item in list_transcripts(folder, survey) if item.kind != "output"
    }

    def scan_file(path: str, counts: dict[str, MessageCounts]) -> _ScannedFile:
        return _scan_file(transcripts[path], counts, with_title=with_titles, with_sums=not with_answers)

    found = reduce_usage_by_file(map(Path, transcripts), scan_file, dict[str, _ScannedFile], progress=progress)
    names = _ScanNumbers()
    copied = None if with_answers else _find_copied_keys(found.values())
    spend: list[tuple[Any, ...]] = []
    with db:
        for number, item in enumerate(transcripts.values(), 1):
            if (file := found.get(item.path)) is not None:
                session = names.get_session_number(_spell_surrogates_out(item.project), file.session)
                db.execute(_INSERT_FILE, (number, _spell_surrogates_out(item.path), item.kind, session, *file.details))
                answers, rows = _divide_usage(file, copied)
                db.executemany(_INSERT_ANSWER, _iter_answer_rows(answers, number, names))
                spend += ((hour, session, names.get_model_number(name), *sums) for hour, _, name, *sums in rows)
        db.executemany("INSERT INTO name VALUES (?, ?, ?)", ((n, *name) for name, n in names.names.items()))
        db.executemany("INSERT INTO session VALUES (?, ?, ?)", ((n, *key) for key, n in names.sessions.items()))
        renew_spend(db, None)
        db.executemany(_INSERT_SPEND, spend)
    return db


def needs_answers(request: UsageRequest) -> bool:
    """Return whether a report requires the whole table `answer`.

    The report by session also counts what other sessions are charged for, and where days don't begin at a full hour
    in UTC, the hours in `spend` must be divided.
    """
    return request.kind == "session" or any(
        stretch.offset % 3600 for stretch in request.zone.list_stretches(0, sys.maxsize)
    )


class _ScannedFile(Struct, gc=False, array_like=True):
    """What one process found in one file."""

    session: str
    details: tuple[str | None, str | None, str | None, bool]
    """Its columns `cwd`, `custom`, `forked_from` and `talks`."""
    keys: list[str]
    """The keys of its messages."""
    spend: list[tuple[Any, ...]]
    """The sums of its messages (`sum_file_spend`), which are right if no other file has copies of them."""
    counts: bytes
    """The messages themselves, encoded: most of them are never looked at."""


def _scan_file(
    item: TranscriptFile, counts: dict[str, MessageCounts], *, with_title: bool, with_sums: bool
) -> _ScannedFile:
    details: tuple[str | None, str | None, str | None, bool] = (None, None, None, False)
    if item.kind == "session":
        end = peek_safely(item.path)
        title = complete_titles(item.path, end).best if with_title else None
        cwd, title, origin = map(_spell_surrogates_out, (end.cwd, title, _read_forked_from(item.path)))
        details = (cwd, title, origin, end.junk is None)
    session = item.session or _spell_surrogates_out(read_agent_owner(Path(item.path)).session_id)
    try:
        data = msgspec.msgpack.encode(counts)
    except UnicodeEncodeError:
        counts = {
            _spell_surrogates_out(key): MessageCounts(*map(_spell_surrogates_out, astuple(best)))
            for key, best in counts.items()
        }
        data = msgspec.msgpack.encode(counts)
    spend = list(sum_file_spend(counts)) if with_sums else []
    return _ScannedFile(session, details, list(counts), spend, data)


_decode_counts = msgspec.msgpack.Decoder(dict[str, MessageCounts]).decode


def _find_copied_keys(scanned_files: Iterable[_ScannedFile]) -> set[str]:
    """Return the keys of the messages that are in several files."""
    known: set[str] = set()
    copied: set[str] = set()
    for file in scanned_files:
        copied |= known.intersection(file.keys)
        known.update(file.keys)
    return copied


def _divide_usage(file: _ScannedFile, copied: set[str] | None) -> tuple[dict[str, MessageCounts], Iterable[Any]]:
    """Return the messages of a file that must be compared with copies (all if `copied` is None), and sums of others."""
    if copied is None:
        return _decode_counts(file.counts), ()
    if copied.isdisjoint(file.keys):
        return {}, file.spend
    counts = _decode_counts(file.counts)
    answers = {key: counts.pop(key) for key in copied.intersection(file.keys)}
    return answers, sum_file_spend(counts)


def _iter_answer_rows(answers: dict[str, MessageCounts], file: int, names: _ScanNumbers) -> Iterator[tuple[Any, ...]]:
    for key, best in answers.items():
        yield key, file, names.get_model_number(best.model), *astuple(best)[1:]


class _ScanNumbers:
    """Numbers for names and sessions, in order of appearance."""

    def __init__(self) -> None:
        self.names: dict[tuple[str, str], int] = {}
        self.sessions: dict[tuple[int, str], int] = {}

    def get_number(self, kind: str, text: str) -> int:
        return self.names.setdefault((kind, text), len(self.names) + 1)

    def get_model_number(self, name: str | None) -> int | None:
        return self.get_number("model", name) if name else None

    def get_session_number(self, project: str, session_id: str) -> int:
        return self.sessions.setdefault((self.get_number("project", project), session_id), len(self.sessions) + 1)


def _spell_surrogates_out(value: Any) -> Any:
    """Spell out lone surrogates in a text: JSON and file names can contain them, but SQLite does not accept them."""
    if not isinstance(value, str) or value.isascii():
        return value
    return value.encode("utf-8", "backslashreplace").decode("utf-8")


def _read_forked_from(path: str) -> str | None:
    """Read the id of the session that this file was copied from, as recorded at its start."""
    try:
        with Path(path).open("rb") as file:
            head = file.read(MAX_END_BYTES)
    except OSError:
        return None
    match = _FORKED_FROM_FIELD.search(head) if b'"forkedFrom"' in head else None
    return match[1].decode("utf-8", "replace") if match else None
