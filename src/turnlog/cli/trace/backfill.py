"""`turnlog trace backfill`: send existing sessions to the tracing backends."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

import click

from turnlog.errors import UsageError

if TYPE_CHECKING:
    from turnlog.api.traces import TargetBackfill


@click.command()
@click.argument("session", required=False)
@click.option(
    "-p",
    "--project",
    metavar="P",
    help="All sessions of the project with this name, or of this folder and those below it.",
)
@click.option(
    "--since", metavar="DAY", help="Only sessions that were active since this day: 2026-11-03, yesterday, 30d."
)
@click.option("-a", "--all", "everything", is_flag=True, help="All sessions on this machine.")
@click.option(
    "-t", "--target", "names", metavar="NAME", multiple=True, help="Send only to this target; can be repeated."
)
@click.option(
    "--content",
    type=click.Choice(("full", "redacted", "none")),
    help="How much text to send (default: the target's setting, or redacted).",
)
@click.option("--nest", is_flag=True, help="Place calls below the generation that made them, not next to it.")
@click.option("--dry-run", is_flag=True, help="Print what would be sent as JSON, and send nothing.")
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON (docs/json.md).")
def backfill(session: str | None, **options: Any) -> int:
    """Send existing sessions to the tracing backends.

    This does for past sessions what the hook does for new turns: it sends each final span once to every target (see
    docs/trace.md for how to configure targets). You can interrupt and repeat it: nothing is sent twice. SESSION is a
    path, an id or the start of one, a title, or `last`. The exit status is 1 if something was not sent or was refused
    by the server. --dry-run needs no target.

    \b
    Examples:
      turnlog trace backfill last --dry-run
      turnlog trace backfill --project . --target phoenix
      turnlog trace backfill --since 30d
    """
    from turnlog.api.documents import to_document
    from turnlog.api.traces import backfill_traces, preview_traces
    from turnlog.cli.output import print_json, print_lines, print_remark
    from turnlog.cli.progress import show_progress

    if (session is not None) == (
        options["project"] is not None or options["since"] is not None or options["everything"]
    ):
        raise UsageError("which sessions? Use SESSION, or --project, --since or --all")
    dry_run, as_json = options.pop("dry_run"), options.pop("as_json")
    options["targets"] = options.pop("names")
    if dry_run:
        print_json(to_document(preview_traces(session, **options, notify=print_remark)))
        return 0
    progress = show_progress("sending: {done:,} of {total:,} bytes …")
    try:
        report = backfill_traces(session, **options, notify=print_remark, progress=progress)
    finally:
        if progress:
            progress(0, 0)  # clear the progress line, also after an interruption
    if as_json:
        print_json(to_document(report))
    else:
        print_lines(_render_targets(report.targets))
    for item in report.targets:
        _mention_refused(item)
    return 0 if report.is_complete else 1


def _mention_refused(item: TargetBackfill) -> None:
    from turnlog.cli.output import print_remark

    if item.refused_spans:
        remedy = "; `turnlog trace flush --quarantined` sends them again" if item.quarantined else ""
        spans = "1 span was" if item.refused_spans == 1 else f"{item.refused_spans:,} spans were"
        print_remark(f"{item.target}: {spans} refused by the server ({item.refusal or 'no reason given'}){remedy}")


def _render_targets(targets: Iterable[TargetBackfill]) -> Iterator[str]:
    from turnlog.cli.terminal import to_visible_line
    from turnlog.render.figures import format_count

    for item in targets:
        amounts = f"{format_count(item.sessions, 'session')}, {format_count(item.spans, 'new span')}"
        yield f"{to_visible_line(item.target)}: {amounts}"
        notes = [
            (item.known, "were already sent or in the outbox"),
            (item.not_final, "are not final yet"),
            (item.pending, "are waiting in the outbox"),
            (item.quarantined, "are in quarantine: the server refused them"),
            (item.rejected, "were dropped by the server"),
        ]
        yield from (f"  {number:,} {text}" for number, text in notes if number)
        if item.unreadable_lines:
            yield f"  {format_count(item.unreadable_lines, 'line')} could not be read"
        if item.pending and item.last_error:
            yield f"  last error: {to_visible_line(item.last_error)}"
        yield from (f"  left out: {to_visible_line(reason)}" for reason in item.skipped)
