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
    help="Send all sessions in folder P and its subfolders, or in folders whose names contain P.",
)
@click.option(
    "--since",
    metavar="DAY",
    help="Send only sessions that were active on or after DAY, such as 2026-11-03, yesterday or 30d.",
)
@click.option("-a", "--all", "everything", is_flag=True, help="Send all sessions on this machine.")
@click.option("-t", "--target", "names", metavar="NAME", multiple=True, help="Send only to this target (repeatable).")
@click.option(
    "--content",
    type=click.Choice(("full", "redacted", "none")),
    help="Amount of text to send (default: the target's setting, otherwise redacted).",
)
@click.option(
    "--nest", is_flag=True, help="Nest calls below the generation that made them, instead of placing them next to it."
)
@click.option("--dry-run", is_flag=True, help="Print what would be sent, as JSON, without sending it.")
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON (see docs/json.md).")
def backfill(session: str | None, **options: Any) -> int:
    """Send existing sessions to the tracing backends.

    This command does for past sessions what the hook does for new turns: it sends each final span once to every target
    (docs/trace.md explains how to configure targets). You can interrupt the command and run it again; nothing is sent
    twice. --dry-run works without a target. The exit status is 1 if anything could not be sent or was refused by
    the server. SESSION is a path, an id, an id prefix, a title, or `last` (the most recent session).

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
        raise UsageError("use either SESSION or at least one of --project, --since and --all")
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
