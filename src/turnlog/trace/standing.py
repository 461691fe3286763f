"""How it stands with a target: what it got, what it is still to get, and what keeps it from that."""

from __future__ import annotations

from typing import Any, NamedTuple

import apsw


class Standing(NamedTuple):
    """One target. Times are seconds since 1970; None if it never happened, or there is none."""

    key: str
    shown: str
    """Its name for people, without secrets."""
    sent_spans: int
    sent_batches: int
    pending_spans: int
    pending_batches: int
    pending_bytes: int
    quarantined_spans: int
    quarantined_batches: int
    quarantined_bytes: int
    refusal: str | None
    """What the server said of the last one of these."""
    repeats: int
    """Batches that were sent again, though they may have arrived before."""
    repeated_spans: int
    partials: int
    """Batches that the server accepted only in part, as it said."""
    oldest: float | None
    """When the oldest pending batch was made."""
    last_success: float | None
    last_error: str | None
    failed: float | None
    """When that was."""
    warning: str | None
    """What the server said of the last batch that it took in part."""
    warned: float | None
    held_back: str | None
    """Why new spans are not taken up."""
    held_since: float | None
    fails: int
    """Failures since the last success."""
    next_attempt: float | None
    """Before this it is not asked again; None if nothing is pending, or it may be asked at once."""


class Quarantined(NamedTuple):
    """A batch that a target refused."""

    id: int
    trace: bytes
    spans: tuple[bytes, ...]
    bytes: int
    made: float
    refused: float
    error: str
    """The server's words."""


_AMOUNTS = """
SELECT target,
       coalesce(sum(spans) FILTER (WHERE state <> 'quarantined'), 0),
       count(*) FILTER (WHERE state <> 'quarantined'),
       coalesce(sum(size) FILTER (WHERE state <> 'quarantined'), 0),
       coalesce(sum(spans) FILTER (WHERE state = 'quarantined'), 0),
       count(*) FILTER (WHERE state = 'quarantined'),
       coalesce(sum(size) FILTER (WHERE state = 'quarantined'), 0),
       (SELECT error FROM batch AS refused WHERE refused.target = batch.target AND state = 'quarantined'
        ORDER BY refused.refused DESC, id DESC LIMIT 1),
       min(made) FILTER (WHERE state <> 'quarantined')
FROM batch GROUP BY target
"""
_TARGETS = """
SELECT id, key, coalesce(shown, key), sent_spans, sent, repeats, repeated_spans, partials, succeeded, error, failed,
       warning, warned, reason, held, fails, since, until
FROM target ORDER BY id
"""
_QUARANTINED = """
SELECT batch.id, trace, ids, size, made, refused, batch.error
FROM batch JOIN target ON target.id = batch.target
WHERE key = ? AND state = 'quarantined' ORDER BY place, part
"""
_NOTHING = (0, 0, 0, 0, 0, 0, None, None)


def standings(db: apsw.Connection, now: float) -> list[Standing]:
    """How it stands with every target that was ever put something for."""
    with db:  # both from one moment
        amounts = {row[0]: row[1:] for row in db.execute(_AMOUNTS)}
        targets = db.execute(_TARGETS).fetchall()
    return [_standing(row, amounts.get(row[0], _NOTHING), now) for row in targets]


def nothing(key: str, shown: str) -> Standing:
    """How it stands with a target that nothing was ever put for."""
    return _standing((0, key, shown, *(0,) * 5, *(None,) * 7, 0, None, None), _NOTHING, 0.0)


def _standing(row: tuple[Any, ...], amounts: tuple[Any, ...], now: float) -> Standing:
    _, key, shown, sent_spans, sent, repeats, repeated_spans, partials, *told, since, until = row
    left = pause(since, until, now) if amounts[1] else 0.0
    counts = (*amounts[:7], repeats, repeated_spans, partials, amounts[7])
    return Standing._make((key, shown, sent_spans, sent, *counts, *told, now + left if left else None))


def pause(since: float | None, until: float | None, now: float) -> float:
    """How much is left of a pause; nothing of one that begins in the future, for then the clock was set back."""
    return until - now if since is not None and until is not None and since <= now < until else 0.0


def quarantined(db: apsw.Connection, target: str) -> list[Quarantined]:
    """The batches that a target refused, the oldest first."""
    return [
        Quarantined(id_, trace, spans(ids), size, made, refused, error)
        for id_, trace, ids, size, made, refused, error in db.execute(_QUARANTINED, (target,))
    ]


def spans(ids: object) -> tuple[bytes, ...]:
    """The ids that are kept in one value."""
    assert isinstance(ids, bytes)
    return tuple(ids[at : at + 8] for at in range(0, len(ids), 8))
