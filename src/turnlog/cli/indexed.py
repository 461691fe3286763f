"""Sessions as the index numbers them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from turnlog.cli.sessions.catalogue import belongs

if TYPE_CHECKING:
    import apsw


def sessions_of(db: apsw.Connection, project: str) -> list[int]:
    """The sessions of a project: of this folder and those below it, or of folders with such a name.

    Raises UsageError if no session has such a project.
    """
    rows = db.execute("SELECT DISTINCT session, cwd FROM file WHERE kind = 'session'")
    if found := [number for number, cwd in rows if belongs(cwd, project)]:
        return found
    from turnlog.store.scope import known_projects

    query = "SELECT id FROM session WHERE project IN (SELECT value FROM json_each(?))"
    return [number for (number,) in db.execute(query, (str(known_projects(db, project)),))]
