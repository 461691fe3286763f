"""The tools about files: which ones sessions touched, and what they contained at a certain time."""

from __future__ import annotations

import contextlib
import os
import re
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from turnlog.api.files import describe_version, is_glob_match
from turnlog.errors import NotFound, UsageError
from turnlog.mcp.pages import to_lazy_texts
from turnlog.mcp.proof_table import hide_marks
from turnlog.mcp.turn_text import MAX_TEXT_CHARS, format_minute
from turnlog.render.figures import format_count
from turnlog.session.files.touches import FileTouches, group_touches_by_file, list_touches
from turnlog.session.files.versions import (
    choose_file_path,
    find_version_after_turn,
    find_version_before_turn,
    list_file_paths,
    list_file_versions,
    recreate_version,
)
from turnlog.session.session import Session
from turnlog.store.insight.touched_files import IndexedFile, find_touching_sessions, list_indexed_files

if TYPE_CHECKING:
    from turnlog.mcp.arguments import FileVersionArguments, TouchedFileArguments
    from turnlog.mcp.library import SessionLibrary

_MAX_LISTED_TURNS = 12
_MAX_LISTED_SESSIONS = 4
_NARROW_WILDCARD = re.compile(r"\?|\[[^\]]+\]|\[")
"""What stands for one character in a pattern, or for a few."""


def list_touched(library: SessionLibrary, arguments: TouchedFileArguments) -> str:
    """Answer get_files_touched."""
    return _list_session_files(library, arguments) if arguments.session else _list_scope_files(library, arguments)


def _list_session_files(library: SessionLibrary, arguments: TouchedFileArguments) -> str:
    found = library.open_named(arguments.session or "")
    files = [
        item
        for item in group_touches_by_file(list_touches(found.session))
        # The copy was made when fewer secrets were known.
        if is_glob_match(library.sessions.redact_text(item.path), arguments.glob)
    ]
    wanted = [item for item in files if not arguments.changed_only or _is_changed(item)]
    head = f"Session {found.short_id}: {format_count(len(wanted), 'file')}; get_file_version reads one."
    return library.build_answer(head, [partial(_render_file, item) for item in wanted], arguments)


def _is_changed(item: FileTouches) -> bool:
    return bool(item.count_touches("write") or item.count_touches("edit"))


def _render_file(item: FileTouches) -> str:
    counts = {
        "reads": item.count_touches("read"),
        "writes": item.count_touches("write"),
        "edits": item.count_touches("edit"),
    }
    done = ", ".join(f"{count} {name}" for name, count in counts.items() if count)
    turns = sorted({touch.turn.number for touch in item.touches if touch.turn})
    listed = ", ".join(map(str, turns[:_MAX_LISTED_TURNS])) + (", …" if len(turns) > _MAX_LISTED_TURNS else "")
    failed = f", {len(item.failures)} failed" if item.failures else ""
    return f"{item.path} · {done or 'mentioned'}{failed}" + (f" · turns {listed}" if turns else "")


def _list_scope_files(library: SessionLibrary, arguments: TouchedFileArguments) -> str:
    with library.open_index() as (store, remark):
        readable = library.scope.list_indexed(store.db)
        found = list_indexed_files(store.db, [item.number for item in readable])
        remark = " ".join(filter(None, [remark, library.describe_coverage(store)]))
    paths = {item.uuid: Path(item.path) for item in readable}
    changed = [item for item in found if not arguments.changed_only or item.writes or item.edits]
    wanted = [item for item in changed if _is_path_match(library, item, paths, arguments.glob)]
    wanted.sort(key=lambda item: (item.last or "", library.shuffle_key(item.path)), reverse=True)
    head = f"{format_count(len(wanted), 'file')}, newest first."
    items = [partial(_render_indexed_file, library, item, paths) for item in wanted]
    return library.build_answer(head, items, arguments, remark)


def _is_path_match(library: SessionLibrary, item: IndexedFile, paths: dict[str, Path], glob: str | None) -> bool:
    """Return whether a path matches a pattern as an agent may see it."""
    if glob is None:
        return True
    # Without its secrets, a path can match only if it matches this pattern with them, so few sessions are read.
    if not is_glob_match(item.path, _NARROW_WILDCARD.sub("*", glob)):
        return False
    return is_glob_match(hide_marks(_redact_path(library, item, paths)), glob)


