"""Every file of a config folder that holds a part of a conversation, with one look at each folder.

    session   projects/<slug>/<session id>.jsonl
    agent     projects/<slug>/<session id>/subagents/…/agent-<id>.jsonl, and the loose ones; see `agents`
    output    projects/<slug>/<session id>/tool-results/*       a result too large for the transcript

A list that is made again and again: one `stat` a file, no file is opened.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from turnlog.entries.agents import DEEPEST
from turnlog.entries.layout import is_session_id, projects, scan

_AGENT = re.compile(r"agent-(.+)\.jsonl", re.DOTALL)


class Listed(NamedTuple):
    """A file that holds a part of a conversation."""

    path: str
    kind: str
    """session, agent or output."""
    project: str
    """The folder of the project."""
    session: str
    """The id of the session; "" for a loose agent, whose entries name it."""
    agent: str | None
    size: int
    mtime_ns: int
    inode: int


def transcripts(config_dir: Path, folders: list[str] | None = None) -> Iterator[Listed]:
    """List the files of all projects of a config folder; the folders that were looked into are added to a list."""
    seen = [] if folders is None else folders
    seen.append(str(config_dir / "projects"))
    for project in projects(config_dir):
        yield from _project(str(project), seen)


def _project(project: str, seen: list[str]) -> Iterator[Listed]:
    for item in _scan(project, seen):
        name = item.name
        if name.endswith(".jsonl"):
            if is_session_id(name[:-6]):
                yield from _listed(item, "session", project, name[:-6])
            elif agent := _AGENT.fullmatch(name):
                yield from _listed(item, "agent", project, "", agent[1])
        elif item.is_dir(follow_symlinks=False):
            if name == "subagents":
                yield from _agents(item.path, project, "", seen)
            elif is_session_id(name):
                yield from _belonging(item.path, project, name, seen)


def _scan(folder: str, seen: list[str]) -> list[os.DirEntry[str]]:
    seen.append(folder)
    return scan(folder)


def _belonging(folder: str, project: str, session: str, seen: list[str]) -> Iterator[Listed]:
    for item in _scan(folder, seen):
        if item.name == "subagents" and item.is_dir(follow_symlinks=False):
            yield from _agents(item.path, project, session, seen)
        elif item.name == "tool-results" and item.is_dir(follow_symlinks=False):
            for output in _scan(item.path, seen):
                yield from _listed(output, "output", project, session)


def _agents(folder: str, project: str, session: str, seen: list[str], depth: int = 0) -> Iterator[Listed]:
    for item in _scan(folder, seen):
        if agent := _AGENT.fullmatch(item.name):
            yield from _listed(item, "agent", project, session, agent[1])
        elif depth < DEEPEST and item.is_dir(follow_symlinks=False):
            yield from _agents(item.path, project, session, seen, depth + 1)


def is_loose(path: str, project: str) -> bool:
    """Whether a sub-agent's file lies beside the sessions, so that only its entries say whose it is."""
    folder = os.path.dirname(path)  # noqa: PTH120 - thousands of them
    return folder in (project, os.path.join(project, "subagents"))  # noqa: PTH118


def _listed(
    item: os.DirEntry[str], kind: str, project: str, session: str, agent: str | None = None
) -> Iterator[Listed]:
    try:
        if not item.is_file():
            return
        status = item.stat()
    except OSError:
        return
    yield Listed(item.path, kind, project, session, agent, status.st_size, status.st_mtime_ns, status.st_ino)
