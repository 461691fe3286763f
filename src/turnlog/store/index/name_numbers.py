"""Numbers for names that many rows repeat (tools, models, projects), and the identifiers that are known."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import apsw

_MAX_IDENTIFIER_CHARS = 64
"""What has more bytes is no identifier that anybody looks for by its parts."""
_MAX_REMEMBERED_IDENTIFIERS = 300_000
"""So many identifiers are remembered: they save writing what is written already."""


class NameRow(NamedTuple):
    """A row of the table `name`."""

    id: int
    kind: str
    text: str


class NameNumbers:
    """The names that have a number, and those that were given one since the last `fresh`."""

    def __init__(self, known: Iterable[NameRow]) -> None:
        self._ids = {(name.kind, name.text): name.id for name in known}
        self._next = max(self._ids.values(), default=0) + 1
        self._fresh: list[NameRow] = []
        self._identifiers: set[bytes] = set()

    @classmethod
    def load(cls, db: apsw.Connection) -> NameNumbers:
        """All names of an index."""
        return cls(NameRow(*row) for row in db.execute("SELECT id, kind, text FROM name"))

    def get_number(self, kind: str, text: str) -> int:
        """The number of a name."""
        found = self._ids.get((kind, text))
        if found is None:
            found = self._ids[kind, text] = self._next
            self._fresh.append(NameRow(found, kind, text))
            self._next += 1
        return found

    def take_new_names(self) -> list[NameRow]:
        """The names that have no row yet; they count as written from now on."""
        found, self._fresh = self._fresh, []
        return found

    def select_unknown(self, identifiers: set[bytes]) -> list[str]:
        """Those identifiers that were not asked for before; not all are remembered for ever."""
        found = identifiers - self._identifiers
        self._remember_identifiers(found)
        return sorted(name.decode("utf-8", "ignore") for name in found if len(name) <= _MAX_IDENTIFIER_CHARS)

    def learn(self, names: Iterable[NameRow], identifiers: Iterable[str]) -> None:
        """Take over what another process has numbered and met."""
        for name in names:
            self._ids[name.kind, name.text] = name.id
            self._next = max(self._next, name.id + 1)
        self._remember_identifiers(map(str.encode, identifiers))

    def _remember_identifiers(self, identifiers: Iterable[bytes]) -> None:
        if len(self._identifiers) > _MAX_REMEMBERED_IDENTIFIERS:
            self._identifiers.clear()
        self._identifiers.update(identifiers)
