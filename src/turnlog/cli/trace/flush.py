"""`turnlog trace flush`: send the spans in the outbox now."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from turnlog.api.trace_outbox import FlushReport


@click.command()
@click.option("-t", "--target", "names", metavar="NAME", multiple=True, help="Send only to this target (repeatable).")
@click.option("--quarantined", is_flag=True, help="Also send spans that the server has refused.")
@click.option("--wait", metavar="SECONDS", type=click.FloatRange(0, 86_400), default=10, show_default=True,
              help="Number of seconds to keep trying if the server does not accept the spans.")  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="Print JSON (see docs/json.md).")
def flush(names: tuple[str, ...], quarantined: bool, wait: float, as_json: bool) -> int:
    """Send the spans in the outbox now.

    Every server is tried immediately, even if an earlier attempt failed and the next one is not due yet. Spans that
    can't be sent are kept in the outbox, and the exit status is 1.

    \b
    Examples:
      turnlog trace flush
      turnlog trace flush --target phoenix --wait 60
      turnlog trace flush --quarantined      after fixing the target's settings
    """
    from turnlog.api.documents import to_document
    from turnlog.api.trace_outbox import flush_traces
    from turnlog.cli.output import print_json, print_lines, print_remark
    from turnlog.cli.progress import show_progress

    progress = show_progress("sending: {done:,} of {total:,} requests …")
    try:
        report = flush_traces(names, wait=wait, quarantined=quarantined, notify=print_remark, progress=progress)
    finally:
        if progress:
            progress(0, 0)  # clear the progress line, also after an interruption
    if as_json:
        print_json(to_document(report))
    else:
        print_lines(_render_report(report))
    return 0 if report.is_complete else 1


def _render_report(report: FlushReport) -> Iterator[str]:
    from turnlog.cli.terminal import to_visible_line
    from turnlog.render.figures import format_count

    for item in report.targets:
        reason = _format_reason(item.refusal)
        notes = [
            f"{format_count(item.sent_spans, 'span')} sent in {format_count(item.sent_batches, 'request')}",
            f"{format_count(item.refused_batches, 'request')} refused{reason}" if item.refused_batches else "",
            f"{format_count(item.rejected_spans, 'span')} dropped by the server{reason}" if item.rejected_spans else "",
            f"{format_count(item.pending_spans, 'span')} still pending{_format_reason(item.error)}"
            if item.pending_spans
            else "",
            "another process is sending to it" if item.busy else "",
        ]
        yield f"{to_visible_line(item.target)}: {', '.join(filter(None, notes))}"


def _format_reason(reason: str | None) -> str:
    from turnlog.cli.terminal import to_visible_line

    return f" ({to_visible_line(reason)})" if reason else ""
