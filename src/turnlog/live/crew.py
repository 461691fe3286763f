"""The sub-agents of a session that is followed: their files appear as they start, in any of the layouts.

A folder's own time changes when a file appears in it; only then is it listed again.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple

from turnlog.entries.agents import AgentFile, Loose, agent_files, agent_meta, loose_agents
from turnlog.entries.layout import scan

SHOWN = ("subagent", "workflow")
"""Kinds that people asked for; the others are the client's own side work."""


class Member(NamedTuple):
    """A sub-agent."""

    agent_id: str
    path: Path
    type: str = ""
    description: str = ""
    call: str = ""


class Crew:
    """The sub-agents of one session, looked up again when there may be more."""

    def __init__(self, session: Path) -> None:
        self._session = session
        self._seen: tuple[object, ...] = ()
        self._loose_names: frozenset[str] = frozenset()
        self._loose: Loose = {}
        self._files: list[AgentFile] = []
        self.members: dict[str, Member] = {}

    def look(self) -> list[Member]:
        """The sub-agents that are new, or of which more is known than before."""
        seen = self._folders()
        if seen == self._seen:
            return []
        self._seen = seen
        self._files = agent_files(self._session, self._beside())
        if "" in self._loose:  # one that was just made has no line yet that says whose it is
            self._seen, self._loose_names = (), frozenset()
        found = []
        for file in self._files:
            if (
                file.kind in SHOWN
                and _is_sayable(file.agent_id)
                and self.members.get(file.agent_id) != (member := _member(file))
            ):
                self.members[file.agent_id] = member
                found.append(member)
        return found

    def summary_written(self) -> float:
        """When the client's own side work on a summary was last written, in seconds since 1970; 0: never."""
        times = [_mtime(file.path) for file in self._files if file.kind == "compact"]
        return max(times, default=0.0)

    def _folders(self) -> tuple[object, ...]:
        own = self._session.with_suffix("") / "subagents"
        flows = [item.path for item in scan(own / "workflows")] if (own / "workflows").is_dir() else []
        beside = self._session.parent
        folders: list[str | Path] = [own, own / "workflows", *flows, beside, beside / "subagents"]
        return tuple(map(_time, folders))

    def _beside(self) -> Loose:
        """The loose ones; whose they are stands in them, so they are only read when there are others than before."""
        folder = self._session.parent
        items = [*scan(folder), *scan(folder / "subagents")]
        names = frozenset(item.path for item in items if item.name.startswith("agent-"))
        if names != self._loose_names:
            self._loose_names = names
            self._loose = loose_agents(folder)
        return self._loose


def _member(file: AgentFile) -> Member:
    meta = agent_meta(file.meta_path)
    texts = [
        value if isinstance(value := meta.get(name), str) else "" for name in ("agentType", "description", "toolUseId")
    ]
    return Member(file.agent_id, file.path, *(text[:200] for text in texts))


def _is_sayable(agent_id: str) -> bool:
    """Whether a name can be written: that of a file may hold bytes that are no text."""
    try:
        agent_id.encode()
    except UnicodeEncodeError:
        return False
    return True


def _time(folder: str | Path) -> int | None:
    try:
        return os.stat(folder).st_mtime_ns  # noqa: PTH116 - several times a second
    except OSError:
        return None


def _mtime(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0
