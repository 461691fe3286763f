"""Reports the status of the outbox for tracing backends, and sends what is waiting in it."""

from __future__ import annotations

import os
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from turnlog.api.config import Config, load_config, trace_dir
from turnlog.api.lookup import Notify
from turnlog.errors import UsageError
from turnlog.session.clock import to_iso_time
from turnlog.trace.outbox.delivery import DeliveryResult, deliver_batches
from turnlog.trace.outbox.outbox import OUTBOX_FILE_NAME, Outbox
from turnlog.trace.outbox.target_status import TargetStatus
from turnlog.trace.targets.target import TraceTarget
from turnlog.trace.targets.targets import list_configured_targets, require_targets
from turnlog.trace.trouble import read_last_trouble
from turnlog.trace.wire.poster import Poster

if TYPE_CHECKING:
    from turnlog.api.index import Progress

_TIME_FIELDS = ("oldest", "last_success", "failed", "warned", "held_since", "next_attempt")


# -- status


class TraceTrouble(Struct, frozen=True):
    """The latest background error."""

    time: str
    words: str


class TargetState(Struct, frozen=True):
    """What was sent to a target and what is waiting; `trace.outbox.target_status` explains the fields."""

    target: str
    """Its name and server."""
    configured: bool
    """If False, nothing more is sent to it."""
    key: str
    sent_spans: int
    sent_batches: int
    pending_spans: int
    pending_batches: int
    pending_bytes: int
    quarantined_spans: int
    quarantined_batches: int
    quarantined_bytes: int
    refusal: str | None
    repeats: int
    repeated_spans: int
    partials: int
    oldest: str | None
    last_success: str | None
    last_error: str | None
    failed: str | None
    warning: str | None
    warned: str | None
    held_back: str | None
    held_since: str | None
    fails: int
    next_attempt: str | None


class TraceStatus(Struct, frozen=True):
    """The state of all targets."""

    outbox: Path
    bytes: int
    """The size of the outbox on disk."""
    problem: str | None
    """The error in the settings."""
    trouble: TraceTrouble | None
    targets: tuple[TargetState, ...]


def read_trace_status(*, config: Config | None = None) -> TraceStatus:
    """Read what was sent to each target and what is waiting, without creating an outbox."""
    path, problem = trace_dir() / OUTBOX_FILE_NAME, None
    settings = (config or load_config()).trace
    try:
        configured = {target.key: target.display_name for target in list_configured_targets(settings, os.environ)}
    except UsageError as error:
        configured, problem = {}, str(error)
    known: list[TargetStatus] = []
    if path.exists():
        with Outbox.open(path) as outbox:
            known = [item._replace(shown=configured.get(item.key, item.shown)) for item in outbox.list_statuses()]
    keys = {item.key for item in known}
    known += [TargetStatus(key, name) for key, name in configured.items() if key not in keys]
    size = sum(part.stat().st_size for part in (path, path.with_name(f"{OUTBOX_FILE_NAME}-wal")) if part.exists())
    note = read_last_trouble(trace_dir())
    trouble = TraceTrouble(_to_time_text(note.time) or "", note.words) if note else None
    states = tuple(_to_target_state(item, item.key in configured) for item in known)
    return TraceStatus(path, size, problem, trouble, states)


def _to_target_state(status: TargetStatus, is_configured: bool) -> TargetState:
    facts: dict[str, Any] = status._asdict()
    facts |= {name: _to_time_text(facts[name]) for name in _TIME_FIELDS}
    return TargetState(target=facts.pop("shown"), configured=is_configured, **facts)


def _to_time_text(seconds: float | None) -> str | None:
    return None if seconds is None else to_iso_time(datetime.fromtimestamp(seconds, UTC))


# -- flush


class TargetFlush(Struct, frozen=True):
    """What was sent to a target from the outbox."""

    target: str
    sent_spans: int
    sent_batches: int
    refused_batches: int
    refusal: str | None
    rejected_spans: int
    failures: int
    """Attempts that will be repeated."""
    busy: bool
    """Whether another process is sending to it."""
    error: str | None
    pending_spans: int
    quarantined_spans: int


class FlushReport(Struct, frozen=True):
    """What was sent from the outbox, by target."""

    targets: tuple[TargetFlush, ...]

    @property
    def is_complete(self) -> bool:
        """True if everything was sent or another process is sending it."""
        return not any(
            item.refused_batches or item.rejected_spans or (item.pending_spans and not item.busy)
            for item in self.targets
        )


def flush_traces(
    targets: Sequence[str] = (),
    *,
    wait: float = 10,
    quarantined: bool = False,
    config: Config | None = None,
    notify: Notify | None = None,
    progress: Progress | None = None,
) -> FlushReport:
    """Send what is waiting in the outbox now, to some targets or to all.

    `wait` is the number of seconds to keep trying; `quarantined` also sends what a server previously refused.
    """
    chosen = require_targets((config or load_config()).trace, os.environ, targets)
    path = trace_dir() / OUTBOX_FILE_NAME
    if not path.exists():
        return FlushReport(tuple(_to_flush(item, DeliveryResult(), TargetStatus(item.key, "")) for item in chosen))
    with Outbox.open(path) as outbox:
        done = tuple(_flush_target(outbox, target, wait, quarantined, progress) for target in chosen)
        if not targets and notify:
            _mention_others(outbox, {target.key for target in chosen}, notify)
    return FlushReport(done)


def _flush_target(
    outbox: Outbox, target: TraceTarget, wait: float, quarantined: bool, progress: Progress | None
) -> TargetFlush:
    if quarantined:
        outbox.requeue(target.key)
    outbox.end_pause(target.key)
    with Poster(target) as poster:
        delivered = deliver_batches(outbox, poster, patience=wait, progress=progress)
    return _to_flush(target, delivered, outbox.read_status(target.key))


def _to_flush(target: TraceTarget, delivered: DeliveryResult, status: TargetStatus) -> TargetFlush:
    return TargetFlush(
        target=target.display_name,
        sent_spans=delivered.spans,
        sent_batches=delivered.batches,
        refused_batches=delivered.refused,
        refusal=delivered.refusal or delivered.rejection,
        rejected_spans=delivered.rejected,
        failures=delivered.failures,
        busy=delivered.busy,
        error=delivered.error,
        pending_spans=status.pending_spans,
        quarantined_spans=status.quarantined_spans,
    )


def _mention_others(outbox: Outbox, keys: set[str], notify: Notify) -> None:
    for item in outbox.list_statuses():
        if item.key not in keys and item.pending_spans:
            spans = "1 span is" if item.pending_spans == 1 else f"{item.pending_spans:,} spans are"
            notify(f"{item.shown}: this target is not configured; {spans} still waiting for it")
