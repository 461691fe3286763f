"""Numbers for names that many rows repeat (tools, models and projects), and the known identifiers."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import apsw

_MAX_IDENTIFIER_CHARS = 64
"""The parts of longer identifiers are not indexed, because nobody searches for them."""
_MAX_REMEMBERED_IDENTIFIERS = 300_000
"""How many identifiers are remembered, to avoid writing them again."""


class NameRow(NamedTuple):
    """A row of the `name` table."""

    id: int
    kind: str
    text: str


class NameNumbers:
    """The names that have a number, and those added since the last `take_new_names`."""

    def __init__(self, known: Iterable[NameRow]) -> None:
        self._ids = {(name.kind, name.text): name.id for name in known}
        self._next = max(self._ids.values(), default=0) + 1
        self._fresh: list[NameRow] = []
        self._identifiers: set[bytes] = set()

    @classmethod
    def load(cls, db: apsw.Connection) -> NameNumbers:
        """Load all names in an index."""
        return cls(NameRow(*row) for row in db.execute("SELECT id, kind, text FROM name"))

    def get_number(self, kind: str, text: str) -> int:
        """Return the number of a name; assign a new one if it has none."""
        number = self._ids.get((kind, text))
        if number is None:
            number = self._ids[kind, text] = self._next
            self._fresh.append(NameRow(number, kind, text))
            self._next += 1
        return number

    def take_new_names(self) -> list[NameRow]:
        """Return the names that have no row yet, and treat them as written from now on."""
        names, self._fresh = self._fresh, []
        return names

    def select_unknown(self, identifiers: set[bytes]) -> list[str]:
        """Return the identifiers that earlier calls have not seen; old identifiers may be forgotten."""
        unknown = identifiers - self._identifiers
        self._remember_identifiers(unknown)
        return sorted(name.decode("utf-8", "ignore") for name in unknown if len(name) <= _MAX_IDENTIFIER_CHARS)

    def learn(self, names: Iterable[NameRow], identifiers: Iterable[str]) -> None:
        """Add names and identifiers from another process."""
        for name in names:
            self._ids[name.kind, name.text] = name.id
            self._next = max(self._next, name.id + 1)
        self._remember_identifiers(map(str.encode, identifiers))

    def _remember_identifiers(self, identifiers: Iterable[bytes]) -> None:
        if len(self._identifiers) > _MAX_REMEMBERED_IDENTIFIERS:
            self._identifiers.clear()
        self._identifiers.update(identifiers)


class SharedNameNumbers(NameNumbers):
    """Names that several processes number: each new one is written to the index at once."""

    def __init__(self, db: apsw.Connection) -> None:
        super().__init__(NameRow(*row) for row in db.execute("SELECT id, kind, text FROM name"))
        self._db = db

    def get_number(self, kind: str, text: str) -> int:
        """Return the number of a name; a new one has the number that the index gives it."""
        number = self._ids.get((kind, text))
        if number is None:
            self._db.execute("INSERT OR IGNORE INTO name (kind, text) VALUES (?, ?)", (kind, text))
            found: Any = self._db.execute("SELECT id FROM name WHERE kind = ? AND text = ?", (kind, text)).get
            number = self._ids[kind, text] = int(found)
        return number
