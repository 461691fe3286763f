"""The names of tools and models that a filter of a query means, judged by their redacted form."""

from __future__ import annotations

from collections.abc import Callable
from fnmatch import fnmatchcase
from typing import Any

import apsw

from turnlog.mcp.proof_table import hide_marks
from turnlog.store.filter_values import ScopeMatch, match_names

_NO_NAME = ScopeMatch([0])
"""The number of no name. That a filter names nothing is no error: it would tell names that an agent must not see."""


class RedactedNames:
    """Finds names by what an agent may see of them."""

    def __init__(self, redact: Callable[[str], str]) -> None:
        self._redact = redact

    def match(self, db: apsw.Connection, kind: str, value: str) -> ScopeMatch:
        """Find the tools or models that a value names, as `match_names` does."""
        rows: list[Any] = db.execute("SELECT id, text FROM name WHERE kind = ?", (kind,)).fetchall()
        names = {number: hide_marks(self._redact(name)).casefold() for number, name in rows}
        wanted = value.casefold()
        for fits in (wanted.__eq__, lambda name: fnmatchcase(name, wanted), lambda name: wanted in name):
            if found := [number for number, name in names.items() if fits(name)]:
                return ScopeMatch(found)
        return _NO_NAME

    def suggest(self, db: apsw.Connection, kind: str, value: str) -> ScopeMatch:
        """Find all names that a value may mean, before it is known which of them contain secrets."""
        numbers = {*match_names(db, kind, value).ids, *self.match(db, kind, value).ids}
        wanted = value.casefold()
        rows: list[Any] = db.execute("SELECT id, text FROM name WHERE kind = ?", (kind,)).fetchall()
        numbers |= {
            number for number, name in rows if wanted in name.casefold() or fnmatchcase(name.casefold(), wanted)
        }
        return ScopeMatch(sorted(numbers))
