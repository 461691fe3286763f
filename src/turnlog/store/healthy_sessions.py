"""Remembers which sessions `turnlog doctor` found healthy, so that it examines only what has changed since.

A session is remembered together with everything that its examination read: the state of its files and those of its
sub-agents, of the project's session list and of its working directory, and the rules, as a hash of the modules that
contain them. If any of these differs, the session is examined again. Sessions that are gone are forgotten.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from functools import cache
from hashlib import blake2b
from pathlib import Path

import apsw

from turnlog.store.database_damage import DAMAGE_ERRORS

_FILE_NAME = "healthy.db"
_RULE_FOLDERS = ("entries", "session", "edit/illnesses")
_SCHEMA = "CREATE TABLE IF NOT EXISTS healthy (path BLOB PRIMARY KEY, state BLOB NOT NULL, document BLOB NOT NULL)"
_MAX_UNWRITTEN = 500
"""How many sessions are remembered with one transaction."""
_MAX_DEPTH = 4
"""How many levels of folders next to a session belong to its state; sub-agents are at most this deep."""


class HealthySessions:
    """The remembered sessions; if the data folder can't be used, nothing is remembered."""

    def __init__(self, data_dir: Path) -> None:
        self._path = data_dir / _FILE_NAME
        self._db = self._open()
        self._loose: dict[Path, list[str]] = {}
        self._unwritten: list[tuple[bytes, ...]] = []

    def close(self) -> None:
        """Write what is still to be remembered."""
        self._write_remembered()
        if self._db is not None:
            self._db.close()
            self._db = None

    def read(self, path: Path, state: bytes) -> bytes | None:
        """Return the document of a session that was healthy in this state."""
        if self._db is None:
            return None
        with suppress(apsw.Error):
            sql = "SELECT document FROM healthy WHERE path = ? AND state = ?"
            document = self._db.execute(sql, (os.fsencode(path), state)).get
            return document if isinstance(document, bytes) else None
        return None

    def remember(self, path: Path, state: bytes, document: bytes) -> None:
        """Remember a healthy session with the document that describes it."""
        self._unwritten.append((os.fsencode(path), state, document))
        if len(self._unwritten) >= _MAX_UNWRITTEN:
            self._write_remembered()

    def _write_remembered(self) -> None:
        rows, self._unwritten = self._unwritten, []
        self._write("INSERT OR REPLACE INTO healthy VALUES (?, ?, ?)", rows)

    def forget_others(self, paths: Iterable[Path]) -> None:
        """Forget all sessions but these."""
        if self._db is None:
            return
        with suppress(apsw.Error):
            known = {row[0] for row in self._db.execute("SELECT path FROM healthy")}
            gone = known.difference(map(os.fsencode, paths))
            self._write("DELETE FROM healthy WHERE path = ?", [(path,) for path in gone])

    def compute_state(self, path: Path) -> bytes:
        """Return a hash of everything that the examination of a session reads; see the module."""
        running = blake2b(hash_rules(), digest_size=16)
        for name in (path, path.parent / "sessions-index.json"):
            running.update(_describe_file(name))
        for line in (*_describe_tree(path.with_suffix("")), *self._describe_loose_agents(path.parent)):
            running.update(line.encode("utf-8", "surrogateescape"))
        return running.digest()

    def _describe_loose_agents(self, folder: Path) -> list[str]:
        """Describe the files of sub-agents that old clients put next to the sessions; read once for each folder."""
        if folder not in self._loose:
            names: list[str] = []
            with suppress(OSError):
                names = sorted(name for name in os.listdir(folder) if name.startswith("agent-"))  # noqa: PTH208
            lines = [f"{name} {_describe_file(folder / name)!r}\n" for name in names]
            self._loose[folder] = [*lines, *_describe_tree(folder / "subagents")]
        return self._loose[folder]

    def _write(self, sql: str, rows: list[tuple[bytes, ...]]) -> None:
        if self._db is not None and rows:
            with suppress(apsw.Error), self._db:
                self._db.executemany(sql, rows)

    def _open(self) -> apsw.Connection | None:
        for _ in range(2):
            try:
                self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
                os.close(os.open(self._path, os.O_RDWR | os.O_CREAT, 0o600))
                db = apsw.Connection(str(self._path))
                db.set_busy_timeout(1000)
                db.pragma("synchronous", 0)
                db.execute(_SCHEMA)
            except (OSError, UnicodeEncodeError):
                return None
            except DAMAGE_ERRORS:
                with suppress(OSError):
                    self._path.unlink()  # it only saves time
            except apsw.Error:
                return None
            else:
                return db
        return None


@cache
def hash_rules() -> bytes:
    """Return a hash of the modules that decide whether a session is healthy."""
    running, package = blake2b(digest_size=16), Path(__file__).parent.parent
    for folder in _RULE_FOLDERS:
        for path in sorted((package / folder).rglob("*.py")):
            running.update(path.read_bytes())
    return running.digest()


def _describe_file(path: Path) -> bytes:
    try:
        status = path.stat()
    except OSError as error:
        return f"{error.errno}\n".encode()
    numbers = (status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino, status.st_mode)
    return f"{numbers}\n".encode()


def _describe_tree(folder: Path, depth: int = 0) -> Iterator[str]:
    """Describe the files below a folder, without entering linked folders."""
    try:
        with os.scandir(folder) as items:
            found = sorted(items, key=lambda item: item.name)
    except OSError:
        return
    for item in found:
        if item.is_dir(follow_symlinks=False):
            if depth < _MAX_DEPTH:
                yield f"{item.name}/\n"
                yield from _describe_tree(Path(item.path), depth + 1)
        else:
            yield f"{item.name} {_describe_file(Path(item.path))!r}\n"
