"""The files that sessions read and changed: the operations on them, their diffs and their versions."""

from __future__ import annotations

import os
from collections.abc import Iterator
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from turnlog.api.config import Config, load_config
from turnlog.api.lookup import Notify, open_session
from turnlog.edit.restore_file import write_restored_file
from turnlog.errors import NotFound, UsageError
from turnlog.render.figures import format_count, format_size
from turnlog.session.files.file_steps import FileStep, list_file_steps
from turnlog.session.files.patches import format_unified_diff
from turnlog.session.files.touches import FileTouches, Touch, group_touches_by_file, list_touches
from turnlog.session.files.versions import (
    ChosenVersion,
    FileVersion,
    find_file_path,
    find_version_after_turn,
    find_version_before_turn,
    list_file_versions,
    recreate_version,
)
from turnlog.session.session import Session

if TYPE_CHECKING:
    from turnlog.api.index import Progress
    from turnlog.store.insight.touched_files import IndexedFile

VERSION_ACTION_WORDS = {
    "read": "shown by",
    "attach": "shown by Claude Code:",
    "write": "written by",
    "edit": "edited by",
    "found": "found by",
    "change": "changed by someone else:",
    "copy": "Claude Code's copy:",
}


class TouchReport(Struct, frozen=True):
    """One operation on a file."""

    time: str | None
    turn: int | None
    action: str
    """read, write, edit, attach or change."""
    tool: str
    outcome: str
    call_id: str | None
    agent_id: str | None
    agent_type: str | None


class FileReport(Struct, frozen=True):
    """A file and what a session did to it."""

    path: str
    reads: int
    writes: int
    edits: int
    shown: int
    """How often Claude Code added it to the conversation."""
    changed_elsewhere: int
    failures: int
    first: str | None
    last: str | None
    turns: list[int]
    agents: list[str]
    touches: list[TouchReport]


class SessionFiles(Struct, frozen=True):
    """The files that a session read or changed."""

    session_id: str | None
    path: str | None
    project: str | None
    """The working folder in which the session started."""
    files: list[FileReport]


class FileCalls(Struct, frozen=True):
    """The number of calls in a session that touched a file."""

    session_id: str
    calls: int


class ProjectFile(Struct, frozen=True):
    """A file and what a project's sessions did to it."""

    path: str
    reads: int
    writes: int
    edits: int
    failures: int
    first: str | None
    last: str | None
    sessions: list[FileCalls]


class ProjectFiles(Struct, frozen=True):
    """The files that a project's sessions read or changed."""

    files: list[ProjectFile]


class FilePatch(Struct, frozen=True):
    """One change that a session made to a file."""

    path: str
    turn: int | None
    time: str | None
    tool: str
    call_id: str | None
    agent_id: str | None
    created: bool
    user_modified: bool
    """Whether the user changed the model's proposal."""
    source: str
    before_known: bool
    note: str | None
    patch: str | None
    """A patch for `patch -p1` or `git apply`; None if the change can't be rebuilt."""


class FileVersions(Struct, frozen=True):
    """The versions of a file that a session contains."""

    session_id: str | None
    path: str
    versions: list[FileVersion]


class RestoredVersion(Struct, frozen=True):
    """A version of a file that was restored."""

    session_id: str | None
    path: str
    version: FileVersion
    later: bool
    """Whether it was only seen later, with no recorded change to the file in between."""
    data: bytes
    output: str | None
    """Where it was written."""
    kept: str | None
    """The copy of the replaced file."""


def list_files(
    session: str | Path,
    *,
    glob: str | None = None,
    only_written: bool = False,
    config: Config | None = None,
    notify: Notify | None = None,
) -> SessionFiles:
    """List the files that a session and its sub-agents read, wrote and edited, with each operation's time and turn.

    `glob` limits the list to files whose path, or the end of it, matches.
    """
    with open_session(session, config or load_config(), notify) as found:
        touched = (item for item in group_touches_by_file(list_touches(found)) if is_glob_match(item.path, glob))
        files = [_to_file_report(item) for item in touched]
        return SessionFiles(
            found.session_id,
            str(found.path) if found.path else None,
            found.folders[0] if found.folders else None,
            [item for item in files if not only_written or item.writes or item.edits],
        )


