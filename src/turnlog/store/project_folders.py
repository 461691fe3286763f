"""The working folder of a project, also for sessions whose entries name none.

Sessions belong to a folder below `projects`, whose name can't be turned back into a path (`entries.slug`). Most
sessions name the folder in which they started; one that doesn't belongs to the same project as those beside it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import apsw

_PATH_SEPARATOR = re.compile(r"[/\\]")
_FOLDER_QUERY = """
    SELECT DISTINCT file.cwd FROM name JOIN session ON session.project = name.id
    JOIN file ON file.session = session.id AND file.kind = 'session'
    WHERE name.kind = 'project' AND name.text = ? AND file.cwd IS NOT NULL
"""


def choose_project_path(folder: str, cwds: Iterable[str]) -> str:
    """Return the one of several working folders after which a project's folder is named; else the project's folder."""
    from turnlog.entries.slug import make_slug

    name = _PATH_SEPARATOR.split(folder.rstrip("/\\"))[-1]
    return min((cwd for cwd in cwds if make_slug(cwd) == name), default=folder)


def load_project_path(db: apsw.Connection, folder: str) -> str:
    """Return the working folder of a project by its folder below `projects`."""
    return choose_project_path(folder, [cwd for (cwd,) in db.execute(_FOLDER_QUERY, (folder,))])


def load_session_folders(db: apsw.Connection) -> dict[int, str]:
    """Load the folder of each session's project: where it or others of its project started, else where its file is."""
    rows: list[Any] = db.execute(
        "SELECT session.id, cwd, name.text FROM session JOIN name ON name.id = project"
        " LEFT JOIN file ON file.session = session.id AND file.kind = 'session'"
    ).fetchall()
    paths = {folder: load_project_path(db, folder) for folder in {folder for _, cwd, folder in rows if cwd is None}}
    return {session: cwd if cwd is not None else paths[folder] for session, cwd, folder in rows}
