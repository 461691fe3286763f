"""`turnlog usage`: sum the tokens and cost of all sessions by day, session, project, model, tool or five-hour block."""

from __future__ import annotations

import click

from turnlog.store.usage.groupings import GROUPINGS


@click.command()
@click.argument("kind", type=click.Choice(list(GROUPINGS)), default="daily")
@click.option("--since", metavar="DAY", help="First day to include, such as 2026-11-03, yesterday or 30d.")
@click.option("--until", metavar="DAY", help="Last day to include.")
@click.option(
    "-p",
    "--project",
    metavar="P",
    help="Include only sessions in folder P and its subfolders, or in folders whose names contain P.",
)
@click.option("-m", "--model", metavar="M", help="Include only models whose names contain M.")
@click.option(
    "--timezone",
    metavar="ZONE",
    help="Time zone for dates, such as Europe/Berlin or +02:00 (default: local).",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON (see docs/json.md).")
@click.option("--csv", "as_csv", is_flag=True, help="Print CSV, without the total.")
def usage(
    kind: str,
    since: str | None,
    until: str | None,
    project: str | None,
    model: str | None,
    timezone: str | None,
    as_json: bool,
    as_csv: bool,
) -> None:
    """Show the token counts and cost of all sessions on this machine.

    Sub-agents are included, and each message is counted once. The report is grouped by day unless you choose a
    different grouping. Costs are calculated from list prices and may differ from what you paid. Tokens from models
    without a known price, and counts that are not final, are listed separately from the totals (see docs/usage.md).

    \b
    Examples:
      turnlog usage                               by day
      turnlog usage monthly --since 2026-01-01
      turnlog usage session --project .           the cost of each session in this folder
      turnlog usage blocks --since today          the five-hour block that is open now
      turnlog usage model --json | jq .total
    """
    from turnlog.cli.usage.report import UsageOptions, print_usage

    print_usage(UsageOptions(kind, since, until, project, model, timezone, as_json, as_csv))
