"""Entries outside the graph that record events: the queue, copies of files, requests to the API."""

from __future__ import annotations

from typing import Annotated, Any

from turnlog.entries.types.base import FormatObject, mark_values
from turnlog.entries.types.metadata import Aside, Metadata


class QueueOperation(Metadata, tag="queue-operation"):
    """Something was put into or taken from the queue of things to say."""

    seen = ("2.0.50", None)
    operation: Annotated[str | None, mark_values("enqueue", "dequeue", "remove", "popAll")] = None
    content: str | None = None
    """What was said: typed text, a notification, or JSON about a task. Not on every operation."""
    timestamp: str | None = None
    reason: str | None = None
    """[2.1.325+] `absorbed_mid_turn`."""
    command_uuid: str | None = None
    """[2.1.325+]"""
    delivery_id: str | None = None
    """[2.1.325+]"""


class Backup(FormatObject, rename="camel"):
    """One version of a file."""

    backup_file_name: str | None = None
    """In `file-history/<session>/`; null when the file did not exist."""
    version: int | None = None
    backup_time: str | None = None
    real_parent_dir: str | None = None
    """[2.1.220+]"""


class Snapshot(FormatObject, rename="camel"):
    """The files the session changed, at one moment."""

    message_id: str | None = None
    """The prompt it belongs to."""
    tracked_file_backups: dict[str, Backup] | None = None
    """By path: relative to cwd, absolute outside of it."""
    timestamp: str | None = None


class FileHistorySnapshot(Aside, tag="file-history-snapshot"):
    """Which copies of files belong to a prompt."""

    seen = ("2.0.1", None)
    message_id: str | None = None
    """The prompt; on an update the assistant entry that caused it."""
    snapshot: Snapshot | None = None
    is_snapshot_update: bool | None = None


class FileHistoryDelta(Aside, tag="file-history-delta"):
    """One more file for a snapshot."""

    seen = ("2.1.209", None)
    message_id: str | None = None
    snapshot_message_id: str | None = None
    tracking_path: str | None = None
    backup: Backup | None = None
    timestamp: str | None = None


class RequestEntry(Metadata):
    """A base: entries that record what was sent to the API."""

    agent_id: str | None = None
    """The sub-agent that asked."""


class ApiRequestShape(RequestEntry, tag="api-request-shape"):
    """System prompt and tools, once per change."""

    seen = ("2.1.325", None)
    shape_hash: str | None = None
    shape: Any = None
    """`{"system", "tools"}`."""
    timestamp: str | None = None
    version: str | None = None


class ApiRequestBlob(RequestEntry, tag="api-request-blob"):
    """A message that was sent and cannot be rebuilt from the other entries."""

    seen = ("2.1.325", None)
    hash: str | None = None
    message: Any = None


class ApiRequest(RequestEntry, tag="api-request"):
    """One request; its messages are those of `base` up to `keep`, then `tail`."""

    seen = ("2.1.325", None)
    id: str | None = None
    """`requestRef` of the answer names it."""
    query_source: str | None = None
    """`sdk`, `repl_main_thread`, `agent:…`."""
    shape_hash: str | None = None
    params: Any = None
    """`{"model", "max_tokens", "betas", "thinking", "context_management", "output_config"}`."""
    base: str | None = None
    keep: int | None = None
    tail: Any = None
    """Hashes of messages."""
    cache_control: Any = None
    """A list of `{"path", "value"}`."""
    request_digest: str | None = None
    timestamp: str | None = None
    version: str | None = None


class ForkContextRef(Aside, tag="fork-context-ref"):
    """First line of a forked sub-agent: the history it goes on from, instead of a copy."""

    seen = ("2.1.325", None)
    agent_id: str | None = None
    parent_session_id: str | None = None
    parent_last_uuid: str | None = None
    context_length: int | None = None
