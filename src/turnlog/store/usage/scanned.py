"""Usage where no index can be kept: the same tables in memory, made from the session files by a quick scan.

The scan reads nothing but what is counted, so there are no calls in these tables, and no letters to estimate from.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from importlib.resources import files
from pathlib import Path
from typing import Any

import apsw
from msgspec.structs import astuple

from turnlog.entries.agents import owner
from turnlog.entries.peeks import complete_titles, look_all
from turnlog.entries.transcripts import Listed, transcripts
from turnlog.entries.window import WINDOW
from turnlog.session.usage.totals import by_file
from turnlog.store.index.spend import renew

_FILE = """
    INSERT INTO file (id, path, kind, session, cwd, custom, forked_from, talks) VALUES (?, ?, ?, ?, ?, ?, ?, ?)
"""
_FORK = re.compile(rb'"forkedFrom"\s*:\s*\{\s*"sessionId"\s*:\s*"([^"\\]+)"')


def scanned(config_dirs: Iterable[Path]) -> apsw.Connection:
    """Tables of all that the session files of some config folders say of usage."""
    db = apsw.Connection(":memory:")
    db.execute(files("turnlog.store").joinpath("schema.sql").read_text("utf-8"))
    listed = [item for folder in config_dirs for item in transcripts(folder) if item.kind != "output"]
    names = _Names()
    with db:
        db.executemany(_FILE, _files(listed, names))
        numbers = {item.path: number for number, item in enumerate(listed, 1)}
        found = by_file(Path(item.path) for item in listed)
        rows = (
            _bound(key, numbers[path], best.model and names.number("model", _whole(best.model)), *astuple(best)[1:])
            for path, answers in found.items()
            for key, best in answers.items()
        )
        db.executemany(f"INSERT INTO answer VALUES ({','.join('?' * 18)})", rows)
        db.executemany("INSERT INTO name VALUES (?, ?, ?)", ((n, *name) for name, n in names.names.items()))
        db.executemany("INSERT INTO session VALUES (?, ?, ?)", ((n, *key) for key, n in names.sessions.items()))
        renew(db, None)
    return db


class _Names:
    """Numbers for names and for sessions, in the order in which they come."""

    def __init__(self) -> None:
        self.names: dict[tuple[str, str], int] = {}
        self.sessions: dict[tuple[int, str], int] = {}

    def number(self, kind: str, text: str) -> int:
        return self.names.setdefault((kind, text), len(self.names) + 1)

    def session(self, project: str, session_id: str) -> int:
        return self.sessions.setdefault((self.number("project", project), session_id), len(self.sessions) + 1)


def _files(listed: list[Listed], names: _Names) -> Iterator[tuple[Any, ...]]:
    mains = [item.path for item in listed if item.kind == "session"]
    ends = dict(zip(mains, look_all(mains), strict=True))
    for number, item in enumerate(listed, 1):
        session = names.session(item.project, item.session or owner(Path(item.path)).session_id)
        seen = ends.get(item.path)
        told: tuple[Any, ...] = (None, None, None, 0)
        if seen is not None:
            title = complete_titles(item.path, seen).best
            told = (seen.cwd, title, _forked_from(item.path), seen.junk is None)
        yield _bound(number, item.path, item.kind, session, *told)


def _bound(*values: Any) -> tuple[Any, ...]:
    return tuple(_whole(value) if isinstance(value, str) else value for value in values)


def _whole(text: str) -> str:
    """A text that SQLite takes: half of a surrogate pair, which JSON can spell, is replaced."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


def _forked_from(path: str) -> str | None:
    """The session that the beginning of a file says it was copied from."""
    try:
        with Path(path).open("rb") as file:
            found = _FORK.search(file.read(WINDOW))
    except OSError:
        return None
    return found[1].decode("utf-8", "replace") if found else None
