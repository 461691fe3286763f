"""Sessions as the index numbers them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from turnlog.cli.sessions.catalogue import is_in_project

if TYPE_CHECKING:
    import apsw


def find_project_sessions(db: apsw.Connection, project: str) -> list[int]:
    """The sessions of a project: of this folder and those below it, or of folders with such a name.

    Raises UsageError if no session has such a project.
    """
    rows = db.execute("SELECT DISTINCT session, cwd FROM file WHERE kind = 'session'")
    if found := [number for number, cwd in rows if is_in_project(cwd, project)]:
        return found
    from turnlog.store.filter_values import require_projects

    query = "SELECT id FROM session WHERE project IN (SELECT value FROM json_each(?))"
    return [number for (number,) in db.execute(query, (str(require_projects(db, project)),))]
