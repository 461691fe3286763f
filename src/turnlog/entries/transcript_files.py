"""Lists every file in a config folder that contains part of a conversation, reading each folder only once.

    session   projects/<slug>/<session id>.jsonl
    agent     projects/<slug>/<session id>/subagents/…/agent-<id>.jsonl, and the loose ones; see `agents`
    output    projects/<slug>/<session id>/tool-results/*       a result too large for the transcript

The list is built often, so building it requires only one `stat` call per file and opens no files.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from turnlog.entries.agents import MAX_AGENT_FOLDER_DEPTH
from turnlog.entries.file_stamp import to_file_stamp
from turnlog.entries.layout import Survey, is_dir, is_other, is_session_id, list_project_folders, scan_folder

_AGENT_FILE_NAME = re.compile(r"agent-(.+)\.jsonl", re.DOTALL)


class TranscriptFile(NamedTuple):
    """A file that contains part of a conversation."""

    path: str
    kind: str
    """session, agent or output."""
    project: str
    """The project's folder."""
    session: str
    """The session's id, or "" for a loose agent, whose entries name the session."""
    agent: str | None
    size: int
    mtime_ns: int
    inode: int
    ctime_ns: int = 0


def list_transcripts(config_dir: Path, survey: Survey | None = None) -> Iterator[TranscriptFile]:
    """List the files of all projects in a config folder; the survey records other files and failures."""
    survey = survey or Survey()
    for project in list_project_folders(config_dir, survey):
        yield from _list_project(str(project), survey)


def list_other_transcripts(config_dir: Path, survey: Survey | None = None) -> Iterator[TranscriptFile]:
    """List the `.jsonl` files whose names are not session ids, as if each were a session with that name."""
    survey = survey or Survey()
    for project in list_project_folders(config_dir, survey):
        for item in scan_folder(project, survey):
            if is_other(item):
                yield from _list_file(item, survey, "session", str(project), item.name[:-6])


def _list_project(project: str, survey: Survey) -> Iterator[TranscriptFile]:
    for item in scan_folder(project, survey):
        name = item.name
        if name.endswith(".jsonl"):
            if is_session_id(name[:-6]):
                yield from _list_file(item, survey, "session", project, name[:-6])
            elif agent := _AGENT_FILE_NAME.fullmatch(name):
                yield from _list_file(item, survey, "agent", project, "", agent[1])
            elif is_other(item):
                survey.others.append(item.path)
        elif is_dir(item, survey, follow_links=False):
            if name == "subagents":
                yield from _list_agents(item.path, project, "", survey)
            elif is_session_id(name):
                yield from _list_session_folder(item.path, project, name, survey)


def _list_session_folder(folder: str, project: str, session: str, survey: Survey) -> Iterator[TranscriptFile]:
    for item in scan_folder(folder, survey):
        if item.name == "subagents" and is_dir(item, survey, follow_links=False):
            yield from _list_agents(item.path, project, session, survey)
        elif item.name == "tool-results" and is_dir(item, survey, follow_links=False):
            for output in scan_folder(item.path, survey):
                yield from _list_file(output, survey, "output", project, session)


def _list_agents(folder: str, project: str, session: str, survey: Survey, depth: int = 0) -> Iterator[TranscriptFile]:
    for item in scan_folder(folder, survey):
        if agent := _AGENT_FILE_NAME.fullmatch(item.name):
            yield from _list_file(item, survey, "agent", project, session, agent[1])
        elif depth < MAX_AGENT_FOLDER_DEPTH and is_dir(item, survey, follow_links=False):
            yield from _list_agents(item.path, project, session, survey, depth + 1)


def is_loose_agent(path: str, project: str) -> bool:
    """Return whether a sub-agent's file is outside its session's folder, so that only its entries name the session."""
    folder = os.path.dirname(path)  # noqa: PTH120 - thousands of them
    return folder in (project, os.path.join(project, "subagents"))  # noqa: PTH118


def _list_file(
    item: os.DirEntry[str], survey: Survey, kind: str, project: str, session: str, agent: str | None = None
) -> Iterator[TranscriptFile]:
    try:
        if not item.is_file():
            return
        status = item.stat()
    except OSError as error:
        survey.note(item.path, error)
        return
    stamp = to_file_stamp(status)
    yield TranscriptFile(
        item.path, kind, project, session, agent, stamp.size, stamp.mtime_ns, stamp.inode, stamp.ctime_ns
    )
