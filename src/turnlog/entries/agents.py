"""Finds the files of a session's sub-agents in every layout that any client has written.

    <slug>/<session>/subagents/agent-<id>.jsonl              since 2.1.29; the newest clients add agent-<id>.meta.json
    <slug>/<session>/subagents/workflows/<w>/agent-<id>.jsonl
    <slug>/agent-<id>.jsonl                                  2.0.x; *loose*: their entries name the session
    <slug>/subagents/agent-<id>.jsonl                        known only from reports; also loose

Sub-agents from 1.0.x are recorded in the main file itself. The depth is limited and linked folders are not entered, so
a loop of links can't trap the walk.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Any, NamedTuple

from turnlog.entries.file_ends import MAX_END_BYTES, open_regular_file, read_at, split_lines
from turnlog.entries.junk import is_warm_up
from turnlog.entries.layout import is_session_id, scan_folder
from turnlog.entries.line_decoder import decode_first_object

_AGENT_FILE_NAME = re.compile(r"agent-(.+)\.jsonl", re.DOTALL)
_SIDE_WORK_ID = re.compile(
    "a(compact|prompt_suggestion|side_question|session_memory|speculation|extract_memories|agent_summary|away_summary"
    "|auto_dream|rename|resume_cache_warm|plugin_model_fork)-[0-9a-f]+"
)
_SESSION_ID_FIELD = re.compile(rb'"sessionId"\s*:\s*"([^"\\]*)"')

MAX_AGENT_FOLDER_DEPTH = 3
"""How many levels of folders below `subagents` are searched: workflows/<id> is two."""

AgentsBySession = dict[str, list["AgentFile"]]
"""The loose agent files in one project folder by session id; "" for those that don't name a session."""

_folders_listed_once: ContextVar[dict[Path, AgentsBySession] | None] = ContextVar("folders_listed_once", default=None)


class AgentFile(NamedTuple):
    """The transcript of one sub-agent."""

    path: Path
    agent_id: str
    kind: str
    """subagent, workflow, warm-up, or the client's own side work: compact, prompt_suggestion, …"""
    meta_path: Path | None
    """The file next to it that names the agent's type and the call that started it."""
    workflow_id: str | None
    is_symlink: bool


class AgentOwner(NamedTuple):
    """The session that a loose agent file belongs to."""

    session_id: str
    is_warm_up: bool


@contextmanager
def list_folders_once() -> Iterator[None]:
    """Until the block ends, list the loose agents of each project folder at most once.

    Work on many sessions needs this: each of the n sessions in a folder would list the n names of that folder again.
    Agents that are added to a listed folder in the meantime are not seen.
    """
    token = _folders_listed_once.set(_folders_listed_once.get() or {})
    try:
        yield
    finally:
        _folders_listed_once.reset(token)


def list_agent_files(session_path: str | Path, loose: AgentsBySession | None = None) -> list[AgentFile]:
    """List one session's sub-agent files; `loose` contains those next to the sessions in its folder, if known."""
    path = Path(session_path)
    if not is_session_id(path.stem) and path.stem.startswith("agent-"):
        return []  # a sub-agent's own file: the agents that it started belong to the session too
    beside = list_loose_agents(path.parent) if loose is None else loose
    return _list_nested_agents(path.with_suffix("")) + beside.get(path.stem, [])


def list_agents_by_session(project_dir: Path) -> AgentsBySession:
    """List the sub-agent files in a whole project folder, by session id."""
    found = {key: list(files) for key, files in list_loose_agents(project_dir).items()}
    for item in sorted(scan_folder(project_dir), key=_get_item_name):
        if is_session_id(item.name) and (nested := _list_nested_agents(Path(item.path))):
            found[item.name] = nested + found.get(item.name, [])
    return found


class StraySession(NamedTuple):
    """A session of which only sub-agents are left, or a sub-agent that doesn't name a session."""

    path: Path
    """The path of the session's own, missing file; the sub-agent's file if no session is named."""
    agents: list[AgentFile]


def list_stray_sessions(project_dir: Path) -> list[StraySession]:
    """List the sessions in a project folder that have sub-agent files but no file of their own."""
    found: list[StraySession] = []
    for session_id, files in list_agents_by_session(project_dir).items():
        if not session_id:
            found += [StraySession(file.path, [file]) for file in files]
        elif not os.path.lexists(path := project_dir / f"{session_id}.jsonl"):
            found.append(StraySession(path, files))
    return found


