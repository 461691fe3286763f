"""`turnlog trace backfill`: send what was never sent of sessions that are there already."""

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
    "-p", "--project", metavar="P", help="Folder or name of a project: all its sessions, and those of folders below it."
)
@click.option("--since", metavar="DAY", help="Only sessions that were at work since then: 2026-11-03, yesterday, 30d.")
@click.option("-a", "--all", "everything", is_flag=True, help="All sessions of this machine.")
@click.option("-t", "--target", "names", metavar="NAME", multiple=True, help="Only to this target; may be repeated.")
@click.option(
    "--content",
    type=click.Choice(("full", "redacted", "none")),
    help="How much of texts is sent; without it, what the target's settings say, or redacted.",
)
@click.option("--nest", is_flag=True, help="Put calls under the generation that made them, not beside it.")
@click.option("--dry-run", is_flag=True, help="Send nothing; print what would be sent as JSON.")
@click.option("--json", "as_json", is_flag=True, help="Print what was done as JSON (docs/json.md).")
def backfill(session: str | None, **words: Any) -> int:
    """Send sessions that are there already to the tracing backends.

    It is the work of the hook, over the whole history: each span is sent once, when it is final, to every target
    (docs/trace.md says how targets are named). It may be interrupted and repeated: nothing is sent twice. SESSION is a
    path, an id or the start of one, a title, or `last`. The exit status is 1 if something was not sent, or if the
    server refused it. --dry-run needs no target.

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

    if (session is not None) == (words["project"] is not None or words["since"] is not None or words["everything"]):
        raise UsageError("which sessions? Give one, or --project, --since or --all")
    dry_run, as_json = words.pop("dry_run"), words.pop("as_json")
    options = {"targets": words.pop("names"), **words}
    if dry_run:
        print_json(to_document(preview_traces(session, **options, notify=print_remark)))
        return 0
    progress = show_progress("sending: {done:,} of {total:,} bytes …")
    try:
        report = backfill_traces(session, **options, notify=print_remark, progress=progress)
    finally:
        if progress:
            progress(0, 0)  # the line goes, however far it was
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
        print_remark(f"{item.target}: {spans} refused by the server ({item.refusal or 'without a reason'}){remedy}")


def _render_targets(targets: Iterable[TargetBackfill]) -> Iterator[str]:
    from turnlog.cli.terminal import to_visible_line
    from turnlog.render.figures import format_count

    for item in targets:
        amounts = f"{format_count(item.sessions, 'session')}, {format_count(item.spans, 'new span')}"
        yield f"{to_visible_line(item.target)}: {amounts}"
        notes = [
            (item.known, "were sent, or put into the outbox, before"),
            (item.not_final, "are not final yet"),
            (item.pending, "wait in the outbox"),
            (item.quarantined, "are in quarantine: the server refused them"),
            (item.rejected, "were dropped by the server"),
        ]
        yield from (f"  {number:,} {words}" for number, words in notes if number)
        if item.unreadable_lines:
            yield f"  {format_count(item.unreadable_lines, 'line')} could not be read"
        if item.pending and item.last_error:
            yield f"  last error: {to_visible_line(item.last_error)}"
        yield from (f"  left out: {to_visible_line(reason)}" for reason in item.skipped)
