"""Entry types that the code of 2.1.325 writes or reads, but that no file seen so far holds.

The fields are those named in that code; there may be more.
"""

from __future__ import annotations

from typing import Any

from turnlog.entries.types.base import UNSEEN
from turnlog.entries.types.metadata import Metadata


class ContinuedIn(Metadata, tag="continued-in"):
    """The conversation goes on in another session."""

    seen = UNSEEN
    continued_in_session_id: str | None = None
    timestamp: str | None = None


class DerivedFrom(Metadata, tag="derived-from"):
    """The sessions that this one took data from."""

    seen = UNSEEN
    v: int | None = None
    sessions: Any = None


class EndedByModel(Metadata, tag="ended-by-model"):
    """The model ended the conversation."""

    seen = UNSEEN
    timestamp: str | None = None


class ResumeHeadVouch(Metadata, tag="resume-head-vouch"):
    """A checksum for `resume-head.jsonl`, the cache for loading large files."""

    seen = UNSEEN
    sum: Any = None


class DataFlowRecords(Metadata, tag="data-flow-records"):
    """Where data came from and went to."""

    seen = UNSEEN
    v: int | None = None
    agent_id: str | None = None
    records: Any = None
    snapshot: bool | None = None


class DataFlowIncomplete(Metadata, tag="data-flow-incomplete"):
    """The records of where data went have gaps."""

    seen = UNSEEN
    v: int | None = None
    agent_id: str | None = None


class ArtifactCommentMonitor(Metadata, tag="artifact-comment-monitor"):
    """The artifacts whose comments are watched."""

    seen = UNSEEN
    v: int | None = None
    artifacts: Any = None


class ArtifactAutoreactLedger(Metadata, tag="artifact-autoreact-ledger"):
    """Which comments on artifacts were answered."""

    seen = UNSEEN
    v: int | None = None
    account_uuid: str | None = None
    artifacts: Any = None


class HistorySuppression(Metadata, tag="history-suppression"):
    """The session's history is not to be uploaded."""

    seen = UNSEEN
    cause: str | None = None
    vetoed_against_account_uuid: str | None = None
    ts: str | None = None


class AttributionSnapshot(Metadata, tag="attribution-snapshot"):
    """Who wrote which part of the files; fields not known."""

    seen = UNSEEN


class IsolationLatch(Metadata, tag="isolation-latch"):
    """Meaning not established."""

    seen = UNSEEN
    side: str | None = None


class SessionOwner(Metadata, tag="session-owner"):
    """The account that the session belongs to; fields not known."""

    seen = UNSEEN


class DevMods(Metadata, tag="dev-mods"):
    """Meaning not established."""

    seen = UNSEEN
    folder: str | None = None


class MemoryMode(Metadata, tag="memory-mode"):
    """Whether memories are used, from an entry on."""

    seen = UNSEEN
    mode: str | None = None
    after_uuid: str | None = None
    timestamp: str | None = None
    reason: Any = None
    account: Any = None
    account_choice: Any = None


class ObserverRef(Metadata, tag="observer-ref"):
    """Meaning not established; fields not known."""

    seen = UNSEEN
    timestamp: str | None = None


class ReplMode(Metadata, tag="repl-mode"):
    """Meaning not established."""

    seen = UNSEEN
    repl_mode: Any = None
    typed_events: bool | None = None
