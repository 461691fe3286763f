"""Resolves filter values against the index: projects, sessions, tools and models by the names that people use."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, NamedTuple

import apsw

from turnlog.errors import UsageError

_PATH_SEPARATOR = re.compile(r"[/\\]")
_MAX_SUGGESTIONS = 3
LAST_SESSION_WORD = "last"


class ScopeMatch(NamedTuple):
    """The ids of everything that matches a value or, if nothing does, the closest names."""

    ids: list[int]
    closest: tuple[str, ...] = ()


def match_names(db: apsw.Connection, kind: str, value: str) -> ScopeMatch:
    """Find the tools or models whose names equal the value or, failing that, match it as a pattern or contain it."""
    names = dict(db.execute("SELECT text, id FROM name WHERE kind = ?", (kind,)))
    wanted = value.casefold()
    for fits in (wanted.__eq__, lambda name: fnmatchcase(name, wanted), lambda name: wanted in name):
        found = [number for name, number in names.items() if fits(name.casefold())]
        if found:
            return ScopeMatch(found)
    return ScopeMatch([], _suggest_names(value, names))


def list_names(db: apsw.Connection, kind: str) -> list[str]:
    """List the tools or models that a person can choose; texts of the client itself are no model's."""
    from turnlog.session.usage.prices import SYNTHETIC_MODEL

    rows = db.execute("SELECT text FROM name WHERE kind = ? ORDER BY text", (kind,))
    return [name for (name,) in rows if name != SYNTHETIC_MODEL]


def match_projects(db: apsw.Connection, value: str) -> ScopeMatch:
    """Find the projects in or below a folder, or those whose folder name contains the value."""
    rows: list[Any] = db.execute(
        "SELECT DISTINCT project, text, cwd FROM session JOIN name ON name.id = project"
        " LEFT JOIN file ON file.session = session.id AND file.kind = 'session'"
    ).fetchall()
    placed = {project for project, _, cwd in rows if cwd}
    found = {
        project for project, folder, cwd in rows if (cwd or project not in placed) and _is_project(cwd, folder, value)
    }
    return ScopeMatch(sorted(found), () if found else suggest_projects(value, (cwd for _, _, cwd in rows if cwd)))


def suggest_projects(value: str, folders: Iterable[str]) -> tuple[str, ...]:
    """Return the project names closest to a value, chosen from the folders that sessions started in."""
    return _suggest_names(value, {_split_path(folder)[-1] for folder in folders})


def require_projects(db: apsw.Connection, value: str) -> list[int]:
    """Return the ids of the projects that `--project` selects; raise `UsageError` if there are none.

    On a machine without sessions, where the index contains the demo, an unknown project is not an error.
    """
    match = match_projects(db, value)
    if not match.ids and not _is_demo_index(db):
        raise build_unknown_error("project", value, match.closest)
    return match.ids


def build_unknown_error(option: str, value: str, closest: tuple[str, ...]) -> UsageError:
    """Build the error for an option whose value doesn't match any session."""
    hint = f"; closest matches: {', '.join(closest)}" if closest else ""
    return UsageError(f"--{option} {value!r}: no session has this {option}{hint}")


def _is_demo_index(db: apsw.Connection) -> bool:
    from turnlog.demo import is_demo

    path = db.execute("SELECT path FROM file LIMIT 1").get
    return path is None or is_demo(Path(path))


def _is_project(cwd: str | None, folder: str, value: str) -> bool:
    if not cwd:
        # The folder's name is the path of the project with every other character replaced by a dash.
        slug = re.sub(r"[^A-Za-z0-9]", "-", value)
        return slug.casefold() in _split_path(folder)[-1].casefold()
    parts = _split_path(cwd)
    is_name = not _PATH_SEPARATOR.search(value) and value not in (".", "..", "~")
    return (is_name and value.casefold() in parts[-1].casefold()) or _is_below_folder(parts, value)


def _is_below_folder(parts: list[str], value: str) -> bool:
    wanted = [_split_path(value)]
    if "\0" not in value:  # which no folder of a file system has in its name, but one in a transcript may
        expanded = os.path.expanduser(value)  # noqa: PTH111 - Path raises for ~nobody
        wanted += [_split_path(os.path.abspath(expanded)), _split_path(os.path.realpath(expanded))]  # noqa: PTH100
    return any(parts[: len(folder)] == folder for folder in wanted)


def _split_path(path: str) -> list[str]:
    return _PATH_SEPARATOR.split(path.rstrip("/\\"))


def match_sessions(db: apsw.Connection, value: str) -> ScopeMatch:
    """Find the sessions whose ids start with a value, or else whose titles contain it; `last` is the newest one."""
    if value == LAST_SESSION_WORD:
        newest = db.execute("SELECT session FROM file WHERE kind = 'session' ORDER BY ended DESC LIMIT 1").get
        return ScopeMatch([newest] if newest is not None else [])
    start = value.lower()
    ids = dict(db.execute("SELECT id, uuid FROM session"))
    if found := [number for number, uuid in ids.items() if uuid.lower().startswith(start)]:
        return ScopeMatch(found)
    wanted = _fold_title(value)
    titles = list(_iter_titles(db))
    if found := sorted({number for number, title in titles if wanted and wanted in _fold_title(title)}):
        return ScopeMatch(found)
    from difflib import get_close_matches

    near = tuple(get_close_matches(start, {uuid[: len(start)].lower() for uuid in ids.values()}, _MAX_SUGGESTIONS, 0.7))
    return ScopeMatch([], near or _suggest_names(value, {title[:60] for _, title in titles}))


def match_branches(db: apsw.Connection, value: str) -> ScopeMatch:
    """Find the sessions whose last Git branch equals a value or, failing that, fits it as a pattern or contains it."""
    rows: list[Any] = db.execute(
        "SELECT session, git_branch FROM file WHERE kind = 'session' AND git_branch IS NOT NULL"
    ).fetchall()
    wanted = value.casefold()
    for fits in (wanted.__eq__, lambda name: fnmatchcase(name, wanted), lambda name: wanted in name):
        names = {name for name in {name for _, name in rows} if fits(name.casefold())}
        if names:
            return ScopeMatch(sorted({number for number, name in rows if name in names}))
    return ScopeMatch([], _suggest_names(value, {name for _, name in rows}))


def _iter_titles(db: apsw.Connection) -> Iterator[tuple[int, str]]:
    for session, *titles in db.execute("SELECT session, custom, ai, summary, title FROM file WHERE kind = 'session'"):
        for title in dict.fromkeys(titles):
            if title:
                yield session, title


def _fold_title(text: str) -> str:
    return " ".join(text.split()).casefold()


def _suggest_names(value: str, names: Iterable[str]) -> tuple[str, ...]:
    by_fold = {name.casefold(): name for name in names}
    wanted = value.casefold().strip("*")
    from difflib import get_close_matches  # slow to import, and rarely needed

    near = get_close_matches(wanted, by_fold, _MAX_SUGGESTIONS, 0.5)
    return tuple(by_fold[name] for name in near)
