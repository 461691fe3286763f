"""Reads the lines that search hits refer to, without their secrets, and remembers them for the next search."""

from __future__ import annotations

import contextlib
import json
from collections import OrderedDict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from turnlog.api.config import data_dir
from turnlog.errors import TurnlogError
from turnlog.store.search.index_source import IndexSource
from turnlog.store.search.scan import ScanTarget

if TYPE_CHECKING:
    from turnlog.mcp.redacted_sessions import FileStates, RedactedSessions
    from turnlog.store.store import Store

_MAX_LINES = 2_000
_MAX_LINES_BYTES = 64 << 20
_MAIN_PATH_QUERY = """
SELECT main.path FROM file JOIN file AS main ON main.session = file.session AND main.kind = 'session'
WHERE file.path = ?
"""
_SESSION_FILES_QUERY = """
SELECT other.path, other.kind = 'output', other.size FROM file
JOIN file AS other ON other.session = file.session WHERE file.path = ?
"""


class LineCache:
    """The redacted lines that were read last."""

    def __init__(self) -> None:
        self._lines: OrderedDict[tuple[object, ...], bytes] = OrderedDict()
        self._size = 0
        self.archived: set[str] = set()
        """The deleted sessions whose secrets were collected."""

    def get(self, key: tuple[object, ...]) -> bytes | None:
        if key in self._lines:
            self._lines.move_to_end(key)
        return self._lines.get(key)

    def put(self, key: tuple[object, ...], line: bytes) -> None:
        """Remember a line, and forget the oldest ones if there are too many."""
        self._lines[key] = line
        self._size += len(line)
        while len(self._lines) > _MAX_LINES or self._size > _MAX_LINES_BYTES:
            self._size -= len(self._lines.popitem(last=False)[1])


class RedactingReader:
    """Reads lines for one search."""

    def __init__(self, sessions: RedactedSessions, store: Store, cache: LineCache) -> None:
        self.source = IndexSource(data_dir())
        self._sessions = sessions
        self._store = store
        self._cache = cache
        self._uuids: dict[tuple[str, int], str] = {}
        self._states: dict[str, FileStates | None] = {}
        """What the files of each session looked like when the search first read one of them."""

    def read_passage(self, path: str, offset: int, whole: bool) -> bytes | None:
        """Read a line or a large piece without its secrets."""
        if path not in self._states:
            self._states[path] = self._learn_secrets(path)
        states = self._states[path]
        # A line that was redacted when fewer secrets were known may contain one.
        key = path, offset, whole, states, self._sessions.known_forms
        line = self._cache.get(key)
        if line is None:
            data = self.source.read_passage(path, offset, whole)
            if data is None:
                return None
            line = self._sessions.redact_data(data) if whole else self._sessions.redact_line(data)
            self._cache.put(key, line)
        if not whole:
            self._note_uuid(path, offset, line)
        return line

    def _learn_secrets(self, path: str) -> FileStates | None:
        """Collect the secrets of the session that a file belongs to; return the states of its files, if it has any."""
        main = str(self._store.db.execute(_MAIN_PATH_QUERY, (path,)).get or path)
        try:
            return self._sessions.learn_secrets(Path(main))
        except TurnlogError:
            self._learn_archived_secrets(main)
            return None

    def _learn_archived_secrets(self, main: str) -> None:
        """Collect the secrets of a session that only the archive still has."""
        if main in self._cache.archived:
            return
        self._cache.archived.add(main)
        for path, is_plain, size in self._store.db.execute(_SESSION_FILES_QUERY, (main,)).fetchall():
            target = ScanTarget(0, str(path), bool(is_plain), int(str(size)), is_gone=True)
            with contextlib.suppress(OSError):
                self._sessions.learn_lines(b"".join(self.source.read_pieces(target)).splitlines())

    def find_uuid(self, path: str, offset: int) -> str | None:
        """Return the uuid of an entry that was read."""
        return self._uuids.get((path, offset))

    def _note_uuid(self, path: str, offset: int, line: bytes) -> None:
        try:
            body: Any = json.loads(line)
        except ValueError:
            return
        uuid = body.get("uuid") if isinstance(body, dict) else None
        if isinstance(uuid, str):
            self._uuids[path, offset] = uuid
