"""Finds sessions by name, and the folders that contain sessions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

from turnlog.api.config import Config, data_dir, load_config
from turnlog.demo import is_demo
from turnlog.entries.layout import find_config_dirs
from turnlog.errors import NotFound, Unreadable, UsageError

if TYPE_CHECKING:
    from turnlog.edit.whole_copies import WholeCopy
    from turnlog.entries.layout import SessionFile
    from turnlog.entries.peek import Peek
    from turnlog.session.session import Session
    from turnlog.session.session_lookup import KnownPeeks, SessionFinder

Notify = Callable[[str], object]
"""Called with one line for the user, without markup or a newline."""
DEMO_NOTICE = "There are no Claude Code sessions on this machine; showing a made-up demo."
_MIN_ID_CHARS = 8
MAX_NAMED_COPIES = 5
MAX_NAMED_FILES = 3
"""Maximum number of unreadable files and folders to list; the rest are counted."""


def list_config_folders(config: Config) -> list[Path]:
    """List the config folders on this machine, including those from the settings."""
    return find_config_dirs(further=config.config_dirs)


def locate_session(name: str | Path, config: Config | None = None, notify: Notify | None = None) -> Path:
    """Find a session's file by name: a path, an id or the start of one, a title, or `last`."""
    return locate_sessions([name], config, notify)[0]


def locate_sessions(
    names: Iterable[str | Path], config: Config | None = None, notify: Notify | None = None
) -> list[Path]:
    """Find the files of several sessions by name, listing all sessions at most once."""
    paths: list[Path] = []
    finder: SessionFinder | None = None
    for name in names:
        if not isinstance(name, Path):
            finder = finder or _build_finder(config or load_config())
            path = _find_existing(name, finder)
            if notify and is_demo(path):
                notify("This is a made-up demo session that ships with turnlog.")
            paths.append(path)
        else:
            paths.append(name)
    return paths


def _build_finder(config: Config) -> SessionFinder:
    from turnlog.session.session_lookup import SessionFinder

    return SessionFinder(list_config_folders(config), peek_in_index(config))


def find_existing_session(name: str, config_dirs: Sequence[Path], known: KnownPeeks | None = None) -> Path:
    """Find a session's file in some config folders; the error names a copy in the trash or the archive."""
    from turnlog.session.session_lookup import SessionFinder

    return _find_existing(name, SessionFinder(config_dirs, known))


def _find_existing(name: str, finder: SessionFinder) -> Path:
    try:
        return finder.find_file(name)
    except NotFound as error:
        raise _explain_missing(name, error) from None


def find_whole_copies(name: str) -> list[WholeCopy]:
    """Find the sessions in the trash and in the archive that have a name and are no longer on disk."""
    from turnlog.session.session_lookup import LAST_SESSION_NAME

    if name == LAST_SESSION_NAME:
        return []
    from turnlog.edit.whole_copies import WholeCopies
    from turnlog.entries.layout import is_session_id

    stem = Path(name).stem
    is_file_name = name.endswith(".jsonl") and is_session_id(stem)
    return WholeCopies(data_dir()).list_by_name(stem if is_file_name else name)


def _explain_missing(name: str, error: NotFound) -> NotFound:
    """Name the commands that restore a session, if the trash or the archive has it."""
    copies = find_whole_copies(name)
    if not copies:
        return error
    if len(copies) > 1:
        commands = ", ".join(f"`{copy.command}`" for copy in copies[:MAX_NAMED_COPIES])
        more = " …" if len(copies) > MAX_NAMED_COPIES else ""
        return NotFound(f"{name!r} matches {len(copies)} sessions that are no longer on disk: {commands}{more}")
    (copy,) = copies
    return NotFound(f"session {copy.session_id} is no longer on disk; it is {copy.describe()}")


def peek_in_index(config: Config) -> KnownPeeks:
    """Describe sessions from the index, which is opened only when it is needed."""

    def look_up(files: Sequence[SessionFile]) -> Mapping[str, Peek]:
        from turnlog.store.index_file_name import build_index_name
        from turnlog.store.known_peeks import build_peek_lookup

        return build_peek_lookup(data_dir() / build_index_name(config.config_dirs))(files)

    return look_up


def open_session(name: str | Path, config: Config | None = None, notify: Notify | None = None) -> Session:
    """Open a session by name."""
    from datetime import timedelta

    from turnlog.session.session import Session  # listing sessions doesn't need it

    config = config or load_config()
    session = Session.open(locate_session(name, config, notify), gap=timedelta(minutes=config.gap_minutes))
    try:
        require_claude_session(session)
    except BaseException:
        session.close()
        raise
    return session


def require_claude_session(session: Session) -> None:
    """Refuse a file of another program, which would look like a session in which nothing was said."""
    from turnlog.session.foreign_files import explain_foreign_file

    if reason := explain_foreign_file(session.file):
        raise Unreadable(f"{session.path}: not a Claude Code session: {reason}")


def find_leaf(session: Session, wanted: str) -> str:
    """Find the last entry of a branch by the branch's number, or by the entry's uuid or the start of that uuid."""
    leaves = session.graph.leaves
    if wanted.isdecimal() and len(wanted) < 6:
        if not 1 <= int(wanted) <= len(leaves):
            raise UsageError(f"--branch {wanted}: this session has branches 1 to {len(leaves)}")
        return leaves[int(wanted) - 1].uuid or ""
    uuids = {row.uuid for row in session.graph.rows if row.uuid}
    if wanted in uuids:
        return wanted
    found = [uuid for uuid in uuids if uuid.startswith(wanted.lower())]
    if len(found) != 1:
        problem = (
            "several entries have a uuid with this prefix; use more of the uuid"
            if found
            else "no entry in this session has a uuid with this prefix"
        )
        raise UsageError(f"--branch {wanted}: {problem}")
    return found[0]


def shorten_ids(ids: list[str]) -> dict[str, str]:
    """Find the shortest unique start of each id, at least eight characters long."""
    ordered = sorted(set(ids))
    needed = dict.fromkeys(ordered, _MIN_ID_CHARS)
    for one, other in pairwise(ordered):
        if one[:_MIN_ID_CHARS] == other[:_MIN_ID_CHARS]:
            common = next(at for at, (a, b) in enumerate(zip(one, other, strict=True)) if a != b) + 1
            needed[one], needed[other] = max(needed[one], common), max(needed[other], common)
    return {name: name[:length] for name, length in needed.items()}


def mention_unlisted(places: Sequence[object], notify: Notify) -> None:
    """Warn about folders that can't be listed: their contents still exist but are not shown."""
    for place in places[:MAX_NAMED_FILES]:
        notify(f"Can't open {place}. Its sessions that are already in the index are still listed.")
    if len(places) > MAX_NAMED_FILES:
        notify(f"… and {len(places) - MAX_NAMED_FILES} more folders or files that can't be accessed.")
