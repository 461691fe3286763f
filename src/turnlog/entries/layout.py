"""Locates Claude Code's data and the session files in it.

    <config>/projects/<slug>/<session id>.jsonl        one session; see `slug`
    <config>/projects/<slug>/<session id>/             its other files; see `agents` and `belongings`

A listing reads only folders; `peek` decides which of the files to show. A folder that can't be listed (because of
missing permission or a disconnected network drive) is not the same as a deleted folder: a `Survey` records it.
"""

from __future__ import annotations

import errno
import os
import re
import stat
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from turnlog.errors import Unreadable

STATE_FILE_NAME = ".claude.json"
MAKING_NOTE_PREFIX = ".turnlog-making-"
"""The prefix of the note that turnlog leaves while it creates a session; the session's id follows."""
_MISSING = {errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.ENAMETOOLONG, errno.EINVAL}
"""The system errors that mean that a path does not exist; after any other error, it may exist."""
_SESSION_FILE_NAME = re.compile(r"([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})\.jsonl", re.IGNORECASE)


class Unlisted(NamedTuple):
    """A folder or file that may exist but can't be read."""

    path: str
    reason: str

    def __str__(self) -> str:
        return f"{self.path}: {self.reason}"


class Survey:
    """What a walk over config folders found in addition to the files that it lists."""

    # Not a dataclass: importing `dataclasses` takes longer than the listing.
    def __init__(self) -> None:
        self.folders: list[str] = []
        """The folders that the walk read or tried to read."""
        self.unlisted: list[Unlisted] = []
        self.others: list[str] = []
        """`.jsonl` files in project folders whose names belong to neither a session nor a sub-agent."""

    def note(self, path: str | Path, error: OSError) -> None:
        """Record a failure, unless it means that the path does not exist."""
        if not _says_missing(error):
            self.unlisted.append(Unlisted(str(path), error.strerror or str(error)))

    def hides(self, path: str) -> bool:
        """Return whether a path may exist even though the walk did not see it."""
        return any(path == item.path or path.startswith(item.path + os.sep) for item in self.unlisted)


class SessionFile(NamedTuple):
    """A main session file as it appears in the folder listing."""

    file: str
    """The path as a string: thousands of `Path` objects would cost more than the listing itself."""
    session_id: str
    project_dir: Path
    config_dir: Path
    size: int
    mtime_ns: int
    is_symlink: bool
    """Whether the name is a link; size and time are those of its target, which may be anywhere."""

    @property
    def path(self) -> Path:
        return Path(self.file)


def find_config_dirs(
    environ: Mapping[str, str] | None = None,
    home: Path | None = None,
    platform: str | None = None,
    further: Iterable[str | Path] = (),
) -> list[Path]:
    """Return the folders with Claude Code's data on this machine, without duplicates but including unreadable ones."""
    found: dict[str, Path] = {}
    for folder in list_config_candidates(environ, home, platform, further):
        if _may_be_dir(folder):
            found.setdefault(os.path.normcase(os.path.realpath(folder)), folder)
    return list(found.values())


def list_config_candidates(
    environ: Mapping[str, str] | None = None,
    home: Path | None = None,
    platform: str | None = None,
    further: Iterable[str | Path] = (),
) -> list[Path]:
    """Return the folders that may contain Claude Code's data, whether or not they exist."""
    environ = os.environ if environ is None else environ
    platform = platform or sys.platform
    home = home or _find_home(environ, platform)
    named = environ.get("CLAUDE_CONFIG_DIR", "")
    folders = (
        _list_named_folders(named, home, platform) if named.strip() else _list_default_folders(environ, home, platform)
    )
    return [*folders, *(_expand_home(str(folder), home) for folder in further)]


def find_state_file(config_dir: Path) -> Path | None:
    """Return the client's state file, either in a config folder or next to `.claude`, or None if there is none."""
    places = [config_dir, *([config_dir.parent] if config_dir.name == ".claude" else [])]
    return next((path for folder in places if (path := folder / STATE_FILE_NAME).exists()), None)


def _find_home(environ: Mapping[str, str], platform: str) -> Path:
    name = "USERPROFILE" if platform == "win32" else "HOME"
    return Path(named) if (named := environ.get(name)) else Path.home()


def _list_default_folders(environ: Mapping[str, str], home: Path, platform: str) -> list[Path]:
    if platform == "win32":
        return [home / ".claude"]
    # The client itself uses only ~/.claude; other tools and some versions were configured to use the XDG folder.
    xdg = environ.get("XDG_CONFIG_HOME")
    return [home / ".claude", (_expand_home(xdg, home) if xdg else home / ".config") / "claude"]


def _list_named_folders(value: str, home: Path, platform: str) -> list[Path]:
    # The client treats the value as one folder, commas and all; only tools that read its files accept a list.
    whole = _expand_home(value, home)
    if _may_be_dir(whole):
        return [whole]
    parts = re.split("[,;]" if platform == "win32" else "[,:]", value)
    return [_expand_home(part.strip(), home) for part in parts if part.strip()]