def read_last_write_ns(session_path: Path) -> int | None:
    """Return when a session's own file or, if that is missing, its newest sub-agent file was last written."""
    own = _read_mtime_ns(session_path)
    times = [own] if own is not None else [_read_mtime_ns(file.path) for file in list_agent_files(session_path)]
    return max((time for time in times if time is not None), default=None)


def _read_mtime_ns(path: Path) -> int | None:
    try:
        return path.stat().st_mtime_ns
    except OSError:
        return None


def list_loose_agents(project_dir: Path) -> AgentsBySession:
    """List the agent files that are next to the sessions, reading the start of each to find its session."""
    listed = _folders_listed_once.get()
    if listed is None:
        return _read_loose_agents(project_dir)
    if project_dir not in listed:
        listed[project_dir] = _read_loose_agents(project_dir)
    return listed[project_dir]


def _read_loose_agents(project_dir: Path) -> AgentsBySession:
    found: AgentsBySession = {}
    inside = project_dir / "subagents"
    for agent in _list_agents_in_folder(project_dir) + ([] if _is_link(inside) else _list_agents_in_folder(inside)):
        session_id, warm_up = read_agent_owner(agent.path)
        found.setdefault(session_id, []).append(agent._replace(kind="warm-up") if warm_up else agent)
    return found


def read_agent_owner(path: Path) -> AgentOwner:
    """Return the id of the session that a loose agent belongs to, and whether it is a warm-up."""
    try:
        fd, _ = open_regular_file(path)
    except OSError:
        return AgentOwner("", False)
    try:
        head = read_at(fd, 0, MAX_END_BYTES)
    finally:
        os.close(fd)
    # Before a session is resumed, 2.0.x writes the id of an empty file, so the last id counts.
    ids = _SESSION_ID_FIELD.findall(head)
    return AgentOwner(ids[-1].decode("utf-8", "replace") if ids else "", is_warm_up(split_lines(head)))


def read_agent_meta(meta_path: Path | None) -> dict[str, Any]:
    """Read a `.meta.json` file; return an empty object if it is missing or broken."""
    try:
        data = _read_regular_file(meta_path) if meta_path else b""
    except OSError:
        return {}
    return decode_first_object(data) or {}


def _read_regular_file(path: Path) -> bytes:
    """Read a file; raise `OSError` for a pipe, which might never end."""
    fd, status = open_regular_file(path)
    try:
        return read_at(fd, 0, status.st_size)
    finally:
        os.close(fd)


def _list_nested_agents(session_dir: Path) -> list[AgentFile]:
    folder = session_dir / "subagents"
    if _is_link(session_dir) or _is_link(folder):
        return []
    return _list_agents_below(folder)


def _list_agents_below(folder: Path, depth: int = 0) -> list[AgentFile]:
    """List the agents in a folder and its subfolders; those in `workflows/<id>` belong to that workflow."""
    found = _list_agents_in_folder(folder, folder.name if folder.parent.name == "workflows" else None)
    for item in sorted(scan_folder(folder), key=_get_item_name) if depth < MAX_AGENT_FOLDER_DEPTH else ():
        if item.is_dir(follow_symlinks=False):
            found += _list_agents_below(Path(item.path), depth + 1)
    return found


def _list_agents_in_folder(folder: Path, workflow_id: str | None = None) -> list[AgentFile]:
    items = sorted(scan_folder(folder), key=_get_item_name)
    names = {item.name for item in items}
    found = []
    for item in items:
        match = _AGENT_FILE_NAME.fullmatch(item.name)
        if not match or not _is_file(item):
            continue
        agent_id = match[1]
        meta = f"agent-{agent_id}.meta.json"
        found.append(
            AgentFile(
                path=folder / item.name,
                agent_id=agent_id,
                kind=_classify_agent(agent_id, workflow_id),
                meta_path=folder / meta if meta in names else None,
                workflow_id=workflow_id,
                is_symlink=item.is_symlink(),
            )
        )
    return found


def _is_link(folder: Path) -> bool:
    """Return whether a path is a link; what can't be looked at counts as none, and then nothing is listed in it."""
    return os.path.islink(folder)  # noqa: PTH114 - Path.is_symlink may raise


def _classify_agent(agent_id: str, workflow_id: str | None) -> str:
    if workflow_id is not None:
        return "workflow"
    side_work = _SIDE_WORK_ID.fullmatch(agent_id)
    return side_work[1] if side_work else "subagent"


def _get_item_name(item: os.DirEntry[str]) -> str:
    return item.name


def _is_file(item: os.DirEntry[str]) -> bool:
    try:
        return item.is_file()
    except OSError:
        return False
