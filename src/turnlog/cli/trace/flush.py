"""`turnlog trace flush`: send now what waits in the outbox."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import click

from turnlog.api.config import Config, trace_dir
from turnlog.cli.output import print_remark
from turnlog.cli.progress import show_progress
from turnlog.cli.terminal import to_visible_line
from turnlog.render.figures import format_count
from turnlog.trace.outbox.delivery import DeliveryResult, deliver_batches
from turnlog.trace.outbox.outbox import OUTBOX_FILE_NAME, Outbox
from turnlog.trace.outbox.target_status import TargetStatus
from turnlog.trace.targets.target import TraceTarget
from turnlog.trace.targets.targets import require_targets
from turnlog.trace.wire.poster import Poster


@click.command()
@click.option("-t", "--target", "names", metavar="NAME", multiple=True, help="Only to this target; may be repeated.")
@click.option("--quarantined", is_flag=True, help="Also what the server refused before.")
@click.option("--wait", metavar="SECONDS", type=click.FloatRange(0, 86_400), default=10, show_default=True,
              help="Keep trying for so long if the server does not take it.")  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="Print JSON (docs/json.md).")
def flush(names: tuple[str, ...], quarantined: bool, wait: float, as_json: bool) -> int:
    """Send now what waits in the outbox.

    A server that failed is asked at once, whenever it would have been asked again. The exit status is 1 if something
    could not be sent; it stays in the outbox.

    \b
    Examples:
      turnlog trace flush
      turnlog trace flush --target phoenix --wait 60
      turnlog trace flush --quarantined      when the target's settings were wrong
    """
    from turnlog.api.config import load_config
    from turnlog.cli.output import print_json, print_lines

    done = flush_targets(load_config(), names, wait, quarantined=quarantined)
    if as_json:
        print_json(to_flush_document(done))
    else:
        print_lines(render_flush_results(done))
    return 1 if is_flush_failed(done) else 0


class FlushResult(NamedTuple):
    """What was done for one target."""

    target: TraceTarget
    delivered: DeliveryResult
    standing: TargetStatus


def flush_targets(config: Config, names: Sequence[str], patience: float, *, quarantined: bool) -> list[FlushResult]:
    """Send what waits for some targets, or for all."""
    targets = require_targets(config.trace, os.environ, names)
    path = trace_dir() / OUTBOX_FILE_NAME
    if not path.exists():
        return [
            FlushResult(target, DeliveryResult(), TargetStatus(target.key, target.display_name)) for target in targets
        ]
    with Outbox.open(path) as outbox:
        done = [_flush_target(outbox, target, patience, quarantined) for target in targets]
        if not names:
            _mention_others(outbox, {target.key for target in targets})
    return done


def _flush_target(outbox: Outbox, target: TraceTarget, patience: float, quarantined: bool) -> FlushResult:
    if quarantined:
        outbox.requeue(target.key)
    outbox.end_pause(target.key)
    tell = show_progress(f"sending to {to_visible_line(target.name)}: {{done:,}} of {{total:,}} requests …")
    with Poster(target) as poster:
        try:
            delivered = deliver_batches(outbox, poster, patience=patience, progress=tell)
        finally:
            if tell:
                tell(0, 0)  # the line goes, however far it was
    return FlushResult(target, delivered, outbox.read_status(target.key))


def _mention_others(outbox: Outbox, keys: set[str]) -> None:
    for item in outbox.list_statuses():
        if item.key not in keys and item.pending_spans:
            print_remark(f"{item.shown}: is not configured; {format_count(item.pending_spans, 'span')} wait for it")


def is_flush_failed(done: Sequence[FlushResult]) -> bool:
    """Whether something could not be sent, and nobody else is at it."""
    return any(
        item.delivered.refused or item.delivered.rejected or (item.delivered.left and not item.delivered.busy)
        for item in done
    )


def to_flush_document(done: Sequence[FlushResult]) -> dict[str, Any]:
    """What was done as JSON."""
    return {
        "targets": [
            {
                "target": item.target.display_name,
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


def render_flush_results(done: Sequence[FlushResult]) -> Iterator[str]:
    """The same in words."""
    for target, delivered, standing in done:
        sent = f"{format_count(delivered.spans, 'span')} sent in {format_count(delivered.batches, 'request')}"
        notes = [
            f"{format_count(delivered.refused, 'request')} refused{_format_reason(delivered.refusal)}"
            if delivered.refused
            else "",
            f"{format_count(delivered.rejected, 'span')} dropped by the server{_format_reason(delivered.rejection)}"
            if delivered.rejected
            else "",
            f"{format_count(standing.pending_spans, 'span')} still pending{_format_reason(delivered.error)}"
            if standing.pending_spans
            else "",
            "another process is sending to it" if delivered.busy else "",
        ]
        yield f"{to_visible_line(target.display_name)}: {', '.join([sent, *filter(None, notes)])}"


def _format_reason(words: str | None) -> str:
    return f" ({to_visible_line(words)})" if words else ""
