"""The files that belong to a session: sub-agents, large outputs, copies of files, to-dos and plans.

    projects/<slug>/<session id>/   subagents/ tool-results/ workflows/ custom-title.json resume-head.jsonl
    projects/<slug>/agent-*.jsonl   loose sub-agents; see `agents`
    file-history/<session id>/      copies of files from before they were changed
    todos/<session id>.json, todos/<session id>-agent-<id>.json
    tasks/<session id>/, session-env/<session id>/, debug/<session id>.txt, plans/<plan>.md
    history.jsonl                   everything that the user typed, in all sessions

Linked folders are not entered. Files that have the session's id but an unknown name are listed as `other`.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from turnlog.entries.agents import AgentsBySession, list_loose_agents
from turnlog.entries.layout import Survey, scan_folder
from turnlog.entries.line_decoder import decode_first_object
from turnlog.errors import Unreadable

_KNOWN_SESSION_ITEMS = {"subagents", "tool-results", "workflows", "custom-title.json", "resume-head.jsonl"}
_KNOWN_FOLDERS = {"projects", "file-history", "todos", "tasks", "plans", "session-env", "debug"}


class Belongings(NamedTuple):
    """The paths that belong to one session; all of them existed when they were listed."""

    session_dir: Path | None
    """The folder next to the session file."""
    subagents: tuple[Path, ...]
    """Every file below `subagents`: transcripts, their meta files, and workflow journals."""
    loose_agents: tuple[Path, ...]
    tool_results: tuple[Path, ...]
    workflows: tuple[Path, ...]
    custom_title: Path | None
    resume_head: Path | None
    file_history: tuple[Path, ...]
    todos: tuple[Path, ...]
    tasks: tuple[Path, ...]
    plans: tuple[Path, ...]
    session_env: Path | None
    debug: Path | None
    other: tuple[Path, ...]
    """Files and folders of the session whose names are unknown to this version of turnlog."""


def list_belongings(
    config_dir: Path,
    project_dir: Path,
    session_id: str,
    plans: Iterable[str] = (),
    loose: AgentsBySession | None = None,
    survey: Survey | None = None,
) -> Belongings:
    """List the files that belong to a session; `plans` contains the plan names (`slug`) from its entries.

    Copying, moving or deleting the files requires knowing all of them, so a folder that can't be listed raises
    `Unreadable`. For readers, a `survey` records it.
    """
    own_survey = survey or Survey()
    found = _list_belongings(config_dir, project_dir, session_id, plans, loose, own_survey)
    if survey is None and own_survey.unlisted:
        raise Unreadable(f"{own_survey.unlisted[0]}; files of session {session_id} may be there; make it readable")
    return found


def _list_belongings(
    config_dir: Path,
    project_dir: Path,
    session_id: str,
    plans: Iterable[str],
    loose: AgentsBySession | None,
    survey: Survey,
) -> Belongings:
    inside = project_dir / session_id
    agents = list_loose_agents(project_dir) if loose is None else loose
    return Belongings(
        session_dir=_find_existing_path(inside),
        subagents=_list_files_below(inside / "subagents", survey),
        loose_agents=tuple(agent.path for agent in agents.get(session_id, [])),
        tool_results=_list_files_below(inside / "tool-results", survey),
        workflows=_list_files_below(inside / "workflows", survey),
        custom_title=_find_existing_path(inside / "custom-title.json"),
        resume_head=_find_existing_path(inside / "resume-head.jsonl"),
        file_history=_list_files_below(config_dir / "file-history" / session_id, survey),
        todos=_list_todo_files(config_dir / "todos", session_id, survey),
        tasks=_list_files_below(config_dir / "tasks" / session_id, survey),
        plans=tuple(find_plan_files(config_dir, plans)),
        session_env=_find_existing_path(config_dir / "session-env" / session_id),
        debug=_find_existing_path(config_dir / "debug" / f"{session_id}.txt"),
        other=_list_other_files(config_dir, inside, survey),
    )


def read_history(config_dir: Path, session_id: str | None = None) -> Iterator[dict[str, Any]]:
    """Yield the rows of `history.jsonl`, either all or those from one session, skipping broken lines."""
    try:
        lines = (config_dir / "history.jsonl").open("rb")
    except OSError:
        return
    with lines:
        for line in lines:
            row = decode_first_object(line)
            if row is not None and (session_id is None or row.get("sessionId") == session_id):
                yield row


def read_custom_title(path: Path | None) -> str | None:
    try:
        row = decode_first_object(path.read_bytes()) if path else None
    except OSError:
        return None
    title = (row or {}).get("customTitle")
    return title if isinstance(title, str) else None


def _list_files_below(folder: Path, survey: Survey) -> tuple[Path, ...]:
    if os.path.islink(folder):  # noqa: PTH114 - Path.is_symlink may raise
        return ()

    def note(error: OSError) -> None:
        survey.note(str(error.filename), error)

    return tuple(sorted(Path(base, name) for base, _, names in os.walk(folder, onerror=note) for name in names))


def _list_sorted_items(folder: Path, survey: Survey) -> list[os.DirEntry[str]]:
    return sorted(scan_folder(folder, survey), key=lambda item: item.name)


def _list_todo_files(folder: Path, session_id: str, survey: Survey) -> tuple[Path, ...]:
    names = (f"{session_id}.json", f"{session_id}-agent-")
    return tuple(Path(item.path) for item in _list_sorted_items(folder, survey) if item.name.startswith(names))


def find_plan_files(config_dir: Path, names: Iterable[str]) -> list[Path]:
    """Return the files of the plans with these names, leaving out plans without a file."""
    return [path for name in names if (path := _find_plan_file(config_dir, name))]


def _find_plan_file(config_dir: Path, name: str) -> Path | None:
    # The name comes from a session file: it must not lead out of the folder.
    safe = name and name not in (".", "..") and not any(mark in name for mark in "/\\:\0")
    return _find_existing_path(config_dir / "plans" / f"{name}.md") if safe else None


def _list_other_files(config_dir: Path, inside: Path, survey: Survey) -> tuple[Path, ...]:
    found = [Path(item.path) for item in _list_sorted_items(inside, survey) if item.name not in _KNOWN_SESSION_ITEMS]
    for folder in _list_sorted_items(config_dir, survey):
        if folder.name not in _KNOWN_FOLDERS and folder.is_dir(follow_symlinks=False):
            names = (inside.name, *(inside.name + ending for ending in (".json", ".jsonl", ".txt")))
            found += [path for name in names if (path := _find_existing_path(Path(folder.path, name)))]
    return tuple(found)


def _find_existing_path(path: Path) -> Path | None:
    return path if os.path.lexists(path) else None
