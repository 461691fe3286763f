"""Ids of traces and spans: hashes of what the transcript and the API call things.

Forked and resumed copies keep uuids, message ids and call ids, so they lead to the same spans.
"""

from __future__ import annotations

from hashlib import sha256


def trace(uuid: str) -> bytes:
    """The trace of the turn that an entry began."""
    return _hash("turn", uuid, 16)


def root(uuid: str) -> bytes:
    """The agent span of the work that an entry began."""
    return _hash("root", uuid, 8)


def generation(message: str) -> bytes:
    """The span of a request to the model, by the id of the message that it brought."""
    return _hash("msg", message, 8)


def tool(call: str) -> bytes:
    """The span of a call."""
    return _hash("tool", call, 8)


def agent(call: str, agent_id: str) -> bytes:
    """The span of a sub-agent; ids of agents were short once, so the call that started it is part of its name."""
    return _hash("agent", f"{call}:{agent_id}", 8)


def _hash(kind: str, name: str, size: int) -> bytes:
    # Half a surrogate pair may stand in any text of a transcript.
    return sha256(f"{kind}:{name}".encode("utf-8", "surrogatepass")).digest()[:size]