def list_project_files(
    project: str,
    *,
    glob: str | None = None,
    only_written: bool = False,
    config: Config | None = None,
    notify: Notify | None = None,
    progress: Progress | None = None,
) -> ProjectFiles:
    """List the files that all sessions of a project read, wrote or edited, according to the index."""
    from turnlog.api.index import open_index
    from turnlog.api.sessions import find_project_sessions
    from turnlog.store.insight.touched_files import list_indexed_files

    with open_index(config or load_config(), notify=notify, progress=progress) as (index, _):
        found = list_indexed_files(index.db, find_project_sessions(index.db, project))
    files = (item for item in found if is_glob_match(item.path, glob))
    return ProjectFiles([_to_project_file(item) for item in files if not only_written or item.writes or item.edits])


def list_file_changes(
    session: str | Path, *, glob: str | None = None, config: Config | None = None, notify: Notify | None = None
) -> list[FilePatch]:
    """Rebuild the changes that a session made to files, in chronological order."""
    with open_session(session, config or load_config(), notify) as found:
        return [to_file_change(found, step) for step in iter_change_steps(found, glob)]


def list_versions(
    file: str,
    *,
    session: str | Path | None = None,
    config: Config | None = None,
    notify: Notify | None = None,
    progress: Progress | None = None,
) -> FileVersions:
    """List the versions of a file in a session (default: the newest session that touched the file)."""
    with _open_touching_session(file, session, config or load_config(), notify, progress) as found:
        path = find_file_path(found, file, _list_name_spellings(file))
        return FileVersions(found.session_id, path, list_file_versions(found, path))


def restore_file(
    file: str,
    *,
    at: int | None = None,
    before: int | None = None,
    session: str | Path | None = None,
    output: str | Path | None = None,
    force: bool = False,
    partial: bool = False,
    config: Config | None = None,
    notify: Notify | None = None,
    progress: Progress | None = None,
) -> RestoredVersion:
    """Restore a file as it was after turn `at`, or before turn `before` changed it, and write it to `output`.

    Without `output`, nothing is written. `force` replaces an existing file and keeps a copy of it; `partial` restores a
    file even if only some lines are known.
    """
    if (at is None) == (before is None):
        raise UsageError("use either --at TURN or --before TURN")
    with _open_touching_session(file, session, config or load_config(), notify, progress) as found:
        path = find_file_path(found, file, _list_name_spellings(file))
        chosen = _choose_version(found, list_file_versions(found, path), path, at, before)
        if not chosen.version.is_whole and not partial:
            raise UsageError(
                f"{path}: {describe_version(chosen.version, chosen.later)}; use --partial to write it anyway"
            )
        data = recreate_version(found, path, chosen.version)
        written = write_restored_file(Path(output).expanduser(), data, force=force) if output is not None else None
        return RestoredVersion(
            found.session_id,
            path,
            chosen.version,
            chosen.later,
            data,
            str(written.place) if written else None,
            str(written.kept) if written and written.kept else None,
        )


def describe_version(version: FileVersion, later: bool = False) -> str:
    """Describe where a version comes from and how certain it is."""
    origin = f"{VERSION_ACTION_WORDS[version.action]} {version.source}"
    turn = f" in turn {version.turn}" if version.turn else ""
    seen = ", seen only later" if later else ""
    note = f" ({version.note})" if version.note else ""
    return f"{version.sure}, {origin}{turn}{seen}, {format_version_size(version)}{format_line_range(version)}{note}"


def format_version_size(version: FileVersion) -> str:
    if version.absent:
        return "no file"
    return "?" if version.size is None else format_size(version.size)


def format_line_range(version: FileVersion) -> str:
    """Describe which lines of a version are known, if some are missing."""
    if version.lines is None:
        return ""
    first, last, total = version.lines
    return f", lines {first}–{last}" + (f" of {total}" if total else "")


def is_glob_match(path: str, glob: str | None) -> bool:
    """Return whether a path, or the end of it, matches a pattern."""
    if glob is None:
        return True
    plain, pattern = path.replace("\\", "/"), glob.replace("\\", "/").removeprefix("./")
    return fnmatchcase(plain, pattern) or fnmatchcase(plain, "*/" + pattern.lstrip("/"))


def to_project_path(path: str, folder: str | None) -> str:
    """Make a path relative to the folder in which a session started."""
    return path[len(folder) + 1 :] if folder and path.startswith((folder + "/", folder + "\\")) else path