def _expand_home(name: str, home: Path) -> Path:
    return home / name[2:] if name.startswith(("~/", "~\\")) else home if name == "~" else Path(name)


def list_project_folders(config_dir: Path, survey: Survey | None = None) -> list[Path]:
    """Return the project folders in a config folder, sorted by name, without links to other project folders."""
    survey = survey or Survey()
    plain: list[str] = []
    linked: list[str] = []
    for item in scan_folder(config_dir / "projects", survey):
        if is_dir(item, survey):
            (linked if item.is_symlink() else plain).append(item.path)
    targets = {os.path.realpath(path) for path in plain}
    for path in sorted(linked):
        target = os.path.realpath(path)
        if target not in targets:
            targets.add(target)
            plain.append(path)
    return [Path(path) for path in sorted(plain)]


def list_session_files(config_dir: Path, survey: Survey | None = None) -> Iterator[SessionFile]:
    """List the main session files in a config folder, project by project, without opening any."""
    for project_dir in list_project_folders(config_dir, survey):
        yield from list_project_sessions(project_dir, config_dir, survey)


def list_project_sessions(
    project_dir: Path, config_dir: Path | None = None, survey: Survey | None = None
) -> Iterator[SessionFile]:
    """List the main session files in one project folder."""
    survey = survey or Survey()
    config_dir = project_dir.parent.parent if config_dir is None else config_dir
    for item in scan_folder(project_dir, survey):
        name = _SESSION_FILE_NAME.fullmatch(item.name)
        if not name:
            if is_other(item):
                survey.others.append(item.path)
            continue
        try:
            if not item.is_file():
                continue
            status = item.stat()
        except OSError as error:
            survey.note(item.path, error)
            continue
        yield SessionFile(
            item.path, name[1], project_dir, config_dir, status.st_size, status.st_mtime_ns, item.is_symlink()
        )


def describe_other_file(path: str) -> SessionFile | None:
    """Describe one of a survey's other files as if its name were a session id; return None if it no longer exists."""
    place = Path(path)
    try:
        status = place.stat()
    except OSError:
        return None
    return SessionFile(
        path,
        place.stem,
        place.parent,
        place.parent.parent.parent,
        status.st_size,
        status.st_mtime_ns,
        place.is_symlink(),
    )


def scan_folder(folder: str | Path, survey: Survey | None = None) -> list[os.DirEntry[str]]:
    """List a folder; a missing or unreadable folder counts as empty, and the survey records an unreadable one."""
    if survey is not None:
        survey.folders.append(str(folder))
    try:
        with os.scandir(folder) as items:
            return list(items)
    except OSError as error:
        if survey is not None:
            survey.note(folder, error)
        return []


def list_unfinished_ids(project_dir: Path) -> list[str]:
    """List the ids of sessions that turnlog is creating in a folder, or was creating when it was killed."""
    names = [
        item.name.removeprefix(MAKING_NOTE_PREFIX)
        for item in scan_folder(project_dir)
        if item.name.startswith(MAKING_NOTE_PREFIX)
    ]
    return sorted(filter(is_session_id, names))


def list_folder(folder: str | Path) -> list[os.DirEntry[str]]:
    """List a folder; a missing folder counts as empty, and an unreadable one raises `Unreadable`."""
    survey = Survey()
    items = scan_folder(folder, survey)
    if survey.unlisted:
        raise Unreadable(f"{survey.unlisted[0]} (the folder can't be listed)")
    return items


def is_missing(path: str | Path) -> bool:
    """Return whether a path certainly does not exist."""
    try:
        os.lstat(path)
    except OSError as error:
        return _says_missing(error)
    return False


def is_other(item: os.DirEntry[str]) -> bool:
    """Return whether a file may contain a conversation even though it is not named like a session or a sub-agent."""
    name = item.name
    if not name.endswith(".jsonl") or name.startswith("agent-") or _SESSION_FILE_NAME.fullmatch(name):
        return False
    try:
        return item.is_file()
    except OSError:
        return False


def is_session_id(name: str) -> bool:
    """Return whether a name has the form of a session id."""
    return _SESSION_FILE_NAME.fullmatch(f"{name}.jsonl") is not None


def is_dir(item: os.DirEntry[str], survey: Survey, *, follow_links: bool = True) -> bool:
    """Return whether an item in a folder is itself a folder; if it can't be read, record that in the survey."""
    try:
        return item.is_dir(follow_symlinks=follow_links)
    except OSError as error:
        survey.note(item.path, error)
        return False


def _may_be_dir(path: Path) -> bool:
    """Return whether a path is a folder or can't be read, since an unreadable folder has not been deleted."""
    try:
        return stat.S_ISDIR(path.stat().st_mode)
    except ValueError:  # a NUL byte
        return False
    except OSError as error:
        return not _says_missing(error)


def _says_missing(error: OSError) -> bool:
    return error.errno in _MISSING
