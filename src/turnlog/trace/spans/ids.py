"""Ids of traces and spans: hashes of what the transcript and the API call things.

Forked and resumed copies keep uuids, message ids and call ids, so they lead to the same spans.
"""

from __future__ import annotations

from hashlib import sha256


def build_trace_id(uuid: str) -> bytes:
    """The trace of the turn that an entry began."""
    return _hash_id("turn", uuid, 16)


def build_root_span_id(uuid: str) -> bytes:
    """The agent span of the work that an entry began."""
    return _hash_id("root", uuid, 8)


def build_generation_span_id(message: str) -> bytes:
    """The span of a request to the model, by the id of the message that it brought."""
    return _hash_id("msg", message, 8)


def build_tool_span_id(call: str) -> bytes:
    """The span of a call."""
    return _hash_id("tool", call, 8)


def build_agent_span_id(call: str, agent_id: str) -> bytes:
    """The span of a sub-agent; ids of agents were short once, so the call that started it is part of its name."""
    return _hash_id("agent", f"{call}:{agent_id}", 8)


def _hash_id(kind: str, name: str, size: int) -> bytes:
    # Half a surrogate pair may stand in any text of a transcript.
    return sha256(f"{kind}:{name}".encode("utf-8", "surrogatepass")).digest()[:size]