def _redact_path(library: SessionLibrary, item: IndexedFile, paths: dict[str, Path]) -> str:
    return library.sessions.redact_label(item.path, [paths[name] for name in item.sessions if name in paths])


def _render_indexed_file(library: SessionLibrary, item: IndexedFile, paths: dict[str, Path]) -> str:
    path = _redact_path(library, item, paths)
    newest = [name[:8] for name in list(item.sessions)[-_MAX_LISTED_SESSIONS:]]
    return (
        f"{path} · {item.reads} reads, {item.writes} writes, {item.edits} edits · last {format_minute(item.last)}"
        f" · sessions {', '.join(reversed(newest))}{', …' if len(item.sessions) > _MAX_LISTED_SESSIONS else ''}"
    )


def read_file_version(library: SessionLibrary, arguments: FileVersionArguments) -> str:
    """Answer get_file_version; nothing is written, and nothing outside of Claude Code's own folders is read."""
    if arguments.after_turn is not None and arguments.before_turn is not None:
        raise UsageError("use after_turn or before_turn, not both")
    path = _find_touching_session(library, arguments)
    library.sessions.learn_secrets(path)
    # Not the redacted copy: Claude Code's own copies of files are found only from the original.
    with Session.open(path) as session:
        name = _choose_path(library, session, arguments.file)
        versions = list_file_versions(session, name)
        turn = arguments.after_turn or arguments.before_turn or max(len(session.turns), 1)
        find_version = find_version_after_turn if arguments.before_turn is None else find_version_before_turn
        chosen = find_version(versions, turn)
        if chosen is None or chosen.version.absent:
            raise NotFound("the content at that time is unknown, or the file did not exist; try another turn")
        data = recreate_version(session, name, chosen.version)
        about = describe_version(chosen.version, chosen.later)
    text = _decode_file(library, data)
    head = f"Session {path.stem[:8]}, {'before' if arguments.before_turn else 'after'} turn {turn}."
    return library.build_answer(head, to_lazy_texts([f"{name}: {about}", text]), arguments)


def _choose_path(library: SessionLibrary, session: Session, file: str) -> str:
    """Choose the path that a name refers to, by the paths as an agent may see them."""
    visible = {library.sessions.redact_text(path): path for path in list_file_paths(session)}
    return visible[choose_file_path(list(visible), file, _list_name_spellings(library, file))]


def _decode_file(library: SessionLibrary, data: bytes) -> str:
    if b"\0" in data[:8192]:
        return f"(a binary file of {len(data):,} bytes)"
    text = library.sessions.redact_data(data[: 4 * MAX_TEXT_CHARS]).decode("utf-8", "replace")
    return text if len(text) <= MAX_TEXT_CHARS else text[:MAX_TEXT_CHARS] + "… (cut here)"


def _find_touching_session(library: SessionLibrary, arguments: FileVersionArguments) -> Path:
    """Return the file of the session that was named, or of the newest readable one that touched the file."""
    if arguments.session:
        return library.find_file(arguments.session).path
    with library.open_index() as (store, _):
        readable = {item.path for item in library.scope.list_indexed(store.db)}
        names = dict.fromkeys((*_list_name_spellings(library, arguments.file), arguments.file))
        found = [item for name in names for item in find_touching_sessions(store.db, name) if item.path in readable]
        coverage = library.describe_coverage(store)
    for item in sorted(found, key=lambda item: item.last or "", reverse=True):
        if _has_visible_path(library, Path(item.path), arguments.file):
            return Path(item.path)
    if coverage:
        raise NotFound(f"no session that is indexed so far touched this file. {coverage}")
    raise NotFound("no session here touched this file; get_files_touched lists the files")


def _has_visible_path(library: SessionLibrary, path: Path, file: str) -> bool:
    """Return whether a name refers to paths of a session as an agent may see them."""
    with contextlib.suppress(NotFound), Session.open(path) as session:
        library.sessions.learn_secrets(path)
        with contextlib.suppress(UsageError):  # several files: the message lists them
            _choose_path(library, session, file)
        return True
    return False


def _list_name_spellings(library: SessionLibrary, file: str) -> list[str]:
    """List the paths that a name can mean: as written, and in the project's folder."""
    folder = library.scope.folder
    return [os.path.normpath(os.path.join(folder, file))] if folder and not os.path.isabs(file) else []  # noqa: PTH117, PTH118
