"""Where everything that a person typed is, across all sessions, newest first."""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

import apsw

from turnlog.session.texts.texts import TEXT_KINDS
from turnlog.store.project_folders import load_project_path

_PROMPT_KIND = list(TEXT_KINDS).index("prompt")
_PLACE_QUERY = """
    SELECT text.time, file.id, file.path, text.offset, file.session, session.uuid, file.title, file.cwd, name.text,
        file.gone IS NOT NULL
    FROM text JOIN file ON file.id = text.file AND file.kind = 'session'
    JOIN session ON session.id = file.session JOIN name ON name.id = session.project
    WHERE text.kind = ? {which} ORDER BY text.time DESC, text.offset DESC
"""


class PromptPlace(NamedTuple):
    """The entry of one prompt, and its session."""

    time: int
    """Seconds since 1970; 0 if unknown."""
    file: int
    path: str
    offset: int
    session: int
    uuid: str
    title: str | None
    cwd: str | None
    folder: str
    """The project's folder: without `cwd`, where other sessions of it started or, if unknown, below `projects`."""
    is_gone: bool

    @property
    def project(self) -> str:
        """The folder in which the session started; if it is unknown, the name of the project's folder."""
        return self.cwd or self.folder


def list_prompt_places(
    db: apsw.Connection,
    projects: Collection[int] | None = None,
    since: int | None = None,
    until: int | None = None,
) -> list[PromptPlace]:
    """List the prompts in main transcripts, newest first; times are seconds since 1970, and `until` is excluded."""
    which = ""
    if projects is not None:
        which += f" AND session.project IN ({','.join(str(int(number)) for number in projects)})"
    if since is not None:
        which += f" AND text.time >= {int(since)}"
    if until is not None:
        which += f" AND text.time < {int(until)}"
    rows = db.execute(_PLACE_QUERY.format(which=which), (_PROMPT_KIND,)).fetchall()
    places = [PromptPlace._make(row) for row in rows]
    paths = {folder: load_project_path(db, folder) for folder in {item.folder for item in places if not item.cwd}}
    return [item if item.cwd else item._replace(folder=paths[item.folder]) for item in places]
