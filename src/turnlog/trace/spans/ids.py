"""Ids of traces and spans: hashes of ids from the transcript and the API.

Forked and resumed copies keep uuids, message ids and call ids, so they produce the same spans.
"""

from __future__ import annotations

from hashlib import sha256


def build_trace_id(uuid: str) -> bytes:
    """Build the trace id for the turn that an entry started."""
    return _hash_id("turn", uuid, 16)


def build_root_span_id(uuid: str) -> bytes:
    """Build the id of the agent span for the work that an entry started."""
    return _hash_id("root", uuid, 8)


def build_generation_span_id(message: str) -> bytes:
    """Build the span id for a request to the model, from the id of its message."""
    return _hash_id("msg", message, 8)


def build_tool_span_id(call: str) -> bytes:
    return _hash_id("tool", call, 8)


def build_agent_span_id(call: str, agent_id: str) -> bytes:
    """Build the span id for a sub-agent, including the call that started it, because agent ids used to be short."""
    return _hash_id("agent", f"{call}:{agent_id}", 8)


def _hash_id(kind: str, name: str, size: int) -> bytes:
    # Any text in a transcript may contain a lone surrogate.
    return sha256(f"{kind}:{name}".encode("utf-8", "surrogatepass")).digest()[:size]
