"""The sub-agents of a session: which call started each one, and where its entries are."""

from __future__ import annotations

from collections import deque
from collections.abc import Container, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Raw, Struct

from turnlog.entries.agents import AgentFile, list_agent_files, read_agent_meta
from turnlog.entries.entry import Entry
from turnlog.entries.line_decoder import DECODE_ERRORS
from turnlog.entries.reader import Transcript, scan_lines
from turnlog.session.calls import AGENT_TOOLS, Call, read_call_inputs, read_started_agent_id
from turnlog.session.prompts import parse_user_entry


class EchoData(Struct, rename="camel"):
    """The `data` of a progress entry."""

    message: Raw = Raw(b"")
    agent_id: str | None = None


class EchoCarrier(Struct):
    """A progress entry that repeats a line from a sub-agent."""

    data: EchoData
    parent_tool_use_id: str | None = msgspec.field(default=None, name="parentToolUseID")


class EchoedAgent(Struct):
    """A sub-agent in the session's progress entries, with the lines that they repeat unless its own file exists."""

    agent_id: str
    call_id: str | None
    lines: list[Entry]


_decode_carrier = msgspec.json.Decoder(EchoCarrier).decode


def list_echoed_agents(file: Transcript, carriers: Iterable[Entry], known: Container[str]) -> dict[str, EchoedAgent]:
    """Map the id of each sub-agent in the progress entries to the lines that these entries repeat.

    The lines of `known` sub-agents are left out, because their own files contain them.
    """
    found: dict[str, EchoedAgent] = {}
    for carrier in carriers:
        raw = file.read_raw(carrier)
        try:
            progress = _decode_carrier(raw)
        except DECODE_ERRORS:
            continue
        agent_id = progress.data.agent_id or progress.parent_tool_use_id
        if agent_id:
            agent = found.setdefault(agent_id, EchoedAgent(agent_id, progress.parent_tool_use_id, []))
            if agent_id not in known:
                agent.lines += _read_lines(carrier, raw, bytes(progress.data.message))
    return found


def _read_lines(carrier: Entry, raw: bytes, message: bytes) -> Iterator[Entry]:
    """Yield the line inside a progress entry, adding fields that only the enclosing entry has."""
    if not message.startswith(b"{"):
        return
    pieces = scan_lines([message], carrier.offset + raw.find(message))
    for entry in [item for item, _ in pieces if isinstance(item, Entry)]:
        entry.index = carrier.index
        entry.uuid = entry.parent_uuid = None  # the file has no entries with these ids
        entry.is_sidechain = True
        entry.session_id, entry.cwd = carrier.session_id, carrier.cwd
        entry.version, entry.git_branch = carrier.version, carrier.git_branch
        yield entry


class SubAgent(Struct):
    agent_id: str
    path: Path | None
    """Its file, or None if its entries are in the session's own file."""
    kind: str = "subagent"
    """subagent, workflow, inline, warm-up, or an internal task of the client (compact, prompt_suggestion, …)."""
    type: str | None = None
    """The requested agent type, such as `Explore`."""
    description: str | None = None
    call_id: str | None = None
    """The call that started it."""
    parent_agent_id: str | None = None
    """The sub-agent that started it; None if the session itself did."""
    inside: tuple[Entry, ...] = ()
    """Its entries, if they are in the session's file."""
    is_incomplete: bool = False
    """Whether its own file is missing, so that `inside` contains only what the session's progress entries repeat."""


def list_sub_agents(file: Transcript, calls: Iterable[Call], carriers: Iterable[Entry]) -> list[SubAgent]:
    """List a session's sub-agents with the calls that started them; `carriers` are entries that repeat their lines."""
    started = [call for call in calls if call.name in AGENT_TOOLS]
    found = [_from_file(item) for item in list_agent_files(file.path)] if file.path else []
    found += _list_inline_agents(file)
    echoed = list_echoed_agents(file, carriers, {agent.agent_id for agent in found})
    found += [_from_echoes(agent) for agent in echoed.values() if agent.lines]
    _link_calls(file, found, started, echoed)
    return found


