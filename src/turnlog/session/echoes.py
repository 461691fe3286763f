"""Sub-agents that only progress entries tell of: their own files are missing.

Clients 2.1.29 to 2.1.45 repeat each line of a sub-agent in a progress entry of the session, at `data.message`. Such a
line is taken for an entry at the place in the file where it stands, so that whoever shows a sub-agent inside the
session's file can show this one too.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec
from msgspec import Raw, Struct

from turnlog.entries.decode import DECODE_ERRORS
from turnlog.entries.entry import Entry
from turnlog.entries.reader import Transcript, scan_lines


class EchoData(Struct, rename="camel"):
    """The `data` of a progress entry."""

    message: Raw = Raw(b"")
    agent_id: str | None = None


class EchoCarrier(Struct):
    """A progress entry that repeats a line of a sub-agent."""

    data: EchoData
    parent_tool_use_id: str | None = msgspec.field(default=None, name="parentToolUseID")


class EchoedAgent(Struct):
    """What the progress entries of a session repeat of one sub-agent."""

    agent_id: str
    call_id: str | None
    lines: list[Entry]


_decode_carrier = msgspec.json.Decoder(EchoCarrier).decode


def list_echoed_agents(file: Transcript, carriers: Iterable[Entry]) -> dict[str, EchoedAgent]:
    """The sub-agents that progress entries tell of, by their ids."""
    found: dict[str, EchoedAgent] = {}
    for carrier in carriers:
        raw = file.read_raw(carrier)
        try:
            stated = _decode_carrier(raw)
        except DECODE_ERRORS:
            continue
        agent_id = stated.data.agent_id or stated.parent_tool_use_id
        if agent_id:
            agent = found.setdefault(agent_id, EchoedAgent(agent_id, stated.parent_tool_use_id, []))
            agent.lines += _read_lines(carrier, raw, bytes(stated.data.message))
    return found


def _read_lines(carrier: Entry, raw: bytes, message: bytes) -> Iterator[Entry]:
    """The line inside a progress entry, with what only the entry around it says."""
    if not message.startswith(b"{"):
        return
    pieces = scan_lines([message], carrier.offset + raw.find(message))
    for entry in [item for item, _ in pieces if isinstance(item, Entry)]:
        entry.index = carrier.index
        entry.uuid = entry.parent_uuid = None  # no entry of the file has them
        entry.is_sidechain = True
        entry.session_id, entry.cwd = carrier.session_id, carrier.cwd
        entry.version, entry.git_branch = carrier.version, carrier.git_branch
        yield entry
