"""The status of a target: what it has received, what is waiting for it, and why."""

from __future__ import annotations

from typing import Any, NamedTuple

import apsw


class TargetStatus(NamedTuple):
    """One target. Times are in seconds since 1970, or None."""

    key: str
    shown: str
    """The display name, without secrets."""
    sent_spans: int = 0
    sent_batches: int = 0
    pending_spans: int = 0
    pending_batches: int = 0
    pending_bytes: int = 0
    quarantined_spans: int = 0
    quarantined_batches: int = 0
    quarantined_bytes: int = 0
    refusal: str | None = None
    """The server's reason for the last refusal."""
    repeats: int = 0
    """Batches that were sent again although they may have arrived before."""
    repeated_spans: int = 0
    partials: int = 0
    """Batches that the server accepted only in part."""
    oldest: float | None = None
    """When the oldest pending batch was created."""
    last_success: float | None = None
    last_error: str | None = None
    failed: float | None = None
    """When the last error occurred."""
    warning: str | None = None
    """The server's message about the last batch that it accepted in part."""
    warned: float | None = None
    held_back: str | None = None
    """Why new spans are held back."""
    held_since: float | None = None
    fails: int = 0
    """Failures since the last success."""
    next_attempt: float | None = None
    """When the target is tried again, or None if nothing is pending or it may be tried immediately."""


class QuarantinedBatch(NamedTuple):
    """A batch that a target refused."""

    id: int
    trace: bytes
    spans: tuple[bytes, ...]
    bytes: int
    made: float
    refused: float
    error: str
    """The server's reason."""


_AMOUNTS_SQL = """
SELECT target,
       coalesce(sum(spans) FILTER (WHERE state <> 'quarantined'), 0),
       count(*) FILTER (WHERE state <> 'quarantined'),
       coalesce(sum(size) FILTER (WHERE state <> 'quarantined'), 0),
       min(made) FILTER (WHERE state <> 'quarantined'),
       coalesce(sum(spans) FILTER (WHERE state = 'quarantined'), 0),
       count(*) FILTER (WHERE state = 'quarantined'),
       coalesce(sum(size) FILTER (WHERE state = 'quarantined'), 0),
       (SELECT error FROM batch AS refused WHERE refused.target = batch.target AND state = 'quarantined'
        ORDER BY refused.refused DESC, id DESC LIMIT 1)
FROM batch GROUP BY target
"""
_AMOUNT_FIELDS = (
    *("pending_spans", "pending_batches", "pending_bytes", "oldest"),
    *("quarantined_spans", "quarantined_batches", "quarantined_bytes", "refusal"),
)
_TARGETS_SQL = """
SELECT id, since, until, key, coalesce(shown, key), sent_spans, sent, repeats, repeated_spans, partials,
       succeeded, error, failed, warning, warned, reason, held, fails
FROM target ORDER BY id
"""
_TARGET_FIELDS = (
    *("key", "shown", "sent_spans", "sent_batches", "repeats", "repeated_spans", "partials"),
    *("last_success", "last_error", "failed", "warning", "warned", "held_back", "held_since", "fails"),
)
_QUARANTINED_SQL = """
SELECT batch.id, trace, ids, size, made, refused, batch.error
FROM batch JOIN target ON target.id = batch.target
WHERE key = ? AND state = 'quarantined' ORDER BY place, part
"""


def list_target_statuses(db: apsw.Connection, now: float) -> list[TargetStatus]:
    """List the status of every target for which spans were ever stored."""
    with db:  # reads both in one transaction
        amounts = {row[0]: dict(zip(_AMOUNT_FIELDS, row[1:], strict=True)) for row in db.execute(_AMOUNTS_SQL)}
        targets = db.execute(_TARGETS_SQL).fetchall()
    return [_build_status(row, amounts.get(row[0], {}), now) for row in targets]


def _build_status(row: tuple[Any, ...], amounts: dict[str, Any], now: float) -> TargetStatus:
    _, since, until, *facts = row
    status = TargetStatus(**dict(zip(_TARGET_FIELDS, facts, strict=True)), **amounts)
    left = compute_pause_left(since, until, now) if status.pending_batches else 0.0
    return status._replace(next_attempt=now + left) if left else status


def compute_pause_left(since: float | None, until: float | None, now: float) -> float:
    """Return how much of a pause is left; 0 if it starts in the future, which means that the clock was set back."""
    return until - now if since is not None and until is not None and since <= now < until else 0.0


def list_quarantined_batches(db: apsw.Connection, target: str) -> list[QuarantinedBatch]:
    """List the batches that a target refused, oldest first."""
    return [
        QuarantinedBatch(id_, trace, split_span_ids(ids), size, made, refused, error)
        for id_, trace, ids, size, made, refused, error in db.execute(_QUARANTINED_SQL, (target,))
    ]


def split_span_ids(ids: object) -> tuple[bytes, ...]:
    """Split a stored value into span ids."""
    assert isinstance(ids, bytes)
    return tuple(ids[at : at + 8] for at in range(0, len(ids), 8))