def _from_echoes(agent: EchoedAgent) -> SubAgent:
    return SubAgent(agent.agent_id, None, call_id=agent.call_id, inside=tuple(agent.lines), is_incomplete=True)


def _from_file(item: AgentFile) -> SubAgent:
    meta = read_agent_meta(item.meta_path)
    return SubAgent(
        item.agent_id,
        item.path,
        item.kind,
        _to_text(meta.get("agentType")),
        _to_text(meta.get("description")),
        _to_text(meta.get("toolUseId")),
        _to_text(meta.get("parentAgentId")),
    )


def _list_inline_agents(file: Transcript) -> list[SubAgent]:
    """List the sidechains inside a main file (clients before 2.0), one for each root."""
    if not file.has_sidechains:
        return []
    inside = [entry for entry in file.entries if entry.is_sidechain and _is_row(entry)]
    if not inside or len(inside) == sum(map(_is_row, file.entries)):
        return []  # there is none, or the whole file belongs to a sub-agent
    groups: dict[int, list[Entry]] = {}
    root_of: dict[int, int] = {}
    for entry in inside:
        root = root_of[entry.index] = root_of.get(entry.parent, entry.index)
        groups.setdefault(root, []).append(entry)
    return [SubAgent(f"inline-{n}", None, "inline", inside=tuple(rows)) for n, rows in enumerate(groups.values(), 1)]


def _is_row(entry: Entry) -> bool:
    return bool(entry.uuid) or entry.type in ("user", "assistant")


def _link_calls(
    file: Transcript, found: list[SubAgent], started: list[Call], echoed: Mapping[str, EchoedAgent]
) -> None:
    """Link agents to calls, using references in both directions."""
    unlinked = {agent.agent_id: agent for agent in found if agent.call_id is None}
    for call in started:
        call.agent_id = read_started_agent_id(file, call)
        if agent := unlinked.pop(call.agent_id or "", None):
            agent.call_id = call.id
    for agent_id in unlinked.keys() & echoed.keys():
        unlinked[agent_id].call_id = echoed[agent_id].call_id
    by_call = {agent.call_id: agent for agent in found if agent.call_id}
    by_prompt = _group_by_prompt(file, found)
    for call in started:
        arguments = _read_call_input(file, call)
        agent = by_call.get(call.id) or _take_same_prompt(by_prompt, arguments)
        if agent is not None:
            agent.call_id, call.agent_id = call.id, agent.agent_id
            agent.type = agent.type or _to_text(arguments.get("subagent_type"))
            agent.description = agent.description or _to_text(arguments.get("description"))


def _read_call_input(file: Transcript, call: Call) -> dict[str, Any]:
    arguments = next(read_call_inputs(file, [call]))
    return arguments if isinstance(arguments, dict) else {}


def _group_by_prompt(file: Transcript, found: list[SubAgent]) -> dict[str, deque[SubAgent]]:
    """Group the sidechains in the file that no call is known to have started, by the prompt that they start with."""
    groups: dict[str, deque[SubAgent]] = {}
    for agent in found:
        if agent.inside and agent.call_id is None and agent.inside[0].type == "user":
            groups.setdefault(parse_user_entry(file, agent.inside[0]).text, deque()).append(agent)
    return groups


def _take_same_prompt(by_prompt: dict[str, deque[SubAgent]], arguments: dict[str, Any]) -> SubAgent | None:
    """Take the first sidechain that starts with the prompt of a call."""
    prompt = _to_text(arguments.get("prompt"))
    alike = by_prompt.get(prompt.strip()) if prompt else None
    return alike.popleft() if alike else None


def _to_text(value: object) -> str | None:
    return value if isinstance(value, str) and value else None