def iter_change_steps(session: Session, glob: str | None = None) -> Iterator[FileStep]:
    """Yield the writes and edits in an open session, in chronological order."""
    steps = list_file_steps(session, lambda path: is_glob_match(path, glob))
    return (step for step in steps if step.action in ("write", "edit"))


def to_file_change(session: Session, step: FileStep) -> FilePatch:
    lines = render_unified_diff(session, step) if step.hunks else ()
    return FilePatch(
        step.path,
        step.turn.number if step.turn else None,
        step.time,
        step.source,
        step.call_id,
        step.agent.agent_id if step.agent else None,
        step.created,
        step.user_modified,
        step.rebuilt_from,
        step.before is not None or step.created,
        step.note,
        None if step.hunks is None else "".join(f"{text}\n" for text in lines),
    )


def render_unified_diff(session: Session, step: FileStep) -> Iterator[str]:
    """Render the lines of a patch, with the path relative to the folder in which the session started."""
    path = to_project_path(step.path, session.folders[0] if session.folders else None)
    place = path.replace("\\", "/").replace(":", "").lstrip("/")
    yield from format_unified_diff(place, step.hunks or (), created=step.created)


def _to_file_report(item: FileTouches) -> FileReport:
    return FileReport(
        item.path,
        item.count_touches("read"),
        item.count_touches("write"),
        item.count_touches("edit"),
        item.count_touches("attach"),
        item.count_touches("change"),
        len(item.failures),
        item.touches[0].time,
        item.touches[-1].time,
        sorted({touch.turn.number for touch in item.touches if touch.turn}),
        list(dict.fromkeys(touch.agent.agent_id for touch in item.touches if touch.agent)),
        [_to_touch_report(touch) for touch in item.touches],
    )


def _to_touch_report(touch: Touch) -> TouchReport:
    return TouchReport(
        touch.time,
        touch.turn.number if touch.turn else None,
        touch.action,
        touch.tool,
        touch.outcome,
        touch.call.id if touch.call else None,
        touch.agent.agent_id if touch.agent else None,
        touch.agent.type or touch.agent.kind if touch.agent else None,
    )


def _to_project_file(item: IndexedFile) -> ProjectFile:
    sessions = [FileCalls(name, calls) for name, calls in item.sessions.items()]
    return ProjectFile(item.path, item.reads, item.writes, item.edits, item.failures, item.first, item.last, sessions)


def _choose_version(
    session: Session, known: list[FileVersion], path: str, at: int | None, before: int | None
) -> ChosenVersion:
    turn = at or before or 0
    if turn > len(session.turns):
        raise UsageError(f"turn {turn}: the session has {format_count(len(session.turns), 'turn')}")
    chosen = find_version_after_turn(known, turn) if before is None else find_version_before_turn(known, turn)
    if chosen is None:
        raise NotFound(f"{path}: the content at that time is unknown; --list shows the known versions")
    if chosen.version.absent:
        raise NotFound(f"{path}: the file did not exist at that time; --list shows the known versions")
    return chosen


def _list_name_spellings(file: str) -> list[str]:
    """List other spellings of a file's name: relative to the current folder, and with links resolved."""
    expanded = os.path.expanduser(file)  # noqa: PTH111 - Path raises for ~nobody
    return [os.path.abspath(expanded), os.path.realpath(expanded)]  # noqa: PTH100


def _open_touching_session(
    file: str, session: str | Path | None, config: Config, notify: Notify | None, progress: Progress | None
) -> Session:
    """Open the named session, or the newest session that touched the file."""
    if session is not None:
        return open_session(session, config, notify)
    from turnlog.api.index import open_index  # for one session, the index is not needed
    from turnlog.store.insight.touched_files import find_touching_sessions

    with open_index(config, notify=notify, progress=progress) as (index, _):
        names = (*_list_name_spellings(file), file)
        found = [item for name in names for item in find_touching_sessions(index.db, name)]
    if not found:
        raise NotFound(f"{file}: no session touched this file; `turnlog files` lists the files that a session touched")
    newest = max(found, key=lambda item: item.last or "")
    if notify:
        notify(f"Using the newest session that touched this file: {newest.path}")
    return open_session(newest.path, config, notify)
