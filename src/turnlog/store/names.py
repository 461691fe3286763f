"""Numbers for names that many rows repeat: tools, models, projects."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import apsw


class Name(NamedTuple):
    """A row of the table `name`."""

    id: int
    kind: str
    text: str


class Names:
    """The names that have a number, and those that were given one since the last `fresh`."""

    def __init__(self, known: Iterable[Name]) -> None:
        self._ids = {(name.kind, name.text): name.id for name in known}
        self._next = max(self._ids.values(), default=0) + 1
        self._fresh: list[Name] = []

    @classmethod
    def load(cls, db: apsw.Connection) -> Names:
        """All names of an index."""
        return cls(Name(*row) for row in db.execute("SELECT id, kind, text FROM name"))

    def number(self, kind: str, text: str) -> int:
        """The number of a name."""
        found = self._ids.get((kind, text))
        if found is None:
            found = self._ids[kind, text] = self._next
            self._fresh.append(Name(found, kind, text))
            self._next += 1
        return found

    def fresh(self) -> list[Name]:
        """The names that have no row yet; they count as written from now on."""
        found, self._fresh = self._fresh, []
        return found

    def learn(self, names: Iterable[Name]) -> None:
        """Take over names that another process numbered."""
        for name in names:
            self._ids[name.kind, name.text] = name.id
            self._next = max(self._next, name.id + 1)
