"""`turnlog usage`: tokens and cost of all sessions, by day, session, project, model, tool or five-hour block."""

from __future__ import annotations

import click

from turnlog.store.usage.groupings import GROUPINGS


@click.command()
@click.argument("kind", type=click.Choice(list(GROUPINGS)), default="daily")
@click.option("--since", metavar="DAY", help="Only from this day on: 2026-11-03, yesterday, 30d.")
@click.option("--until", metavar="DAY", help="Only up to this day, and with it.")
@click.option("-p", "--project", metavar="P", help="Only sessions of this folder and those below it, or of that name.")
@click.option("-m", "--model", metavar="M", help="Only models of this name, or with these letters in it.")
@click.option("--timezone", metavar="ZONE", help="Where days begin, such as Europe/Berlin or +02:00; else here.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON (docs/json.md).")
@click.option("--csv", "as_csv", is_flag=True, help="Print CSV for a spreadsheet, without the total.")
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
    """Tokens and cost of all sessions on this machine: sub-agents included, every message once.

    By day unless another KIND is asked for. Cost is at list prices, never what was paid. Tokens of models without a
    known price, and counts that are not final, are shown beside the sums and are not mixed into them
    (docs/usage.md).

    \b
    Examples:
      turnlog usage                               by day
      turnlog usage monthly --since 2026-01-01
      turnlog usage session --project .           what the sessions of this folder cost
      turnlog usage blocks --since today          the five-hour block that is open now
      turnlog usage model --json | jq .total
    """
    from turnlog.cli.usage.report import UsageOptions, print_usage

    print_usage(UsageOptions(kind, since, until, project, model, timezone, as_json, as_csv))
