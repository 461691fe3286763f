"""`turnlog trace backfill`: send what was never sent of sessions that are there already."""

from __future__ import annotations

from typing import Any

import click


@click.command()
@click.argument("session", required=False)
@click.option("-p", "--project", metavar="P", help="All sessions of this folder and those below it, or of that name.")
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
    from turnlog.cli.config import load_config
    from turnlog.cli.trace.backfilling import BackfillOptions, run_backfill

    return run_backfill(BackfillOptions(session, **words), load_config())
