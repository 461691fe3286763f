"""An index in memory that tests fill by hand: files, and the messages that they state."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import apsw

import turnlog.store
from turnlog.session.usage.message_counts import MessageCounts
from turnlog.store.index.spend_table import UNKNOWN_HOUR, renew_spend
from turnlog.store.usage.usage_sums import UsageSum

SCHEMA = Path(turnlog.store.__file__).with_name("schema.sql")
OPUS = "claude-opus-5"


class Ledger:
    """An index with files `a`, `b`, … of sessions of the same name."""

    def __init__(self) -> None:
        self.db = apsw.Connection(":memory:")
        self.db.execute(SCHEMA.read_text(encoding="utf-8"))
        self._names: dict[tuple[str, str], int] = {}

    def name(self, kind: str, text: str) -> int:
        """The number of a name."""
        if (kind, text) not in self._names:
            self._names[kind, text] = number = len(self._names) + 1
            self.db.execute("INSERT INTO name VALUES (?, ?, ?)", (number, kind, text))
        return self._names[kind, text]

    def file(self, path: str, session: str | None = None, *, kind: str = "session", **fields: Any) -> int:
        """A file, of the session of that name; its number."""
        project = self.name("project", fields.pop("folder", "/c/projects/-home-dana-shop"))
        uuid = session or path
        self.db.execute("INSERT OR IGNORE INTO session (project, uuid) VALUES (?, ?)", (project, uuid))
        number = self.session(uuid)
        names = ", ".join(["path", "kind", "session", *fields])
        marks = ", ".join("?" * (3 + len(fields)))
        self.db.execute(f"INSERT INTO file ({names}) VALUES ({marks})", (path, kind, number, *fields.values()))
        return self.db.last_insert_rowid()

    def session(self, uuid: str) -> int:
        """The number of a session."""
        return int(self.db.execute("SELECT id FROM session WHERE uuid = ?", (uuid,)).get)

    def answer(self, key: str, file: int, time: str = "2026-11-03T10:00:00.000Z", **fields: Any) -> None:
        """A message as a file states it."""
        model = fields.pop("model", OPUS)
        best = MessageCounts(
            None, time, fields.pop("last", time), **{"lowest": 0, "stopped": True, "version": "2.1.325", **fields}
        )
        values = (getattr(best, name) for name in MessageCounts.__struct_fields__[1:])
        number = None if model is None else self.name("model", model)
        marks = ", ".join("?" * 18)
        self.db.execute(f"INSERT INTO answer VALUES ({marks})", (key, file, number, *values))

    def call(self, key: str, file: int, tool: str = "Bash", **fields: Any) -> None:
        """A call as a file states it."""
        names = ", ".join(["id", "file", "tool", *fields])
        marks = ", ".join("?" * (3 + len(fields)))
        self.db.execute(
            f"INSERT INTO call ({names}) VALUES ({marks})", (key, file, self.name("tool", tool), *fields.values())
        )

    def renew(self, sessions: Iterable[str] | None = None, since: int = UNKNOWN_HOUR) -> None:
        """Make `spend` again."""
        with self.db:
            renew_spend(self.db, None if sessions is None else [self.session(name) for name in sessions], since)

    def spend(self) -> dict[str, UsageSum]:
        """What each session pays, over all hours and models."""
        from turnlog.store.usage.usage_sums import SpendFilter, sum_spend_by

        names = dict(self.db.execute("SELECT id, uuid FROM session"))
        return {names[session]: found for session, found in sum_spend_by(self.db, SpendFilter(), "session")}

    def rows(self) -> list[Any]:
        """All rows of `spend`, in some order."""
        return sorted(self.db.execute("SELECT * FROM spend"), key=str)
