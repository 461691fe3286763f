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
from turnlog.entries.layout import Survey, is_dir, is_other, is_session_id, projects, scan

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


def transcripts(config_dir: Path, survey: Survey | None = None) -> Iterator[Listed]:
    """List the files of all projects of a config folder; the survey takes what else was met."""
    survey = survey or Survey()
    for project in projects(config_dir, survey):
        yield from _project(str(project), survey)


def other_transcripts(config_dir: Path, survey: Survey | None = None) -> Iterator[Listed]:
    """List the `.jsonl` files of all projects whose names are no session's, as if each were a session of that name."""
    survey = survey or Survey()
    for project in projects(config_dir, survey):
        for item in scan(project, survey):
            if is_other(item):
                yield from _listed(item, survey, "session", str(project), item.name[:-6])


def _project(project: str, survey: Survey) -> Iterator[Listed]:
    for item in scan(project, survey):
        name = item.name
        if name.endswith(".jsonl"):
            if is_session_id(name[:-6]):
                yield from _listed(item, survey, "session", project, name[:-6])
            elif agent := _AGENT.fullmatch(name):
                yield from _listed(item, survey, "agent", project, "", agent[1])
            elif is_other(item):
                survey.others.append(item.path)
        elif is_dir(item, survey, follow_links=False):
            if name == "subagents":
                yield from _agents(item.path, project, "", survey)
            elif is_session_id(name):
                yield from _belonging(item.path, project, name, survey)


def _belonging(folder: str, project: str, session: str, survey: Survey) -> Iterator[Listed]:
    for item in scan(folder, survey):
        if item.name == "subagents" and is_dir(item, survey, follow_links=False):
            yield from _agents(item.path, project, session, survey)
        elif item.name == "tool-results" and is_dir(item, survey, follow_links=False):
            for output in scan(item.path, survey):
                yield from _listed(output, survey, "output", project, session)


def _agents(folder: str, project: str, session: str, survey: Survey, depth: int = 0) -> Iterator[Listed]:
    for item in scan(folder, survey):
        if agent := _AGENT.fullmatch(item.name):
            yield from _listed(item, survey, "agent", project, session, agent[1])
        elif depth < DEEPEST and is_dir(item, survey, follow_links=False):
            yield from _agents(item.path, project, session, survey, depth + 1)


def is_loose(path: str, project: str) -> bool:
    """Whether a sub-agent's file lies beside the sessions, so that only its entries say whose it is."""
    folder = os.path.dirname(path)  # noqa: PTH120 - thousands of them
    return folder in (project, os.path.join(project, "subagents"))  # noqa: PTH118


def _listed(
    item: os.DirEntry[str], survey: Survey, kind: str, project: str, session: str, agent: str | None = None
) -> Iterator[Listed]:
    try:
        if not item.is_file():
            return
        status = item.stat()
    except OSError as error:
        survey.note(item.path, error)
        return
    yield Listed(item.path, kind, project, session, agent, status.st_size, status.st_mtime_ns, status.st_ino)
