"""Opens sessions by name: the entry point to the Python interface."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from turnlog.entries.layout import SessionFile, find_config_dirs, list_session_files
from turnlog.session.session import Session
from turnlog.session.session_lookup import find_session_file


def open(name: str | Path, folders: Iterable[Path] | None = None) -> Session:
    """Open a session by path, id or id prefix, title, or `last`."""
    if isinstance(name, Path):
        return Session.open(name)
    return Session.open(find_session_file(name, find_config_dirs() if folders is None else folders))


def sessions(folders: Iterable[Path] | None = None) -> Iterator[SessionFile]:
    """Yield the session files on this machine, in directory order."""
    for folder in find_config_dirs() if folders is None else folders:
        yield from list_session_files(folder)
