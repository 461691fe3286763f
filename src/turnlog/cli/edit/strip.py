"""`turnlog strip`: what could be taken out of a session, without writing anything."""

from __future__ import annotations

from typing import Any

import click

from turnlog.cli.edit.strip_options import add_strip_options


@click.command()
@click.argument("session")
@add_strip_options
@click.option("--fit", metavar="SIZE", help="Choose the mildest options that fit 60% of the window, or 120k tokens.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON (docs/json.md).")
def strip(session: str, fit: str | None, as_json: bool, **options: Any) -> None:
    """Say what stripping a session would save; nothing is written. `turnlog clone` with the same options does it.

    Without options the preset `standard` is tried. Pairs stay pairs: a call goes with its result. What people and the
    model said is never touched. SESSION is a path, an id or the start of one, a title, or `last`.

    \b
    Examples:
      turnlog strip last
      turnlog strip last --fit 60%            prints the command that makes the clone
      turnlog strip last --preset heavy --protect Bash
      turnlog strip last --tools keep=5 --thinking keep-last=2 --images keep=3
      turnlog strip last --tools 'truncate=500:Bash,mcp__*' --noise --json
    """
    from turnlog.cli.config import load_config
    from turnlog.cli.edit.stripping import run_strip

    run_strip(session, load_config(), options, fit=fit, as_json=as_json)
