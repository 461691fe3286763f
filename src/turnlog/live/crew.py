"""The sub-agents of a followed session; their files appear as they start, in any of the known layouts.

A folder's modification time changes when a file appears in it; only then is it listed again.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple

from turnlog.entries.agents import AgentFile, AgentsBySession, list_agent_files, list_loose_agents, read_agent_meta
from turnlog.entries.layout import scan_folder

SHOWN_AGENT_KINDS = ("subagent", "workflow")
"""Kinds that people requested; the others are Claude Code's internal work."""


class CrewMember(NamedTuple):
    agent_id: str
    path: Path
    type: str = ""
    description: str = ""
    call: str = ""


class AgentCrew:
    """The sub-agents of one session; they are listed again when there may be new ones."""

    def __init__(self, session: Path) -> None:
        self._session = session
        self._folder_times: tuple[object, ...] = ()
        self._loose_names: frozenset[str] = frozenset()
        self._loose: AgentsBySession = {}
        self._files: list[AgentFile] = []
        self.members: dict[str, CrewMember] = {}

    def find_new_members(self) -> list[CrewMember]:
        """Return the sub-agents that are new or about which more is now known."""
        times = self._read_folder_times()
        if times == self._folder_times:
            return []
        self._folder_times = times
        self._files = list_agent_files(self._session, self._find_loose_agents())
        if "" in self._loose:  # a new file has no line with its session id yet
            self._folder_times, self._loose_names = (), frozenset()
        new_members = []
        for file in self._files:
            if (
                file.kind in SHOWN_AGENT_KINDS
                and _is_encodable(file.agent_id)
                and self.members.get(file.agent_id) != (member := _build_member(file))
            ):
                self.members[file.agent_id] = member
                new_members.append(member)
        return new_members

    def _read_folder_times(self) -> tuple[object, ...]:
        own = self._session.with_suffix("") / "subagents"
        flows = [item.path for item in scan_folder(own / "workflows")] if (own / "workflows").is_dir() else []
        project = self._session.parent
        folders: list[str | Path] = [own, own / "workflows", *flows, project, project / "subagents"]
        return tuple(map(_read_mtime_ns, folders))

    def _find_loose_agents(self) -> AgentsBySession:
        """List the agents outside the session's folder; their files are read only when there are new ones."""
        folder = self._session.parent
        items = [*scan_folder(folder), *scan_folder(folder / "subagents")]
        names = frozenset(item.path for item in items if item.name.startswith("agent-"))
        if names != self._loose_names:
            self._loose_names = names
            self._loose = list_loose_agents(folder)
        return self._loose


def _build_member(file: AgentFile) -> CrewMember:
    meta = read_agent_meta(file.meta_path)
    texts = [
        value if isinstance(value := meta.get(name), str) else "" for name in ("agentType", "description", "toolUseId")
    ]
    return CrewMember(file.agent_id, file.path, *(text[:200] for text in texts))


def _is_encodable(agent_id: str) -> bool:
    """Return whether a name can be encoded, because file names may contain bytes that aren't text."""
    try:
        agent_id.encode()
    except UnicodeEncodeError:
        return False
    return True


def _read_mtime_ns(folder: str | Path) -> int | None:
    try:
        return os.stat(folder).st_mtime_ns  # noqa: PTH116 - several times a second
    except OSError:
        return None
