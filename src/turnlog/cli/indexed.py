"""Sessions as the index numbers them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from turnlog.cli.catalogue import belongs

if TYPE_CHECKING:
    import apsw


def sessions_of(db: apsw.Connection, project: str) -> list[int]:
    """The sessions of a project: of this folder and those below it, or of folders with such a name."""
    rows = db.execute("SELECT DISTINCT session, cwd FROM file WHERE kind = 'session'")
    return [number for number, cwd in rows if belongs(cwd, project)]
