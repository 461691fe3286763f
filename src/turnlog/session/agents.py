"""The sub-agents of a session: which call started which, and where their entries are."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct

from turnlog.entries.agents import AgentFile, agent_files, agent_meta
from turnlog.entries.entry import Entry
from turnlog.entries.reader import Transcript
from turnlog.session.calls import AGENT_TOOLS, Call, agent_of, inputs
from turnlog.session.echoes import EchoedAgent, echoed_agents
from turnlog.session.prompts import understand


class Agent(Struct):
    """One sub-agent."""

    agent_id: str
    path: Path | None
    """Its file; None when its entries stand inside the session's own file."""
    kind: str = "subagent"
    """subagent, workflow, inline, warm-up, or the client's own side work (compact, prompt_suggestion, …)."""
    type: str | None = None
    """The kind of agent that was asked for, such as `Explore`."""
    description: str | None = None
    call_id: str | None = None
    """The call that started it."""
    parent_agent_id: str | None = None
    """The sub-agent that started it, if it was not the session itself."""
    inside: tuple[Entry, ...] = ()
    """Its entries in the session's file, if they stand there."""
    is_incomplete: bool = False
    """Its own file is missing: `inside` is what progress entries of the session repeat of it."""


def agents(file: Transcript, calls: Iterable[Call], carriers: Iterable[Entry]) -> list[Agent]:
    """The sub-agents of a session with the calls that started them; `carriers` are entries that repeat their lines."""
    started = [call for call in calls if call.name in AGENT_TOOLS]
    found = [_from_file(item) for item in agent_files(file.path)] if file.path else []
    found += _inline(file)
    echoed = echoed_agents(file, carriers)
    known = {agent.agent_id for agent in found}
    found += [_from_echoes(agent) for agent in echoed.values() if agent.lines and agent.agent_id not in known]
    _link(file, found, started, echoed)
    return found


def _from_echoes(agent: EchoedAgent) -> Agent:
    return Agent(agent.agent_id, None, call_id=agent.call_id, inside=tuple(agent.lines), is_incomplete=True)


def _from_file(item: AgentFile) -> Agent:
    meta = agent_meta(item.meta_path)
    return Agent(
        item.agent_id,
        item.path,
        item.kind,
        _text(meta.get("agentType")),
        _text(meta.get("description")),
        _text(meta.get("toolUseId")),
        _text(meta.get("parentAgentId")),
    )


def _inline(file: Transcript) -> list[Agent]:
    """The side chains inside a main file (clients before 2.0), one for each root."""
    groups: dict[int, list[Entry]] = {}
    root_of: dict[int, int] = {}
    rows = [entry for entry in file.entries if entry.uuid or entry.type in ("user", "assistant")]
    for entry in rows:
        if entry.is_sidechain:
            root = root_of[entry.index] = root_of.get(entry.parent, entry.index)
            groups.setdefault(root, []).append(entry)
    if not root_of or len(root_of) == len(rows):
        return []  # the file is itself a sub-agent's
    return [Agent(f"inline-{n}", None, "inline", inside=tuple(rows)) for n, rows in enumerate(groups.values(), 1)]


def _link(file: Transcript, found: list[Agent], started: list[Call], echoed: Mapping[str, EchoedAgent]) -> None:
    """Join agents and calls by what either side says of the other."""
    unlinked = {agent.agent_id: agent for agent in found if agent.call_id is None}
    for call in started:
        call.agent_id = agent_of(file, call)
        if agent := unlinked.pop(call.agent_id or "", None):
            agent.call_id = call.id
    for agent_id in unlinked.keys() & echoed.keys():
        unlinked[agent_id].call_id = echoed[agent_id].call_id
    by_call = {agent.call_id: agent for agent in found if agent.call_id}
    for call in started:
        asked = _asked(file, call)
        agent = by_call.get(call.id) or _same_prompt(file, found, asked)
        if agent is not None:
            agent.call_id, call.agent_id = call.id, agent.agent_id
            agent.type = agent.type or _text(asked.get("subagent_type"))
            agent.description = agent.description or _text(asked.get("description"))


def _asked(file: Transcript, call: Call) -> dict[str, Any]:
    given = next(inputs(file, [call]))
    return given if isinstance(given, dict) else {}


def _same_prompt(file: Transcript, found: list[Agent], asked: dict[str, Any]) -> Agent | None:
    """The side chain inside the file that begins with what the call asked."""
    prompt = _text(asked.get("prompt"))
    for agent in found:
        if agent.inside and agent.call_id is None and prompt:
            first = agent.inside[0]
            if first.type == "user" and understand(file, first).text == prompt.strip():
                return agent
    return None


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and value else None
