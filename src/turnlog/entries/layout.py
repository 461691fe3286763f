"""Where Claude Code keeps its data, and the session files that lie there.

    <config>/projects/<slug>/<session id>.jsonl        one session; see `slug`
    <config>/projects/<slug>/<session id>/             what belongs to it; see `agents` and `belongings`

A listing reads folders and nothing else: which of the files are worth showing is said by `peek`.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

MAKING = ".turnlog-making-"
"""How the name of turnlog's note begins that a session is being made; its id follows."""
_SESSION_NAME = re.compile(r"([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})\.jsonl", re.IGNORECASE)


class SessionFile(NamedTuple):
    """A main session file as the folder's listing shows it."""

    file: str
    """The path as a string: thousands of `Path` objects would cost more than the listing itself."""
    session_id: str
    project_dir: Path
    config_dir: Path
    size: int
    mtime_ns: int
    is_symlink: bool
    """The name is a link; its target, which may lie anywhere, was looked at."""

    @property
    def path(self) -> Path:
        """The file's path."""
        return Path(self.file)


def config_dirs(
    environ: Mapping[str, str] | None = None,
    home: Path | None = None,
    platform: str | None = None,
    further: Iterable[str | Path] = (),
) -> list[Path]:
    """Give the folders that hold Claude Code's data on this machine, each once."""
    found: dict[str, Path] = {}
    for folder in config_candidates(environ, home, platform, further):
        if folder.is_dir():
            found.setdefault(os.path.normcase(os.path.realpath(folder)), folder)
    return list(found.values())


def config_candidates(
    environ: Mapping[str, str] | None = None,
    home: Path | None = None,
    platform: str | None = None,
    further: Iterable[str | Path] = (),
) -> list[Path]:
    """Give the folders where Claude Code's data may be, whether they exist or not."""
    environ = os.environ if environ is None else environ
    platform = platform or sys.platform
    home = home or _home(environ, platform)
    named = environ.get("CLAUDE_CONFIG_DIR", "")
    folders = _named(named, home, platform) if named.strip() else _usual(environ, home, platform)
    return [*folders, *(_expanded(str(folder), home) for folder in further)]


def _home(environ: Mapping[str, str], platform: str) -> Path:
    name = "USERPROFILE" if platform == "win32" else "HOME"
    return Path(named) if (named := environ.get(name)) else Path.home()


def _usual(environ: Mapping[str, str], home: Path, platform: str) -> list[Path]:
    if platform == "win32":
        return [home / ".claude"]
    # The client itself uses ~/.claude alone; other tools and some versions were told to use the XDG folder.
    xdg = environ.get("XDG_CONFIG_HOME")
    return [home / ".claude", (_expanded(xdg, home) if xdg else home / ".config") / "claude"]


def _named(value: str, home: Path, platform: str) -> list[Path]:
    # The client takes the value as one folder, commas and all; a list is a custom of its readers.
    whole = _expanded(value, home)
    if whole.is_dir():
        return [whole]
    parts = re.split("[,;]" if platform == "win32" else "[,:]", value)
    return [_expanded(part.strip(), home) for part in parts if part.strip()]


def _expanded(name: str, home: Path) -> Path:
    return home / name[2:] if name.startswith(("~/", "~\\")) else home if name == "~" else Path(name)


def projects(config_dir: Path) -> list[Path]:
    """Give the project folders of a config folder by name, without links that lead to another of them."""
    plain: list[str] = []
    linked: list[str] = []
    for item in scan(config_dir / "projects"):
        if _is_dir(item):
            (linked if item.is_symlink() else plain).append(item.path)
    targets = {os.path.realpath(path) for path in plain}
    for path in sorted(linked):
        target = os.path.realpath(path)
        if target not in targets:
            targets.add(target)
            plain.append(path)
    return [Path(path) for path in sorted(plain)]


def session_files(config_dir: Path) -> Iterator[SessionFile]:
    """List the main session files of a config folder, project by project, without opening any."""
    for project_dir in projects(config_dir):
        yield from project_sessions(project_dir, config_dir)


def project_sessions(project_dir: Path, config_dir: Path | None = None) -> Iterator[SessionFile]:
    """List the main session files of one project folder."""
    config_dir = project_dir.parent.parent if config_dir is None else config_dir
    for item in scan(project_dir):
        name = _SESSION_NAME.fullmatch(item.name)
        if not name:
            continue
        try:
            if not item.is_file():
                continue
            status = item.stat()
        except OSError:
            continue
        yield SessionFile(
            item.path, name[1], project_dir, config_dir, status.st_size, status.st_mtime_ns, item.is_symlink()
        )


def scan(folder: str | Path) -> list[os.DirEntry[str]]:
    """List a folder; one that is missing or locked is empty."""
    try:
        with os.scandir(folder) as items:
            return list(items)
    except OSError:
        return []


def unfinished_ids(project_dir: Path) -> list[str]:
    """The ids of sessions that turnlog is making in a folder, or was when it was killed."""
    names = [item.name.removeprefix(MAKING) for item in scan(project_dir) if item.name.startswith(MAKING)]
    return sorted(filter(is_session_id, names))


def is_session_id(name: str) -> bool:
    """Say whether a name has the form of a session's id."""
    return _SESSION_NAME.fullmatch(f"{name}.jsonl") is not None


def _is_dir(item: os.DirEntry[str]) -> bool:
    try:
        return item.is_dir()
    except OSError:
        return False
