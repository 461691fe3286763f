"""Sending now what waits in the outbox, and what came of it."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from turnlog.cli.config import Config, trace_dir
from turnlog.cli.output import remark
from turnlog.cli.progress import progress
from turnlog.cli.terminal import line
from turnlog.render.figures import count
from turnlog.trace.outbox.delivery import Delivered, deliver
from turnlog.trace.outbox.outbox import FILE, Outbox
from turnlog.trace.outbox.standing import Standing
from turnlog.trace.targets.target import Target
from turnlog.trace.targets.targets import needed
from turnlog.trace.wire.post import Poster


class Flushed(NamedTuple):
    """What was done for one target."""

    target: Target
    delivered: Delivered
    standing: Standing


def flushed(config: Config, names: Sequence[str], patience: float, *, quarantined: bool) -> list[Flushed]:
    """Send what waits for some targets, or for all."""
    targets = needed(config.trace, os.environ, names)
    path = trace_dir() / FILE
    if not path.exists():
        return [Flushed(target, Delivered(), Standing(target.key, target.shown)) for target in targets]
    with Outbox.open(path) as outbox:
        done = [_flushed(outbox, target, patience, quarantined) for target in targets]
        if not names:
            _mention_others(outbox, {target.key for target in targets})
    return done


def _flushed(outbox: Outbox, target: Target, patience: float, quarantined: bool) -> Flushed:
    if quarantined:
        outbox.requeue(target.key)
    outbox.ask_again(target.key)
    tell = progress(f"sending to {line(target.name)}: {{done:,}} of {{total:,}} requests …")
    with Poster(target) as poster:
        try:
            delivered = deliver(outbox, poster, patience=patience, progress=tell)
        finally:
            if tell:
                tell(0, 0)  # the line goes, however far it was
    return Flushed(target, delivered, outbox.standing(target.key))


def _mention_others(outbox: Outbox, keys: set[str]) -> None:
    for item in outbox.status():
        if item.key not in keys and item.pending_spans:
            remark(f"{item.shown}: is not configured; {count(item.pending_spans, 'span')} wait for it")


def is_failed(done: Sequence[Flushed]) -> bool:
    """Whether something could not be sent, and nobody else is at it."""
    return any(
        item.delivered.refused or item.delivered.rejected or (item.delivered.left and not item.delivered.busy)
        for item in done
    )


def document(done: Sequence[Flushed]) -> dict[str, Any]:
    """What was done as JSON."""
    return {
        "targets": [
            {
                "target": item.target.shown,
                "sent_spans": item.delivered.spans,
                "sent_batches": item.delivered.batches,
                "refused_batches": item.delivered.refused,
                "refusal": item.delivered.refusal or item.delivered.rejection,
                "rejected_spans": item.delivered.rejected,
                "failures": item.delivered.failures,
                "busy": item.delivered.busy,
                "error": item.delivered.error,
                "pending_spans": item.standing.pending_spans,
                "quarantined_spans": item.standing.quarantined_spans,
            }
            for item in done
        ]
    }


def lines(done: Sequence[Flushed]) -> Iterator[str]:
    """The same in words."""
    for target, delivered, standing in done:
        sent = f"{count(delivered.spans, 'span')} sent in {count(delivered.batches, 'request')}"
        notes = [
            f"{count(delivered.refused, 'request')} refused{_why(delivered.refusal)}" if delivered.refused else "",
            f"{count(delivered.rejected, 'span')} dropped by the server{_why(delivered.rejection)}"
            if delivered.rejected
            else "",
            f"{count(standing.pending_spans, 'span')} still pending{_why(delivered.error)}"
            if standing.pending_spans
            else "",
            "another process is sending to it" if delivered.busy else "",
        ]
        yield f"{line(target.shown)}: {', '.join([sent, *filter(None, notes)])}"


def _why(words: str | None) -> str:
    return f" ({line(words)})" if words else ""
